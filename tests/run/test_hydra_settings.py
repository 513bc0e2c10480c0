"""Configurations name nothing that is called, imported or unpickled: one line says so, and nothing has happened."""

import pickle
import subprocess
import sys

import pytest

from fwexp.cli import main
from fwexp.errors import OptionError
from fwexp.run import sweep

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


LAUGHS = "a0: &a0 [0, 0]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
ITSELF = "dataset: &it {name: *it}\n"


@pytest.mark.parametrize("text", [LAUGHS, ITSELF], ids=["laughs", "itself"])
@pytest.mark.parametrize("place", ["experiment__mine", "solver__mine"])
def test_aliases_that_make_too_much_are_refused_before_they_are_expanded(refused, tmp_path, text, place):
    path = tmp_path / "conf" / f"{place.replace('__', '/')}.yaml"
    said = f"fwexp: {path} must have at most 10000 values with its aliases, got more\n"
    assert refused("+experiment=mine", **{place: text}) == said
    assert refused(f"hydra.searchpath=[file://{tmp_path / 'conf'}]") == said
    assert main(["compare", "mine", "bcfw", "--config-dir", str(tmp_path / "conf")]) == 2


PRESETS = [
    (f"hydra: {{callbacks: {{x: {TARGET}}}}}", "hydra.callbacks.x._target_ cannot be set, got 'builtins.open'"),
    ("hydra: {callbacks: {x: {a: 1}}}", "hydra.callbacks cannot be set"),
    (f"hydra: {{callbacks: {{x: '${{oc.create:{TARGET}}}'}}}}", "hydra.callbacks.x._target_ cannot be set"),
    (f"hydra: {{callbacks: {{x: {{deep: [1, [{TARGET}]]}}}}}}", "hydra.callbacks.x.deep.1.0._target_ cannot be set"),
    ("hydra: {callbacks: {x: '${oc.create:${hydra.job.num}}'}}", "hydra.callbacks.x._target_ cannot be set"),
    (f"hydra: {{sweeper: {{smoke: {TARGET}}}}}", "hydra.sweeper.smoke._target_ cannot be set"),
    (f"hydra: {{sweeper: {{grids: [{{lam: [{TARGET}]}}]}}}}", "hydra.sweeper.grids.0.lam.0._target_ cannot be set"),
    (f"hydra: {{sweeper: {{grids: [{{+x._target_: {CALLS}}}]}}}}", "_target_"),
    (f"hydra: {{sweeper: {{grids: [{{solver.cache: ['{{_target_: {CALLS}}}']}}]}}}}", "solver.cache._target_ cannot be set"),
    (f"hydra: {{sweeper: {{params: {TARGET}}}}}", "params"),
    (f"hydra: {{sweeper: {{_target_: {CALLS}}}}}", "hydra/sweeper must be fwexp"),
    (
        f"hydra: {{launcher: {{_target_: {CALLS}}}}}",
        "hydra.launcher._target_ cannot be set, got 'builtins.open'; accepted: hydra._",
    ),
    ("hydra: {launcher: {_target_: '${oc.env:HOME}'}}", "hydra.launcher._target_ cannot be set, got '${oc.env:HOME}'"),
    (f"hydra: {{help: {{header: {TARGET}}}}}", "_target_"),
    (f"hydra: {{job: {{env_set: {TARGET}}}}}", "hydra.job.env_set._target_ cannot be set"),
    (f"solver: {{cache: {TARGET}}}", "solver.cache._target_ cannot be set"),
    (f"solver: {{cache: {{F: [0, [{TARGET}]]}}}}", "solver.cache.F.1.0._target_ cannot be set"),
    (f"lam: {TARGET}", "lam._target_ cannot be set"),
    (f"dataset: {{_target_: {CALLS}}}", "_target_"),
]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["-m"]], ids=["run", "sweep"])
@pytest.mark.parametrize(("text", "message"), PRESETS, ids=range(len(PRESETS)))
def test_a_preset_names_nothing_that_is_called(refused, text, message, mode):
    line = refused("+experiment=new", *mode, experiment__new=f"# @package _global_\n{text}\n")
    assert message in line or ("grids" in text and "stands for many runs" in line and not mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [[], ["-m"]], ids=["run", "sweep"])
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (f"+hydra.callbacks.x={{_target_:{CALLS}}}", "hydra.callbacks.x._target_ cannot be set"),
        (f"+hydra.callbacks.x._target_={CALLS}", "hydra.callbacks.x._target_ cannot be set"),
        ("hydra.verbose=true", "hydra.verbose goes with hydra/job_logging=stdout only"),
        ("hydra.verbose=[fwexp]", "hydra.verbose goes with hydra/job_logging=stdout only"),
        (f"hydra.launcher._target_={CALLS}", "hydra.launcher._target_ cannot be set"),
        (f"+hydra.launcher.x._target_={CALLS}", "hydra.launcher"),
        (f"+x._target_={CALLS}", "x._target_ cannot be set"),
        (f"++solver.cache._target_={CALLS}", "_target_"),
        (f"lam={{_target_:{CALLS}}}", "lam._target_ cannot be set"),
    ],
)
def test_an_argument_names_nothing_that_is_called(refused, argument, message, mode):
    assert message in refused(*mode, argument)


