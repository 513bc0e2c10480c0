"""online_eg against the literal transcription, the optimum, and the rules for its step sizes and oracle calls."""

from functools import partial

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.problems.protocol import to_public
from tests import reference as ref
from tests.reference.examples import order_of
from tests.small_problems import at_start, chain, of_three_families, relative_error

BIG = 10**9
ITERATES = ("last", "wavg", "tavg", "avg")
start = partial(at_start, "online_eg")


PROBLEMS = [pytest.param(tp, problem, id=name) for name, tp, problem in of_three_families()]


def assert_equal_steps(tp, problem, lam, passes):
    order = order_of(tp, passes)
    wanted = ref.online_eg(tp, lam, order)
    solver = start(problem, lam, order=order, iterates=ITERATES)
    for k in range(len(order) + 1):
        solver.advance(Budget(BIG, k))
        assert (solver.step, solver.oracle_calls) == (k, wanted.calls[k])
        for name in ITERATES:
            point, path = solver.point(name), getattr(wanted.run, name)
            assert relative_error(to_public(problem, point.w), path.w[k]) < 1e-9
            assert point.dual == pytest.approx(ref.dual_value(path.w[k], path.ell[k], lam), rel=1e-9, abs=1e-10)
    np.testing.assert_allclose(solver.state.iterate.eta, wanted.eta, rtol=1e-12)
    return wanted


@pytest.mark.parametrize("lam", [10.0, 1.0, 0.1])
@pytest.mark.parametrize(("tp", "problem"), PROBLEMS)
def test_steps_equal_the_transcription(tp, problem, lam):
    assert_equal_steps(tp, problem, lam, 15)


def test_halvings_are_counted():
    tp, problem = chain("dense", 2, n=8)
    trials = np.diff(assert_equal_steps(tp, problem, 0.03, 12).calls)
    assert set(trials) == {1, 2, 3}


@pytest.mark.parametrize(("passes", "halvings"), [(0, 2), (1, 5)])
def test_halvings_are_limited(passes, halvings):
    # near the optimum, which is a mixture, a step to a corner makes the dual objective fall
    tp, problem = chain("dense", 2)
    first = start(problem, 0.1)
    first.advance(Budget(BIG, 500 * tp.n))
    solver = start(problem, 0.1, order=np.resize(np.arange(tp.n), 99), warm_start=first)
    solver.advance(Budget(BIG, passes * tp.n))
    point, calls, i = solver.point("last"), solver.oracle_calls, 0
    w = point.w.copy()
    solver.state.iterate.eta[i] = 1e6
    solver.advance(Budget(BIG, passes * tp.n + 1))
    assert solver.oracle_calls - calls == halvings + 1
    assert solver.state.iterate.eta[i] == pytest.approx(1e6 * 0.5**halvings * 1.05)
    assert np.array_equal(solver.point("last").w, w)
    assert solver.point("last").dual == point.dual


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-5])
def test_dual_points_are_feasible_inside_and_never_fall(lam):
    tp, problem = chain("dense", 3, n=6)
    solver = start(problem, lam)
    best, dual = ref.qp_optimum(tp, lam).dual, -np.inf
    for passes in range(1, 80):
        solver.advance(Budget(passes * tp.n, BIG))
        point = solver.point("last")
        assert np.isfinite(point.w).all()
        assert point.dual >= dual - 1e-11 * abs(dual)
        assert solver.exact_dual() == pytest.approx(point.dual, rel=1e-9, abs=1e-10)
        assert solver.exact_dual() <= best + 1e-9 * abs(best)
        dual = point.dual


def test_a_settled_distribution_can_still_move():
    # After many passes all mass is on the truth up to rounding; a step size that had been halved at every visit would be 0.
    problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 2])
    solver = start(problem, 1e-3)
    solver.advance(Budget(3000, BIG))
    assert solver.state.iterate.eta.min() > 1e-3
    assert solver.state.iterate.eta.max() <= 1e8
    assert np.isfinite(solver.state.iterate.potentials).all()
