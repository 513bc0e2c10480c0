"""Training over the workers of a cluster, here threads of this process, against training in one place."""

import sys
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster

import fwexp
from fwexp import distributed
from fwexp.distributed import oracles
from fwexp.driver.checkpoint import Checkpoint
from fwexp.errors import MissingPackage, OptionError, ParameterError
from fwexp.problems import protocol
from tests.plain_python import all_in_plain_python  # noqa: F401 (a fixture)
from tests.small_problems import chain

ACCELERATE = {"kap": 2.0, "period": 1.5, "start": 1.0}
COLUMNS = ["iterate", "passes", "primal", "dual", "gap"]


@pytest.fixture(scope="module")
def client():
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


def problem_of(form="csr", n=12, **options):
    return chain(form, 3, n=n, **options)[1]


def optimum(problem, lam=0.1):
    result = fwexp.solve(problem, "bcfw", lam=lam, step="pairwise", gap_tol=1e-7, max_passes=2000)
    assert result.status == "converged"
    return result.primal


@pytest.mark.parametrize("step", ["fw", "corrective"])
@pytest.mark.parametrize("scheme", ["local", "oracles"])
def test_one_part_takes_the_steps_of_bcfw(client, scheme, step):
    problem, how = problem_of(), {"lam": 0.05, "step": step, "sampling": "perm", "accelerate": ACCELERATE, "seed": 3}
    how |= {"max_passes": 6, "gap_tol": 0.0, "schedule": 1.0, "iterates": ["last"]}
    serial = fwexp.solve(problem, "bcfw", **how)
    shards = distributed.shard(problem, client, 1)
    spread = fwexp.solve(shards, "bcfw", scheme=scheme, tau=1, in_flight=1, replay=False, **how)
    numbers = COLUMNS[1:]
    assert np.allclose(spread.trace[numbers], serial.trace[numbers], rtol=1e-9, atol=1e-12)
    assert np.allclose(spread.w, serial.w, rtol=1e-8, atol=1e-12)
    assert spread.structure == serial.structure


