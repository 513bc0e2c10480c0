"""Runs that are killed at random and go on from their checkpoints are, bit for bit, the same as undisturbed runs."""

import itertools
import math
import os
import random
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import fwexp
from fwexp import record
from fwexp.driver import loop
from fwexp.driver.checkpoint import Checkpoint, is_checkpoint, remove
from fwexp.driver.clock import on_interrupt
from fwexp.solvers import check_options, get_solver
from fwexp.solvers.bcfw import BCFW
from fwexp.tasks import TASKS
from fwexp.testing import small_chains
from tests.small_problems import chain
from tests.test_every_solver import AUTO

KILLS = 20


class Killed(BaseException):
    """The process is no more."""


class Fragile(Checkpoint):
    """Saves at some opportunity, and is killed there; without ``rng`` it is not."""

    def __init__(self, path, identity="", rng=None):
        super().__init__(path, {"identity": identity})
        self._left = math.inf if rng is None else rng.choice((1, 1, 2, 5, 12))

    @property
    def due(self):
        self._left -= 1
        return self._left == 0

    def save(self, run):
        super().save(run)
        raise Killed


def assert_same(result, wanted):
    pd.testing.assert_frame_equal(result.trace.drop(columns="time"), wanted.trace.drop(columns="time"), check_exact=True)
    assert result.w.tobytes() == wanted.w.tobytes()
    for name in ("primal", "dual", "gap", "status", "reason", "iterate", "options", "lam", "seed"):
        assert repr(getattr(result, name)) == repr(getattr(wanted, name))


def killed_and_continued(run, path, seed=0):
    """Return the result of ``run(checkpoint)`` that was killed up to KILLS times, and how often it was."""
    rng = random.Random(seed)
    for kill in itertools.count():
        try:
            return run(Fragile(path, rng=rng if kill < KILLS else None)), kill
        except Killed:
            pass


@pytest.fixture(autouse=True)
def many_opportunities(monkeypatch):
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 0.0)


@pytest.mark.compiled
@pytest.mark.parametrize("options", [AUTO, pytest.param(AUTO | {"step": "pairwise"}, marks=pytest.mark.slow)], ids=["", "pairwise"])
def test_steps_do_not_depend_on_the_scores_of_former_examples(monkeypatch, options):
    """Nor on a buffer that is empty when a run goes on: compiled sums are reordered, so terms that cancel could round them."""
    advance, rng = BCFW.advance, np.random.default_rng(0)

    def disturbed(self, budget):
        self.work.theta[:] = 1e12 * rng.normal(size=len(self.work.theta))
        return advance(self, budget)

    given = {"lam": 0.1, "max_passes": 12, "gap_tol": 1e-9, "seed": 3} | options
    wanted = fwexp.solve(small_chains(), "bcfw", **given)
    monkeypatch.setattr(BCFW, "advance", disturbed)
    assert_same(fwexp.solve(small_chains(), "bcfw", **given), wanted)


TASKS_AND_OPTIONS = {
    "path": {"lam_min": 0.02, "eps": 0.1},
    "grid": {"lam_min": 0.05, "lam_max": 2.0, "eps": 0.05},
    "grid from 0": {"lam_min": 0.05, "lam_max": 2.0, "eps": 0.05, "warm": False},
    "path by estimates": {"lam_min": 0.02, "eps": 0.1, "exact": False},
    "improvement": {},
}


@pytest.mark.parametrize("case", TASKS_AND_OPTIONS)
@pytest.mark.parametrize("accelerate", [False, True])
def test_every_task_goes_on(tmp_path, case, accelerate):
    problem, cls = small_chains(), TASKS[case.split()[0]]
    options = {"sampling": "gap", "step": "pairwise", "cache": True, "accelerate": accelerate}
    options = dict(vars(check_options(get_solver("bcfw"), options)))
    settings = {"lam": 0.1, "max_passes": 8} if case == "improvement" else {}

    def run(checkpoint=None):
        task = cls(cls.check_options(TASKS_AND_OPTIONS[case]), cls.check_settings(settings, "bcfw", options))
        return task.run(problem, "bcfw", options, checkpoint=checkpoint)

    result, kills = killed_and_continued(run, tmp_path / "saved")
    assert kills > 0
    assert_same(result, run())


