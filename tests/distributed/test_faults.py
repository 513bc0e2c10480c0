"""Workers that die, hang, or answer twice: the run goes on, and one process confirms what it certifies."""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest
from distributed import Client, LocalCluster

import fwexp
from fwexp import distributed
from fwexp.blocks import acceleration
from fwexp.distributed import worker
from fwexp.distributed.oracles import Oracles
from fwexp.distributed.shards import Shards
from fwexp.driver.checkpoint import Checkpoint
from fwexp.errors import WorkersLost
from tests.small_problems import chain

SCHEMES = ["local", "oracles"]
PROBLEM = chain("csr", 3, n=12)[1]
HOW = {"lam": 0.1, "gap_tol": 0.005, "max_passes": 400, "schedule": 1.0, "tau": 1}


@pytest.fixture
def cluster():
    with LocalCluster(processes=False, n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


def confirm(result, problem=PROBLEM):
    """Check that a run reached its gap, and that its own numbers are true."""
    evaluation = fwexp.evaluate(problem, result)
    primal = 0.5 * result.lam * evaluation.norm_sq + evaluation.hinge
    assert result.status == "converged", result.reason
    assert primal == pytest.approx(result.primal, rel=1e-8)
    optimum = fwexp.solve(problem, "bcfw", lam=result.lam, step="corrective", gap_tol=1e-6, max_passes=2000)
    assert result.dual <= optimum.primal + 1e-9
    assert primal - optimum.dual <= result.gap + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_worker_that_dies(cluster, scheme):
    """Between two rounds, with copies of the blocks or before there are any."""
    with Client(cluster) as client:
        shards = distributed.shard(PROBLEM, client, 3)

        def kill(row):
            if row["passes"] >= 1.0 and len(cluster.workers) > 1:
                client.sync(cluster.workers.pop(next(iter(cluster.workers))).close, nanny=False)

        result = fwexp.solve(shards, scheme=scheme, snapshot=1.5, callback=kill, **HOW)
        assert len(client.nthreads()) == 1
        confirm(result)
        if scheme == "local":  # what was lost was computed from the blocks
            image, losses, lost = result.state._image()
            assert not lost
            assert np.allclose(acceleration.image(result.state.state), image, rtol=1e-9, atol=1e-12)
            assert np.allclose(result.state.state.iterate.losses, losses)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_worker_that_hangs(cluster, scheme, monkeypatch):
    """Its part is started again elsewhere, and its late answer is ignored."""
    calls, release, original, hung = itertools.count(), threading.Event(), worker.Part.call, []

    def call(part, name, *args):
        if name in ("round", "answers") and next(calls) == 10:
            hung.append(release.wait(600))
        return original(part, name, *args)

    monkeypatch.setattr(worker.Part, "call", call)
    with Client(cluster) as client:
        shards = distributed.shard(PROBLEM, client, 3, patience=2.0)
        result = fwexp.solve(shards, scheme=scheme, **HOW)
        assert next(calls) > 10
        assert not hung  # it still does
        release.set()
        confirm(result)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_that_come_twice_count_once(cluster, scheme, monkeypatch):
    """Sent twice, answered twice: the numbers are those of a run without."""
    how = HOW | {"gap_tol": 0.0, "max_passes": 6, "in_flight": 1, "replay": False, "scheme": scheme}
    with Client(cluster) as client:
        k = 3 if scheme == "local" else 1  # answers of several parts come in an order of their own
        once = fwexp.solve(distributed.shard(PROBLEM, client, k), **how)
        ask, asked = Shards.ask, []

        def twice(shards, *args):
            asked.append(ask(shards, *args))
            return ask(shards, *args)

        def take_twice(scheme, *message):
            take(scheme, *message)
            take(scheme, *message)

        take = Oracles._take
        monkeypatch.setattr(Oracles, "_take", take_twice)
        monkeypatch.setattr(Shards, "ask", twice)
        again = fwexp.solve(distributed.shard(PROBLEM, client, k), **how)
        assert len(asked) > 10
        columns = ["step", "passes", "primal", "dual"]
        assert np.array_equal(once.trace[columns], again.trace[columns])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_task_is_scheduled_while_parts_are_where_they_were(cluster, scheme, monkeypatch):
    """Questions go straight to workers; only parts are made by tasks."""
    sent, send = [], Shards._send

    def sending(shards, k, function, *args):
        sent.append(function)
        return send(shards, k, function, *args)

    monkeypatch.setattr(Shards, "_send", sending)
    with Client(cluster) as client:
        confirm(fwexp.solve(distributed.shard(PROBLEM, client, 3), scheme=scheme, **HOW))
    assert sent[:3] == [worker.Part] * 3
    assert sent[3:].count(worker.call) <= 3  # the first questions may come before the parts are made


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_whose_last_worker_is_gone_ends_and_its_checkpoint_goes_on(cluster, scheme, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "due", True)  # however long the latest one took
    saved, how, before = Checkpoint(tmp_path / "run", {}, 0.0), HOW | {"scheme": scheme}, []

    def close(row):
        before.append(row["passes"])
        if row["passes"] >= 3.0:
            shards.patience = 1.0  # all is compiled
            for name in [*cluster.workers]:
                client.sync(cluster.workers.pop(name).close, nanny=False)

    with Client(cluster) as client:
        shards = distributed.shard(PROBLEM, client, 2)
        lost = r"part \d of 2 is lost: no worker came to the cluster for 1 s \(patience\); the latest checkpoint, [^\n]*"
        with pytest.raises(WorkersLost, match=f"^{lost}$"):
            fwexp.solve(shards, callback=close, checkpoint=saved, **how)
        cluster.scale(3)
        result = fwexp.solve(distributed.shard(PROBLEM, client, 2), checkpoint=saved, **how)
        kept = before[:-1]  # the last row was written after the last checkpoint
        assert len(kept) >= 3
        assert result.trace["passes"].tolist()[: len(kept)] == kept
    confirm(result)


def test_errors_of_the_oracle_are_passed_on(cluster):
    functions = chain("functions", 0, n=4)[1]
    functions.loss = lambda i, y: -1.0
    with Client(cluster) as client, pytest.raises(ValueError, match=r"loss\(0, y\) must be a finite number >= 0, got -1"):
        distributed.shard(functions, client, 2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_timeout_of_the_oracle_is_no_loss_of_a_worker(cluster, scheme, monkeypatch):
    """As of an oracle that calls a service; to ask again would never end."""
    functions = chain("functions", 0, n=4)[1]
    found = functions.max_oracle

    def asks_a_service(i, w):
        if np.any(w):
            raise TimeoutError("the service does not answer")
        return found(i, w)

    functions.max_oracle = asks_a_service
    monkeypatch.setattr(Shards, "move", lambda *_: pytest.fail("a worker is taken for lost"))
    with Client(cluster) as client:
        shards = distributed.shard(functions, client, 2, patience=60.0)
        with pytest.raises(worker.FunctionFailed, match=r"^TimeoutError: the service does not answer$"):
            fwexp.solve(shards, scheme=scheme, **HOW)


def test_a_timeout_of_a_reader_is_no_loss_of_a_worker(cluster, monkeypatch):
    def read(part):
        raise TimeoutError(f"no answer about {part}")

    monkeypatch.setattr(Shards, "move", lambda *_: pytest.fail("a worker is taken for lost"))
    with Client(cluster) as client, pytest.raises(worker.FunctionFailed, match=r"^TimeoutError: no answer about 1$"):
        distributed.from_parts(read, [1], client, patience=60.0)


def test_a_fault_of_dask_ends_the_wait_for_an_answer_at_once(cluster):
    with Client(cluster) as client:
        shards, ended = distributed.shard(PROBLEM, client, 1, patience=20.0), Future()
        ended.set_exception(TimeoutError("of Dask"))
        start = time.monotonic()
        with pytest.raises(TimeoutError, match=r"^of Dask$"):
            shards.result(0, ended)
        assert time.monotonic() - start < 10.0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_kills_of_processes(scheme):
    """Three workers are killed, one after the other, while they work; nannies start others."""
    problem = chain("csr", 3, n=60)[1]
    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        shards, rng = distributed.shard(problem, client, 4, patience=20.0), np.random.default_rng(0)
        killed, done = [], threading.Event()

        def kill():
            while len(killed) < 3 and not done.wait(1.0):
                nanny = cluster.workers[int(rng.integers(2))]
                if nanny.pid is not None and nanny.pid not in killed:
                    killed.append(nanny.pid)
                    os.kill(nanny.pid, signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        # Until all were killed, and on to the gap.
        fwexp.solve(shards, scheme=scheme, callback=lambda row: len(killed) == 3, **HOW | {"gap_tol": 0.0, "max_passes": 1e6})
        result = fwexp.solve(shards, scheme=scheme, **HOW)
        done.set()
        thread.join()
        assert len(killed) == 3
        confirm(result, problem)