@pytest.mark.parametrize("scheme", ["local", "oracles"])
@pytest.mark.parametrize("k", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_parts_certify_the_optimum(client, scheme, k):
    problem = problem_of()
    shards = distributed.shard(problem, client, k)  # 9: some are of one example, and changes are summed over a tree
    result = fwexp.solve(shards, lam=0.1, scheme=scheme, gap_tol=0.02, max_passes=200, schedule=5.0, round=1.0, tau=2)
    assert result.status == "converged"
    evaluation = fwexp.evaluate(problem, result)
    assert result.primal == pytest.approx(0.05 * evaluation.norm_sq + evaluation.hinge, rel=1e-9)
    assert result.dual - 1e-6 <= optimum(problem) <= result.primal + 1e-9


@pytest.mark.parametrize("scheme", ["local", "oracles"])
@pytest.mark.parametrize("form", ["csr", "functions"])
def test_steps_of_parts_are_accelerated_by_bounds_on_features(client, form, scheme):
    """Which families of functions do not have, so that these are not accelerated."""
    problem = problem_of(form, n=6)
    shards = distributed.shard(problem, client, 2)
    result = fwexp.solve(shards, lam=0.1, scheme=scheme, step="fw", gap_tol=0.05, max_passes=300, schedule=5.0)
    assert result.status == "converged"
    if form == "csr":
        np.testing.assert_array_equal(protocol.radii_sq(shards), protocol.radii_sq(problem))


def test_the_dual_never_falls(client):
    shards = distributed.shard(problem_of(), client, 4)
    result = fwexp.solve(shards, lam=0.02, scheme="local", accelerate=False, max_passes=20, gap_tol=0.0, schedule=0.5)
    assert (np.diff(result.trace["dual"]) >= -1e-12).all()
    assert result.dual > 0.1


def test_constraints_and_functions(client):
    """Weights that must not be negative, an oracle in Python, examples with weights: the same optimum as in one place."""
    X, y = np.random.default_rng(0).normal(size=(9, 3)), [0, 1, 2] * 3
    problem = fwexp.multiclass_problem(X, y, nonnegative=slice(0, 4))
    functions = fwexp.weighted_problem(problem_of("functions", n=6), [1, 2, 1, 0, 3, 1])
    for whole, scheme in ((problem, "local"), (problem, "oracles"), (functions, None)):
        result = fwexp.solve(distributed.shard(whole, client, 2), lam=0.1, scheme=scheme, gap_tol=0.02, max_passes=500)
        assert result.status == "converged"
        assert result.options["scheme"] == (scheme or "oracles")
        assert abs(result.primal - optimum(whole)) <= 0.02
    assert len(problem.nonnegative) > 0
    assert fwexp.predict(whole, result) == fwexp.predict(distributed.shard(whole, client, 4), result)


@pytest.mark.parametrize("solver", ["fw", "one_slack", "n_slack"])
def test_other_solvers_have_workers_answer(client, solver):
    problem = problem_of("dense")
    serial, spread = (
        fwexp.solve(p, solver, lam=0.1, max_passes=8, gap_tol=0.0, iterates=["last"])
        for p in (problem, distributed.shard(problem, client, 3))
    )
    assert np.allclose(spread.trace["dual"].iloc[-1], serial.trace["dual"].iloc[-1], rtol=1e-8)
    assert np.allclose(spread.primal, serial.primal, rtol=1e-8)


def test_rows_of_answers_have_room_for_internal_weights(client):
    """A kernel that writes past its arrays shows no fault until later."""
    shards = distributed.shard(problem_of(), client, 3)
    assert shards.num_weights > shards.d
    assert protocol.kernel_view(shards).problem.vector.shape == (shards.num_weights,)


def test_parts_that_are_read_by_workers(client):
    """Ragged parts, their order, a test set, errors of predictions."""
    whole = problem_of()

    def read(part):
        return whole.subset(np.arange(*part))

    shards = distributed.from_parts(read, [(0, 7), (7, 8), (8, 12)], client)
    assert (shards.n, shards.sizes.tolist()) == (12, [7, 1, 4])
    result = fwexp.solve(shards, lam=0.05, max_passes=5, test=whole, train_error=True)
    assert np.allclose(result.trace["train_error"], result.trace["test_error"], rtol=1e-12)
    assert fwexp.evaluate(shards, result) == pytest.approx(fwexp.evaluate(whole, result), rel=1e-12)
    wanted = [labeling.tolist() for labeling in fwexp.predict(whole, result)]
    assert [labeling.tolist() for labeling in fwexp.predict(shards, result)] == wanted
    with pytest.raises(ParameterError, match=r"part 1 must have d = .* like part 0, got"):
        distributed.from_parts(lambda p: problem_of(p=p), [2, 3], client)


@pytest.mark.parametrize("scheme", ["local", "oracles"])
def test_interrupted_runs_go_on_from_their_checkpoint(client, scheme, tmp_path):
    shards = distributed.shard(problem_of(), client, 2)
    how = {"lam": 0.05, "scheme": scheme, "gap_tol": 0.0, "schedule": 1.0, "max_passes": 8}
    how |= {"tau": 1, "in_flight": 1, "replay": False}
    whole = fwexp.solve(shards, **how)
    how["checkpoint"] = Checkpoint(tmp_path / "run", {"run": 1})
    stopped = fwexp.solve(shards, callback=lambda row: row["passes"] >= 4, **how)
    assert stopped.status == "interrupted"
    rest = fwexp.solve(distributed.shard(problem_of(), client, 2), **how)  # on other workers, for all that they know
    assert rest.trace["passes"].tolist() == whole.trace["passes"].tolist()
    assert rest.trace["dual"].iloc[:5].tolist() == stopped.trace["dual"].iloc[:5].tolist()
    if scheme == "local":  # answers of workers come in an order of their own
        assert np.array_equal(rest.trace[COLUMNS[1:]], whole.trace[COLUMNS[1:]])


def test_steps_with_stored_labelings_fill_half_of_the_time_of_waiting(client, monkeypatch):
    """By a clock that goes on by a tenth of a turn whenever it is read; answers are never waited for in another way."""

    class Clock:
        now, pauses = 0.0, 0

        def monotonic(self):
            self.now += oracles.STEP_SECONDS / 10
            return self.now

        def sleep(self, seconds):
            self.pauses += 1
            time.sleep(0.01)  # in which answers come

    clock = Clock()
    monkeypatch.setattr(oracles, "time", clock)
    how = {"lam": 0.05, "scheme": "oracles", "gap_tol": 0.0, "max_passes": 10, "schedule": 10.0, "tau": 3, "in_flight": 1}
    result = fwexp.solve(distributed.shard(problem_of(), client, 2), **how)
    replays = result.trace["cache_hits"].iloc[-1]
    assert 0 < clock.pauses < replays <= oracles.REPLAYS * 10 * 12


def test_logging_does_not_change_a_run(client):
    shards = distributed.shard(problem_of(), client, 2)
    how = {"lam": 0.05, "scheme": "local", "gap_tol": 0.0, "max_passes": 6}
    often, once = (fwexp.solve(shards, schedule=schedule, **how) for schedule in (0.3, 6.0))
    assert np.array_equal(often.state.state.iterate.w, once.state.state.iterate.w)


def test_what_people_get_wrong(client):
    problem = problem_of()
    shards = distributed.shard(problem, client, 2)
    with pytest.raises(ParameterError, match=r"k must be an integer in 1 \.\. 12, got 13"):
        distributed.shard(problem, client, 13)
    with pytest.raises(ParameterError, match=r"client must be a dask\.distributed\.Client"):
        distributed.shard(problem, "tcp://here", 2)
    with pytest.raises(ParameterError, match="unknown scheme 'fast'; accepted: local, oracles"):
        fwexp.solve(shards, lam=0.1, scheme="fast")
    with pytest.raises(OptionError, match="scheme goes with solver auto or bcfw, got 'fw'"):
        fwexp.solve(shards, "fw", lam=0.1, scheme="local")
    with pytest.raises(OptionError, match="check looks at labelings, which are with workers"):
        fwexp.solve(shards, lam=0.1, check=True)
    with pytest.raises(OptionError, match="takes no warm_start"):
        fwexp.solve(shards, lam=0.1, warm_start=fwexp.solve(shards, lam=0.1, max_passes=1))
    with pytest.raises(ParameterError, match="problem must be in this process"):
        fwexp.loss(shards, 0, [0])
    with pytest.raises(ParameterError, match="problem must be in this process to choose examples of it, got Shards"):
        shards[:2]


def test_without_dask_one_line_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "fwexp.distributed")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackage, match=r"needs dask\.distributed, which is not installed: .*\[dask\]"):
        __import__("fwexp.distributed")