def test_an_interrupted_run_goes_on(tmp_path):
    """The row that is logged because of the interrupt is not in the trace of the run that goes on."""
    problem, wanted = small_chains(), fwexp.solve(small_chains(), "bcfw", lam=0.1, max_passes=9, gap_tol=0)

    def interrupt(row):
        if row["passes"] in (2, 4) and row["iterate"] == "last":
            os.kill(os.getpid(), signal.SIGINT)

    for _ in range(2):
        checkpoint = Checkpoint(tmp_path / "saved", {}, math.inf)
        given = {"lam": 0.1, "max_passes": 9, "gap_tol": 0, "checkpoint": checkpoint}
        with on_interrupt("keep"):
            assert fwexp.solve(problem, "bcfw", callback=interrupt, **given).status == "interrupted"
    result = fwexp.solve(problem, "bcfw", **given)
    assert_same(result, wanted)


def saved(path, identity=""):
    problem = small_chains()
    with pytest.raises(Killed):
        fwexp.solve(problem, "bcfw", lam=0.1, max_passes=9, checkpoint=Fragile(path, identity, random.Random(0)))
    return Fragile(path, identity)


def test_what_another_run_saved_is_left_and_named(tmp_path, capsys):
    path = tmp_path / "saved"
    assert saved(path, "one").load() is not None
    assert capsys.readouterr().err == ""
    assert Fragile(path, "other").load() is None
    assert capsys.readouterr().err == f"starts from scratch: identity changed since {path} was saved\n"
    path.write_bytes(path.read_bytes()[:-1])
    assert Fragile(path, "one").load() is None
    assert capsys.readouterr().err == f"starts from scratch: {path} is damaged\n"


def test_a_state_of_a_class_that_is_gone_is_left_and_named(tmp_path, capsys, monkeypatch):
    checkpoint = saved(tmp_path / "saved", "one")
    monkeypatch.setattr(record, "_class", lambda module, name: (_ for _ in ()).throw(ValueError(name)))
    assert checkpoint.load() is None
    assert capsys.readouterr().err == f"starts from scratch: its format changed since {tmp_path / 'saved'} was saved\n"


@pytest.mark.parametrize("content", [b"", b"PK", b"\0" * 100])
def test_nonsense_is_no_checkpoint(tmp_path, content):
    (tmp_path / "saved").write_bytes(content)
    assert Fragile(tmp_path / "saved").load() is None


def test_a_pipe_is_no_checkpoint_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    looked = []
    threading.Thread(target=lambda: looked.append(is_checkpoint(tmp_path / "pipe")), daemon=True).start()
    for _ in range(500):
        if looked:
            break
        time.sleep(0.01)
    assert looked == [False]


def test_a_run_goes_on_where_it_cannot_be_saved(tmp_path, capsys):
    (tmp_path / "file").touch()
    checkpoint = Checkpoint(tmp_path / "file" / "saved", {}, 0.0)
    result = fwexp.solve(small_chains(), "bcfw", lam=0.1, max_passes=3, gap_tol=0, checkpoint=checkpoint)
    assert result.status == "max_passes"
    assert capsys.readouterr().err.count("cannot be saved") == 1


@pytest.mark.parametrize("name", ["auto", "one_slack", "ssg"])
def test_costly_oracles_go_on(tmp_path, name):
    """Rows that cost nothing, and those that are skipped because they would cost too much, are the same, too."""
    problem = chain("functions", 2, n=6)[1]

    def run(checkpoint=None):
        return fwexp.solve(problem, name, lam=0.02, max_passes=40, gap_tol=0, test=problem, checkpoint=checkpoint)

    result, kills = killed_and_continued(run, tmp_path / "saved")
    assert kills > 0
    assert_same(result, run())


def test_saving_takes_a_small_share_of_the_time(tmp_path):
    checkpoint = Checkpoint(tmp_path / "saved", {}, 0.0)
    checkpoint.save({"large": np.zeros(10**6)})
    assert not checkpoint.due


def test_files_of_others_are_neither_replaced_nor_removed(tmp_path, capsys):
    np.savez(tmp_path / "mine.npz", w=np.zeros(3))
    path = (tmp_path / "mine.npz").rename(tmp_path / "saved")
    before = path.read_bytes()
    checkpoint = Checkpoint(path, {}, 0.0)
    checkpoint.save({"large": np.zeros(3)})
    assert "is no file that fwexp wrote; move it away" in capsys.readouterr().err
    remove(path)
    assert path.read_bytes() == before
    path.unlink()
    Checkpoint(path, {}, 0.0).save({"large": np.zeros(3)})
    remove(path)
    assert not path.exists()
