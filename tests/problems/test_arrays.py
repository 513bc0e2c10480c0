"""Arrays that people pass: copied by every constructor, and one line that names the place and what to do about it."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp

RNG = np.random.default_rng(0)


def dense(*shape):
    return np.ascontiguousarray(RNG.normal(size=shape))


def csr(*shape):
    matrix = sp.csr_array(dense(*shape))
    assert matrix.has_canonical_format
    return matrix


def csr64(*shape):
    """With the index types that a problem keeps, so that nothing has to be converted."""
    matrix = csr(*shape)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def ints(*values):
    return np.array(values, dtype=np.int32)


COSTS = np.array([[0.0, 1.0], [2.0, 0.0]])
LINKS = np.array([[0, 0]])
# (constructor, arguments, options): arrays in the very form that is kept
CASES = {
    "one dense chain": (fwexp.chain_problem, ([dense(3, 2)], [ints(0, 1, 0)]), {}),
    "two dense chains": (fwexp.chain_problem, ([dense(3, 2), dense(1, 2)], [ints(0, 1, 0), ints(1)]), {}),
    "one sparse chain": (fwexp.chain_problem, ([csr64(3, 2)], [ints(0, 1, 0)]), {}),
    "two sparse chains": (fwexp.chain_problem, ([csr(3, 2), csr(1, 2)], [ints(0, 1, 0), ints(1)]), {}),
    "dense classes": (fwexp.multiclass_problem, (dense(4, 3), ints(0, 1, 1, 0)), {"costs": COSTS}),
    "sparse classes": (fwexp.multiclass_problem, (csr(4, 3), ints(0, 1, 1, 0)), {"costs": COSTS, "rescaling": "slack"}),
    "classes, int64 pointers": (fwexp.multiclass_problem, (csr64(4, 3), ints(0, 1, 1, 0)), {}),
    "one grid": (fwexp.matching_problem, ([dense(2, 3, 2)], [LINKS]), {}),
    "one flat grid": (fwexp.matching_problem, ([dense(6, 2)], [LINKS]), {"shapes": np.array([[2, 3]])}),
    "one sparse grid": (fwexp.matching_problem, ([csr64(6, 2)], [LINKS]), {"shapes": np.array([[2, 3]])}),
    "possible links": (fwexp.matching_problem, ([dense(2, 3, 2)], [LINKS]), {"possible": [np.array([[1, 1]])]}),
    "outputs": (fwexp.enumerated_problem, ([np.array([[0.0, 0.0], [1.0, 2.0]])], [np.array([0.0, 1.0])]), {}),
}


def arrays_in(value):
    """All arrays in nested arguments, those of sparse matrices included."""
    if isinstance(value, np.ndarray):
        yield value
    elif sp.issparse(value):
        yield from (value.data, value.indices, value.indptr)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item)


@pytest.mark.parametrize("name", CASES)
def test_constructors_keep_nothing_of_the_users_arrays(name):
    build, arguments, options = copy.deepcopy(CASES[name])
    given = list(arrays_in([*arguments, *options.values()]))
    problem = build(*arguments, **options)
    kept = list(arrays_in(problem))
    assert len(kept) > 4
    for array in given:
        assert not any(np.shares_memory(array, other) for other in kept)
    before = copy.deepcopy(kept)
    for array in given:
        array *= 3
    for array, other in zip(kept, before, strict=True):
        np.testing.assert_array_equal(array, other)


def test_later_changes_do_not_make_a_certificate_wrong():
    X, y = np.random.default_rng(1).normal(size=(30, 4)), np.random.default_rng(2).integers(3, size=30).astype(np.int32)
    problem, again = fwexp.multiclass_problem(X, y), fwexp.multiclass_problem(X.copy(), y.copy())
    X *= 3
    y[:] = 0
    changed, same = (fwexp.solve(p, "bcfw", lam=0.1, max_passes=5) for p in (problem, again))
    assert changed.w.tobytes() == same.w.tobytes()
    assert changed.gap == same.gap


def test_numbers_of_any_kind_are_taken():
    wanted = fwexp.multiclass_problem(np.array([[1.0, 0.0], [0.0, 1.0]]), [0, 1])
    for X in (
        [[1, 0], [0, 1]],
        np.eye(2, dtype=bool),
        np.eye(2, dtype=np.float32),
        np.ma.masked_array(np.eye(2)),
        np.eye(2)[:, ::-1][:, ::-1],
    ):
        for y in ((0, 1), np.array([0, 1], np.uint8), [np.int32(0), np.int64(1)]):
            np.testing.assert_array_equal(fwexp.multiclass_problem(X, y).x.values, wanted.x.values)
