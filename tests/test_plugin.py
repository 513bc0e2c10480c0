"""Finding of files in the package's folders, and packages from outside, sound (tests/plugin) and broken ones."""

import dataclasses
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import fwexp.data
import fwexp.experiments
import fwexp.solvers
from fwexp import plugins
from fwexp.convex import minimize, saddle_point
from fwexp.data import DATASETS
from fwexp.errors import ParameterError
from fwexp.options import CONVEX, SADDLE, STRUCTURED
from fwexp.papers import declarations
from fwexp.papers.declarations import FIGURES
from fwexp.run.config import names
from fwexp.solvers import SOLVERS
from tests.pages import blocks, write_files

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "tests" / "plugin"
TUTORIAL = ROOT / "docs" / "tutorials" / "solver.md"  # a package with a solver, a data set and a figure


class Place:
    """A folder to work in, and packages in addition to fwexp."""

    def __init__(self, site, folder):
        self.site, self.folder = site, folder
        (folder / "data").mkdir(exist_ok=True)

    def python(self, code, *argv):
        environment = os.environ | {"PYTHONPATH": str(self.site), "FWEXP_DATA": str(self.folder / "data")}
        command = [sys.executable, "-c", code, *argv]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)

    def fwexp(self, *argv):
        """Call the command; return its output, and its lines on standard error that are not about what is left out."""
        done = self.python("import sys; from fwexp.cli import main; sys.exit(main())", *argv)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return the package of the tutorial and that of tests/plugin, installed."""
    source, site, work = (tmp_path_factory.mktemp(name) for name in ("source", "site", "work"))
    shutil.copytree(PLUGIN, source / "plugin")
    write_files(TUTORIAL, source / "elsewhere")
    shutil.move(source / "elsewhere" / "data", work)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(site), *map(str, source.iterdir())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Place(site, work)


@pytest.mark.slow
def test_what_another_package_adds_is_listed(place):
    text = place.fwexp("run", "--help")
    groups = dict(re.findall(r"^([\w/]+): (.*)$", text, re.MULTILINE))
    assert {"bcfw", "auto", "subgradient", "timid"} <= set(groups["solver"].split(", "))
    assert groups["dataset"].split(", ") == sorted([*DATASETS, "bits", "tags"])
    assert groups["experiment/elsewhere"] == "fig1"
    (row,) = (line for line in place.fwexp("data", "list").splitlines() if line.startswith("tags "))
    assert "words and their tags" in row
    assert f"present  {place.folder / 'data' / 'tags'}" in row
    assert re.search("^elsewhere/fig1 +Subgradient descent", place.fwexp("figure"), re.MULTILINE)
    done = place.python("import sys; from fwexp.cli import main; sys.exit(main())", "run", "solver=subgradeint")
    assert done.returncode == 2
    assert "unknown solver 'subgradeint' (did you mean 'subgradient'?); accepted: " in done.stderr


@pytest.mark.slow
def test_what_another_package_adds_is_run_swept_and_drawn(place):
    run = ("run", "dataset=tags", "lam=0.1", "max_passes=3")
    single = Path(place.fwexp(*run, "solver=subgradient", "solver.offset=2").strip())
    assert single.parts[:4] == ("results", "runs", "tags", "subgradient")
    place.fwexp(*run, "-m", "solver=subgradient,timid,bcfw", "hydra/launcher=joblib")
    rows = place.fwexp("ls", "dataset=tags").splitlines()[1:]
    assert [row.split()[:3] for row in rows] == [["max_passes", "bcfw", "tags"], *[["max_passes", "subgradient", "tags"]] * 3]
    assert {row.split()[-1] for row in rows[1:]} == {"solver.offset=1", "solver.offset=10", "solver.offset=2"}
    out = place.fwexp("figure", "elsewhere/fig1", "hydra/launcher=basic")
    assert [Path(line).name for line in out.splitlines()] == ["fig1.png", "fig1.svg", "fig1.csv", "fig1.json"]
    figure = place.folder / "results" / "figures" / "elsewhere" / "fig1"
    numbers = figure.with_suffix(".csv").read_text()
    assert {name for line in numbers.splitlines() for name in line.split(",")} >= {"fw", "subgradient", "timid", "tags", "digits"}
    assert "timid: " in json.loads(figure.with_suffix(".json").read_text())["description"]  # as the legend has it
    assert len(place.fwexp("ls", "method=timid").splitlines()) == 1 + 3
    assert "timid, passes: " in place.fwexp("compare", "subgradient", "timid")
    line, quote = place.fwexp("claims", "elsewhere").splitlines()[:2]
    assert re.fullmatch(r"E-1 +(holds|fails) +page 1: .*", line)
    assert quote.strip() == "Frank-Wolfe has a lower objective than subgradient descent."
    assert json.loads((place.folder / "results/claims/elsewhere.json").read_text())["E-1"]["figure"] == "elsewhere/fig1"
    place.fwexp("report")
    page = (place.folder / "results/report/elsewhere.html").read_text()
    for shown in (
        "My notes on subgradient descent</h1>",
        'id="elsewhere-fig1"',
        'id="E-1"',
        "From 1 to 8 passes",
        "Reproduced</strong>",
        "These figures are yours: ",
    ):
        assert shown in page
    first = (place.folder / "results/report/index.html").read_text()
    assert re.search('My notes on subgradient descent</a> <span class="verdict yours">', first)


@pytest.mark.slow
def test_a_method_of_another_package_runs_on_convex_sets(place):
    """By its name, as a method with options, in a sweep with workers, and from Python; it fits no data of other kinds."""
    place.fwexp("run", "-m", "dataset=norm", "solver=lazy_fw,lazier_fw,frank_wolfe", "max_passes=50", "hydra/launcher=joblib")
    rows = [row.split() for row in place.fwexp("ls", "dataset=norm").splitlines()[1:]]
    assert sorted((row[1], row[-1]) for row in rows) == [
        ("frank_wolfe", "task=convex"),
        ("lazy_fw", "solver.share=0.1"),
        ("lazy_fw", "solver.share=0.5"),
    ]
    code = """
