"""One file with a solver, a data set, a figure and a claim, and files that are no plugins."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fwexp
from fwexp import plugin_files, store
from fwexp.cli import main
from fwexp.data import DATASETS
from fwexp.papers import declarations
from fwexp.papers.declarations import FIGURES
from fwexp.solvers import SOLVERS
from tests.pages import files, write_files

TUTORIAL = Path(__file__).resolve().parent.parent / "docs" / "tutorials" / "solver.md"
PLUGIN = files(TUTORIAL)["my_solver.py"]
QUICK = ["lam=0.1", "max_passes=2", "data_dir=data"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with the plugin file of the tutorial and its data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(plugin_files.VARIABLE, raising=False)
    declarations.import_experiments()  # so that figures of these files are forgotten afterwards, and others are not
    monkeypatch.setattr(declarations, "_DECLARED", {kind: dict(those) for kind, those in declarations._DECLARED.items()})
    write_files(TUTORIAL, tmp_path / "tutorial")
    (tmp_path / "tutorial" / "data").rename(tmp_path / "data")
    (tmp_path / "my_solver.py").write_text(PLUGIN)
    return tmp_path


@pytest.mark.slow
def test_all_that_a_file_has_is_used_by_all_commands(folder, capsys):
    plugin = ["--plugin", "my_solver.py"]
    assert main(["run", *plugin, "solver=subgradient", "solver.offset=2", "dataset=tags", *QUICK]) == 0
    (run,) = store.find_runs()
    assert run.config["solver"] == {"name": "subgradient", "offset": 2.0}
    assert any(name.startswith("fwexp_plugin_my_solver_") for name in run.record["sources"]["modules"])
    assert main(["figure", "mine/fig1", *plugin, "--preset", "smoke", "hydra/launcher=basic"]) == 0
    assert Path("results/figures/mine/fig1-smoke.png").is_file()
    assert main(["run", "-m", "--plugin=my_solver.py", "+experiment=mine/fig1", "max_passes=2"]) == 0
    capsys.readouterr()
    assert main(["claims", "mine", *plugin]) == 0
    assert capsys.readouterr().out.startswith("M-1 ")
    assert main(["compare", "subgradient", "fw", *plugin]) == 0
    assert main(["options", "subgradient", *plugin]) == 0
    assert "solver.offset=1" in capsys.readouterr().out
    assert main(["data", "list", *plugin]) == 0
    assert "words and their tags" in capsys.readouterr().out


@pytest.mark.parametrize("flag", [["--plugin", "my_solver.py"], ["--plugin=my_solver.py"]])
def test_a_file_is_named_before_a_command_or_after_it(folder, capsys, flag):
    for words in ([*flag, "options", "subgradient"], ["options", *flag, "subgradient"], ["options", "subgradient", *flag]):
        assert main(words) == 0
        assert "solver.offset=1" in capsys.readouterr().out
    assert main(["options", "subgradient"]) == 2
    assert main([*flag, "optoins"]) == 2
    assert "unknown command 'optoins' (did you mean 'options'?)" in capsys.readouterr().err
    assert main(["--plugin"]) == 2
    assert capsys.readouterr().err == "fwexp: --plugin needs a file, got none\n"


def test_files_are_there_as_long_as_they_are_named(folder, monkeypatch, capsys):
    known = [list(SOLVERS), list(DATASETS), list(FIGURES)]
    with plugin_files.using(["my_solver.py"]):
        assert "subgradient" in SOLVERS
        assert "tags" in DATASETS
        assert "mine/fig1" in FIGURES
    assert [list(SOLVERS), list(DATASETS), list(FIGURES)] == known
    assert plugin_files.VARIABLE not in os.environ
    assert main(["run", "solver=subgradient"]) == 2
    (folder / "other.py").write_text(PLUGIN.replace("subgradient", "other").replace("tags", "others").replace("mine", "its"))
    monkeypatch.setenv(plugin_files.VARIABLE, os.pathsep.join(["my_solver.py", str(folder / "other.py")]))
    assert {"subgradient", "other"} <= set(SOLVERS)
    train, _ = fwexp.load_dataset("tags", data_dir="data")
    assert fwexp.solve(train, "other", lam=0.1, max_passes=1).solver == "other"
    monkeypatch.delenv(plugin_files.VARIABLE)
    assert "other" not in SOLVERS


def test_an_edited_file_makes_its_runs_stale(folder, capsys):
    run = ["run", "--plugin", "my_solver.py", "solver=subgradient", *QUICK]
    assert main(run) == 0
    Path("my_solver.py").rename("elsewhere.py")
    Path("elsewhere.py").rename("my_solver.py")  # the name and the code in it count
    Path("my_solver.py").write_text(f"# a comment\n{PLUGIN}")
    assert main(run) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "stored already"
    Path("my_solver.py").write_text(PLUGIN.replace("+ 1.0 + self", "+ 2.0 + self"))
    assert main(run) == 0
    assert "stored already, but made by another version of the code" in capsys.readouterr().err
    before = store.load_results()["primal"].iloc[-1]
    assert main([*run, "force=stale"]) == 0
    assert store.load_results()["primal"].iloc[-1] != before


def test_a_comment_leaves_the_module_its_name_and_a_docstring_is_read_anew(folder):
    path = Path("my_solver.py")
    with plugin_files.using([path]):
        (before,) = plugin_files.modules()
        path.write_text(re.sub('^""".*?"""', '"""Read anew."""  # a comment', PLUGIN))
        plugin_files.refresh()
        (after,) = plugin_files.modules()
        assert (after.__name__, after.__doc__) == (before.__name__, "Read anew.")
        assert sys.modules[after.__name__] is after
        assert SOLVERS["subgradient"] is after.Subgradient
        path.write_text(f"{PLUGIN}X = 1\n")
        plugin_files.refresh()
        assert plugin_files.modules()[0].__name__ != before.__name__


def test_sweeps_from_python_take_files(folder):
    frame = fwexp.sweep(plugin="my_solver.py", solver=["subgradient", "fw"], dataset="tags", lam=0.1, max_passes=1, data_dir="data")
    assert list(frame["solver"]) == ["subgradient", "fw"]
    assert "subgradient" not in SOLVERS


SOLVER = "from fwexp.solvers.fw import FW\nclass Mine(FW):\n    name = {!r}\n"
HALF = "from fwexp.solvers import Solver\nclass M(Solver):\n    name = title = 'half'"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module", "must be importable, got ModuleNotFoundError: No module named 'no_such_module' (line 1)"),
        ("\nimport sibling", "(line 2); a plugin is one file, several make a package"),
        ("raise SystemExit(3)", "must be importable, got SystemExit: 3 (line 1)"),
        ("x = (", "got SyntaxError: '(' was never closed"),
        (SOLVER.format("bcfw"), "must have a name of its own, got that of one in fwexp.solvers.bcfw"),
        (SOLVER.format("subgradient"), "must have a name of its own, got that of one in plugin file"),
        (SOLVER.format("a b"), "a solver must have a name of letters, digits and _, got 'a b'"),
        (HALF, "it does not define advance, point, start"),
        (f"{HALF}\n    chooses = True", "it does not define advance, point, start"),
        (None, "plugin files must be files of Python, got"),
    ],
)
def test_files_that_are_none_take_one_line(folder, capsys, source, message):
    (folder / "sibling.py").touch()
    if source is not None:
        (folder / "bad.py").write_text(source)
    assert main(["run", "--plugin", "my_solver.py", "--plugin", "bad.py", "solver=fw", *QUICK]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (folder / "results").exists()


def test_two_files_of_one_name_take_one_line(folder, capsys):
    (folder / "other").mkdir()
    (folder / "other" / "my_solver.py").write_text(SOLVER.format("mine"))
    assert main(["ls", "--plugin", "my_solver.py", "--plugin", "other/my_solver.py"]) == 2
    assert "plugin files must have different names, got" in capsys.readouterr().err


def test_two_names_of_one_file_are_one(folder, capsys):
    """As /tmp and /private/tmp on a Mac."""
    (folder / "link").symlink_to(folder)
    assert main(["solvers", "subgradient", "--plugin", "my_solver.py", "--plugin", "link/my_solver.py"]) == 0
    assert capsys.readouterr().out.startswith("solver=subgradient: ")


def test_what_a_file_imports_is_not_its_own(folder):
    """Also where two files share it, and a figure is declared as those in fwexp are."""
    more = "from fwexp.data.digits import DATASET as D\nfrom fwexp.solvers.fw import FW\n"
    Path("my_solver.py").write_text(PLUGIN.replace("FIG1 = Figure(", "FIG1 = Figure.declared(") + more)
    with plugin_files.using(["my_solver.py"]):
        assert FIGURES["mine/fig1"].experiment["lam"] == 0.1
        assert FIGURES.module("mine/fig1").startswith(plugin_files.PREFIX)
        assert DATASETS["digits"].name == "digits"


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local", "dask"])
def test_workers_find_files_too(folder, launcher):
    code = "import sys; from fwexp.cli import main; sys.exit(main())"
    words = ["run", "-m", "--plugin", "my_solver.py", "solver=subgradient,fw", "dataset=tags", *QUICK, f"hydra/launcher={launcher}"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in folder.glob("results/runs/*/*/*/run.json")]
    assert sorted(record["config"]["solver"]["name"] for record in records) == ["fw", "subgradient"]
    assert len({name for record in records for name in record["sources"]["modules"] if re.match("fwexp_plugin_", name)}) == 1


def test_the_id_of_a_paper_is_not_taken(folder, capsys):
    """Otherwise its name would stand for the claims of the other paper."""
    text = 'from fwexp.experiments import Paper\n\nPAPER = Paper(id="L", name="long", title="Long sentences")\n'
    Path("long.py").write_text(text)
    assert main(["claims", "long", "--plugin", "long.py"]) == 2
    assert "the id of a paper must be new, got 'L', which 'lecture' has" in capsys.readouterr().err
