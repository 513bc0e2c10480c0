"""The workers of a sweep: what they leave in its folder, what its parent says of that, and how they end."""

import contextlib
import os
import random
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.files.atomic import hidden
from fwexp.run import runner, sweep_folder
from fwexp.run.executors import Executor
from fwexp.run.runner import Outcome
from tests.faults import orphans
from tests.small_problems import chain
from tests.store.test_locks import GONE


@pytest.fixture
def watch(tmp_path, monkeypatch):
    """Yield the parent's view of a sweep of two runs; the test says when it looks at the folder."""
    monkeypatch.setattr(sweep_folder, "LOOKS", 1e9)
    jobs = {key: (f"run {key}", {}) for key in "ab"}
    sweep = {"where": {"results_dir": str(tmp_path)}, "jobs": jobs, "plugins": "", "wall_limit": None, "fail_fast": False}
    with sweep_folder.sweeping(tmp_path, sweep) as watch:
        yield watch


def begins(watch, key):
    (watch.folder / f"{key}.begun").touch()


def ends(watch, key):
    (watch.folder / f"{key}.begun").write_text(f"run {key}: ended")
    (watch.folder / f"{key}.begun").rename(watch.folder / f"{key}.ended")


@pytest.mark.parametrize("how", [Outcome("claimed"), Outcome("max_passes", None, "stopped"), SystemExit(1)])
def test_a_run_that_ends_in_good_order_leaves_no_note(watch, monkeypatch, capsys, how):
    """Also where submitit ends it because the time of its job is up."""

    def run(*_, **__):
        assert [path.name for path in watch.folder.glob("a.*")] == ["a.begun"]
        if isinstance(how, SystemExit):
            raise how
        return how

    monkeypatch.setattr(runner, "run", run)
    with contextlib.suppress(SystemExit):
        sweep_folder.Job()(watch.folder, "a")
    watch.look()
    assert [path.name for path in watch.folder.iterdir()] == [sweep_folder.SWEEP]
    assert capsys.readouterr().err == "run a: stopped\n" * (getattr(how, "message", "") != "")
    assert watch.told == ({"a"} if getattr(how, "message", "") else set())


def test_an_error_that_the_store_cannot_hold_is_returned(watch, monkeypatch):
    monkeypatch.setattr(sweep_folder.plugin_files, "use", lambda _: 1 / 0)
    assert isinstance(sweep_folder.Job()(watch.folder, "a"), ZeroDivisionError)
    assert sweep_folder.Job()(watch.folder, "b") is not None
    assert [path.name for path in watch.folder.iterdir()] == [sweep_folder.SWEEP]


SAID = ["0 done, 1 running, 1 left", "0 done, 2 running, 0 left", "run a: ended", "1 done, 1 running, 0 left", "run b: ended"]


def sweep(watch) -> None:
    """Do two runs, looked at after each event."""
    for event, key in ((begins, "a"), (begins, "b"), (None, ""), (ends, "a"), (ends, "b"), (None, "")):
        if event:
            event(watch, key)
        watch.look()


def test_a_line_says_what_is_done_running_and_left(watch, monkeypatch, capsys):
    monkeypatch.setattr(sweep_folder, "PROGRESS", -1.0)
    sweep(watch)
    assert capsys.readouterr().err.splitlines() == SAID


def test_on_a_terminal_it_stands_below_all_others(watch, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    sweep(watch)
    screen = capsys.readouterr().err
    assert [line.rpartition("\r\x1b[K")[2] for line in screen.split("\n")] == ["run a: ended", "run b: ended", ""]
    assert [said for said in re.split(r"\r\x1b\[K|\n", screen) if said] == SAID


def test_a_store_that_a_worker_does_not_see_is_named(tmp_path):
    error = sweep_folder.Job()(tmp_path / ".sweep.elsewhere", "a")
    assert isinstance(error, ParameterError)
    assert re.match(r"results_dir must be a folder that all workers see; .* is another one on ", str(error))


@pytest.fixture
def asked_often(monkeypatch):
    monkeypatch.setattr(sweep_folder, "SECONDS", 1e-9)


@pytest.mark.usefixtures("asked_often")
@pytest.mark.parametrize("thread", [True, False])
def test_a_run_in_a_worker_ends_when_its_sweep_is_stopped(watch, monkeypatch, thread):
    """In the main thread, as with joblib, or in another, as with Dask."""
    _, problem = chain("dense", 0)
    results = []

    def run(*_, **__):
        stop = lambda row: row["passes"] == 2 and sweep_folder.stop(watch.folder, "interrupted")  # noqa: E731
        results.append(fwexp.solve(problem, "bcfw", lam=0.1, gap_tol=0, schedule=1, callback=stop))
        return Outcome(results[0].status)

    def work():
        sweep_folder.Job()(watch.folder, "a")
        results.append(fwexp.solve(problem, "bcfw", lam=0.1, gap_tol=0, max_passes=9))

    monkeypatch.setattr(runner, "run", run)
    if thread:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    else:
        work()
    assert [result.status for result in results] == ["interrupted", "max_passes"]
    assert 2 <= results[0].trace.passes.iloc[-1] < 5


def test_no_run_begins_after_its_sweep_was_stopped(watch, monkeypatch):
    ran = []
    monkeypatch.setattr(runner, "run", lambda *_, **__: ran.append(1) or Outcome("max_passes"))
    sweep_folder.Job()(watch.folder, "a")
    sweep_folder.stop(watch.folder, "interrupted")
    sweep_folder.Job()(watch.folder, "b")
    watch.do("b")
    assert ran == [1]


def test_a_sweep_is_over_when_it_has_ended_or_its_parent_has_died(tmp_path):
    with sweep_folder.sweeping(tmp_path, {"jobs": {}}) as watch:
        assert not sweep_folder.is_over(watch.folder)
    assert sweep_folder.is_over(watch.folder)
    for process, over in ((GONE, True), ("0123456789ab-1-1", False)):  # the second one of another host
        left = tmp_path / f".sweep.{process}.0123456789ab"
        left.mkdir()
        (left / sweep_folder.SWEEP).touch()
        assert sweep_folder.is_over(left) == over
    assert not sweep_folder.is_over(tmp_path / ("x" * 300))  # cannot be found out, as on a network that fails
    assert not (hidden(tmp_path / "sweep")).exists()


@pytest.mark.slow
def test_workers_that_just_begin_end_with_their_parent(tmp_path):
    orphans(2, random.Random(0), tmp_path)


_kept = []


def keep(folder: Path, key: str) -> Exception | None:
    """Keep so many megabytes, as a worker does with data sets; loky looks at its memory once a second."""
    _kept.append(np.ones(int(key) * 2**17))
    time.sleep(1.2)
    (folder / f"{len([*folder.iterdir()])}.{os.getpid()}").touch()
    return None


@pytest.mark.slow
def test_a_worker_that_loky_replaces_loses_no_run(tmp_path, recwarn):
    """Loky ends one that has grown by 300 MB since its first job, and warns of a leak."""
    assert Executor("joblib", {"n_jobs": 2}).map(keep, tmp_path, ["1", "1", "320", "320", "1", "1", "1", "1"]) == []
    assert len([*tmp_path.iterdir()]) == 8
    assert not [str(warning.message) for warning in recwarn if "worker stopped" in str(warning.message)]
