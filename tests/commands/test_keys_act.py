"""Every key and flag of run, data and compare changes what the command does, or is rejected in one line."""

import re
import shutil

import pytest

from fwexp import store
from fwexp.cli import main
from fwexp.commands import compare
from fwexp.driver.checkpoint import Checkpoint
from fwexp.files.folders import FOLDER_KEYS
from fwexp.jit import threads
from fwexp.run import catalogues, runner
from fwexp.run.config import EXECUTION_KEYS, SWEEP_KEYS, canonical
from fwexp.store import staleness
from tests.test_cli import letters

RUN = "run dataset=ocr data_dir=data solver=bcfw iterates=[last] max_passes=0.5 gap_tol=0"
STORED = f"{RUN} lam=0.5"
SWEEP = f"{RUN} -m"
SEARCH = f"{SWEEP} hydra/sweeper=optuna hydra.sweeper.n_trials=2 lam=interval(0.1,1)"
COMPARE = "compare bcfw ssg --stale"

# A command line, a key, and a value with which the command does something else than without the key.
ACT = [
    (RUN, "results_dir", "there"),
    (RUN, "data_dir", "none"),
    (STORED, "force", "true"),
    (RUN, "checkpoint", "0"),
    (f"{RUN} n_jobs=1", "n_jobs", "2"),
    (f"{SWEEP} solver=bcfw,away", "skip_invalid", "true"),
    (f"{SWEEP} seed=7,8", "fail_fast", "true"),
    pytest.param(SWEEP, "wall_limit", "0.1", marks=pytest.mark.slow),
    pytest.param(SEARCH, "objective_value", "test_error", marks=pytest.mark.slow),
    ("data list ocr", "data_dir", "data"),
    (COMPARE, "results_dir", "none"),
    (COMPARE, "out", "there"),
    (COMPARE, "--dataset", "ocr"),
    (COMPARE, "--lam", "0.1"),
    (COMPARE, "--gaps", "0.7"),
    (COMPARE, "--format", "csv"),
    (COMPARE.replace("ssg", "mine"), "--config-dir", "conf"),
    ("compare bcfw ssg", "--stale", ""),
]
# A command line, a key that has no effect on it, and the message.
REJECTED = [
    (RUN, "skip_invalid", "true", "skip_invalid is for a sweep; add -m"),
    (RUN, "fail_fast", "true", "fail_fast is for a sweep; add -m"),
    (RUN, "wall_limit", "60", "wall_limit is for a sweep; add -m"),
    (RUN, "objective_value", "primal", "objective_value is for a sweep; add -m"),
    (SWEEP, "objective_value", "primal", "objective_value is what hydra/sweeper=optuna minimises, got 'primal' without that"),
    ("data list ocr", "results_dir", "none", "unknown key of fwexp data 'results_dir'; accepted: data_dir"),
    (COMPARE, "data_dir", "none", "unknown key of fwexp compare 'data_dir'; accepted: out, results_dir"),
]


@pytest.fixture(scope="module")
def stored(tmp_path_factory, make_result):
    """Return a folder of runs to compare."""
    folder = tmp_path_factory.mktemp("stored")
    for lam in (0.01, 0.1):
        for name, options in (("bcfw", {}), ("ssg", {}), ("ssg", {"sampling": "perm"})):
            for seed in range(2):
                config = canonical({"dataset": {"name": "digits"}, "solver": {"name": name} | options, "lam": lam, "seed": seed})
                made_by = staleness.made_by(catalogues.modules(config)) | ({"sha256": "0" * 64} if seed else {})
                store.save(make_result(level=0.65), config, str(folder), made_by=made_by)
    return folder


@pytest.fixture
def outcome(tmp_path_factory, monkeypatch, capsys, stored):
    """Return a function that calls a command in a new folder, and returns all that it does except for times."""
    monkeypatch.setattr("fwexp.papers.figure_files._drawn", lambda *_: [b"", b""])
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # the most
    solve, save, noted = runner.solve, Checkpoint.save, []

    def solved(config, *problems, **how):
        if config["seed"] == 7:
            raise ZeroDivisionError("by nought")
        noted.append(threads.num_threads())
        return solve(config, *problems, **how)

    def saved(checkpoint, run):
        noted.append("saved")
        save(checkpoint, run)

    monkeypatch.setattr(runner, "solve", solved)
    monkeypatch.setattr(Checkpoint, "save", saved)

    def call(line, key="", value=""):
        folder = tmp_path_factory.mktemp("folder")
        monkeypatch.chdir(folder)
        for path, text in (("data/ocr/letter.data", letters()), ("conf/solver/mine.yaml", b"name: ssg\nsampling: perm\n")):
            (folder / path).parent.mkdir(parents=True)
            (folder / path).write_bytes(text)
        if line.startswith("compare"):
            shutil.copytree(stored, folder / "results")
        elif line == STORED:
            assert main(line.split()) == 0
        capsys.readouterr()
        noted.clear()
        code = main([*line.split(), *([f"{key}={value}" if value else key] if key else [])])
        said = re.sub(r"(?m)^(?:compiling, .*|.*: pass .*)\n|\d[\d.e+-]* s\b", "", "".join(capsys.readouterr()))
        files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return code, said.replace(str(folder), ""), noted.copy(), files

    return call


USUAL = {}  # outcomes of two calls without the key, by command line


@pytest.mark.parametrize(("line", "key", "value"), ACT)
def test_keys_act(outcome, line, key, value):
    if line not in USUAL:
        USUAL[line] = outcome(line), outcome(line)
    first, again = USUAL[line]
    assert first == again
    assert first != outcome(line, key, value)


@pytest.mark.parametrize(("line", "key", "value", "message"), REJECTED)
def test_keys_without_effect_are_rejected(outcome, line, key, value, message):
    assert outcome(line, key, value)[:2] == (2, f"fwexp: {message}\n")


def test_no_key_is_left_out():
    listed = {(each.values if hasattr(each, "values") else each)[:2] for each in [*ACT, *REJECTED]}
    keys = {command: {key for line, key in listed if line.startswith(command)} for command in ("run", "data", "compare")}
    assert keys["run"] == set(EXECUTION_KEYS)
    assert {key for line, key in listed if "-m" in line} == set(SWEEP_KEYS)
    assert keys["data"] == set(FOLDER_KEYS)
    assert keys["compare"] == {*FOLDER_KEYS, *compare.ACCEPTED["switches"], *compare.FLAGS, *compare.ACCEPTED["keys"]}
