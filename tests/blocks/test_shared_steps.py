"""Steps on threads that share w: certificates, the computation of w from the blocks, and when a run takes one thread."""

import numpy as np
import pytest

import fwexp
from fwexp import record
from fwexp.blocks import shared_steps
from fwexp.blocks.duals import from_scratch
from fwexp.errors import ParameterError
from fwexp.problems import protocol, sparse_blocks
from fwexp.problems.chain import ChainProblem
from fwexp.problems.protocol import workspace
from fwexp.solvers import bcfw
from tests import reference as ref
from tests.small_graphs import build, random_arrays
from tests.small_problems import chain

LAM = 0.1
CACHE = {"F": 0.4, "nu": 0.01, "size": 3}
METHODS = {
    "plain": {"iterates": ("last", "wavg", "avg")},
    "fixed steps": {"line_search": False},
    "cyclic": {"sampling": "cyclic"},
    "lipschitz": {"sampling": "lipschitz", "step": "away"},
    "gap": {"sampling": "gap", "step": "pairwise", "iterates": ("last", "wavg")},
    "largest": {"sampling": "max_gain", "cache": True},
    "corrective": {"sampling": "gap_perm", "step": "corrective", "cache": CACHE, "accelerate": {"kap": 2.0, "period": 2.0}},
    "centres": {"step": "corrective", "accelerate": {"kap": 3.0}},
}


@pytest.fixture
def always(monkeypatch):
    """Let threads pay everywhere."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(shared_steps, "oracle_operations", lambda problem: 1.0)
    monkeypatch.setattr(shared_steps, "RATIO", 0.0)
    monkeypatch.setattr(shared_steps, "LEAST", 0.0)
    monkeypatch.setattr(shared_steps, "LINES", 0)


def solve(problem, solver="bcfw", n_jobs=3, **settings):
    settings = {"lam": LAM, "gap_tol": 1e-3, "max_passes": 8, "schedule": 1.0} | settings
    return fwexp.solve(problem, solver, n_jobs=n_jobs, deterministic=False, **settings)


def assert_exact(solver):
    """Check that w and ell are those of the dual variables."""
    iterate, centre = solver.state.iterate, solver.state.centre
    v, losses = from_scratch(iterate.dual, solver.problem, iterate.losses, 1.0 / (solver.lam * solver.problem.n))
    v = v if centre is None else centre.shifted(v)
    index = getattr(solver.problem, "nonnegative", ())
    v[index] = np.maximum(v[index], 0.0)
    np.testing.assert_allclose(iterate.w, v, atol=1e-12)
    assert iterate.ell[0] == pytest.approx(losses.mean(), abs=1e-12)


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "n_jobs"), [(1, 2), (2, 3), (7, 2), (7, 3)])
def test_no_certificate_is_false(always, monkeypatch, n, n_jobs, method, collects):
    monkeypatch.setattr(shared_steps, "DENSE", 1e9 if collects else 0.0)
    tp, problem = chain("dense", n, n=n)
    best = ref.qp_optimum(tp, LAM)
    result = solve(problem, n_jobs=n_jobs, **METHODS[method])
    assert (result.trace["dual"] <= best.dual + 1e-10).all()
    assert (result.trace["primal"] >= best.primal - 1e-10).all()
    assert result.primal - best.primal <= result.gap + 1e-10
    assert result.trace["threads"].iloc[0] == min(n, n_jobs)
    if method != "fixed steps":  # which overshoot at first
        assert result.gap <= 0.95 * result.trace["gap"].iloc[0]
    assert_exact(result.state)


@pytest.mark.parametrize("search", ["exact", "published"])
def test_weights_stay_nonnegative(always, search):
    problem = build(*random_arrays(np.random.default_rng(0)))
    result = solve(problem, constrained_search=search)
    again = fwexp.solve(problem, "bcfw", lam=LAM, gap_tol=1e-3, max_passes=200)
    assert result.dual <= again.primal
    assert again.dual <= result.primal
    assert result.trace["threads"].iloc[0] == 3
    assert (result.w[problem.nonnegative] >= 0.0).all()
    assert_exact(result.state)


@pytest.mark.parametrize("step", ["fw", "corrective"])
def test_room_grows_for_every_thread(always, monkeypatch, step):
    monkeypatch.setattr(bcfw, "FIRST_ROOM", 2)
    monkeypatch.setattr(sparse_blocks, "FIRST_ROOM", 1)
    monkeypatch.setattr(sparse_blocks, "SMALLEST_POOL", 1)
    tp, problem = chain("dense", 1, n=9, K=4, lengths=(3, 4))
    best = ref.qp_optimum(tp, LAM)
    result = solve(problem, step=step, max_passes=20)
    assert result.dual <= best.dual + 1e-10
    assert result.primal >= best.primal - 1e-10
    assert_exact(result.state)


def test_one_thread_where_more_do_not_pay(monkeypatch):
    """The run is then that of equal bits, and the trace says so."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for form in ("dense", "functions"):
        _, problem = chain(form, 3)
        result, equal_bits = solve(problem), fwexp.solve(problem, "bcfw", lam=LAM, gap_tol=1e-3, max_passes=8, schedule=1.0)
        assert (result.trace["threads"] == 1).all()
        np.testing.assert_array_equal(result.w, equal_bits.w)
    X, y = np.eye(3), [0, 1, 2]
    assert (solve(fwexp.multiclass_problem(X, y), "auto").trace["threads"] == 1).all()