import numpy as np
from fwexp.convex import Quadratic, Simplex, minimize
print(minimize(Quadratic(np.eye(3)), Simplex(3), method="lazy_fw", share=1.0, gap_tol=0.01).status)
minimize(Quadratic(np.eye(3)), Simplex(3), method="lazy_fw", share=2)
"""
    done = place.python(code)
    assert done.stdout == "converged\n"
    assert done.stderr.endswith("ParameterError: method lazy_fw: share must be a number > 0 and <= 1, got 2\n")
    done = place.python("import sys; from fwexp.cli import main; sys.exit(main())", "run", "dataset=tags", "solver=lazy_fw")
    assert done.returncode == 2
    assert "solver lazy_fw is for convex problems" in done.stderr


@pytest.mark.slow
def test_a_family_of_another_package_needs_the_required_functions_only(place):
    """Tiers that a solver needs are named before anything is compiled."""
    folder = Path(place.fwexp("run", "dataset=bits", "solver=fw", "lam=0.1", "max_passes=30").strip())
    assert folder.parts[:4] == ("results", "runs", "bits", "fw")
    code = """
import sys
from fwexp.jit.listening import on_compilation
compiled = []
on_compilation.set(compiled.append)
from fwexp.cli import main
status = main(["run", "dataset=bits", "solver=online_eg", "lam=0.1"])
print(len(compiled))
sys.exit(status)
"""
    done = place.python(code)
    assert (done.returncode, done.stdout) == (2, "0\n")
    assert "solver online_eg needs the tier expectations" in done.stderr
    assert "which BitsProblem does not have" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_run_depends_on_all_modules_of_the_other_package_that_it_uses(place):
    code = """
