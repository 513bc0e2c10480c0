"""Several figures in one command: what goes side by side is one sweep, and each figure names its own failures."""

import functools
import json
import shutil

import pandas as pd
import pytest

from fwexp.commands.figure import main
from fwexp.errors import DataError, RunsFailed, UserError
from fwexp.experiments import FIGURES, TABLE, Figure
from fwexp.papers import figure_pipeline
from fwexp.papers.figure_pipeline import make_figure, makers
from fwexp.run import execution, from_arguments, runner, sweep_folder
from fwexp.run.config import run_key
from tests.run.conftest import make_result  # noqa: F401 (a fixture)

EXPAND = from_arguments.expand
SEEDS = {"made/one": "seed=0,1", "made/two": "seed=1,2", "made/three": "seed=3"}
NAMES = list(SEEDS)


def configs_of(*seeds, dataset="digits"):
    return [config for each in seeds for config in _expanded(each, dataset)]


@functools.cache
def _expanded(seed, dataset):
    return EXPAND(["solver=bcfw", "max_passes=0.1", "gap_tol=0", f"dataset={dataset}", seed], preset=None)


def seeds(configs):
    return [config["seed"] for config in configs]


class World:
    """The runs of figures, those that fail and the one that is interrupted, by their seeds; what was run and drawn, in order."""

    def __init__(self):
        self.configs = {name: configs_of(each) for name, each in SEEDS.items()}
        self.events, self.failing, self.interrupted = [], set(), None

    @property
    def ran(self):
        return [seed for kind, what in self.events if kind == "run" for seed in what]


@pytest.fixture
def world(monkeypatch, make_result):  # noqa: F811
    """Three figures, the first two of which share a run, and launchers that make up results in this process."""
    world, save = World(), figure_pipeline.save_figure

    def solve_or_fail(config, *problems, **options):
        if config["seed"] in world.failing:
            raise ZeroDivisionError("by nought")
        return make_result()

    def launch(batch, executor, watch, limit):
        where = sweep_folder.read(watch.folder)["where"]
        world.events.append(("run", []))
        for each in batch:
            if each.config["seed"] == world.interrupted:
                raise KeyboardInterrupt
            world.events[-1][1].append(each.config["seed"])
            runner.run(each.config, where["results_dir"], where["data_dir"], force=where["force"], verbose=False)

    def draw(picture, frame, stem, *rest, **options):
        world.events.append(("draw", stem.name))
        return save(picture, frame, stem, *rest, **options)

    def expand(overrides, *, preset=None):
        found = world.configs[overrides[0].removeprefix("+experiment=")]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(runner, "solve", solve_or_fail)
    monkeypatch.setattr(execution, "_launch", launch)
    monkeypatch.setattr(figure_pipeline, "save_figure", draw)
    monkeypatch.setattr(from_arguments, "expand", expand)
    for name in NAMES:
        made = Figure(name, title=name, data=_data, draw=lambda frame: "a table", suffixes=TABLE)
        monkeypatch.setitem(FIGURES.loaded, name, made)
    return world


def _data(results):
    return pd.DataFrame({"keys": sorted(set(results["key"]))})


def what_is_made(made):
    """Return, by the names of figures, their files, or what went wrong."""
    found = {}
    for name, make in made.items():
        try:
            found[name] = [path.name for path in make()]
        except (RunsFailed, UserError) as error:
            found[name] = error
    return found


def files(name):
    return [name.partition("/")[2] + suffix for suffix in TABLE]


def command(folder, *words, launcher="joblib"):
    return main([*NAMES, *words, f"hydra/launcher={launcher}", f"results_dir={folder}"])


def test_figures_side_by_side_are_one_sweep_with_every_run_once(tmp_path, world, capsys):
    made = makers(NAMES, tmp_path, launcher="joblib")
    assert world.events == [("run", [0, 1, 2, 3])]
    assert what_is_made(made) == {name: files(name) for name in NAMES}
    assert world.events[1:] == [("draw", name.partition("/")[2]) for name in NAMES]
    assert next(line for line in capsys.readouterr().err.splitlines() if "runs" in line) == "4 runs: 0 stored, 4 to run"
    for name in NAMES:
        shown = json.loads((tmp_path / "figures" / f"{name}.json").read_text())["runs"]
        assert set(shown) == {run_key(config) for config in world.configs[name]}


def test_figures_whose_runs_take_turns_are_there_before_the_next_one_runs(tmp_path, world):
    made = makers(NAMES, tmp_path, launcher="basic")
    assert world.events == []
    what_is_made(made)
    runs = [("run", [0, 1]), ("run", [2]), ("run", [3])]
    assert world.events == [event for run, name in zip(runs, NAMES) for event in (run, ("draw", name.partition("/")[2]))]


def test_one_figure_may_take_turns_beside_others(tmp_path, world, monkeypatch):
    monkeypatch.setattr(Figure, "launcher", lambda self, _: "basic" if self.name == "made/two" else "joblib")
    made = makers(NAMES, tmp_path)
    assert world.events == [("run", [0, 1, 3])]
    what_is_made(made)
    assert world.events[1:] == [("draw", "one"), ("run", [2]), ("draw", "two"), ("draw", "three")]