@pytest.mark.parametrize(("K", "n", "pays"), [(100, 60, True), (3, 60, False), (100, 2, False)])
def test_the_rule_counts_operations(monkeypatch, K, n, pays):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    rng = np.random.default_rng(0)
    problem = fwexp.chain_problem(rng.random((n, 2, 4)), rng.integers(K, size=(n, 2)), K)
    with shared_steps.threads.jobs(2):
        sharing = shared_steps.new_sharing(problem, bcfw.new_order("perm", problem, 0, None, False, False), workspace(problem))
        cached = shared_steps.new_sharing(problem, bcfw.new_order("perm", problem, 0, None, False, False), workspace(problem), True)
    assert (sharing.threads, cached.threads) == (2 if pays else 1, 1)


def test_threads_do_not_share_few_weights(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(shared_steps, "oracle_operations", lambda problem: 1e9)
    for d, threads in ((511, 1), (512, 2)):
        problem = fwexp.matching_problem(np.ones((2, 1, 1, d)), [[[0, 0]]] * 2)
        with shared_steps.threads.jobs(2):
            order = bcfw.new_order("perm", problem, 0, None, False, False)
            assert shared_steps.new_sharing(problem, order, workspace(problem)).threads == threads


def drifted(problem, by, gap_tol=0.0):
    """Return the state of a run on threads whose w is off by a vector when it is computed anew."""
    solver = solve(problem, max_passes=2, gap_tol=0.0).state
    sharing, w = solver.state.sharing, solver.state.iterate.w
    solver.settle()
    sharing.steps, sharing.value, solver.shared.gap_tol = 1, solver.shared.value() - 1e-3, gap_tol
    w += by
    assert solver.point("last").w is w
    assert_exact(solver)
    return sharing


def test_w_is_computed_anew_more_often_if_it_drifts(always):
    _, problem = chain("dense", 3, n=64)
    assert drifted(problem, 0.0).period == 64
    assert drifted(problem, 1.0).period == 32
    assert drifted(problem, 1.0, gap_tol=1e3).period == 64


def test_a_fall_of_the_dual_ends_the_steps_on_threads(always):
    _, problem = chain("dense", 3, n=64)
    solver = solve(problem, max_passes=2, gap_tol=0.0).state
    sharing = solver.state.sharing
    assert sharing.threads == 3
    sharing.steps, sharing.value = 1, solver.shared.value() + 1e-3
    solver.settle()
    assert sharing.threads == 1


def test_errors_of_oracles_reach_the_caller(always, monkeypatch):
    oracle = protocol.max_oracle.implementations[ChainProblem]

    def failing(problem, i, *args):
        if i == 4:
            raise ArithmeticError("oracle of example 4")
        return oracle(problem, i, *args)

    _, problem = chain("dense", 3, n=7)
    solver = solve(problem, max_passes=1, gap_tol=0.0).state
    monkeypatch.setitem(protocol.max_oracle.implementations, ChainProblem, failing)
    with pytest.raises(ArithmeticError, match="example 4"):
        solver.advance(fwexp.solvers.base.Budget(100, 100))


def test_a_callback_and_a_time_limit_end_the_run(always):
    _, problem = chain("dense", 3)
    assert solve(problem, gap_tol=0.0, callback=lambda row: row["passes"] >= 2).status == "interrupted"
    assert solve(problem, gap_tol=0.0, time_limit=1e-9).status == "time_limit"


def test_a_saved_run_goes_on(always):
    _, problem = chain("dense", 3, n=7)
    solver = solve(problem, gap_tol=0.0, step="corrective", max_passes=2).state
    solver.advance(fwexp.solvers.base.Budget(17, 17))
    state = record.copy(solver.saved())
    assert state.sharing.steps == 0
    solver.restore(state)
    solver.advance(fwexp.solvers.base.Budget(40, 40))
    assert solver.step == 40
    solver.settle()
    assert_exact(solver)


def test_averages_that_need_the_order_of_steps_are_refused():
    with pytest.raises(ParameterError, match="no iterate 'tavg' here"):
        solve(chain("dense", 3)[1], iterates=("last", "tavg"))