import sys
from fwexp.files import code_digest
from fwexp.run import catalogues
from fwexp.run.config import names
from fwexp.run.config import canonical
from fwexp.store import staleness
def made_by():
    config = canonical({"dataset": {"name": "tags"}, "solver": {"name": "subgradient"}, "lam": 0.1})
    return staleness.made_by(catalogues.modules(config))
print(*sorted(name for name in code_digest.closure(made_by()["modules"], deferred=True) if name.startswith("elsewhere")))
source, before = code_digest._source, made_by()
for edited in sys.argv[1:]:
    code_digest._source = lambda module: source(module) + (b"\\nEDITED = True" if module == edited else b"")
    staleness.current.cache_clear()
    print(edited, staleness.is_stale({"sources": before}))
"""
    edited = [
        "elsewhere.steps",
        "elsewhere.tags",
        "fwexp.data.readers.file_problems",
        "fwexp.solvers.fw",
        "elsewhere.figure",
        "fwexp.data",
    ]
    done = place.python(code, *edited)
    assert done.returncode == 0, done.stderr
    names, *stale = done.stdout.splitlines()
    assert names == "elsewhere.steps elsewhere.subgradient elsewhere.tags"
    assert stale == [f"{name} {number < 4}" for number, name in enumerate(edited)]


def install(site, name, points, **modules):
    """Write a distribution as installers do: modules and entry points."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)