@pytest.mark.parametrize("launcher", ["joblib", "basic"])
def test_what_fails_is_said_of_the_figures_that_need_it(tmp_path, world, capsys, launcher):
    world.failing = {2}
    with pytest.raises(RunsFailed, match=r"^1 of 3 figures failed: made/two; repeat the command to try again$"):
        command(tmp_path, launcher=launcher)
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines() if line.startswith(("==", "4 runs"))]
    if launcher == "joblib":
        assert said == ["4 runs: 0 stored, 4 to run", *(f"== {number}/3 {name}" for number, name in enumerate(NAMES, 1))]
    assert "made/two: 1 of 2 runs failed; repeat the command to try them again" in err.splitlines()
    assert [name for name in NAMES if f"{name}.md" in out] == ["made/one", "made/three"]
    note = json.loads((tmp_path / "figures/made/two.json").read_text())["note"]
    assert note == "1 of 2 runs are lacking"
    world.failing = set()
    assert command(tmp_path, launcher=launcher) == 0
    assert world.ran == [0, 1, 2, 3, 2]
    out = capsys.readouterr().out.splitlines()
    assert out == [str(tmp_path / "figures" / "made" / file) for name in NAMES for file in files(name)]
    shutil.rmtree(tmp_path / "runs")
    world.failing = {1}  # a run of two figures, which is tried once
    found = what_is_made(makers(NAMES, tmp_path, launcher=launcher))
    assert [str(found[name]).partition(";")[0] for name in NAMES[:2]] == ["1 of 2 runs failed"] * 2
    assert found["made/three"] == files("made/three")
    assert sorted(world.ran[5:]) == [0, 1, 2, 3]


@pytest.mark.parametrize("while_expanding", [False, True])
def test_a_figure_without_data_does_not_hold_up_the_others(tmp_path, world, while_expanding):
    error = DataError("dataset ocr needs files")
    world.configs["made/one"] = error if while_expanding else configs_of("seed=0") + configs_of("seed=1", dataset="ocr")
    found = what_is_made(makers(NAMES, tmp_path / "results", tmp_path, launcher="joblib"))
    assert isinstance(found["made/one"], DataError)
    assert str(found["made/one"]).startswith("dataset ocr needs ")
    assert [found[name] for name in NAMES[1:]] == [files(name) for name in NAMES[1:]]
    assert sorted(world.ran) == [1, 2, 3]


def test_a_forced_run_that_fails_is_a_failure_though_an_older_one_is_drawn(tmp_path, world):
    command(tmp_path)
    world.events.clear()
    world.failing = {1}
    with pytest.raises(RunsFailed, match=r"^2 of 3 figures failed: made/one, made/two; "):
        command(tmp_path, "force=true")
    assert sorted(world.ran) == [0, 1, 2, 3]
    assert [what for kind, what in world.events if kind == "draw"] == ["one", "two", "three"]
    assert json.loads((tmp_path / "figures/made/one.json").read_text())["note"] == ""


def test_an_interrupted_sweep_is_continued_and_then_drawn(tmp_path, world):
    world.interrupted = 2
    with pytest.raises(KeyboardInterrupt):
        command(tmp_path)
    assert world.events == [("run", [0, 1])]
    world.interrupted = None
    assert command(tmp_path) == 0
    assert world.events[1:] == [("run", [2, 3]), ("draw", "one"), ("draw", "two"), ("draw", "three")]


def test_where_the_launcher_breaks_figures_that_are_complete_are_drawn(tmp_path, world, monkeypatch):
    make_figure("made/one", tmp_path, launcher="joblib")

    def broken(*_):
        raise ImportError("no launcher here")

    monkeypatch.setattr(execution, "_launch", broken)
    found = what_is_made(makers(NAMES, tmp_path, launcher="joblib"))
    assert found["made/one"] == files("made/one")
    assert {str(found[name]) for name in NAMES[1:]} == {"the sweep broke off: ImportError: no launcher here"}


@pytest.mark.parametrize(("options", "message"), [({"launcher": "joblip"}, "joblip"), ({"force": "maybe"}, "force")])
def test_where_nothing_can_be_run_every_figure_says_so(tmp_path, world, options, message):
    found = what_is_made(makers(NAMES, tmp_path, **{"launcher": "joblib"} | options))
    assert all(isinstance(error, UserError) and message in str(error) for error in found.values())
    assert world.ran == []


def test_mistakes_in_the_data_of_one_list_of_runs_are_its_own(tmp_path, world):
    right, wrong = configs_of("seed=0"), [config | {"solver": {"name": "away"}} for config in configs_of("seed=0,1")]
    tried = {}
    errors = from_arguments.execute_together([wrong, right, wrong + right], results_dir=tmp_path, tried=tried)
    assert [type(error) for error in errors] == [type(errors[0]), type(None), type(errors[0])]
    assert isinstance(errors[0], UserError)
    assert seeds(each.config for each in tried.values()) == [0]
    assert from_arguments.execute_together([right], results_dir=tmp_path, tried=tried, force=True) == [None]
    assert world.ran == [0]


def test_what_a_broken_launcher_did_not_run_is_left_to_the_next_sweep(tmp_path, world, monkeypatch, capsys):
    tried, works = {}, execution._launch
    monkeypatch.setattr(execution, "_launch", lambda *_: 1 / 0)
    broken = from_arguments.execute_together([configs_of("seed=0")], results_dir=tmp_path, tried=tried)
    assert "the sweep broke off: ZeroDivisionError" in str(broken[0])
    monkeypatch.setattr(execution, "_launch", works)
    world.failing = {1}
    both = configs_of("seed=0", "seed=1")
    assert "1 of 2 runs failed" in str(from_arguments.execute_together([both], results_dir=tmp_path, tried=tried)[0])
    assert world.ran == [0, 1]
    capsys.readouterr()
    assert "1 of 2 runs failed" in str(from_arguments.execute_together([both], results_dir=tmp_path, tried=tried)[0])
    assert "2 runs: 1 stored, 0 to run, 1 failed before" in capsys.readouterr().err
