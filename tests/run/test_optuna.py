"""Searches with Optuna: what is asked, what is run, and that nothing is done twice."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.run import execution, optuna_sweeper
from fwexp.store.results import measures

optuna, sqlalchemy = pytest.importorskip("optuna"), pytest.importorskip("sqlalchemy")

COMMAND = ["run", "-m", "hydra/sweeper=optuna", "gap_tol=0", "objective_value=primal"]
SPACE = ["solver=bcfw,fw", "lam=tag(log, interval(1e-3, 1))", "max_passes=range(0.1,0.3,0.1)"]


class Killed(BaseException):
    """Ends a process, as SIGKILL does: nothing is kept, told or tidied after it."""


def search(folder, *words, trials=6):
    return main([*COMMAND, f"hydra.sweeper.n_trials={trials}", *(words or SPACE), f"results_dir={folder}"])


def trials_of(folder):
    (file,) = (folder / "sweeps").iterdir()
    url = sqlalchemy.URL.create("sqlite", database=str(file)).render_as_string()
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": sqlalchemy.NullPool})
    return optuna.load_study(study_name=file.stem, storage=storage).get_trials()


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path, solved, capsys):
    whole, broken = tmp_path / "whole", tmp_path / "a b#c?d"
    assert search(whole) == 0
    wanted = list(solved.calls)
    assert len(wanted) == len(set(wanted)) == 6
    solved.calls.clear()
    for runs in (2, 1):
        solved.plan[:] = [None] * runs + [Killed()]
        with pytest.raises(Killed):
            search(broken)
        solved.calls.pop()
    assert search(broken) == 0
    assert solved.calls == wanted
    assert [trial.params for trial in trials_of(broken)] == [trial.params for trial in trials_of(whole)]
    best = capsys.readouterr().out.splitlines()[-1]
    values = [trial.value for trial in trials_of(broken)]
    assert json.loads((tmp_path.cwd() / best / "run.json").read_text())["primal"] == min(values)
    assert search(broken) == 0  # nothing is left to do
    assert search(broken, trials=7) == 0  # but more can be asked for
    assert len(solved.calls) == 7


def test_a_failed_trial_is_tried_again_and_one_that_is_gone_too(tmp_path, solved, capsys):
    solved.plan += [None, ZeroDivisionError("by nought")]
    assert search(tmp_path, trials=4) == 1
    assert "1 of 4 trials failed" in capsys.readouterr().err.splitlines()[-1]
    failed = solved.calls[1]
    solved.calls.clear()
    assert search(tmp_path, trials=4) == 0
    assert solved.calls == [failed]
    assert search(tmp_path, "force=true", *SPACE, trials=4) == 0
    assert len(solved.calls) == 1 + 4
    run = store.find_runs(tmp_path)[0]
    next(run.path.glob("model*.npz")).unlink()
    solved.calls.clear()
    assert search(tmp_path, trials=4) == 0
    assert run.key in solved.calls
    assert len({*solved.calls}) == len(solved.calls) <= 4


def test_the_points_of_former_commands_stay(tmp_path, solved, monkeypatch):
    """Also where Optuna would choose others by now, because a run that failed has a value."""
    words, sampler = ["hydra.sweeper.sampler=random", *SPACE], optuna.samplers.RandomSampler
    assert search(tmp_path, *words, trials=3) == 0
    params = [trial.params for trial in trials_of(tmp_path)]
    monkeypatch.setattr(optuna.samplers, "RandomSampler", lambda seed: sampler(seed=seed + 1))
    assert search(tmp_path, *words, trials=4) == 0
    assert [trial.params for trial in trials_of(tmp_path)][:3] == params
    assert search(tmp_path, *words, trials=2) == 0  # which forgets none
    assert len(trials_of(tmp_path)) == len(solved.calls) == 4


def test_a_run_that_fails_when_it_is_forced_does_not_keep_its_old_value(tmp_path, solved, capsys):
    """Nor does a run that was to be forced, and that fail_fast left out."""
    assert search(tmp_path, trials=2) == 0
    solved.plan += [None, ZeroDivisionError("by nought")]
    assert search(tmp_path, "force=true", *SPACE, trials=2) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "fwexp: 1 of 2 trials failed; repeat the command to try them again"
    assert [trial.state.name for trial in trials_of(tmp_path)] == ["COMPLETE", "FAIL"]
    solved.plan += [ZeroDivisionError("by nought")]
    assert search(tmp_path, "force=true", "fail_fast=true", "hydra.sweeper.n_jobs=2", *SPACE, trials=2) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(r"fwexp: \[1\] .* failed, and fail_fast=true ended the search; not run: 1 of 2 trials", last)
    assert [trial.state.name for trial in trials_of(tmp_path)] == ["FAIL", "RUNNING"]
    assert len(solved.calls) == 2 + 2 + 1


@pytest.mark.parametrize("fail_fast", ["true", "false"])
def test_a_search_ends_where_its_launcher_does_not_work(tmp_path, monkeypatch, capsys, fail_fast):
    def broken(*_):
        raise RuntimeError("no workers here")

    monkeypatch.setattr(execution, "_launch", broken)
    assert search(tmp_path, f"fail_fast={fail_fast}", *SPACE) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "fwexp: the sweep broke off: RuntimeError: no workers here"
    assert [trial.state.name for trial in trials_of(tmp_path)] == ["RUNNING"]


def test_points_that_do_not_fit_are_refused_or_left_out(tmp_path, solved, capsys):
    space = ["solver=bcfw,lbfgs", "max_passes=0.1", "lam=interval(0.1,1)"]
    assert search(tmp_path, *space) == 2
    assert "solver lbfgs does not minimise the objective hinge" in capsys.readouterr().err
    assert search(tmp_path, "skip_invalid=true", *space) == 0
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"skipped \d of 6 combinations, which do not fit: solver lbfgs .* \(\d\)", lines[-2])
    states = [trial.state.name for trial in trials_of(tmp_path)]
    assert set(states) == {"COMPLETE", "PRUNED"}
    assert states.count("COMPLETE") == len(set(solved.calls))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lam=0.1", "max_passes=0.1"], "needs a key to choose"),
        (
            ["lam=0.1,1", "objective_value=gapp"],
            "objective_value must be primal, gap, .* or time_to_gap=GAP with GAP > 0, got 'gapp'",
        ),
        (["lam=0.1,1", "objective_value=time_to_gap=-1"], "got 'time_to_gap=-1'"),
        (
            ["lam=0.1,1", "solver=fw", "max_passes=0.1", "objective_value=validation_error"],
            "validation_error needs runs that measure it",
        ),
        (["lam=0.1,1", "max_passes=0.1", "solver=ssg", "objective_value=gap"], "got none from solver ssg on dataset digits"),
        (["lam=tag(log, interval(0, 1))"], "must have finite ends in their order, and above 0 on a log scale"),
        (["lam=interval(0.01, inf)"], "must have finite ends in their order"),
        (["lam=0.1,-1", "solver=fw"], "lam must be a positive finite number"),
        (["lam=0.1,1", "force=true,false"], "force must have one value"),
        (["lam=0.1,1", "hydra.sweeper.sampler=best"], "'best'; accepted: random, tpe"),
        (["lam=0.1,1", "hydra.sweeper.n_tries=9"], "unknown key 'hydra.sweeper.n_tries'"),
        (["+experiment=quickstart", "lam=0.1,1"], "grids"),
    ],
)
def test_wrong_searches_take_one_line(tmp_path, capsys, words, message):
    assert search(tmp_path, *words) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("fwexp: "))
    assert re.search(message, line)


def test_another_file_is_no_study(tmp_path, capsys):
    assert search(tmp_path, "lam=0.1,1", "max_passes=0.1", trials=1) == 0
    (file,) = (tmp_path / "sweeps").iterdir()
    file.write_text("mine, and no database; " * 100)
    assert search(tmp_path, "lam=0.1,1", "max_passes=0.1", trials=1) == 2
    assert "must be a study of this Optuna, got another file; move it away" in capsys.readouterr().err
    assert file.read_text().startswith("mine")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a=tag(log, interval(1e-5, 1))", "FloatDistribution(high=1.0, log=True, low=1e-05, step=None)"),
        ("a=int(tag(log, interval(1, 8)))", "IntDistribution(high=8, log=True, low=1, step=1)"),
        ("a=range(1, 8, 3)", "IntDistribution(high=7, log=False, low=1, step=3)"),
        ("a=range(0.1, 0.4, 0.1)", "FloatDistribution(high=0.3, log=False, low=0.1, step=0.1)"),
        ("a=range(8, 0, -4)", "IntDistribution(high=8, log=False, low=4, step=4)"),
        ("a=choice(x, y)", "CategoricalDistribution(choices=('x', 'y'))"),
        ("a=1,1/n,1", "CategoricalDistribution(choices=('1', '1/n'))"),
    ],
)
def test_the_syntax_is_that_of_hydra(text, wanted):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    assert repr(optuna_sweeper._distribution(OverridesParser.create().parse_override(text))) == wanted


def test_an_experiment_states_a_space(tmp_path, solved):
    (tmp_path / "experiment").mkdir()
    text = (
        "# @package _global_\nmax_passes: 0.1\nhydra:\n  sweeper: {n_trials: 3, params: {lam: 'interval(0.1, 1)', seed: [0, 1]}}\n"
    )
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    words = ["run", "-m", "hydra/sweeper=optuna", "--config-dir", str(tmp_path), "+experiment=mine", "objective_value=test_error"]
    assert main([*words, f"results_dir={tmp_path / 'results'}"]) == 0
    assert len(solved.calls) == 3
    assert {run.config["max_passes"] for run in store.find_runs(tmp_path / "results")} == {0.1}


def test_what_is_minimised_is_what_a_run_returned(tmp_path):
    words = ["run", "lam=0.1", "max_passes=3", "gap_tol=0", "train_error=true", f"results_dir={tmp_path}"]
    assert main([*words, "solver=bcfw", "iterates=[last,wavg]"]) == 0
    (run,) = store.find_runs(tmp_path)
    found, trace = measures(run), store.load_results(tmp_path)
    own = trace[trace["iterate"] == run.record["iterate"]]
    row = own.loc[own["primal"].idxmin()]
    assert (found["test_error"], found["train_error"]) == (row["test_error"], row["train_error"])

    names = ("primal", "gap", "test_error")
    assert [optuna_sweeper.value_of(run, name) for name in names] == [found[name] for name in names]
    reached = [optuna_sweeper.value_of(run, f"time_to_gap={gap}") for gap in ("1e9", "0.5", "1e-9")]
    assert reached[0] == 0 <= reached[1] <= trace["time"].max()
    assert reached[2] == math.inf


@pytest.mark.slow
def test_a_search_with_workers_that_is_killed_does_nothing_twice(tmp_path):
    """By SIGKILL, which also loses what its workers had in work."""
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    words = [*COMMAND, "hydra.sweeper.n_trials=8", *SPACE[:2], "max_passes=1", *launcher, f"results_dir={tmp_path}"]
    command, lines = [sys.executable, "-c", "import sys; from fwexp.cli import main; sys.exit(main())", *words], []
    for kill in (3, None):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in process.stderr:
            lines.append(line)
            if kill and sum(": stopped at " in line for line in lines) >= kill:
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.stderr.close()
        assert process.wait() == (-signal.SIGKILL if kill else 0)
        time.sleep(0.5)
    ends = [line.partition(": stopped")[0] for line in lines if ": stopped at " in line]
    assert len(ends) == len(set(ends)) <= 8
    assert len(store.find_runs(tmp_path)) == 8
    assert [trial.state.name for trial in trials_of(tmp_path)] == ["COMPLETE"] * 8


def test_runs_without_an_objective_take_one_line(tmp_path, capsys):
    """A heuristic path has estimates only."""
    words = ["run", "-m", "hydra/sweeper=optuna", "hydra.sweeper.n_trials=1", "objective_value=primal"]
    path = ["task=path", "task.exact=false", "task.eps=0.3", "task.lam_min=2,4"]
    assert main([*words, *path, f"results_dir={tmp_path}"]) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("fwexp: "))
    assert line == "fwexp: objective_value=primal needs runs that measure it, got none from solver auto on dataset digits"