SOUND = """
from dataclasses import dataclass, field
from fwexp.data import Dataset
from fwexp.solvers.fw import FW

class Mine(FW):
    name = "mine"

class Nameless(FW):
    pass

class Same(FW):
    name = "bcfw"

@dataclass(frozen=True)
class Strange:
    value: object = field(default=object)

class Odd(FW):
    name = "odd"
    Options = Strange

@dataclass(frozen=True)
class Demanding:
    value: object

@dataclass(frozen=True)
class Clashing:
    seed: int = 3

class Clash(FW):
    name = "clash"
    Options = Clashing

@dataclass(frozen=True)
class Called:
    name: str = "mine"

DATA = Dataset("called", "its option is a name", "none", (), print, Called)

class Bare(FW):
    name = "bare"
    Options = Demanding

number = 3
"""
CLAIMING = """
from fwexp.experiments import Figure
from fwexp.papers.claims import claim

FIG1 = Figure("mine/fig1", "Mine", print, print)

@claim("B13-1", "Another paper is wrong.", place="nowhere")
def taken():
    pass
"""
POINTS = """
[fwexp.solvers]
mine = sound:Mine
nameless = sound:Nameless
bcfw = sound:Same
auto = sound:Mine
odd = sound:Odd
bare = sound:Bare
clash = sound:Clash
number = sound:number
absent = sound:absent
gone = no_such_module:X
spoilt = spoilt:X
quits = quits:X

[fwexp.datasets]
wrong = sound:Mine
called = sound:DATA

[fwexp.papers]
wrong = sound:Mine

[fwexp.figures]
wrong/fig1 = sound:Mine
mine/fig1 = claiming:FIG1
"""
REASONS = {
    "solver 'nameless'": "it calls itself 'fw'",
    "solver 'bcfw'": "fwexp.solvers.bcfw has one of that name",
    "solver 'auto'": "fwexp.solvers.auto has one of that name",
    "solver 'odd'": "UnsupportedValueType: Value 'object' is not a supported primitive type",
    "solver 'bare'": "missing 1 required positional argument: 'value'",
    "solver 'clash'": "its option 'seed' must have another name; calls and configurations use this one already",
    "dataset 'called'": "its option 'name' must have another name; calls and configurations use this one already",
    "solver 'number'": "it is no subclass of fwexp.solvers.Solver",
    "solver 'absent'": "AttributeError: module 'sound' has no attribute 'absent'",
    "solver 'gone'": "ModuleNotFoundError: No module named 'no_such_module'",
    "solver 'spoilt'": "SyntaxError: ",
    "solver 'quits'": "SystemExit: 3 (quits.py, line 2)",
    "dataset 'wrong'": "it is no fwexp.data.Dataset",
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Return a place with a package that has one sound solver and many faults."""
    site = tmp_path_factory.mktemp("broken")
    install(site, "faulty", POINTS, sound=SOUND, claiming=CLAIMING, spoilt="def f(:\n", quits="import sys\nsys.exit(3)\n")
    for name in ("one", "other"):
        install(site, name, "[fwexp.solvers]\ntwice = sound:Mine\n")
    return Place(site, tmp_path_factory.mktemp("work"))


@pytest.mark.slow
def test_what_is_broken_is_left_out_with_one_line_each(broken):
    done = broken.python("import sys; from fwexp.cli import main; sys.exit(main())", "run", "--help")
    assert done.returncode == 0
    (solvers,) = re.findall(r"^solver: (.*)$", done.stdout, re.MULTILINE)
    assert set(solvers.split(", ")) == {"mine", *names("solver")}
    lines = done.stderr.splitlines()
    for what, reason in REASONS.items():
        (line,) = (line for line in lines if line.startswith(f"fwexp: left out {what} of package faulty: "))
        assert reason in line
    assert len(lines) == len(REASONS) + 1
    (line,) = (line for line in lines if "'twice'" in line)
    assert re.fullmatch(r"fwexp: left out solver 'twice' of package (one|other) and package (one|other): they share the name", line)


@pytest.mark.slow
def test_what_is_broken_does_not_disturb_others(broken):
    """Only what was asked for is imported, so nothing is said of the rest."""
    code = """
import fwexp
train, test = fwexp.load_dataset("digits")
print(fwexp.solve(train, "mine", lam=1.0, max_passes=1).solver)
"""
    done = broken.python(code)
    lines = [line for line in done.stderr.splitlines() if "has one of that name" not in line]
    assert done.stdout == "mine\n"
    assert {re.search(r"solver '(\w+)'", line)[1] for line in lines} == {"twice"}  # known without an import
    done = broken.python("import sys; from fwexp.cli import main; sys.exit(main())", "figure")
    assert done.returncode == 0
    assert "icml2013/fig1" in done.stdout
    assert done.stderr.splitlines() == ["fwexp: left out figure 'wrong/fig1' of package faulty: it is no fwexp.experiments.Figure"]


@pytest.mark.slow
def test_papers_and_claims_that_are_broken_are_left_out(broken):
    done = broken.python("import sys; from fwexp.cli import main; sys.exit(main())", "claims", "B13-1")
    assert done.returncode == 0
    assert "For lam = 0.01 the stochastic solvers" in done.stdout
    assert [line for line in done.stderr.splitlines() if "solver" not in line and "dataset" not in line] == [
        "fwexp: left out paper 'wrong' of package faulty: it is no fwexp.experiments.Paper",
        "fwexp: left out figure 'wrong/fig1' of package faulty: it is no fwexp.experiments.Figure",
        "fwexp: left out claim 'B13-1' of claiming: its id must be that of a paper which the same package declares, followed by"
        " - and a number, as in B13-1; modules below experiments/ declare one by Paper.declared(...)",
        "0 of 1 claims checked",
    ]


@pytest.fixture
def add(tmp_path, monkeypatch, caplog):
    """Return a function that adds a file to the folder of a package of ours, and the catalogue without what it found before."""

    def add(package, catalogue, **modules):
        for name, source in modules.items():
            (tmp_path / f"{name}.py").write_text(source)
            monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}", raising=False)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        monkeypatch.setattr(catalogue, "_definitions", None)
        monkeypatch.setattr(catalogue, "loaded", {})
        names = list(catalogue)
        for name in modules:
            sys.modules.pop(f"{package.__name__}.{name}", None)
        return names, [record.getMessage() for record in caplog.records]

    return add


def test_one_file_adds_a_solver(add):
    before = list(SOLVERS)
    names, complaints = add(fwexp.solvers, SOLVERS, mine="from fwexp.solvers.fw import FW\nclass Mine(FW):\n    name = 'mine'\n")
    assert (sorted(names), complaints) == (sorted([*before, "mine"]), [])
    assert SOLVERS.module("mine") == "fwexp.solvers.mine"


def test_options_are_not_called_as_what_is_given_along_with_them():
    calls = {STRUCTURED: fwexp.solve, CONVEX: minimize, SADDLE: saddle_point}
    for kind, call in calls.items():
        own = [name for name in inspect.signature(call).parameters if name != "options"]
        for name in own:
            options = dataclasses.make_dataclass("Options", [(name, int, 1)])
            with pytest.raises(ParameterError, match=f"option '{name}' must have another name"):
                plugins.check_options_class(options, plugins.taken(kind))
        assert len(own) > 5


def test_threads_that_look_at_once_find_the_same():
    def slowly():
        for name in ("first", "second", "third"):
            time.sleep(0.05)
            yield name, plugins.Definition("module", "a test", lambda name=name: SimpleNamespace(name=name))

    catalogue = plugins.Catalogue("solver", slowly, lambda _: None, objects=lambda _: ())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda delay: time.sleep(delay) or "third" in catalogue, (0.0, 0.02, 0.07, 0.12)))
    assert found == 4 * [True]


def test_one_file_adds_a_dataset(add):
    before = list(DATASETS)
    (source,) = (block.text for block in blocks(TUTORIAL) if block.file == "elsewhere/tags.py")
    names, complaints = add(fwexp.data, DATASETS, tags=source)
    assert (sorted(names), complaints) == (sorted([*before, "tags"]), [])


def test_one_file_adds_a_figure(add, monkeypatch):
    before = list(FIGURES)
    monkeypatch.setattr(declarations, "_DECLARED", {kind: dict(those) for kind, those in declarations._DECLARED.items()})
    declarations.import_experiments.cache_clear()
    source = "from fwexp.experiments import Figure\n{} = Figure.declared({!r}, 'title', print, print)\n"
    own, twice = source.format("A", "mine/a"), source.format("FIG1", "icml2013/fig1")
    names, complaints = add(fwexp.experiments, FIGURES, zz_mine=own, zz_raises="1 / 0", zz_twice=twice)
    assert names == [*before, "mine/a"]
    assert complaints == [
        "fwexp: left out fwexp.experiments.zz_raises: ZeroDivisionError: division by zero (zz_raises.py, line 1)",
        "fwexp: left out fwexp.experiments.zz_twice: figure 'icml2013/fig1' must be declared once, got a second declaration",
    ]
    declarations.import_experiments()
    assert len(complaints) == 2


def test_files_of_ours_that_do_not_work_are_left_out(add):
    copy = "from fwexp.solvers.fw import FW\nclass Copy(FW):\n    name = {name!r}\n"
    before = list(SOLVERS)
    sources = {"zz_copy": copy.format(name="fw"), "zz_number": copy.format(name=3), "zz_raises": "1 / 0", "zz_spoilt": "def f(:"}
    names, complaints = add(fwexp.solvers, SOLVERS, **sources)
    assert sorted(names) == sorted(set(before) - {"fw"})  # the two have the same name, so neither is meant
    assert complaints[0] == "fwexp: left out fwexp.solvers.zz_raises: ZeroDivisionError: division by zero (zz_raises.py, line 1)"
    assert complaints[1].startswith("fwexp: left out fwexp.solvers.zz_spoilt: SyntaxError: ")
    assert complaints[2:] == [
        "fwexp: left out solver 'fw' of fwexp.solvers.fw and fwexp.solvers.zz_copy: they share the name",
        "fwexp: left out solver '3' of fwexp.solvers.zz_number: that is no name for one",
    ]


def test_groups_of_entry_points_are_documented():
    assert [group for group in plugins.GROUPS.values() if f"`{group}`" not in TUTORIAL.read_text()] == []