LOGGING = [
    (f"handlers: {{x: {{(): {CALLS}, {ARGUMENTS}}}}}", "handlers.x.() cannot be set, got 'builtins.open'"),
    (f"handlers: {{x: {{class: {CALLS}, {ARGUMENTS}}}}}", "handlers.x.class cannot be set, got 'builtins.open'"),
    ("handlers: {x: {class: logging.os.system, command: touch called}}", "handlers.x.class cannot be set, got 'logging.os.system'"),
    ("handlers: {x: {class: '${oc.env:HOME}'}}", "handlers.x.class cannot be set"),
    ("handlers: {x: {class: logging.StreamHandler, stream: ext://antigravity.fly}}", "handlers.x.stream cannot be set"),
    ("handlers: {x: {class: logging.StreamHandler, level: ext://antigravity.fly}}", "handlers.x.level cannot be set"),
    (f"formatters: {{x: {{(): {CALLS}, {ARGUMENTS}}}}}", "formatters.x.() cannot be set"),
    (f"filters: {{x: {{(): {CALLS}, {ARGUMENTS}}}}}", "filters.x.() cannot be set"),
    ("handlers: '${oc.create:{x: 1}}'", "hold plain values"),
    ("handlers: {x: {class: logging.FileHandler, filename: called}}", "must not write files"),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hydra_logging", "job_logging"])
@pytest.mark.parametrize("mode", [[], ["-m"]], ids=["run", "sweep"])
@pytest.mark.parametrize(("text", "message"), LOGGING, ids=range(len(LOGGING)))
def test_logging_calls_and_imports_nothing(refused, kind, text, message, mode):
    group = f"hydra__{kind}__evil"
    line = refused(*mode, f"hydra/{kind}=evil", **{group: f"version: 1\nroot: {{handlers: [x]}}\n{text}\n"})
    assert message in line
    assert kind in line


@pytest.mark.parametrize("flag", ["--experimental-rerun", "--experimental-re"])
def test_nothing_is_unpickled(refused, tmp_path, flag):
    class Evil:
        def __reduce__(self):
            return open, ("called", "w")

    path = tmp_path / "config.pickle"
    path.write_bytes(pickle.dumps(Evil()))
    assert "--experimental-rerun is not supported" in refused(flag, str(path))


def test_a_sweep_in_python_looks_as_well(tmp_path):
    preset = tmp_path / "experiment" / "new.yaml"
    preset.parent.mkdir()
    preset.write_text(f"# @package _global_\nhydra: {{callbacks: {{x: {TARGET}}}}}\n")
    with pytest.raises(OptionError, match=r"hydra\.callbacks\.x\._target_ cannot be set"):
        sweep.expand([f"hydra.searchpath=[file://{tmp_path}]", "+experiment=new"])


@pytest.mark.parametrize("launcher", ["basic", "joblib", "submitit_local", "submitit_slurm", "dask"])
@pytest.mark.parametrize("logging", ["none", "stdout", "disabled"])
def test_what_comes_with_hydra_is_accepted(tmp_path, monkeypatch, capsys, launcher, logging):
    monkeypatch.chdir(tmp_path)
    settings = [
        f"hydra/launcher={launcher}",
        f"hydra/job_logging={logging}",
        f"hydra/hydra_logging={logging.replace('stdout', 'none')}",
    ]
    assert main(["run", "--cfg", "job", *settings]) == 0
    assert capsys.readouterr().err == ""


def test_other_launchers_are_not(refused):
    assert "launcher" in refused("-m", "hydra/launcher=slurm")


def test_a_launcher_that_does_not_work_here_says_so_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")  # where there is no srun
    assert main(["run", "-m", "max_passes=0.1", "hydra/launcher=submitit_slurm", "results_dir=a/b"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "1 runs: 0 stored, 1 to run"
    assert second.startswith('fwexp: the sweep broke off: RuntimeError: Could not detect "srun"')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("address=nowhere://here", "address must be that of a Dask scheduler, got 'nowhere://here': unknown address scheme"),
        ("scheduler_file=x", "scheduler_file must be a file that a running Dask scheduler has written, got 'x': [Errno 2] No such"),
        ("scheduler_file=empty", "scheduler_file must be a file that a running Dask scheduler has written, got 'empty': it has no"),
    ],
)
def test_a_cluster_that_is_not_there_takes_a_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, setting, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("{}")
    assert main(["run", "-m", "max_passes=0.1", "hydra/launcher=dask", f"hydra.launcher.{setting}", "results_dir=a/b"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fwexp: hydra.launcher.{message}")
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


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
