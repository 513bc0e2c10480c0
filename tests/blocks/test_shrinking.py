"""Shrinking: settled examples are left out for a while, and for no longer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.blocks import centres, shrinking
from fwexp.blocks.acceleration import RoundsAcceleration
from fwexp.blocks.block_loop import DRAWS_USED, NUM_COUNTS, next_block, note_step
from fwexp.driver.iteration import Budget, Reason
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.choosing import start
from fwexp.testing import check_solver
from tests import reference as ref

LAM = 0.05
EXACT = {"sampling": "shrinking", "step": "exact"}


def overlapping(seed, n=60, K=4, p=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    X = np.eye(K, p)[y] * 2.0 + rng.normal(size=(n, p))
    return X, y, fwexp.multiclass_problem(X, y, K)


def visits(gaps, steps, seed=0):
    """Visit by the rule examples whose gaps are ``gaps(i, round)``; return the visited ones, round by round."""
    n = 7
    rounds, found = shrinking.new_rounds(n), [[]]
    order = shrinking.Shrinking(rounds, centres.NO_CENTRE, np.random.default_rng(seed).random(steps), np.inf, False, -1.0)
    iterate = type("", (), {"counts": np.zeros(NUM_COUNTS, dtype=np.int64), "gaps": np.full(n, np.inf)})
    for k in range(steps):
        iterate.counts[DRAWS_USED] = k
        i = next_block(order, iterate)
        found[-1].append(int(i))
        ended = rounds.progress[shrinking.ENDED]
        note_step(order, i, gaps(i, int(ended)), False, iterate)
        if rounds.progress[shrinking.ENDED] > ended:
            found.append([])
    return found


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kap", [2.0, 10.0])
def test_kernels_move_centres_as_python_does(kap, monkeypatch):
    """Between rounds, also where calls end there, and with periods that double."""
    _, _, problem = overlapping(3)
    accelerate, runs = {"kap": kap, "period": 1, "refresh": False}, []
    for in_kernels in (True, False):
        if not in_kernels:
            monkeypatch.setattr(RoundsAcceleration, "kernels_move_centres", lambda self, state: False)
        solver = SOLVERS["bcfw"](problem, 1e-4, check_options(SOLVERS["bcfw"], EXACT | {"accelerate": accelerate}))
        for calls in range(0, 6000, 7):
            solver.advance(Budget(calls, 10**6))
        runs.append((solver.state.iterate.w, solver.state.centre))
    (w, centre), (w_python, by_python) = runs
    assert centre.times.tolist() == by_python.times.tolist()
    assert centre.times[centres.MOVES] > 30
    assert centre.times[centres.PERIOD] > 1
    np.testing.assert_array_equal(w, w_python)
    np.testing.assert_array_equal(centre.z, by_python.z)


def test_rounds_visit_all_that_are_not_settled_once():
    found = visits(lambda i, _: float(i > 2), 200)
    assert sorted(found[0]) == [*range(7)]
    for each in found[:-1]:
        assert {3, 4, 5, 6} <= set(each)
        assert len(each) == len(set(each))
    waited = np.diff([k for k, each in enumerate(found) if 0 in each])
    assert waited.tolist()[:4] == [2, 4, 8, shrinking.LONGEST][: len(waited)]


def test_an_example_with_a_gap_again_is_in_every_round_again():
    found = visits(lambda i, k: float(i > 0 or k >= 6), 400)
    with_it = [k for k, each in enumerate(found[:-1]) if 0 in each]
    assert with_it[:3] == [0, 2, 6]
    assert with_it[2:] == [*range(6, len(found) - 1)]


def test_no_examples_wait_for_ever_where_all_are_settled():
    found = visits(lambda i, _: 0.0, 100)
    assert all(sorted(each) == [*range(7)] for each in found[:-1])


@pytest.mark.compiled
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-4, 1), accelerate=st.booleans())
def test_the_optimum_is_reached_and_certified(seed, power, accelerate):
    X, y, problem = overlapping(seed)
    lam = 10.0**power
    options = {"step": "exact", "sampling": "shrinking", "accelerate": {"period": None, "refresh": False} if accelerate else False}
    result = fwexp.solve(problem, "bcfw", lam=lam, gap_tol=1e-7, max_passes=100_000, **options)
    assert result.status == "converged"
    value = fwexp.evaluate(problem, result.w)
    assert result.primal == pytest.approx(0.5 * lam * value.norm_sq + value.hinge, rel=1e-12)
    assert 0.0 <= result.gap <= 1e-7
    a = result.state.state.iterate.dual.blocks.reshape(problem.n, -1)[:, :4]
    shares = np.eye(4)[y] - a
    assert shares.min() >= -1e-9
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-9)
    W = X.T @ a / (lam * problem.n)
    duals = result.trace.query("iterate == 'last'")["dual"]  # that of the result is the highest one, which acceleration may pass
    dual = duals.iloc[-1]
    assert dual == pytest.approx(1.0 - shares[np.arange(len(y)), y].mean() - 0.5 * lam * (W**2).sum(), abs=1e-9)


@pytest.mark.compiled
def test_what_was_shrunk_wrongly_is_looked_at_again():
    """All wait, for as long as they can, at a point that is far from the optimum."""
    X, y, problem = overlapping(1)
    cls = SOLVERS["bcfw"]
    running = cls(problem, LAM, check_options(cls, {"step": "exact", "sampling": "shrinking"}), 0, ("last",), None)
    rounds = running.state.order.rounds
    rounds.wait[1:] = rounds.pause[1:] = shrinking.LONGEST
    running.advance(Budget(400 * problem.n, 10**9))
    best = ref.qp_optimum(ref.tiny_multiclass(X, y, 4), LAM)
    assert running.point("last").dual == pytest.approx(best.dual, abs=1e-7)


@pytest.mark.slow
@pytest.mark.compiled
def test_it_keeps_the_promises_of_a_solver():
    check_solver("bcfw", overlapping(5, n=12)[-1], step="exact", sampling="shrinking", accelerate={"period": None})


@pytest.mark.compiled
def test_series_end_where_the_gap_reaches_the_target():
    """Python computes the same gap then, and at no other time, before and after acceleration begins."""
    problem, found = overlapping(3)[-1], []
    solver = start(SOLVERS["auto"], problem, 1e-3, check_options(SOLVERS["auto"], {}))
    solver.compile()
    estimate = solver.estimated_gap
    solver.estimated_gap = lambda: found.append(estimate()) or found[-1]
    for times, target in enumerate(0.5 ** np.arange(1, 25), 1):
        assert solver.advance(Budget(10**6, 10**8, target_gap=target)).reason is Reason.ROW
        assert len(found) == times
        assert found[-1] <= target
    assert solver.state.centre is not None


@pytest.mark.parametrize("step", ["fw", "pairwise", "corrective"])
def test_other_steps_shrink_as_well(step):
    problem = overlapping(2, n=12)[-1]
    result = fwexp.solve(problem, "bcfw", lam=LAM, step=step, sampling="shrinking", gap_tol=1e-2, max_passes=3000)
    assert result.status == "converged"


@pytest.mark.compiled
def test_evaluations_are_few_and_the_last_one_certifies():
    problem = overlapping(3, n=300)[-1]
    rows = fwexp.solve(problem, lam=0.01, gap_tol=1e-5, max_passes=1000).trace
    assert rows["evaluation_calls"].iloc[-1] <= 0.5 * rows["oracle_calls"].iloc[-1] + 3 * problem.n
    assert rows["gap"].iloc[-1] <= 1e-5
    every = fwexp.solve(problem, lam=0.01, gap_tol=0, max_passes=rows["passes"].iloc[-1], schedule=0.25).trace
    np.testing.assert_array_equal(every["primal"].iloc[-1], rows["primal"].iloc[-1])


@pytest.mark.compiled
def test_rounds_run_on_where_no_evaluation_is_affordable(monkeypatch):
    BCFW, budgets = SOLVERS["bcfw"], []
    problem, advance = overlapping(5)[-1], BCFW.advance
    monkeypatch.setattr(BCFW, "advance", lambda self, budget: (budgets.append(budget), advance(self, budget))[1])
    result = fwexp.solve(problem, lam=LAM, gap_tol=0, max_passes=40)
    assert len(result.trace) <= 6
    assert len(budgets) <= 12  # The schedule has 30 points after the first 10 passes.
