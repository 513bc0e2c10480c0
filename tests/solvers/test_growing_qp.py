"""The QP over the simplex that cutting planes share: its optimum, however it was grown, and the hull on top of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.problems.protocol import to_public
from fwexp.solvers.growing_qp import SimplexQP
from fwexp.solvers.hull import Hull, new_corners
from tests import reference as ref


def planes(seed, size, dimension, scale):
    """Rows of which some repeat, are zero or lie between others, and linear terms: M = rows rows' is mostly singular."""
    rng = np.random.default_rng(seed)
    rows, b = scale * rng.normal(size=(size, dimension)), scale**2 * rng.normal(size=size)
    for k in range(1, size):
        kind = rng.integers(5)
        if kind == 0:
            rows[k], b[k] = rows[k - 1], b[k - 1]
        elif kind == 1:
            rows[k] = 0.0
        elif kind == 2:
            share = rng.random()
            rows[k], b[k] = (share * values[k - 1] + (1 - share) * values[0] for values in (rows, b))
    return rows, b


def check(qp, rows, b):
    """Whether the solution is feasible and optimal, with everything computed anew; return its value."""
    a = qp.a[: qp.size]
    size = max(np.abs(b).max(), np.square(rows).sum(axis=1).max(), 1e-300)
    assert a.min() >= 0.0
    assert a.sum() == pytest.approx(1.0, abs=1e-12)
    gradient = b - rows @ (rows.T @ a)
    assert gradient.max() - a @ gradient <= qp.accuracy + 1e-12 * size
    assert qp.accuracy <= 1e-9 * size
    return a @ b - 0.5 * np.sum((rows.T @ a) ** 2)


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 14),
    dimension=st.integers(1, 6),
    scale=st.sampled_from([1e-3, 1.0, 30.0, 1e4]),
)
def test_every_solution_on_the_way_is_the_optimum(seed, size, dimension, scale):
    rows, b = planes(seed, size, dimension, scale)
    rng = np.random.default_rng(seed)
    qp, kept = SimplexQP(), np.empty(0, dtype=np.int64)
    for k in range(size):
        qp.add(rows[kept] @ rows[k], rows[k] @ rows[k], b[k])
        kept = np.append(kept, k)
        if rng.random() < 0.7 or k == size - 1:
            qp.solve()
            value = check(qp, rows[kept], b[kept])
            idle = np.flatnonzero(qp.a[: qp.size] == 0.0)
            if len(idle) and rng.random() < 0.5:
                j = int(rng.choice(idle))
                qp.discard(j)
                kept[j] = kept[-1]
                kept = kept[:-1]
                assert check(qp, rows[kept], b[kept]) == pytest.approx(value, rel=1e-9)
    qp.solve()
    a = ref.simplex_qp(rows[kept].T / scale, b[kept] / scale**2, [np.arange(len(kept))], 1.0, 1e-10)
    independent = a @ b[kept] - 0.5 * np.sum((rows[kept].T @ a) ** 2)
    assert check(qp, rows[kept], b[kept]) == pytest.approx(independent, rel=1e-6, abs=1e-9 * scale**2)


def test_a_coordinate_with_weight_cannot_be_discarded():
    qp = SimplexQP()
    qp.add(np.empty(0), 1.0, 1.0)
    qp.solve()
    with pytest.raises(ValueError, match="weight 1"):
        qp.discard(0)


def test_a_hull_is_what_its_corners_add_up_to():
    rng = np.random.default_rng(5)
    problem = fwexp.multiclass_problem(rng.normal(size=(6, 4)), rng.integers(3, size=6), 3)
    lam, corners = 0.3, []
    hull = Hull(problem, lam, new_corners(problem, 1e-10))
    hull.add_start()
    corners.append((np.zeros(problem.d), 0.0))
    for _ in range(40):  # more than are kept in one piece
        corner = rng.normal(size=problem.num_weights), rng.random()
        if hull.add(*corner):
            hull.maximise()
            corners.append((to_public(problem, corner[0]), corner[1]))
        for k in np.flatnonzero(hull.weights[1:] == 0.0)[:1] + 1:
            hull.discard(int(k))
            corners[k] = corners[-1]
            del corners[-1]
        for some, some_lam, factor in ((hull, lam, 1.0), (hull.rescaled(0.1), 0.1, 3.0)):
            w = factor * sum(a * c[0] for a, c in zip(some.weights, corners, strict=True))
            ell = sum(a * c[1] for a, c in zip(some.weights, corners, strict=True))
            np.testing.assert_allclose(to_public(problem, some.w), w, atol=1e-10)
            assert some.dual == pytest.approx(ell - 0.5 * some_lam * (w @ w), abs=1e-10)
    assert len(corners) > 3
