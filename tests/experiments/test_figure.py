import numpy as np
import pandas as pd
import pytest

from fwexp.errors import UserError
from fwexp.experiments import FIGURES, commands, make_figure
from fwexp.experiments.figure import save_figure
from fwexp.run import runner, store, sweep
from tests.plots.made_up import make_figure as made_up_results

NAME = "quickstart"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store with the figure's smoke runs, and the figure's files."""
    folder = tmp_path_factory.mktemp("results")
    return folder, make_figure(NAME, folder, preset="smoke", launcher="basic")


def test_a_figure_is_two_pictures_and_a_table(made):
    folder, paths = made
    assert paths == [folder / "figures" / f"{NAME}{suffix}" for suffix in (".png", ".svg", ".csv")]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in paths[1].read_bytes()
    frame = pd.read_csv(paths[2])
    assert set(frame["variant"]) == {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "fw"}
    assert set(frame["panel"]) == set("abcdef")
    assert frame["x"].max() == 2


def test_the_table_is_what_is_drawn(made):
    folder, paths = made
    results = store.load_results(folder)
    frame = FIGURES[NAME].data(results)
    pd.testing.assert_frame_equal(pd.read_csv(paths[2]), frame, check_dtype=False, rtol=0, atol=0)
    picture = FIGURES[NAME].draw(frame)
    drawn = [line.get_xydata() for ax in picture.axes for line in ax.lines]
    curves = [curve[["x", "median"]].to_numpy() for _, curve in frame.groupby(["panel", "variant"])]
    assert len(drawn) == len(curves)
    assert sorted(map(np.ndarray.tolist, drawn)) == sorted(map(np.ndarray.tolist, curves))


def test_a_second_call_runs_nothing_and_gives_the_same_files(made, monkeypatch):
    folder, paths = made
    before = [path.read_bytes() for path in paths]
    monkeypatch.setattr(runner, "solve", lambda *_, **__: pytest.fail("a stored run was run again"))
    assert make_figure(NAME, folder, preset="smoke", launcher="basic") == paths
    assert [path.read_bytes() for path in paths] == before


def test_runs_that_the_preset_does_not_name_do_not_change_it(made):
    folder, paths = made
    before = paths[2].read_bytes()
    other = sweep.expand(["dataset=digits", "solver=bcfw", "lam=0.1,0.01,1/n", "seed=0,7", "max_passes=12"])
    sweep.execute(other, results_dir=folder)
    duals = store.load_results(folder).groupby("lam")["dual"].max()
    named = store.load_results(folder, key=_smoke_keys()).groupby("lam")["dual"].max()
    assert (duals > 1.5 * named).all()  # they would change it if they were looked at
    make_figure(NAME, folder, preset="smoke", launcher="basic")
    assert paths[2].read_bytes() == before


def _smoke_keys():
    return [store.run_key(config) for config in sweep.expand([f"+experiment={NAME}"], preset="smoke")]


def test_failed_runs_are_said_in_the_picture_and_raised(made, tmp_path, monkeypatch):
    folder, _ = made
    (tmp_path / "runs").symlink_to(folder / "runs")
    keys = _smoke_keys()
    load = store.load_results
    monkeypatch.setattr(store, "load_results", lambda where, key: load(where, key=[k for k in key if k != keys[0]]))
    monkeypatch.setattr(sweep, "execute", _fail)
    notes = []
    monkeypatch.setattr("fwexp.experiments.figure.save_figure", lambda *_, note: notes.append(note))
    with pytest.raises(sweep.RunsFailed):
        make_figure(NAME, tmp_path, preset="smoke", launcher="basic")
    assert notes == [f"smoke preset, 1 of {len(keys)} runs failed"]


def _fail(*_, **__):
    raise sweep.RunsFailed("1 run failed")


def test_equal_pictures_are_equal_files(tmp_path):
    figure = FIGURES["icml2013/fig1"]
    frame = figure.data(made_up_results(seeds=range(3)))
    first = save_figure(figure.draw(frame), frame, tmp_path / "first" / "fig")
    second = save_figure(figure.draw(frame), frame, tmp_path / "second" / "fig")
    for one, two in zip(first, second):
        assert one.read_bytes() == two.read_bytes()
    noted = save_figure(figure.draw(frame), frame, tmp_path / "noted" / "fig", note="smoke preset")
    assert noted[0].read_bytes() != first[0].read_bytes()
    assert noted[2].read_bytes() == first[2].read_bytes()


# -- the command --


def test_without_a_name_the_command_lists_the_figures(capsys):
    assert commands.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FIGURES)


def test_a_dry_run_says_what_is_missing_and_writes_nothing(tmp_path, capsys):
    assert commands.main([NAME, "--dry-run", "--preset", "smoke", f"results_dir={tmp_path}"]) == 0
    *missing, last = capsys.readouterr().out.splitlines()
    assert last == f"{NAME}: {len(_smoke_keys())} runs, {len(_smoke_keys())} missing"
    assert len(set(missing)) == len(_smoke_keys())
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_the_files(made, capsys):
    folder, paths = made
    assert commands.main([NAME, "--preset=smoke", f"results_dir={folder}"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(path) for path in paths]
    assert commands.main([NAME, "--preset=smoke", "--dry-run", f"results_dir={folder}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("0 missing")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["quickstar"], "unknown figure 'quickstar'; accepted: icml2013/fig1, "),
        ([NAME, "--preset", "smok"], "unknown preset 'smok'; accepted: full, smoke (did you mean 'smoke'?)"),
        ([NAME, "--dry"], "unknown flag of fwexp figure '--dry'; accepted: --dry-run, --preset"),
        ([NAME, "result_dir=x"], "unknown key of fwexp figure 'result_dir'; accepted: data_dir, force, hydra/launcher, "),
        ([NAME, "results_dir="], "results_dir must not be empty"),
        ([NAME, "icml2013/fig1"], "fwexp figure makes one figure at a time, got quickstart icml2013/fig1"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        commands.main(args)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
