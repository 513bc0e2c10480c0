"""approx_bcfw: its oracle is as bad as allowed and no worse, and the method converges as the theorems say."""

from functools import partial

import numpy as np
import pytest

import fwexp
from fwexp.blocks import active_set
from fwexp.driver.iteration import Budget
from fwexp.problems.chain import ChainProblem
from fwexp.problems.protocol import to_public
from fwexp.solvers import approximate
from tests import reference as ref
from tests.reference.examples import order_of
from tests.small_problems import at_start, chain, of_three_families

BIG = 10**9
LAM = 0.2
start = partial(at_start, "approx_bcfw", lam=LAM)
ERRORS = [(1.0, 0.0), (0.6, 0.0), (0.2, 0.0), (1.0, 0.3), (1.0, 1.5), (0.7, 1.0)]


def weights_of(solver, tp, i):
    """Return the dual variables of example i, in the order of the enumeration."""
    sets, alpha = solver.sets, np.zeros(len(tp.loss[i]))
    for a in range(sets.count[i]):
        y = tuple(int(label) for label in active_set.labeling_at(sets, i, a))
        place = tp.labelings[i].index(y) if y in tp.labelings[i] else y[0]
        alpha[place] += sets.weight[sets.first[i] + a]
    return alpha


@pytest.mark.parametrize(
    ("tp", "problem", "nu", "delta", "line_search"),
    [
        pytest.param(tp, problem, *error, (j + k) % 2 == 0, id=f"{name}-{k}")
        for j, (name, tp, problem) in enumerate(of_three_families())
        for k, error in enumerate(ERRORS)
    ],
)
def test_steps_equal_the_transcription(tp, problem, nu, delta, line_search):
    order = order_of(tp, 12)
    oracle = ref.degraded_oracle(nu, delta, ref.block_curvature(tp, LAM))
    wanted = ref.bcfw(tp, LAM, order, line_search, oracle, nu)
    iterates = ("last", "wavg", "tavg", "avg")
    solver = start(problem, order=order, iterates=iterates, nu=nu, delta=delta, line_search=line_search)
    for k in range(len(order) + 1):
        solver.advance(Budget(BIG, k))
        assert solver.step == solver.oracle_calls == k
        for name in iterates:
            point, path = solver.point(name), getattr(wanted, name)
            np.testing.assert_allclose(to_public(problem, point.w), path.w[k], atol=1e-10)
            assert point.dual == pytest.approx(ref.dual_value(path.w[k], path.ell[k], LAM), abs=1e-10)
    assert solver.exact_dual() == pytest.approx(solver.point("last").dual, abs=1e-10)


def corners_of(solver, tp, order, nu, delta):
    """Yield of every step the gaps of all labelings, the weights of the corner that it took, and the least gap by eq. (13)."""
    curvature = ref.block_curvature(tp, LAM)
    for k, i in enumerate(order):
        before, w = weights_of(solver, tp, i), to_public(solver.problem, solver.point("last").w)
        scores = tp.scores(i, w)
        gaps = (scores - before @ scores) / tp.n
        solver.advance(Budget(BIG, k + 1))
        gamma = 2 * tp.n / (nu * k + 2 * tp.n)
        corner = (weights_of(solver, tp, i) - (1 - gamma) * before) / gamma
        yield gaps, corner, nu * gaps.max() - 0.5 * delta * gamma * curvature[i]


def too_many_labelings():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(10, 3)) for _ in range(6)]
    yield "chain", fwexp.chain_problem(X, [rng.integers(2, size=10) for _ in X], 2)
    yield "multiclass", fwexp.multiclass_problem(rng.normal(size=(6, 3)), rng.integers(9, size=6), 9)
    yield "functions", chain("functions", 0)[1]


KINDS = [pytest.param(problem, True, id=name) for name, _, problem in of_three_families()]
KINDS += [pytest.param(problem, False, id=f"{name}, too many labelings") for name, problem in too_many_labelings()]


@pytest.mark.parametrize(("nu", "delta"), ERRORS)
@pytest.mark.parametrize(("problem", "complete"), KINDS)
def test_the_certificate_bounds_the_gap(monkeypatch, problem, complete, nu, delta):
    if not (complete or isinstance(problem, ChainProblem)):
        monkeypatch.setattr(approximate, "MAX_ENUMERATED", 2)
    result = fwexp.solve(
        problem, "approx_bcfw", lam=LAM, max_passes=12, gap_tol=0, iterates=("last",), schedule=1, nu=nu, delta=delta
    )
    certificate, gap = result.trace["gap_estimate"], result.trace["gap"]
    assert (certificate >= gap - 1e-12).all()
    if delta == 0.0:
        assert (certificate <= gap / nu + 1e-12).all()
        assert result.dual > 0.0
    if (nu, delta) == (1.0, 0.0) and complete:
        np.testing.assert_allclose(certificate, gap, atol=1e-12)
    assert result.state.state.complete == complete
    exact = fwexp.solve(problem, "bcfw", lam=LAM, max_passes=12, gap_tol=0, iterates=("last",), schedule=1)
    assert np.allclose(result.trace.dual, exact.trace.dual, atol=1e-10) == ((nu, delta) == (1.0, 0.0))


@pytest.mark.parametrize(("nu", "delta"), ERRORS)
def test_stored_corners_satisfy_the_inequality(monkeypatch, nu, delta):
    monkeypatch.setattr(approximate, "_enumerated", lambda problem: None)
    tp, problem = chain("dense", 2)
    order = order_of(tp, 40)
    solver = start(problem, order=order, nu=nu, delta=delta, line_search=False)
    for gaps, corner, least in corners_of(solver, tp, order, nu, delta):
        assert gaps[corner.argmax()] >= least - 1e-12
