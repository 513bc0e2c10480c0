"""Runs that do something else than train at one lam: what is stored is what the functions of Python return."""

import itertools
import signal

import numpy as np
import pytest

import fwexp
from fwexp import store
from fwexp.driver.log import Log
from fwexp.errors import OptionError
from fwexp.run import from_arguments, runner
from fwexp.run.config import canonical, run_key
from fwexp.tasks import TASKS

SETTINGS = {"max_passes": 1000.0, "seed": 1}
OPTIONS = {"sampling": "gap", "step": "pairwise", "accelerate": False}


def config(task, task_options=None, solver=None, **settings):
    chosen = {"task": {"name": task} | (task_options or {}), "dataset": {"name": "digits"}}
    return canonical(chosen | {"solver": {"name": "bcfw"} | (solver or {})} | settings)


@pytest.fixture(scope="module")
def train():
    return fwexp.load_dataset("digits")[0]


@pytest.mark.slow
@pytest.mark.parametrize(("exact", "two_sided"), [(True, False), (True, True), (False, False)])
def test_a_path_is_stored_like_a_run(exact, two_sided, train, tmp_path):
    wanted = fwexp.regularization_path(train, 0.2, lam_min=2.0, exact=exact, two_sided=two_sided, seed=1, **OPTIONS)
    stored = config("path", {"eps": 0.2, "lam_min": 2, "exact": exact, "two_sided": two_sided}, OPTIONS, **SETTINGS)
    outcome = runner.run(stored, tmp_path, verbose=False)
    assert outcome.status == wanted.status == "converged"
    trace = fwexp.load_results(tmp_path, task="path")
    np.testing.assert_array_equal(trace["at_lam"], wanted.lam)
    np.testing.assert_array_equal(trace["oracle_calls"], wanted.frame["oracle_calls"])
    known, unknown = ("gap", "gap_estimate") if exact else ("gap_estimate", "gap")
    np.testing.assert_array_equal(trace[known], wanted.gap)
    assert trace[unknown].isna().all()
    model = fwexp.load_run(task="path", results_dir=tmp_path)
    np.testing.assert_array_equal(model.w, wanted.weights[-1])
    assert len(model.predict([train.x.values[:8]])[0]) == 8
    assert runner.run(stored, tmp_path, verbose=False).status == "stored"
    # What the task was given has columns of its own; lam is that of the weights.
    assert set(trace["task.eps"]) == {0.2}
    assert set(trace["task.exact"]) == {exact}
    assert set(trace["lam"]) == {wanted.lam[-1]}


@pytest.mark.parametrize("warm", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_grid_is_stored_like_a_run(warm, train, tmp_path):
    lams = [2.0**k for k in range(15, 0, -1)]
    wanted = fwexp.grid_search(train, 0.2, lams=lams, warm=warm, seed=1, **OPTIONS)
    runner.run(config("grid", {"eps": 0.2, "lam_min": 1.5, "warm": warm}, OPTIONS, **SETTINGS), tmp_path, verbose=False)
    trace = fwexp.load_results(tmp_path)
    assert trace["at_lam"].to_list() == lams
    for name in ("oracle_calls", "dual", "gap"):
        np.testing.assert_array_equal(trace[name], wanted[name])


def test_improvements_are_stored_like_a_run(train, tmp_path):
    task, settings = TASKS["improvement"], {"lam": 0.01, "max_passes": 6, "schedule": 2}
    given = task.check_settings(settings, "bcfw", {})
    wanted = task(task.Options(), given).run(train, "bcfw", {"sampling": "gap"}).trace
    runner.run(config("improvement", None, {"sampling": "gap"}, **settings), tmp_path, verbose=False)
    trace = fwexp.load_results(tmp_path)
    for name in ("passes", "gap", "gap_estimate", "improvement"):
        np.testing.assert_array_equal(trace[name], wanted[name])
    # The primal is that of the weights: its certificate is the gap.
    w = np.load(next(tmp_path.rglob("model.npz")))["w"]
    value = fwexp.evaluate(train, w)
    assert trace["primal"].iloc[-1] == pytest.approx(0.005 * value.norm_sq + value.hinge, abs=1e-9)


def test_a_key_holds_what_the_task_reads_and_no_more():
    plain = canonical({"dataset": {"name": "digits"}, "solver": {"name": "bcfw"}, "lam": 0.01})
    assert config("train", lam=0.01) == plain
    assert "task" not in plain
    path = config("path", {"lam_min": 1.0})
    assert set(path) == {"task", "dataset", "solver", "seed", "max_passes", "time_limit"}
    assert path["task"] == {"name": "path", "eps": 0.1, "lam_min": 1.0, "exact": True, "kappa": 0.9}
    assert config("path", {"lam_min": 1, "kappa": np.float64(0.9)}) == path
    assert config("path", {"lam_min": 1.0, "exact": False})["task"]["kappa"] == 0.7
    assert set(config("improvement", lam=0.1)) == {"task", "dataset", "solver", *TASKS["improvement"].reads}
    others = [config("grid", {"lam_min": 1.0}), config("grid", {"lam_min": 2.0}), config("improvement", lam=0.01)]
    assert len({run_key(each) for each in (plain, path, *others)}) == 5


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task=path", "task.lam_min=1"], config("path", {"lam_min": 1.0}, solver={"name": "auto"})),
        (["task=grid", "task.warm=false"], config("grid", {"warm": False}, solver={"name": "auto"})),
        (["task=improvement", "lam=0.5", "solver=bcfw"], config("improvement", lam=0.5)),
    ],
)
def test_a_task_is_composed_with_its_settings(overrides, expected):
    assert from_arguments.expand(overrides) == [expected]


def test_tasks_are_swept(tmp_path):
    overrides = ["task=path,grid", "task.lam_min=100", "task.eps=0.3", "max_passes=500", "solver=auto"]
    from_arguments.execute(from_arguments.expand(overrides), results_dir=tmp_path)
    frame = fwexp.load_results(tmp_path)
    assert set(frame["task"]) == {"path", "grid"}
    assert (frame["status"] == "converged").all()
    assert (frame["gap"] <= 0.3).all()
    assert [run.record["options"]["step"] for run in store.find_runs(tmp_path, solver="auto")] == ["corrective"] * 2


@pytest.mark.parametrize("task", ["path", "grid"])
def test_a_sweep_does_not_start_with_what_its_task_cannot_do(task, tmp_path):
    right, wrong = (config(task, {"lam_min": 1}, {"line_search": choice}) for choice in (True, False))
    with pytest.raises(OptionError, match=r"^solver bcfw: line_search=false has steps for one lam; accepted here: true$"):
        from_arguments.execute([right, wrong], results_dir=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "options", "settings"),
    [
        ("path", {"eps": 1e-3, "lam_min": 1e-5}, {}),
        ("grid", {"eps": 1e-3, "lam_min": 1e-5, "warm": False}, {}),
        ("improvement", {}, {"lam": 1e-5, "schedule": 1, "gap_tol": 0}),
    ],
)
def test_an_interrupted_task_keeps_what_it_has(task, options, settings, train, monkeypatch):
    write, rows = Log.write, itertools.count(1)

    def write_and_interrupt(log, seconds):
        write(log, seconds)
        if next(rows) == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Log, "write", write_and_interrupt)
    result = runner.solve(config(task, options, **settings, max_passes=1e7, seed=1), (train, None))
    assert result.status == "interrupted"
    assert len(result.trace) > 0
    assert np.isfinite(result.w).all()
