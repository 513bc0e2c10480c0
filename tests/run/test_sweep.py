import errno
import json
import os
import re
import signal

import numpy as np
import pandas as pd
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.errors import OptionError, ParameterError, RunsFailed, UserError
from fwexp.files import locks
from fwexp.run import composition, execution, from_arguments, runner, sweep
from fwexp.run.config import canonical, conf_dir, run_key
from fwexp.run.executors import BASIC, DEFAULTS, Executor
from tests.test_cli import letters

QUICK = ["max_passes=0.1", "gap_tol=0"]


def expand(*overrides, **options):
    return from_arguments.expand([*QUICK, *overrides], **options)


def short(configs, *keys):
    return [tuple(c["solver"]["name"] if key == "solver" else c[key] for key in keys) for c in configs]


# -- what a sweep consists of


def test_a_sweep_is_the_product_of_its_values():
    configs = expand("solver=bcfw,ssg", "lam=0.1,1/n", "seed=range(3)")
    assert short(configs, "solver", "lam", "seed") == [
        (s, lam, k) for s in ("bcfw", "ssg") for lam in (0.1, "1/n") for k in range(3)
    ]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ("range(0.1,0.35,0.1)", [0.1, 0.2, 0.3]),
        ("range(0.1,0.4,0.1)", [0.1, 0.2, 0.3]),  # without its end, which the sum of floats would reach
        ("range(0.3,0,-0.1)", [0.3, 0.2, 0.1]),
        ("sort(range(0.1,0.4,0.1),reverse=true)", [0.3, 0.2, 0.1]),
        ("float(range(0.1,0.4,0.1))", [0.1, 0.2, 0.3]),
    ],
)
def test_ranges_hold_decimal_numbers_as_written(values, wanted):
    assert [config["lam"] for config in expand(f"lam={values}")] == wanted


def test_a_point_keeps_nothing_of_the_one_before():
    caches = ["{F:0.5}", "false", "{nu:0.25}", "true", "{F:0.5,size:3}"]
    alone = [expand("solver.sampling=gap", f"solver.cache={cache}", "seed=1")[0] for cache in caches]
    assert expand("solver.sampling=gap", f"solver.cache={','.join(caches)}", "seed=1") == alone
    assert len({run_key(config) for config in alone}) == len(caches)


def test_equal_runs_are_in_it_once():
    assert short(expand("solver=fw", "seed=0,1,2"), "solver", "seed") == [("fw", 0)]
    assert len(expand("lam=1,1.0,0.5")) == 2


def test_auto_is_planned_without_data(tmp_path):
    """It decides when it runs: nothing that it will read need be there."""
    configs = from_arguments.expand(["solver=auto", "dataset=ocr", "lam=0.001,1/n", f"data_dir={tmp_path}"])
    assert [config["solver"] for config in configs] == [{"name": "auto"}] * 2
    (settled,) = from_arguments.expand(["solver=auto", "solver.step=pairwise", "dataset=ocr"])
    assert settled["solver"] == {"name": "auto", "step": "pairwise"}


@pytest.fixture
def preset(tmp_path):
    """Return a function that writes a preset and returns the overrides that choose it."""

    def write(text, name="new"):
        (tmp_path / "experiment").mkdir(exist_ok=True)
        (tmp_path / "experiment" / f"{name}.yaml").write_text("# @package _global_\n" + text)
        return f"hydra.searchpath=[file://{tmp_path}]", f"+experiment={name}"

    return write


GRIDS = """
lam: 0.5
hydra:
  sweeper:
    grids:
      - {solver: [bcfw, ssg], seed: "range(2)", iterates: "[last]"}
      - {solver: fw, lam: [0.5, 1/n]}
      - {solver: bcfw, seed: 0, iterates: [[last]]}
    smoke: {seed: 1, gap_tol: 0.25}
"""


def test_a_preset_is_the_union_of_its_grids(preset):
    runs = [("bcfw", 0.5, 0), ("bcfw", 0.5, 1), ("ssg", 0.5, 0), ("ssg", 0.5, 1), ("fw", 0.5, 0), ("fw", "1/n", 0)]
    configs = expand(*preset(GRIDS))
    assert short(configs, "solver", "lam", "seed") == runs
    assert [c["iterates"] for c in configs] == [["last"]] * 4 + [["last", "wavg"]] * 2


