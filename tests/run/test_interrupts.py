import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import fwexp
from fwexp.files.atomic import hidden
from fwexp.files.processes import this_process
from fwexp.run import interrupts, launching, relay
from fwexp.run.executors import Joblib
from fwexp.run.runner import Outcome
from tests.faults import orphans
from tests.small_problems import chain
from tests.store.test_locks import GONE


@pytest.fixture
def folder(tmp_path):
    with relay.sweeping(tmp_path, {"where": {}, "jobs": {"key": {"name": "a run", "config": {}}}, "plugins": []}) as folder:
        yield folder


@pytest.fixture
def asked_often(monkeypatch):
    monkeypatch.setattr(interrupts, "SECONDS", 0.0)


@pytest.mark.usefixtures("asked_often")
@pytest.mark.parametrize("thread", [True, False])
def test_a_run_in_a_worker_ends_when_its_sweep_is_stopped(folder, thread):
    """In the main thread, as with joblib, or in another, as with Dask."""
    _, problem = chain("dense", 0)
    results = []

    def work():
        stop = lambda row: row["passes"] == 2 and relay.stop(folder)  # noqa: E731
        with interrupts.heard(folder):
            results.append(fwexp.solve(problem, "bcfw", lam=0.1, gap_tol=0, schedule=1, callback=stop))
        results.append(fwexp.solve(problem, "bcfw", lam=0.1, gap_tol=0, max_passes=9))

    if thread:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    else:
        work()
    assert [result.status for result in results] == ["interrupted", "max_passes"]
    assert 2 <= results[0].trace.passes.iloc[-1] < 5


def test_no_run_begins_after_its_sweep_was_stopped(folder, monkeypatch):
    monkeypatch.setattr(launching, "_run", lambda *_: Outcome("max_passes"))
    assert launching._in_worker(folder, "key") == Outcome("max_passes")
    relay.stop(folder)
    assert launching._in_worker(folder, "key") == Outcome("skipped")


@pytest.mark.slow
def test_runs_that_a_sweep_no_longer_begins_carry_no_configuration(folder):
    """With one each, a stopped sweep of 500 runs took minutes to end."""
    relay.stop(folder)
    assert launching._in_workers(Joblib(n_jobs=2, batch_size="3"), folder, ["key"] * 300) == 300 * [Outcome("skipped")]


def test_a_sweep_is_over_when_it_has_ended_or_its_parent_has_died(tmp_path):
    with relay.sweeping(tmp_path, {"jobs": {}}) as folder:
        assert not relay.is_over(folder)
    assert relay.is_over(folder)
    for process, over in ((GONE, True), ("0123456789ab-1-1", False)):  # the second one of another host
        left = tmp_path / f".sweep.{process}.0123456789ab"
        left.mkdir()
        (left / relay.SWEEP).touch()
        assert relay.is_over(left) == over
    assert not relay.is_over(tmp_path / ("x" * 300))  # cannot be found out, as on a network that fails
    assert not (hidden(tmp_path / "sweep")).exists()


PARENT = """
import multiprocessing, os, sys, time
from pathlib import Path
from fwexp.driver.clock import interruptible
from fwexp.run import interrupts, launching, relay
from fwexp.run.executors import Joblib
from fwexp.run.runner import Outcome

def work(folder, started):
    def run(*_):
        with interruptible(str) as interrupted:  # as solve does
            started.set()
            while not interrupted():
                time.sleep(0.01)
            time.sleep(1)
        return Outcome("interrupted")

    launching._run = run
    for _ in range(2):
        os.write(1, f"{launching._in_worker(folder, 'key').status}\\n".encode())

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    try:
        with relay.sweeping(sys.argv[1], {"where": {}, "jobs": {"key": {"name": "a run", "config": {}}}, "plugins": []}) as folder:
            with interrupts.passed_on(folder):
                child = context.Process(target=work, args=(folder, started))
                child.start()
                started.wait()
                os.write(1, b"ready\\n")
                while child.is_alive():
                    time.sleep(0.01)
    except KeyboardInterrupt:
        os.write(1, b"stopped\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [True, False])
def test_a_worker_hears_it_once_from_a_terminal_or_from_its_parent(tmp_path, whole_group):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": str(Path(interrupts.__file__).parents[2])}
    command = [sys.executable, script, tmp_path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    assert process.stdout.readline() == "ready\n"
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    assert process.communicate(timeout=600)[0].splitlines() == ["interrupted", "skipped", "stopped"]


@pytest.mark.slow
def test_workers_that_just_begin_end_with_their_parent(tmp_path):
    orphans(3, random.Random(0), tmp_path)


_kept = []


def keep(megabytes: int) -> int:
    """Keep so much, as a worker does with data sets; loky looks at its memory once a second."""
    _kept.append(np.ones(megabytes * 2**17))
    time.sleep(1.2)
    return os.getpid()


@pytest.mark.slow
def test_a_worker_that_keeps_what_it_has_read_goes_on(recwarn):
    """Loky ends one that has grown by 300 MB since its first job, and warns of a leak."""
    options = {"n_jobs": 2, "backend": "loky", "initializer": interrupts.follow, "initargs": (this_process(),)}
    used = joblib.Parallel(**options)(joblib.delayed(keep)(megabytes) for megabytes in (1, 1, 320, 320, 1, 1, 1, 1))
    assert len(set(used)) <= 2
    assert not [str(warning.message) for warning in recwarn if "worker stopped" in str(warning.message)]
