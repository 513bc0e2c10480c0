"""``engine=dask`` of the command line, on processes that it starts and on a cluster that is there."""

import contextlib
import json
import logging
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import fwexp
from fwexp import distributed, store
from fwexp.cli import main
from fwexp.distributed.cluster import Watch, connected
from fwexp.distributed.engine import spread
from fwexp.driver import loop
from fwexp.errors import ParameterError, WorkersLost
from fwexp.papers.origin import facts, reservations
from tests.faults import PATIENCE, children
from tests.small_problems import chain


def is_worker(pid: int) -> bool:
    """Say whether a process is one that Dask starts for a worker."""
    with contextlib.suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@pytest.mark.slow
def test_runs_are_stored_as_any_other(tmp_path, capsys):
    arguments = ["run", "dataset=digits", "solver=auto", "lam=0.1", "max_passes=4", f"results_dir={tmp_path}"]
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        assert main([*arguments, "engine=dask", f"engine.address={cluster.scheduler_address}"]) == 0
    assert main([*arguments, "engine=dask"]) == 0  # the same run
    assert "stored already" in capsys.readouterr().err
    assert main([*arguments, "engine=dask", "engine.scheme=local"]) == 0  # by two processes
    first, second = (trace for _, trace in fwexp.load_results(results_dir=tmp_path).groupby("key"))
    assert first["dual"].tolist() == second["dual"].tolist()


