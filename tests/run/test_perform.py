"""Runs that do something else than train at one lam: what is stored is what the functions of Python return."""

import signal
import threading

import numpy as np
import pytest

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.run import perform as tasks
from fwexp.run import runner, sweep
from fwexp.run.config import canonical, run_key, to_overrides
from fwexp.tasks.improvement import improvement_along_run

PATH = {"lam": 2.0, "gap_tol": 0.2, "max_passes": 1000.0, "seed": 1}
OPTIONS = {"sampling": "gap", "step": "pairwise", "accelerate": False}


def config(task, solver=None, **settings):
    chosen = {"task": task, "dataset": {"name": "digits"}, "solver": {"name": "bcfw"} | (solver or {}), "lam": 0.01}
    return canonical(chosen | settings)


@pytest.fixture(scope="module")
def train():
    return fwexp.load_dataset("digits")[0]


@pytest.mark.parametrize("task", ["path", "heuristic_path"])
def test_a_path_is_stored_like_a_run(task, train, tmp_path):
    wanted = fwexp.regularization_path(train, 0.2, lam_min=2.0, exact=task == "path", seed=1, **OPTIONS)
    stored = config(task, OPTIONS, **PATH)
    outcome = runner.run(stored, tmp_path, verbose=False)
    assert outcome.status == wanted.status == "converged"
    trace = fwexp.load_results(tmp_path, task=task)
    np.testing.assert_array_equal(trace["at_lam"], wanted.lam)
    np.testing.assert_array_equal(trace["oracle_calls"], wanted.frame["oracle_calls"])
    known, unknown = ("gap", "gap_estimate") if task == "path" else ("gap_estimate", "gap")
    np.testing.assert_array_equal(trace[known], wanted.gap)
    assert trace[unknown].isna().all()
    np.testing.assert_array_equal(np.load(outcome.path / "model.npz")["w"], wanted.weights[-1])
    assert runner.run(stored, tmp_path, verbose=False).status == "stored"


@pytest.mark.parametrize("warm", [True, False])
def test_a_grid_is_stored_like_a_run(warm, train, tmp_path):
    lams = [2.0**k for k in range(15, 0, -1)]
    wanted = fwexp.grid_search(train, 0.2, lams=lams, warm=warm, seed=1, **OPTIONS)
    runner.run(config("warm_grid" if warm else "cold_grid", OPTIONS, **PATH), tmp_path, verbose=False)
    trace = fwexp.load_results(tmp_path)
    assert trace["at_lam"].to_list() == lams
    for name in ("oracle_calls", "dual", "gap"):
        np.testing.assert_array_equal(trace[name], wanted[name])


def test_improvements_are_stored_like_a_run(train, tmp_path):
    wanted = improvement_along_run(train, lam=0.01, max_passes=6, every=2.0, sampling="gap")
    settings = {"lam": 0.01, "max_passes": 6, "schedule": 2}
    runner.run(config("improvement", {"sampling": "gap"}, **settings), tmp_path, verbose=False)
    trace = fwexp.load_results(tmp_path)
    for name in ("passes", "gap", "gap_estimate", "improvement"):
        np.testing.assert_array_equal(trace[name], wanted[name])
    # The primal is that of the weights: its certificate is the gap.
    w = np.load(next(tmp_path.rglob("model.npz")))["w"]
    value = fwexp.evaluate(train, w)
    assert trace["primal"].iloc[-1] == pytest.approx(0.005 * value.norm_sq + value.hinge, abs=1e-9)


def test_training_has_no_task_in_its_key():
    plain = canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})
    assert config("train") == plain
    assert len({run_key(plain), *(run_key(config(task, gap_tol=0.1)) for task in ("path", "warm_grid", "improvement"))}) == 4
    assert "task='path'" in to_overrides(config("path"))


def test_tasks_are_swept(tmp_path):
    configs = sweep.expand(["task=path,cold_grid", "lam=100", "gap_tol=0.3", "max_passes=500", "solver=auto"])
    sweep.execute(configs, results_dir=tmp_path)
    frame = fwexp.load_results(tmp_path)
    assert set(frame["task"]) == {"path", "cold_grid"}
    assert (frame["status"] == "converged").all()
    assert (frame["gap"] <= 0.3).all()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"task": "paths"}, ParameterError, r"unknown task 'paths'; accepted: .*\(did you mean 'path'\?\)"),
        ({"task": "path", "solver": {"name": "ssg"}}, OptionError, "task path runs solver bcfw, got ssg; accepted: auto, bcfw"),
        ({"task": "path", "gap_tol": 0}, ParameterError, "gap_tol of task path must be positive, got 0"),
        ({"task": "improvement"}, ParameterError, "schedule of task improvement must be a number of passes, got 'default'"),
    ],
)
def test_what_a_task_cannot_do_is_named_on_one_line(settings, error, message, tmp_path):
    with pytest.raises(error, match=message):
        runner.run(config(settings.pop("task"), settings.pop("solver", None), **settings), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", ["path", "cold_grid", "improvement"])
def test_an_interrupted_task_keeps_what_it_has(task, train):
    settings = PATH | {"gap_tol": 1e-3, "schedule": 1, "lam": 1e-5}
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    runner.warm_up(config(task, **settings), train, None)
    timer.start()
    result = tasks.perform(config(task, **settings | {"max_passes": 1e7}), train)
    timer.cancel()
    assert result.status == "interrupted"
    assert len(result.trace) > 0
    assert np.isfinite(result.w).all()
