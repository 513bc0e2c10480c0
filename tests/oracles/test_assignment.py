import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from fwexp.oracles.assignment import max_matching, scratch_size

KERNELS = {"compiled": max_matching, "python": max_matching.py_func}


def matching(score, kernel="compiled"):
    """Return (value, match); all buffers start as garbage."""
    rows, columns = score.shape
    match = np.full(rows, 99, dtype=np.int32)
    scratch = np.full(scratch_size(rows, columns), np.nan)
    flat = np.ascontiguousarray(score, dtype=np.float64).ravel()
    before = flat.copy()
    value = KERNELS[kernel](flat, columns, match, scratch)
    np.testing.assert_array_equal(flat, before)
    return value, match


def reference(score):
    """Return the highest score if rows and columns may stay alone: a square problem with as many zeros as it takes."""
    rows, columns = score.shape
    padded = np.zeros((rows + columns, rows + columns))
    padded[:rows, :columns] = score
    return padded[linear_sum_assignment(padded, maximize=True)].sum()


def check(score, kernel):
    value, match = matching(score, kernel)
    linked = np.flatnonzero(match)
    columns = match[linked] - 1
    assert ((match >= 0) & (match <= score.shape[1])).all()
    assert len(set(columns.tolist())) == len(columns)
    tolerance = 1e-12 * max(1.0, np.abs(score).sum())
    assert value == pytest.approx(score[linked, columns].sum(), abs=tolerance)
    assert value == pytest.approx(reference(score), abs=tolerance)


def grids(elements):
    def grid(shape):
        return st.lists(elements, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
            lambda values: np.array(values, dtype=np.float64).reshape(shape)
        )

    return st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(grid)


@pytest.mark.parametrize("kernel", KERNELS)
@given(score=grids(st.floats(-10, 10)))
def test_any_scores(kernel, score):
    check(score, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@given(score=grids(st.integers(-2, 2)))
def test_tied_scores(kernel, score):
    check(score, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (8, 20), (20, 8), (30, 30)])
@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0, 50.0])
def test_shapes_and_shifts(shape, shift, kernel):
    # with a large shift as many rows as possible are matched, and rows must be moved again and again
    rng = np.random.default_rng(shape[0])
    check(rng.normal(size=shape) + shift, kernel)
    check(rng.integers(0, 3, size=shape) + shift, kernel)


def test_compiled_code_finds_the_same_matching():
    rng = np.random.default_rng(1)
    for _ in range(50):
        score = rng.normal(size=rng.integers(1, 12, size=2)) + 0.5
        assert matching(score)[1].tolist() == matching(score, "python")[1].tolist()
