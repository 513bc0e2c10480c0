"""Log objectives on features of any scale: L-BFGS that allows for it, and turns of block steps and L-BFGS."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp import record
from fwexp.problems import protocol
from fwexp.problems.features import as_features, spreads, unevenness
from fwexp.problems.loss_terms import make_objective
from fwexp.problems.protocol import curvatures
from fwexp.solvers import auto, entropic_turns
from fwexp.solvers.base import Budget
from fwexp.solvers.marginal_oracle import MarginalOracle
from tests.small_problems import at_start

pytestmark = pytest.mark.compiled  # they take many steps

LOG = make_objective("log")
SCALES = 10.0 ** np.linspace(-3, 3, 7)
turns = partial(at_start, "entropic_turns", objective=LOG)


def noisy(scale=1.0, chains: bool = False, form=np.asarray, n: int = 200):
    """Return a problem whose labels follow from few features, and from chance."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 7))
    y = (X @ rng.normal(size=(7, 3)) + 2.0 * rng.gumbel(size=(n, 3))).argmax(axis=1)
    X = X * scale
    if chains:
        return fwexp.chain_problem([form(x) for x in np.split(X, n // 5)], np.split(y, n // 5), 3)
    return fwexp.multiclass_problem(form(X), y)


def passes(problem, solver="auto", **options):
    result = fwexp.solve(problem, solver, lam="1/n", objective="log", gap_tol=1e-3, max_passes=300, **options)
    assert result.status in ("converged", "max_passes")
    return result.trace["passes"].iloc[-1]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("chains", [False, True])
def test_uneven_features_cost_lbfgs_no_passes_if_it_allows_for_them(chains, form):
    even = passes(noisy(1.0, chains, form), "lbfgs", scaled=True)
    assert passes(noisy(SCALES, chains, form), "lbfgs", scaled=True) <= 2 * even <= 40
    assert passes(noisy(SCALES, chains, form), "lbfgs") >= 150


def test_auto_leaves_uneven_features_to_lbfgs_and_others_to_turns():
    for scale, chosen in ((SCALES, "lbfgs"), (1.0, "entropic_turns"), (1e-3 * SCALES, "entropic_turns")):
        problem = noisy(scale)
        assert auto.choose(problem, 1.0 / problem.n, None, LOG)[0].name == chosen  # the last is not steep
        assert passes(problem) <= 40
    assert auto.choose(noisy(), None, None, LOG)[0].name == "block_entropic"  # a path
    assert auto.choose(noisy(), 1.0, ["wavg"], LOG)[0].name == "block_entropic"
    few = fwexp.multiclass_problem(sp.random_array((9, 50), density=0.2, rng=0) * np.geomspace(1e-3, 1e3, 50), [0, 1, 2] * 3)
    assert auto.choose(few, 0.1, None, LOG)[0].name == "entropic_turns"  # examples share few weights


@pytest.mark.parametrize("chains", [False, True])
def test_curvatures_are_second_derivatives_at_zero(chains):
    problem = noisy(SCALES, chains)
    public = protocol.to_public(problem, curvatures(problem))
    oracle, h = MarginalOracle(problem, 1.0, LOG), 1e-4
    for f in range(7):
        for k in range(3):
            w = np.zeros(problem.d)
            w[3 * f + k] = h / SCALES[f]
            ahead, behind = (oracle(protocol.from_public(problem, c * w)).gradient for c in (1, -1))
            second = protocol.to_public(problem, ahead - behind)[3 * f + k] / (2.0 * h / SCALES[f])
            second = problem.n * (second - oracle.lam)
            assert public[3 * f + k] == pytest.approx(second, rel=0.05)  # which is not centred


def test_spreads_of_columns():
    X = np.array([[1.0, 0.0, 5.0, 1e8], [3.0, 0.0, 5.0, 1e8 + 2.0], [5.0, 6.0, 5.0, 1e8 + 4.0]])
    for x in (X, sp.csr_array(X)):
        np.testing.assert_allclose(spreads(as_features(x), 4)[:3], [8.0, 24.0, 75.0])  # a constant column is not centred
        assert unevenness(as_features(x), 4) == pytest.approx(1e8 / np.median([np.sqrt(35 / 3), 6.0, 5.0, 1e8]), rel=1e-6)
    ones = sp.csr_array(np.array([[1.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(spreads(as_features(ones), 2), [2.0, 0.5])
    assert unevenness(as_features(np.zeros((2, 3))), 3) == unevenness(as_features(ones), 2) == 1.0
    assert curvatures(fwexp.multiclass_problem(np.ones((2, 1)), [0, 0])).max() == 0.0  # one class


def test_features_of_transitions_have_curvatures():
    rng = np.random.default_rng(0)
    X, Z = [rng.normal(size=(4, 2)) for _ in range(9)], [rng.normal(size=(3, 2)) for _ in range(9)]
    problem = fwexp.chain_problem(X, [rng.integers(2, size=4) for _ in X], 2, Z=[z * [1.0, 1e3] for z in Z])
    public = protocol.to_public(problem, curvatures(problem))
    assert public.shape == (problem.d,)
    assert (public[8:12] / public[4:8]).min() > 1e5


def test_turns_go_to_the_faster_method():
    noise, easy = noisy(3.0, chains=True, n=1000), fwexp.multiclass_problem(np.eye(40), np.arange(40) % 4)
    for problem, is_rivals in ((noise, True), (easy, False)):
        solver = turns(problem, 1.0 / problem.n)
        solver.advance(Budget(9 * problem.n, 10**9))
        assert (solver.rival.step, solver.blocks.oracle_calls) == (1, 8 * problem.n)
        assert solver.turn.is_rivals is is_rivals
        solver.advance(Budget(28 * problem.n, 10**9))
        assert solver.turn.is_rivals is is_rivals
        assert solver.step == solver.blocks.step + solver.rival.step
        assert solver.oracle_calls == 28 * problem.n
    slow = passes(noise, "block_entropic")
    assert passes(noise, "entropic_turns") <= 25 + 1.5 * passes(noise, "lbfgs", scaled=True) < slow / 3


def test_blocks_are_not_disturbed_by_turns():
    problem = fwexp.multiclass_problem(np.eye(40) + 0.1, np.arange(40) % 4)
    how = {"lam": 0.01, "objective": "log", "gap_tol": 0, "max_passes": 8}
    np.testing.assert_array_equal(*(fwexp.solve(problem, name, **how).w for name in ("entropic_turns", "block_entropic")))


def test_turns_come_back_to_a_method_that_others_do_not_beat(monkeypatch):
    monkeypatch.setattr(entropic_turns, "GAIN", -1.0)  # no turn brings enough
    monkeypatch.setattr(entropic_turns, "FIRST_GAIN", -1.0)
    problem = noisy(10.0)
    solver, whose = turns(problem, 1.0 / problem.n, accelerate={"kap": 2.0}), []
    high = fwexp.solve(problem, "lbfgs", lam="1/n", objective="log", gap_tol=1e-8, max_passes=500).primal
    for calls in range(problem.n, 70 * problem.n, problem.n):
        solver.advance(Budget(calls, 10**9))
        assert solver.oracle_calls <= calls
        whose.append(solver.turn.is_rivals)
        assert solver.point("last").dual <= high + 1e-12
        assert solver.exact_dual() == pytest.approx(solver.point("last").dual, abs=1e-10)
        if calls == 9 * problem.n:  # L-BFGS has the dual point of the blocks, whose certificate holds
            assert solver.rival.point("last").dual == pytest.approx(solver.blocks.exact_dual(), abs=1e-12)
    changes = np.flatnonzero(np.diff(whose)) + 2
    np.testing.assert_array_equal(changes, [9, 25, 57])  # 8 passes and one for P(0), 16, 32


def test_turns_go_on_from_a_saved_state_and_from_results():
    problem = noisy(10.0, chains=True, n=1000)
    whole, part, other = (turns(problem, 1.0 / problem.n) for _ in range(3))
    part.advance(Budget(30 * problem.n, 10**9))
    assert part.turn.is_rivals
    other.restore(record.copy(part.saved()))
    for solver in (whole, other):
        solver.advance(Budget(60 * problem.n, 10**9))
    assert record.same(whole.saved(), other.saved())
    how = {"lam": "1/n", "objective": "log", "gap_tol": 1e-3, "max_passes": 100}
    first = fwexp.solve(problem, "entropic_turns", **how)
    again = fwexp.solve(problem, "entropic_turns", **how, warm_start=first)
    assert again.status == "converged"
    assert again.trace["passes"].iloc[-1] <= 1