def test_smoke_replaces_the_values_of_every_grid_and_the_command_line_both(preset):
    chosen = preset(GRIDS)
    smoke = from_arguments.expand(chosen, preset="smoke")
    assert short(smoke, "solver", "seed", "gap_tol") == [("bcfw", 1, 0.25), ("ssg", 1, 0.25), ("fw", 0, 0.25), ("fw", 0, 0.25)]
    given = from_arguments.expand([*chosen, "seed=5", "lam=2", "solver=bcfw,ssg", "iterates=[last]"], preset="smoke")
    assert short(given, "solver", "lam", "seed", "gap_tol") == [("bcfw", 2.0, 5, 0.25), ("ssg", 2.0, 5, 0.25)]


def test_a_grid_has_smoke_values_of_its_own(preset):
    own = GRIDS.replace("seed: 0,", "smoke: {seed: [3, 4]}, ")
    assert [run[1] for run in short(from_arguments.expand(preset(own)), "solver", "seed")] == [0, 1, 0, 1, 0, 0]
    smoke = from_arguments.expand(preset(own), preset="smoke")
    assert short(smoke, "solver", "seed", "gap_tol") == [
        *[("bcfw", 1, 0.25), ("ssg", 1, 0.25), ("fw", 0, 0.25), ("fw", 0, 0.25)],
        *[("bcfw", 3, 0.25), ("bcfw", 4, 0.25)],
    ]


def test_presets_can_be_swept_together(preset):
    chosen, _ = preset(GRIDS)
    preset("hydra: {sweeper: {grids: [{solver: fw, lam: [1/n, 3]}]}}", "other")
    configs = from_arguments.expand([chosen, "+experiment=new,other"])
    assert short(configs, "solver", "lam")[4:] == [("fw", 0.5), ("fw", "1/n"), ("fw", 3.0)]


@pytest.mark.parametrize("is_named", [True, False], ids=["on the command line", "another package"])
@pytest.mark.parametrize(
    ("stated", "sampling"),
    [
        ("", ["perm", "gap"]),
        ("defaults: [override /solver: bcfw_cyclic]", ["perm", "gap"]),
        # The default, but not of what is chosen.
        ("defaults: [override /solver: bcfw]\nsolver: {sampling: uniform}", ["uniform", "uniform"]),
        ("defaults: [/solver/bcfw@solver]", ["uniform", "uniform"]),
    ],
)
def test_what_a_preset_says_of_a_solver_holds_for_whichever_is_chosen(preset, tmp_path, monkeypatch, stated, sampling, is_named):
    grids = "[{dataset: ocr, solver: bcfw_perm, seed: 0}, {dataset: ocr, solver: bcpfw_gap, seed: 1}]"
    folder, chosen = preset(f"{stated}\nhydra: {{sweeper: {{grids: {grids}}}}}")
    if not is_named:
        monkeypatch.setattr(composition, "conf_dirs", lambda: [conf_dir(), tmp_path])
    chosen = [folder, chosen] if is_named else [chosen]
    configs = from_arguments.expand(chosen)
    assert [config["solver"]["sampling"] for config in configs] == sampling
    with composition.composing() as composed:
        for config, given in zip(configs, (["solver=bcfw_perm", "seed=0"], ["solver=bcpfw_gap", "seed=1"]), strict=True):
            whole = composed.compose([*chosen, "dataset=ocr", *given])
            assert config == canonical({key: whole[key] for key in whole if key != "hydra"})


# -- what is run of it


def test_stored_runs_are_not_run_again(tmp_path, solved):
    configs = expand("lam=0.1,0.2", "seed=0,1")
    from_arguments.execute(configs[:2], results_dir=tmp_path)
    from_arguments.execute(configs, results_dir=tmp_path)
    assert solved.calls == [run_key(c) for c in configs]
    from_arguments.execute(configs, results_dir=tmp_path)
    assert len(solved.calls) == 4
    from_arguments.execute(configs[1:2], results_dir=tmp_path, force=True)
    assert solved.calls[4:] == [run_key(configs[1])]
    assert set(store.load_results(tmp_path)["key"]) == {run_key(c) for c in configs}


