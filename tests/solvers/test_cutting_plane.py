"""Cutting planes and fully corrective Frank-Wolfe: the optimum of the enumerated QP, equal sequences, and a valid certificate."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.experiments.theory import small
from fwexp.problems.protocol import radii_sq
from fwexp.solvers import hull, n_slack
from tests import reference as ref
from tests.small_problems import at_start, chain, classes, run_in_plain_python

pytestmark = pytest.mark.compiled  # they take many steps

BIG = 10**9


@pytest.mark.parametrize("nonnegative", [True, False])
def test_fcfw_and_one_slack_visit_the_same_objectives(nonnegative):
    tp, problem = classes(3)
    lam, duals = 0.05, {}
    for name, options in (
        ("one_slack", {"nonnegative": nonnegative, "removal": 0, "cache": 0, "pull": 0.0}),
        ("fcfw", {"start_atom": nonnegative}),
    ):
        solver = at_start(name, problem, lam, **options)
        solver.compile()
        duals[name] = []
        for k in range(1, 9):
            solver.advance(Budget(BIG, k))
            duals[name].append(solver.point("last").dual)
    np.testing.assert_allclose(duals["one_slack"], duals["fcfw"], atol=1e-8)
    if nonnegative:
        _, minima, _ = small.cutting_plane(small.Outputs(np.array(tp.psi), np.array(tp.loss)), lam, 8, 0.0)
        np.testing.assert_allclose(duals["one_slack"], minima[1:], atol=1e-8)


def sets_bytes(problem, sets):
    """Return what the active sets take up, and what their docstring states."""
    lengths, room = np.diff(problem.label_ptr), np.diff(sets.first)
    taken = sum(array.nbytes for array in (sets.weight, sets.loss, sets.storage, sets.gram))
    return taken, (room * (16 + 4 * lengths + 4 * (room + 1))).sum()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["one_slack", "fcfw"])
def test_memory_of_hulls_is_as_stated(solver):
    _, problem = chain("dense", 5, n=12)
    running = at_start(solver, problem, 1e-4, **({"removal": 0} if solver == "one_slack" else {}))
    largest = 0
    for k in range(1, 60):
        running.advance(Budget(BIG, k))
        largest = max(largest, len(running.hull))
    assert largest > 20
    rows = sum(chunk.nbytes for chunk in running.hull.corners.chunks)
    assert rows == 8 * problem.d * hull.ROWS * -(-largest // hull.ROWS)
    qp = running.hull.qp
    assert qp.M.nbytes + qp.U.nbytes <= 64 * largest * (largest + 4)


@pytest.mark.slow
def test_memory_of_active_sets_is_as_stated():
    _, problem = chain("dense", 6, n=8)
    running = at_start("n_slack", problem, 1e-3)
    running.advance(Budget(40 * problem.n, BIG))
    taken, stated = sets_bytes(problem, running.state.sets)
    assert taken == stated
    room = np.diff(running.state.sets.first)
    assert (room <= np.maximum(8 * running.state.sets.count / 3, n_slack.FIRST_ROOM)).all()
    cached = at_start("one_slack", problem, 1e-3, cache=4)
    cached.advance(Budget(40 * problem.n, BIG))
    taken, stated = sets_bytes(problem, cached.state.cache)
    assert taken == stated
    assert len(cached.state.cache.loss) == problem.n * 5


@pytest.mark.parametrize("options", [{}, {"batch": 1}, {"accelerate": False, "qp_share": 0.0}, {"size": 2}])
def test_n_slack_gives_control_back_within_a_qp(options):
    """Its QPs are steps without oracle calls, of which ``advance`` takes no more than it may, at most 100 per call."""
    problem = fwexp.chain_problem(*ref.random_chains(np.random.default_rng(7), 20, 4, 3, (2, 3, 4))[:2], 4)
    whole, portions = (at_start("n_slack", problem, 1e-3, **options) for _ in range(2))
    whole.advance(Budget(10 * problem.n, BIG))
    inside = 0
    while portions.oracle_calls < 10 * problem.n:
        step, dual = portions.step, portions.point("last").dual
        portions.advance(Budget(10 * problem.n, step + 3))
        assert step < portions.step <= step + 3
        assert portions.point("last").dual >= dual - 1e-12
        inside += portions.state.qp is not None
    portions.advance(Budget(10 * problem.n, BIG))
    assert inside > 0
    assert portions.step == portions.oracle_calls + portions.cache_hits < 100 * portions.oracle_calls
    np.testing.assert_array_equal(portions.point("last").w, whole.point("last").w)
    assert portions.exact_dual() == pytest.approx(portions.point("last").dual, abs=1e-10)


@pytest.mark.slow
@pytest.mark.data
def test_n_slack_needs_fewer_oracle_calls_than_one_slack_on_handwriting():
    train = fwexp.load_dataset("ocr", split="ocr")[0]
    passes = {}
    for name in ("n_slack", "one_slack"):
        result = fwexp.solve(train, name, lam=0.01, gap_tol=1e-3, max_passes=400)
        assert result.status == "converged"
        passes[name] = result.trace.passes.iloc[-1]
    assert passes["n_slack"] < 0.5 * passes["one_slack"]


@pytest.mark.parametrize("nonnegative", [None, [0, 4]])
@pytest.mark.parametrize("solver", ["one_slack", "bmrm", "fcfw"])
def test_lam_of_any_size_beside_features(solver, nonnegative, monkeypatch):
    """Where lam / R^2 is near the precision of numbers, rounding ends the run, which has got as far as it allows."""
    run_in_plain_python(monkeypatch)
    rng = np.random.default_rng(0)
    problem = fwexp.multiclass_problem(rng.normal(size=(12, 3)), rng.integers(3, size=12), 3, nonnegative=nonnegative)
    for exponent in (-20, -18, -17, -16, -14, -12, -6, 0, 10, 20):
        result = fwexp.solve(problem, solver, lam=float(radii_sq(problem).mean()) * 10.0**exponent, max_passes=150, schedule=10.0)
        assert 0.0 <= result.dual <= result.primal <= 1.0 + 1e-9
        assert result.dual > 0.0
        if exponent >= -12:
            assert result.status == "converged"
        elif nonnegative is None and exponent >= -14:  # At the precision of numbers, rounding may also go round in circles.
            assert result.status in ("stalled", "converged")
        assert (result.status == "stalled") == ("raise lam, or choose units" in result.reason)
