"""Runs of the store go on from their checkpoints, where these are of the same run; finished runs have none."""

import os
import time

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.driver import loop
from fwexp.driver.checkpoint import Checkpoint
from fwexp.run import runner
from fwexp.run.config import canonical
from fwexp.store import paths

CONFIG = {"dataset": {"name": "digits"}, "solver": {"name": "ssg"}, "lam": 0.1, "max_passes": 3, "gap_tol": 0}


class Killed(BaseException):
    """The process is no more."""


@pytest.fixture
def killed(monkeypatch, tmp_path):
    """Return the configuration of a run that was killed after its third checkpoint."""
    config, saves = canonical(CONFIG), []

    def save(self, run, save=Checkpoint.save):
        save(self, run)
        saves.append(run["limit"])
        if len(saves) == 3:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(loop, "CHUNK_SECONDS", 1e-3)
        patched.setattr(Checkpoint, "due", True)
        patched.setattr(Checkpoint, "save", save)
        with pytest.raises(Killed):
            runner.run(config, tmp_path, verbose=False)
    assert saves == sorted(saves)
    return config


@pytest.fixture
def first_steps(monkeypatch):
    """Return the step at which each run begins."""
    steps = []

    def drive(process, log, *arguments, drive=loop.drive):
        advance = process.advance

        def note(budget):
            if budget.steps and len(steps) < note.runs:
                steps.append(process.step)
            return advance(budget)

        note.runs = len(steps) + 1
        process.advance = note
        return drive(process, log, *arguments)

    monkeypatch.setattr("fwexp.tasks.train.drive", drive)
    return steps


def results(results_dir):
    frame = fwexp.load_results(results_dir)
    return frame.drop(columns=["time", "created"])


def checkpoint(results_dir, config):
    return paths.checkpoint_path(store.run_dir(results_dir, config))


def test_a_killed_run_goes_on(tmp_path, killed, first_steps):
    assert checkpoint(tmp_path, killed).exists()
    assert runner.run(killed, tmp_path, verbose=False).status == "max_passes"
    assert first_steps[0] > 0
    assert not checkpoint(tmp_path, killed).exists()
    runner.run(killed, tmp_path / "quiet", verbose=False)
    assert first_steps[1] == 0
    assert results(tmp_path).equals(results(tmp_path / "quiet"))
    weights = [np.load(store.run_dir(place, killed) / "model.npz")["w"] for place in (tmp_path, tmp_path / "quiet")]
    assert np.array_equal(*weights)


@pytest.mark.parametrize("changed", ["code", "packages or CPU", "data"])
def test_other_code_or_data_or_cpu_begin_anew(tmp_path, killed, first_steps, monkeypatch, capsys, changed):
    if changed == "code":
        monkeypatch.setattr(runner.staleness, "made_by", lambda modules: {"modules": [], "sha256": "other"})
    elif changed == "packages or CPU":
        monkeypatch.setattr(runner, "build", lambda: {"cpu_kind": "other"})
    else:
        data = runner._data(killed["dataset"], None)
        monkeypatch.setattr(runner, "_data", lambda *_: data._replace(checksums={"file": "other"}))
    runner.run(killed, tmp_path, verbose=False)
    assert first_steps == [0]
    said = f"starts from scratch: {changed} changed since {checkpoint(tmp_path, killed)} was saved\n"
    assert capsys.readouterr().err.endswith(said)  # after the end of a line that another run left


def test_what_was_saved_of_a_finished_run_is_tidied_away(tmp_path, killed):
    saved = checkpoint(tmp_path, killed).read_bytes()
    runner.run(killed, tmp_path, verbose=False)
    checkpoint(tmp_path, killed).write_bytes(saved)
    store.tidy(tmp_path)
    assert checkpoint(tmp_path, killed).exists()  # it may be that of a run with force=true
    final, future = store.run_dir(tmp_path, killed) / "run.json", time.time() + 10**6
    os.utime(checkpoint(tmp_path, killed), (0, 0))
    os.utime(final, (future, future))
    store.tidy(tmp_path)
    assert checkpoint(tmp_path, killed).exists()  # a date that is to come tells nothing
    os.utime(final)
    store.tidy(tmp_path)
    assert not checkpoint(tmp_path, killed).exists()


@pytest.mark.parametrize("kind", ["folder", "device"])
def test_what_is_no_checkpoint_neither_stops_a_run_nor_is_removed(tmp_path, kind, capsys):
    config = canonical(CONFIG)
    path = checkpoint(tmp_path, config)
    path.parent.mkdir(parents=True)
    if kind == "folder":
        (path / "notes").mkdir(parents=True)
    else:
        path.symlink_to("/dev/zero")
    before = path.lstat()
    assert runner.run(config, tmp_path, verbose=False).status == "max_passes"
    assert store.is_stored(tmp_path, config)
    assert path.lstat() == before
    assert capsys.readouterr().err == ""


def test_no_run_is_seen_in_a_checkpoint(tmp_path, killed):
    assert not store.find_runs(tmp_path, include={"partial", "failed", "damaged"})