@pytest.mark.slow
def test_a_run_begins_anew_where_the_clock_chooses_the_other_scheme(tmp_path, monkeypatch, capsys):
    words = ["dataset=digits", "lam=0.1", "gap_tol=0", "max_passes=4", "engine=dask", f"results_dir={tmp_path}"]
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        words.append(f"engine.address={cluster.scheduler_address}")
        monkeypatch.setattr(distributed.shards, "COSTLY", 0.0)
        with monkeypatch.context() as patched:
            patched.setattr(loop, "interruptible", lambda _: contextlib.nullcontext(lambda: True))
            assert main(["run", *words]) == 130
        monkeypatch.setattr(distributed.shards, "COSTLY", math.inf)
        assert main(["run", *words]) == 0
    line = "this run begins anew: it was saved as oracles, and is now run as local"
    assert [each for each in capsys.readouterr().err.splitlines() if "anew" in each] == [line]
    assert main(["ls", f"results_dir={tmp_path}"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert (head.split()[-1], row.split()[-1]) == ("scheme", "local")


@pytest.mark.slow
def test_an_interrupt_of_all_processes_saves_the_run(tmp_path):
    """As Ctrl-C in a terminal; the workers are needed for what is saved."""
    script = "import sys; from fwexp.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["run", "dataset=digits", "solver=auto", "lam=0.1", "gap_tol=0", "max_passes=1e6", "schedule=1", "engine=dask"]
    command = [sys.executable, "-c", script, *words, f"results_dir={tmp_path}"]
    for first in ("bcfw lam=0.1: pass 0 ", "bcfw lam=0.1: goes on from pass "):
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            lines = [next(line for line in running.stderr if line.startswith("bcfw "))]
            lines += [next(running.stderr) for _ in range(3)]
            os.killpg(running.pid, signal.SIGINT)
            _, rest = running.communicate(timeout=600)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        assert lines[0].startswith(first)
        assert (running.returncode, rest.splitlines()[-1]) == (130, "fwexp: interrupted")
        assert len(list(tmp_path.glob("runs/digits/auto/*.partial"))) == 1


def started(*words, **options):
    """Start the command in a session of its own."""
    script = "import sys; from fwexp.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, **options)


def ended(process) -> list[str]:
    """Return the lines of a command that ends, and leave no process of it."""
    try:
        return process.communicate(timeout=PATIENCE)[1].splitlines()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


LASTS = ["run", "dataset=digits", "solver=auto", "lam=0.1", "gap_tol=0", "schedule=50", "engine=dask"]


@pytest.mark.slow
def test_work_that_is_lost_with_a_worker_is_on_record_and_marked(tmp_path, capsys):
    process = started(*LASTS, "engine.scheme=local", "max_passes=1000", f"results_dir={tmp_path}")
    next(line for line in process.stderr if ": pass 50" in line or ": pass 49" in line)
    workers = [pid for pid in children(process.pid) if is_worker(pid)]
    os.kill(workers[0], signal.SIGKILL)
    lines = ended(process)
    assert process.returncode == 0, lines
    assert not [line for line in lines if not line.startswith(("bcfw lam=0.1: ", "lost with workers: "))]
    (run,) = store.find_runs(tmp_path)
    assert run.record["lost"]["parts"] == 1
    assert run.record["lost"]["rounds"] > 0
    assert run.record["reason"].endswith(f"; lost with workers: {run.lost}")
    assert lines[-1] == f"lost with workers: {run.lost}"
    assert set(fwexp.load_results(tmp_path)["lost"]) == {run.lost}
    assert reservations([facts(run)]) == ["runs of auto lost work with workers of a cluster"]
    assert main(["ls", f"results_dir={tmp_path}"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.endswith("  lost")
    assert row.endswith(f"  {run.lost}")


@pytest.mark.slow
def test_a_worker_that_dies_while_it_starts_is_started_again(tmp_path):
    process = started(*LASTS, "engine.scheme=local", "max_passes=20", f"results_dir={tmp_path}")
    end = time.monotonic() + PATIENCE
    while not (workers := [pid for pid in children(process.pid) if is_worker(pid)]) and time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.kill(workers[0], signal.SIGKILL)
    lines = ended(process)
    assert process.returncode == 0, lines
    assert {run.lost for run in store.find_runs(tmp_path)} == {None}


@pytest.fixture
def processes(tmp_path):
    """Yield a scheduler and two workers, each in a process of its own, as (scheduler, workers, file)."""
    file, dask = tmp_path / "scheduler.json", [sys.executable, "-m", "dask"]
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    where = ["--scheduler-file", file, "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "scheduler", *where, "--port", "0"], **options)
    workers = [subprocess.Popen([*dask, "worker", *where, "--nthreads", "1", "--no-nanny"], **options) for _ in range(2)]
    while not (file.exists() and file.read_text().endswith("}")):  # Dask writes it piece by piece.
        time.sleep(0.1)
    with Client(scheduler_file=file) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    yield scheduler, workers, file
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def check_waiting(lines, gone, setting) -> None:
    """Check the lines about a cluster without workers, or without a scheduler, which Dask may give up first.

    On a busy machine, a scheduler that lives may not answer in time, and is then reported instead.
    """
    waiting = f"; waiting for 6 s at most ({setting})"
    said = {"workers": {f"the cluster has no worker{waiting}"}, "scheduler": set()}[gone]
    said.add(f"the scheduler of the cluster does not answer{waiting}")
    assert set(lines) <= said
    assert lines or gone == "scheduler"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["local", "oracles"])
@pytest.mark.parametrize("gone", ["workers", "scheduler"])
def test_a_cluster_that_dies_ends_the_run_in_one_line(tmp_path, processes, scheme, gone):
    scheduler, workers, file = processes
    place = [f"engine.address={json.loads(file.read_text())['address']}", "engine.patience=6"]
    process = started(*LASTS, f"engine.scheme={scheme}", *place, "max_passes=1e6", f"results_dir={tmp_path / 'results'}")
    next(line for line in process.stderr if ": pass 0 " in line)
    for killed in workers if gone == "workers" else [scheduler]:
        killed.kill()
    lines = [line for line in ended(process) if ": pass " not in line]
    assert process.returncode == 1, lines
    check_waiting(lines[:-1], gone, "engine.patience")
    assert re.match(
        r"fwexp: failed: WorkersLost: part \d of 2 is lost: (no worker came to|the scheduler of) the cluster ", lines[-1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("gone", ["workers", "scheduler"])
def test_a_cluster_that_dies_ends_the_sweep_which_goes_on_elsewhere(tmp_path, processes, gone):
    scheduler, workers, file = processes
    words = ["run", "-m", "dataset=digits", "solver=bcfw", "seed=0,1,2,3", "gap_tol=0", "max_passes=600", "schedule=200"]
    words.append(f"results_dir={tmp_path / 'results'}")
    chosen = ["hydra/launcher=dask", f"hydra.launcher.scheduler_file={file}", "hydra.launcher.patience=6"]
    process, end = started(*words, *chosen), time.monotonic() + PATIENCE
    while not list(tmp_path.glob("results/runs/*/*/.[!.]*.claim-*")) and time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.1)
    for killed in workers if gone == "workers" else [scheduler]:
        killed.kill()
    lines = [line for line in ended(process) if not line.startswith("[") and " running, " not in line]
    assert process.returncode == 1, lines
    assert lines[0] == "4 runs: 0 stored, 4 to run"
    assert re.match(r"fwexp: the sweep broke off: .* the cluster .*; repeat the command to go on$", lines[-1])
    check_waiting(lines[1:-1], gone, "hydra.launcher.patience")
    for killed in workers:
        killed.kill()
        killed.wait()
    assert main([*words[:-1], words[-1]]) == 0
    assert len(store.find_runs(tmp_path / "results")) == 4


def test_workers_that_die_before_the_first_look_are_missed(monkeypatch):
    """As a cluster that never had a worker it would be waited for without an end."""
    monkeypatch.setattr(distributed.cluster, "ROLL_CALL", 0)
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        watch = Watch(client, "setting", waits_for_first=True)
        cluster.scale(0)
        end = time.monotonic() + PATIENCE
        while client.scheduler_info()["workers"] and time.monotonic() < end:
            time.sleep(0.01)
        Watch(client, "setting", waits_for_first=True).look(0.0)
        with pytest.raises(WorkersLost, match=r"no worker came to the cluster for 0 s \(setting\)"):
            watch.look(0.0)


def log_as_dask_does(*more: str) -> None:
    """Log an error as a worker does whose heartbeat is under way when it closes, also under other names."""
    for name in ("distributed.worker", "distributed.core", *more):
        logging.getLogger(name).error("Failed to communicate with scheduler during heartbeat.")


@pytest.mark.slow
def test_undisturbed_ends_print_nothing_of_dask(tmp_path, capfd):
    """One in twenty or more printed a heartbeat that was under way as a traceback, on whichever side of a connection it was."""
    with connected("engine", n_workers=1) as client:
        client.run(log_as_dask_does)
        log_as_dask_does("tornado.application", "asyncio")
    assert capfd.readouterr().err == ""
    words = [*LASTS, "engine.scheme=local", "engine.workers=3", "max_passes=6"]
    running = [started(*words, f"results_dir={tmp_path / str(k)}") for k in range(2)]
    for process in running:
        lines = ended(process)
        assert process.returncode == 0, lines
        assert all(line.startswith("bcfw lam=0.1: ") for line in lines), lines


@pytest.mark.parametrize("words", [["run", "engine.workers=1000000"], ["run", "-m", "engine.workers=2,1000000"]])
def test_more_workers_than_examples_are_one_line_before_they_are_started(tmp_path, monkeypatch, capsys, words):
    monkeypatch.setattr(distributed.engine, "connected", lambda *_, **__: pytest.fail("workers are started"))
    assert main([*words, "dataset=digits", "engine=dask", f"results_dir={tmp_path / 'results'}"]) == 2
    n = fwexp.load_dataset("digits")[0].n
    assert capsys.readouterr().err == f"fwexp: engine.workers must be an integer in 1 .. {n}, got 1000000\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["run", "engine=dask", "engine.address=tcp://127.0.0.1:1"],
        ["run", "-m", "engine=dask", "engine.address=tcp://127.0.0.1:1"],
        ["run", "-m", "hydra/launcher=dask", "hydra.launcher.address=tcp://127.0.0.1:1"],
        ["figure", "quickstart", "hydra/launcher=dask", "hydra.launcher.address=tcp://127.0.0.1:1"],
    ],
)
def test_a_wrong_address_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, words):
    monkeypatch.setattr(distributed.cluster, "SECONDS", 0.5)
    assert main([*words, f"results_dir={tmp_path / 'results'}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert ".address must be that of a Dask scheduler, got 'tcp://127.0.0.1:1': " in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
@pytest.mark.parametrize("owner", ["engine", "hydra.launcher"])
def test_an_address_where_something_else_listens_is_one_line(tmp_path, monkeypatch, capsys, greeting, owner):
    monkeypatch.setattr(distributed.cluster, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening, contextlib.ExitStack() as answered:

        def answer():
            with contextlib.suppress(OSError):  # The server is closed.
                while True:
                    answered.enter_context(listening.accept()[0]).sendall(greeting)

        thread = threading.Thread(target=answer)
        thread.start()
        address, chosen = f"tcp://127.0.0.1:{listening.getsockname()[1]}", f"{owner.replace('hydra.', 'hydra/')}=dask"
        code = main(["run", "-m", chosen, f"{owner}.address={address}", f"results_dir={tmp_path}"])
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
    (line,) = capsys.readouterr().err.splitlines()
    said = "something else listens there" if greeting else "it did not answer within 0.5 s"
    assert (code, line) == (2, f"fwexp: {owner}.address must be that of a Dask scheduler, got '{address}': {said}")


def test_a_cluster_that_is_not_there():
    problem = chain("csr", 3, n=4)[1]
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster), spread(problem, 2, cluster.scheduler_address) as shards:
        assert (shards.k, shards.n) == (2, 4)
    message = r"engine\.address must be that of a Dask scheduler, got 'nowhere://here'"
    with pytest.raises(ParameterError, match=message), spread(problem, 2, "nowhere://here"):
        pass
