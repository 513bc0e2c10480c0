"""Settings of Hydra that would be called, ignored or written elsewhere are refused in one line, and nothing has happened."""

import subprocess
import sys

import pytest

from fwexp.cli import main

CALLS = "builtins.open"  # leaves a file, which shows that it was called
ARGUMENTS = "file: called, mode: w"
TARGET = f"{{_target_: {CALLS}, {ARGUMENTS}}}"


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder next to presets, and return its one line; nothing may have been written."""
    monkeypatch.setenv("FWEXP_DATA", str(tmp_path / "no_data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments, **files):
        for name, text in files.items():
            path = tmp_path / "conf" / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "conf").mkdir(exist_ok=True)
        code = main(["run", "--config-dir", str(tmp_path / "conf"), "max_passes=0.1", *arguments])
        captured = capsys.readouterr()
        assert (code, captured.out) == (2, "")
        assert captured.err.count("\n") == 1
        assert list((tmp_path / "here").iterdir()) == []
        return captured.err

    return run


PRESETS = [
    (f"hydra: {{callbacks: {{x: {TARGET}}}}}", "hydra.callbacks cannot be set"),
    (f"hydra: {{sweeper: {{_target_: {CALLS}}}}}", "hydra.sweeper._target_"),
    (f"hydra: {{launcher: {{_target_: {CALLS}}}}}", "hydra.launcher cannot be set, got 'builtins.open'"),
    (f"solver: {{cache: {TARGET}}}", "solver bcfw: cache"),
    (f"lam: {TARGET}", "lam must be a positive finite number"),
    ("hydra: {run: {dir: elsewhere}}", "hydra.run.dir cannot be set, got 'elsewhere': Hydra writes nothing here"),
    ("hydra: {mode: MULTIRUN}", "hydra.mode cannot be set, got MULTIRUN: the flag -m makes a sweep"),
    ("hydra: {verbose: true}", "hydra.verbose goes with hydra/job_logging=stdout only"),
]


@pytest.mark.parametrize(("text", "message"), PRESETS, ids=range(len(PRESETS)))
def test_a_preset_cannot_set_what_would_be_called_or_ignored(refused, text, message):
    assert message in refused("-m", "solver=bcfw", "+experiment=new", experiment__new=f"# @package _global_\n{text}\n")


def test_what_comes_with_hydra_is_accepted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    settings = ["hydra/launcher=joblib", "hydra/job_logging=disabled", "hydra/hydra_logging=none"]
    assert main(["run", "--cfg", "job", *settings]) == 0
    assert capsys.readouterr().err == ""


def test_a_launcher_that_does_not_work_here_says_so_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")  # where there is no srun
    assert main(["run", "-m", "max_passes=0.1", "hydra/launcher=submitit_slurm", "results_dir=a/b"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1 runs: 0 stored, 1 to run"
    assert second.startswith('fwexp: the sweep broke off: RuntimeError: Could not detect "srun"')
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_that_is_not_installed_says_how_it_comes(tmp_path, monkeypatch):
    """A process that finds no Dask."""
    script = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "distributed" else find(name, *more)
from fwexp.cli import main
sys.exit(main(["run", "-m", "hydra/launcher=dask"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unknown hydra/launcher 'dask'; accepted: basic, " in done.stderr
    assert "; dask comes with `pip install '.[dask]'` in the checkout" in done.stderr


def test_logging_writes_no_files(refused):
    file = "version: 1\nroot: {handlers: [x]}\nhandlers: {x: {class: logging.FileHandler, filename: called}}\n"
    assert "hydra/job_logging must not write files, got mine" in refused("hydra/job_logging=mine", hydra__job_logging__mine=file)