def test_a_store_without_room_for_a_claim_ends_the_sweep(tmp_path, solved, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(locks, "put", full)
    with pytest.raises(RunsFailed, match="the sweep broke off: nothing more can be stored"):
        from_arguments.execute(expand("seed=0,1"), results_dir=tmp_path)
    assert solved.calls == []
    assert capsys.readouterr().err.count("failed: [Errno 28]") == 1


def test_what_is_stored_can_be_had_from_a_store_that_cannot_be_written(tmp_path, solved, monkeypatch):
    configs = expand("seed=0,1")
    from_arguments.execute(configs[:1], results_dir=tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    from_arguments.execute(configs[:1], results_dir=tmp_path)
    assert runner.run(configs[0], tmp_path).status == "stored"
    for run in (lambda: from_arguments.execute(configs, results_dir=tmp_path), lambda: runner.run(configs[1], tmp_path)):
        with pytest.raises(ParameterError, match="results_dir must be a folder that can be written"):
            run()
    assert len(solved.calls) == 1


def test_an_interrupt_while_a_run_is_stored_comes_afterwards(tmp_path, solved, monkeypatch):
    (config,) = expand()
    commit = store.commit.commit
    monkeypatch.setattr(store.commit, "commit", lambda *given: (os.kill(os.getpid(), signal.SIGINT), commit(*given)))
    with pytest.raises(KeyboardInterrupt):
        runner.run(config, tmp_path, verbose=False)
    assert store.is_stored(tmp_path, config)


def test_workers_begin_with_one_run_of_each_kind():
    """Of data sets in turn, so that each has other kernels to compile than its neighbours; then what is left, in order."""
    configs = expand("dataset=digits,synthetic_lsp", "solver=bcfw,ssg", "lam=0.1,1", "seed=0")
    todo = [execution.Todo(config, "results") for config in configs]
    kinds = short([each.config for each in sweep._kinds_first(todo)], "dataset", "solver", "lam")
    first = [(name, solver, 0.1) for solver in ("bcfw", "ssg") for name in ("digits", "synthetic_lsp")]
    assert [(dataset["name"], *others) for dataset, *others in kinds] == first + [
        (name, solver, 1.0) for name in ("digits", "synthetic_lsp") for solver in ("bcfw", "ssg")
    ]


# -- combinations that do not fit, and failures

MISFITS = ["solver=bcfw,lbfgs,lazy,fw", "solver.line_search=true,false", "max_passes=0.1", "gap_tol=0"]


def test_combinations_that_do_not_fit_are_left_out_and_counted(tmp_path, solved, capsys):
    where = f"results_dir={tmp_path}"
    assert main(["run", "-m", *MISFITS, where]) == 2
    assert solved.calls == []
    assert main(["run", "-m", "skip_invalid=true", *MISFITS, where]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("skipped 4 of 8 combinations, which do not fit: unknown key 'solver.line_search'")
    assert len(solved.calls) == 4
    assert main(["run", "-m", "skip_invalid=true", "solver=bcfw,lbfgs", "max_passes=0.1", where]) == 0  # known with the data only
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(r"skipped 1 of 2 combinations, which do not fit: solver lbfgs .* \(1\)", last)


def test_a_sweep_ends_at_the_first_failure_if_it_is_to(tmp_path, solved, capsys):
    solved.plan += [None, ZeroDivisionError("by nought")]
    words = ["run", "-m", *QUICK, "seed=0,1,2,3", f"results_dir={tmp_path}"]
    assert main([*words, "fail_fast=true"]) == 1
    assert len(solved.calls) == 2
    *_, failed, last = capsys.readouterr().err.splitlines()
    assert failed.startswith("[2/4] digits auto lam=0.01 seed=1: failed: ZeroDivisionError: by nought (see ")
    assert last == (
        "fwexp: 1 of 4 runs failed, and fail_fast=true ended the sweep; not run: "
        "[3/4] digits auto lam=0.01 seed=2, [4/4] digits auto lam=0.01 seed=3"
    )
    solved.plan += [None, MemoryError("none left")]
    assert main(words) == 1
    assert [run.record.get("error") for run in store.find_runs(tmp_path, include={"failed"}) if run.status == "failed"] == [
        "MemoryError: none left"
    ]
    assert main(words) == 0  # which repeats the failed run alone
    assert len(solved.calls) == 2 + 3 + 1
    assert store.find_runs(tmp_path, include={"failed"}) == store.find_runs(tmp_path)


@pytest.mark.slow
def test_so_does_a_sweep_with_workers(tmp_path, monkeypatch, capsys):
    """The data of all runs are gone when the first worker looks for them."""
    file = tmp_path / "ocr" / "letter.data"
    file.parent.mkdir()
    file.write_bytes(letters())
    configs = expand("dataset=ocr", f"data_dir={tmp_path}", "seed=range(8)", "solver=bcfw")
    launch = execution._launch
    monkeypatch.setattr(execution, "_launch", lambda *args: file.unlink(missing_ok=True) or launch(*args))
    how = {"launcher": "joblib", "settings": ["hydra.launcher.n_jobs=1"], "fail_fast": True}
    with pytest.raises(RunsFailed, match="fail_fast=true ended the sweep; not run: "):
        from_arguments.execute(configs, results_dir=tmp_path, data_dir=tmp_path, **how)
    assert sum("failed: DataError" in line for line in capsys.readouterr().err.splitlines()) == 1


# -- a launcher that an experiment chooses

CHOOSES = """
defaults: [override /hydra/launcher: joblib]
hydra: {launcher: {n_jobs: 2}, sweeper: {grids: [{solver: [bcfw, fw], max_passes: 0.1}]}}
"""


def test_a_launcher_in_an_experiment_is_used(tmp_path, monkeypatch, preset):
    used = []
    monkeypatch.setattr(execution, "_launch", lambda batch, executor, *_: used.append(executor) or 1 / 0)
    chosen, plain = preset(CHOOSES), preset("hydra: {sweeper: {grids: [{solver: [bcfw, fw], max_passes: 0.1}]}}", "plain")
    where = [f"results_dir={tmp_path / 'results'}"]
    assert main(["run", "-m", *chosen, *where]) == 1
    assert used[-1] == Executor("joblib", DEFAULTS["joblib"] | {"n_jobs": 2})
    assert main(["run", "-m", *chosen, "hydra.launcher.n_jobs=1", *where]) == 1
    assert used[-1] == Executor("joblib", DEFAULTS["joblib"] | {"n_jobs": 1})
    assert main(["run", "-m", *plain, *where]) == 1
    assert used[-1] == BASIC


def test_a_launcher_in_an_experiment_is_rejected_where_it_would_be_ignored(tmp_path, preset, capsys):
    chosen = preset(CHOOSES)
    preset("hydra: {sweeper: {grids: [{solver: fw}]}}", "plain")
    assert main(["run", "-m", chosen[0], "+experiment=new,plain", f"results_dir={tmp_path}"]) == 2
    assert "experiments that disagree on hydra/launcher cannot be run together" in capsys.readouterr().err
    with pytest.raises(OptionError, match="must choose no launcher, got joblib; give it as an argument"):
        from_arguments.expand(chosen)
    assert main(["run", *chosen]) == 2
    assert "add -m" in capsys.readouterr().err


# -- from Python


def test_sweeps_from_python_are_those_of_the_command(tmp_path, solved, capsys):
    grid = {"solver.sampling": ["perm", "uniform"]}
    quick = {"max_passes": 0.1, "gap_tol": 0, "iterates": [["last"]], "results_dir": tmp_path}
    frame = fwexp.sweep(grid, solver="bcfw", lam=np.array([0.5, 0.25]), **quick)
    words = ["solver.sampling=perm,uniform", "solver=bcfw", "lam=0.5,0.25", "iterates=[last]"]
    assert list(frame["key"]) == [run_key(config) for config in expand(*words)] == solved.calls
    assert list(frame["solver.sampling"]) == ["perm", "perm", "uniform", "uniform"]
    assert list(frame["lam"]) == [0.5, 0.25] * 2
    assert list(frame.columns[-2:]) == ["key", "path"]
    row, run = frame.iloc[1], store.load_results(tmp_path, key=frame["key"][1])
    assert (row["primal"], row["test_error"]) == (run["primal"].iloc[-1], run["test_error"].iloc[-1])
    again = fwexp.sweep([{"solver": ("bcfw", "fw")}, {"solver": "fw", "lam": 1.0}], **quick)
    assert [tuple(row) for row in again[["solver", "lam"]].fillna(0).to_numpy()] == [("bcfw", 0), ("fw", 0), ("fw", 1)]
    pd.testing.assert_frame_equal(fwexp.sweep(grid, solver="bcfw", lam=[0.5, 0.25], **quick), frame)
    assert len(solved.calls) == 4 + 3


def test_a_list_among_the_options_of_a_launcher_is_one_value(tmp_path, monkeypatch):
    used, lines = [], ["module load python", "export A=1,2"]
    monkeypatch.setattr(execution, "_launch", lambda batch, executor, *_: used.append(executor) or 1 / 0)
    options = {"setup": lines, "timeout_min": 5}
    with pytest.raises(RunsFailed, match="the sweep broke off: ZeroDivisionError"):
        fwexp.sweep(lam=0.1, launcher="submitit_slurm", launcher_options=options, fail_fast=True, results_dir=tmp_path)
    assert used == [Executor("submitit_slurm", DEFAULTS["submitit_slurm"] | {"setup": lines, "timeout_min": 5})]


def test_runs_that_fail_are_rows(tmp_path, solved):
    solved.plan += [None, ZeroDivisionError("by nought")]
    given = {"seed": range(3), "max_passes": 0.1, "gap_tol": 0, "results_dir": tmp_path}
    with pytest.warns(RuntimeWarning, match="1 of 3 runs failed"):
        frame = fwexp.sweep(**given)
    assert list(frame["status"]) == ["max_passes", "failed", "max_passes"]
    assert frame["error"][1] == "ZeroDivisionError: by nought"
    solved.plan += [ZeroDivisionError("by nought")]
    with pytest.raises(RunsFailed, match="fail_fast"):
        fwexp.sweep(**given | {"seed": range(1, 5)}, fail_fast=True)
    frame = fwexp.sweep(solver=["bcfw", "lbfgs"], skip_invalid=True, **given)
    assert set(frame["solver"]) == {"bcfw"}


@pytest.mark.parametrize(
    ("grid", "given", "message"),
    [
        (None, {"lam": []}, r"lam must have one value at least, got \[\]"),
        ([], {}, r"grid must be a dict or a list of dicts, got \[\]"),
        ({"lam": 1}, {"lam": 2}, "lam must be given once"),
        ({"results_dir": "mine", "lam": [0.1]}, {}, r"^results_dir must be set by a parameter of fwexp\.sweep \(results_dir, "),
        (None, {"hydra/launcher": "joblib"}, "^hydra/launcher must be set by a parameter"),
        (
            {"hydra.launcher.n_jobs": 1},
            {"launcher": "joblib", "launcher_options": {"n_jobs": 2}},
            r"^hydra\.launcher\.n_jobs must be set by a parameter",
        ),
        (None, {"lamb": 1}, "unknown key 'lamb'"),
        (None, {"objective_value": "gap"}, "objective_value is for `fwexp run -m hydra/sweeper=optuna`"),
        ([{"force": True}, {"force": False}], {}, "grids must not differ in where"),
    ],
)
def test_wrong_sweeps_from_python_take_one_line(tmp_path, solved, grid, given, message):
    with pytest.raises(UserError, match=message):
        fwexp.sweep(grid, **given, results_dir=tmp_path)
    assert solved.calls == []


# -- one run


def test_a_run_gives_solve_what_the_configuration_says(tmp_path, monkeypatch):
    (config,) = from_arguments.expand(
        ["solver=bcfw", "solver.sampling=perm", "lam=1/n", "seed=3", "schedule=[0.1,0.5]", "iterates=[last,tavg]", "max_passes=0.5"]
    )
    outcome = runner.run(config, tmp_path, verbose=False)
    train, test = fwexp.load_dataset("digits")
    settings = {"lam": "1/n", "seed": 3, "schedule": [0.1, 0.5], "iterates": ["last", "tavg"], "max_passes": 0.5}
    expected = fwexp.solve(train, "bcfw", sampling="perm", test=test, **settings)
    stored = store.load_results(tmp_path)
    assert (outcome.status, outcome.path) == ("max_passes", store.run_dir(tmp_path, config))
    columns = ["iterate", "step", "primal", "dual", "test_error"]
    # pandas and pyarrow of some releases disagree on the type of texts.
    here, there = (trace[columns].astype({"iterate": object}) for trace in (stored, expected.trace))
    pd.testing.assert_frame_equal(here, there, check_exact=True)
    np.testing.assert_array_equal(np.load(outcome.path / "model.npz")["w"], expected.w)
    record = json.loads((outcome.path / "run.json").read_text())
    assert record["lam"] == 1 / train.n
    assert list(record["data"]) == ["digits.npz"]
    assert runner.run(config, tmp_path).status == "stored"


@pytest.mark.slow
def test_an_interrupted_sweep_continues_where_it_was(tmp_path, solved):
    configs, done = expand("lam=0.1,0.2", "seed=0,1"), 1
    solved.plan += [None] * done + ["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        from_arguments.execute(configs, results_dir=tmp_path)
    assert len(solved.calls) == done + 1  # the sweep stops there
    assert [store.is_stored(tmp_path, c) for c in configs] == [True] * done + [False] * (4 - done)
    (partial,) = (run for run in store.find_runs(tmp_path, include={"partial"}) if run.status == "interrupted")
    assert partial.key == run_key(configs[done])
    solved.calls.clear()
    from_arguments.execute(configs, results_dir=tmp_path)
    assert solved.calls == [run_key(c) for c in configs[done:]]
    assert len(store.find_runs(tmp_path, include={"partial", "failed", "damaged"})) == 4
