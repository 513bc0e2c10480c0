import dataclasses
import errno
import functools
import itertools
import json
import os
import shutil
import signal
import time
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fwexp import store
from fwexp.cli import main
from fwexp.commands import figure
from fwexp.errors import DataError, RunsFailed, UserError
from fwexp.experiments import FIGURES, make_figure
from fwexp.files.atomic import clean
from fwexp.files.owned import MARK
from fwexp.papers import figure_files as figure_files
from fwexp.papers.figure_files import save_figure
from fwexp.papers.figure_pipeline import read_runs
from fwexp.papers.origin import reservations
from fwexp.run import from_arguments, runner, sweep
from fwexp.run.config import run_key
from fwexp.store import records
from fwexp.store.provenance import provenance
from fwexp.store.records import Damaged
from tests.kills import killed_at

NAME = "quickstart"
SVG, DUBLIN = "{http://www.w3.org/2000/svg}", "{http://purl.org/dc/elements/1.1/}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a store with the figure's smoke runs, and the figure's files."""
    folder = tmp_path_factory.mktemp("results")
    return folder, make_figure(NAME, folder, preset="smoke", launcher="basic")


@pytest.fixture
def undrawn(monkeypatch):
    """Let files of pictures be empty, for tests of all that is around them: drawing takes seconds."""
    monkeypatch.setattr(figure_files, "_drawn", lambda *_: [b"", b""])


@pytest.mark.slow
def test_the_table_is_what_is_drawn(made):
    folder, paths = made
    results, runs = read_runs(from_arguments.expand([f"+experiment={NAME}"], preset="smoke"), folder)
    assert [run.key for run in runs] == sorted(_smoke_keys())
    pd.testing.assert_frame_equal(results, store.load_results(folder, key=_smoke_keys()))
    frame = FIGURES[NAME].data(results)
    read = pd.read_csv(paths[2], engine="python")  # reads all digits with any pandas
    assert list(read.columns) == [*frame.columns, "preset", "commit"]
    assert set(read["variant"]) == {"bcfw", "bcfw-wavg", "ssg", "ssg-wavg", "fw"}
    assert (set(read["panel"]), read["x"].max()) == (set("abcdef"), 2)
    pd.testing.assert_frame_equal(read[frame.columns], frame, check_dtype=False, rtol=0, atol=0)
    picture = FIGURES[NAME].draw(frame)
    drawn = [line.get_xydata() for ax in picture.axes for line in ax.lines]
    curves = [curve[["x", "median"]].to_numpy() for _, curve in frame.groupby(["panel", "variant"])]
    assert len(drawn) == len(curves)
    assert sorted(map(np.ndarray.tolist, drawn)) == sorted(map(np.ndarray.tolist, curves))


def test_a_figure_may_show_what_the_weights_of_its_runs_say(made, tmp_path, monkeypatch, undrawn):
    """In addition to results, `data` and `draw` get the arrays that `shows` makes of the stored runs and the folder of the data."""
    folder, _ = made
    (tmp_path / "runs").symlink_to(folder / "runs")
    plain, given = FIGURES[NAME], []

    def shows(runs, data_dir):
        assert data_dir == "data"
        return {run.key: run.weights() for run in runs}

    def data(results, weights):
        given.append(weights)
        assert set(weights) == set(results["key"]) == set(_smoke_keys())
        return plain.data(results)

    def draw(frame, weights):
        given.append(weights)
        return plain.draw(frame)

    monkeypatch.setitem(FIGURES.loaded, NAME, dataclasses.replace(plain, chart=None, shows=shows, data=data, draw=draw))
    make_figure(NAME, tmp_path, "data", preset="smoke", launcher="basic")
    assert given[0] is given[1]
    assert len({w.shape for w in given[0].values()}) == 1


@pytest.mark.slow
def test_a_second_call_runs_nothing_and_gives_the_same_files(made, monkeypatch):
    folder, paths = made
    before = [path.read_bytes() for path in paths]
    monkeypatch.setattr(runner, "solve", lambda *_, **__: pytest.fail("a stored run was run again"))
    assert make_figure(NAME, folder, preset="smoke", launcher="basic") == paths
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.slow
def test_runs_that_the_preset_does_not_name_do_not_change_it(made, tmp_path, undrawn):
    folder, paths = made
    shutil.copytree(folder / "runs", tmp_path / "runs")
    before = paths[2].read_bytes()
    other = from_arguments.expand(["dataset=digits", "solver=bcfw", "lam=0.1,0.01,1/n", "seed=0,7", "max_passes=12"])
    from_arguments.execute(other, results_dir=tmp_path)
    duals = store.load_results(tmp_path).groupby("lam")["dual"].max()
    named = store.load_results(tmp_path, key=_smoke_keys()).groupby("lam")["dual"].max()
    assert (duals > 1.5 * named).all()  # they would change it if they were looked at
    again = make_figure(NAME, tmp_path, preset="smoke", launcher="basic")
    assert again[2].read_bytes() == before


def test_every_file_says_where_it_comes_from(made):
    folder, paths = made
    png, svg, csv, record = paths
    assert paths == [folder / "figures" / f"{NAME}-smoke{suffix}" for suffix in (".png", ".svg", ".csv", ".json")]
    assert make_figure(NAME, folder, dry_run=True) == [path.with_stem(NAME) for path in paths]  # the full one is another
    runs = store.find_runs(folder, key=_smoke_keys())
    git = provenance()["git"]
    commit = git["commit"] + "-dirty" * git["dirty"] if git else "unknown"
    text = Image.open(png).text
    root = ElementTree.parse(svg).getroot()
    source = root.find(f".//{DUBLIN}source").text
    assert text["Source"] == source
    assert source.startswith(f"{NAME} (smoke preset); commits {commit}; runs ")
    assert source.endswith("runs " + " ".join(sorted(run.key for run in runs)))
    assert text["Software"] == f"fwexp {version('fwexp')}, commit {commit}"
    assert text["Comment"].startswith("smoke preset")
    facts = json.loads(record.read_text())
    assert (facts["figure"], facts["title"], facts["preset"]) == (NAME, FIGURES[NAME].title, "smoke")
    assert (facts["commit"], facts["versions"]["fwexp"]) == (commit, version("fwexp"))
    assert set(facts["runs"]) == {run.key for run in runs}
    for run in runs:
        assert facts["runs"][run.key]["created"] == run.record["created"]
        assert facts["runs"][run.key]["solver"] == run.config["solver"]["name"]
    frame = pd.read_csv(csv)
    assert set(frame["preset"]) == {"smoke"}
    assert set(frame["commit"]) == {commit}
    for keys, variant, count in frame[["keys", "variant", "runs"]].drop_duplicates().itertuples(index=False):
        found = store.find_runs(folder, key=keys.split())
        assert len(found) == count
        assert {run.config["solver"]["name"] for run in found} == {variant.partition("-")[0]}


def test_an_svg_has_text_and_a_name_and_a_description(made):
    _, paths = made
    root = ElementTree.parse(paths[1]).getroot()
    title, description = root[:2]
    assert (title.tag, description.tag) == (f"{SVG}title", f"{SVG}desc")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert len(root.findall(f"{SVG}title")) == 1
    assert title.text == FIGURES[NAME].title
    assert "smoke preset" in description.text
    assert "(b) handwritten dates, λ = 0.01: primal suboptimality against effective passes" in description.text
    assert "BCFW-wavg: " in description.text
    texts = {"".join(text.itertext()).strip() for text in root.iter(f"{SVG}text")}
    assert {"BCFW", "SSG-wavg", "FW", "(a) handwritten dates, λ = 0.1", "primal suboptimality"} <= texts
    assert any("smoke preset" in text for text in texts)


@pytest.mark.slow
def test_a_figure_of_mixed_sources_says_so(made, tmp_path, monkeypatch, undrawn):
    folder, _ = made
    shutil.copytree(folder / "runs", tmp_path / "runs")
    monkeypatch.setattr(store.StoredRun, "stale", False)

    def make(**digests):
        """Make the figure of runs with these digests."""
        for run in store.find_runs(tmp_path):
            found = digests.get(run.config["solver"]["name"], "a" * 64)
            digest = found.pop() if isinstance(found, list) and len(found) > 1 else found[0]
            run.record["sources"] = {"modules": ["fwexp.api"], "sha256": digest}
            records.write(run.path / "run.json", run.record)
        return make_figure(NAME, tmp_path, preset="smoke", launcher="basic")

    same = {solver: ["f" * 64] for solver in ("bcfw", "fw", "ssg")}
    for digests, note in ((same | {"ssg": ["f" * 64, "e" * 64]}, "smoke preset, runs of ssg mix sources"), (same, "smoke preset")):
        assert json.loads(make(**digests)[-1].read_text())["note"] == note


def _facts(**changes):
    return {"solver": "bcfw", "dataset": "ocr", "task": "train", "sources": "f" * 64, "stale": False} | changes


@pytest.mark.parametrize(
    ("runs", "notes"),
    [
        ([], []),
        ([_facts(sources=None), _facts(sources=None)], []),  # from before sources were recorded
        ([_facts(), _facts(dataset="digits", sources="0"), _facts(task="path", sources="1")], []),
        ([_facts(), _facts(sources=None)], ["runs of bcfw mix sources"]),
        (
            [_facts(), _facts(sources="0"), _facts(solver="ssg"), _facts(solver="ssg", sources="1")],
            ["runs of bcfw, ssg mix sources"],
        ),
        ([_facts(stale=True), _facts(solver="fw")], ["runs of bcfw were made by another version of the code"]),
        ([_facts(stale=True), _facts(sources="0")], ["runs of bcfw mix sources"]),
    ],
)
def test_reservations_about_sources(runs, notes):
    assert reservations(runs) == notes


@functools.cache
def _smoke_keys():
    return [run_key(config) for config in from_arguments.expand([f"+experiment={NAME}"], preset="smoke")]


def _fail(*_, **__):
    return [RunsFailed("1 run failed")]


@pytest.mark.parametrize("damaged", [1, None])
def test_damaged_runs_are_raised(made, tmp_path, undrawn, damaged):
    """Their sizes are as they were, so they count as stored until a trace is read."""
    shutil.copytree(made[0] / "runs", tmp_path / "runs")
    traces = sorted(tmp_path.glob("runs/*/*/*/trace.parquet"))[:damaged]
    for path in traces:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    message = f"{len(traces)} of {len(_smoke_keys())} runs are damaged; force=true makes them again"
    with pytest.warns(UserWarning, match="is damaged and was left out"), pytest.raises(RunsFailed, match=message):
        make_figure(NAME, tmp_path, preset="smoke", launcher="basic")


@pytest.mark.slow
def test_a_whole_figure_is_not_replaced_by_one_that_lacks_runs(made, tmp_path, monkeypatch, undrawn, capsys):
    shutil.copytree(made[0], tmp_path / "there")
    folder, keys = tmp_path / "there", _smoke_keys()
    monkeypatch.setattr(
        store, "read_results", lambda runs, read=store.read_results: read(run for run in runs if run.key != keys[0])
    )
    monkeypatch.setattr(from_arguments, "execute_together", _fail)
    files = sorted(path for path in (folder / "figures").iterdir())
    record = next(path for path in files if path.suffix == ".json")
    before = [path.read_bytes() for path in files]
    with pytest.raises(sweep.RunsFailed):
        make_figure(NAME, folder, preset="smoke", launcher="basic")
    assert [path.read_bytes() for path in files] == before
    assert f"{NAME}-smoke: kept, it shows {len(keys)} runs, now there are {len(keys) - 1}\n" in capsys.readouterr().err
    record.unlink()  # It says which runs the figure shows, so there is no figure without it.
    with pytest.raises(sweep.RunsFailed):
        make_figure(NAME, folder, preset="smoke", launcher="basic")
    assert f"1 of {len(keys)} runs are lacking" in json.loads(record.read_text())["note"]


# -- interrupts, full disks, kills


def _saved(folder, note=""):
    frame = pd.DataFrame({"keys": ["k"], "x": [1.0]})
    return save_figure(f"a table {note}", frame, folder / "table", note=note)


def test_a_full_disk_leaves_the_old_figure_and_is_one_line(tmp_path, monkeypatch, capsys):
    files = _saved(tmp_path)
    before = [path.read_bytes() for path in files]
    write = Path.write_bytes

    def full(path, data):
        if ".json." in path.name:  # the last one
            write(path, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(figure, "main", lambda _: _saved(tmp_path, "new"))
    assert main(["figure"]) == 2
    assert capsys.readouterr().err == f"fwexp: {files[-1]}: No space left on device\n"
    assert [path.read_bytes() for path in files] == before
    assert sorted(tmp_path.iterdir()) == sorted([*files, tmp_path / MARK])


def test_a_kill_at_any_instant_leaves_whole_files_and_a_mixture_is_no_figure(tmp_path):
    mixed = 0
    old, new = ([path.read_bytes() for path in _saved(tmp_path / name, name)] for name in ("old", "new"))
    for event in itertools.count(1):
        folder = tmp_path / str(event)
        files = _saved(folder, "old")
        killed = killed_at(event, lambda folder=folder: _saved(folder, "new"))
        found = [path.read_bytes() for path in files]
        assert all(content in pair for content, pair in zip(found, zip(old, new), strict=True)), event
        if found in (old, new):
            assert figure_files.read_record(folder / "table", figure_files.TABLE, "table", "")["note"] in ("old", "new")
        else:
            mixed += 1
            with pytest.raises(Damaged, match=r"^table\.md is not as it was written$"):
                figure_files.read_record(folder / "table", figure_files.TABLE, "table", "")
        clean(folder)
        assert {path for path in folder.iterdir() if ".claim-" not in path.name} == {*files, folder / MARK}
        if not killed:
            assert found == new
            break
    assert event > len(files)
    assert mixed


@pytest.mark.slow
def test_an_interrupt_waits_until_the_figure_is_whole(made, monkeypatch, capsys):
    folder, paths = made

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return save_figure(*arguments, **options)

    monkeypatch.setattr("fwexp.papers.figure_pipeline.save_figure", interrupted)
    before = [path.read_bytes() for path in paths]
    line = ["figure", NAME, "--preset", "smoke", "hydra/launcher=basic", f"results_dir={folder}"]
    assert main(line) == 130
    assert capsys.readouterr().err.endswith("fwexp: interrupted\n")
    assert [path.read_bytes() for path in paths] == before
    assert {path.name for path in paths[0].parent.iterdir() if path.name.startswith(".")} == {".fwexp"}


def test_an_interrupt_that_became_another_error_is_an_interrupt(monkeypatch, capsys):
    def swallow(_):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            raise UserError("something else") from None

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(figure, "main", swallow)
    assert (main(["figure"]), capsys.readouterr().err) == (130, "fwexp: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is before


# -- the command --


def test_without_a_name_the_command_lists_the_figures(capsys):
    assert figure.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(FIGURES)


def test_a_dry_run_says_what_is_missing_and_writes_nothing(tmp_path, capsys):
    assert figure.main([NAME, "--dry-run", "--preset", "smoke", f"results_dir={tmp_path}"]) == 0
    *missing, last = capsys.readouterr().out.splitlines()
    assert last == f"{NAME}: {len(_smoke_keys())} runs, {len(_smoke_keys())} missing"
    assert len(set(missing)) == len(_smoke_keys())
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_the_files(made, tmp_path, undrawn, capsys):
    (tmp_path / "runs").symlink_to(made[0] / "runs")
    folder, paths = tmp_path, [tmp_path / path.relative_to(made[0]) for path in made[1]]
    assert figure.main([NAME, "--preset=smoke", f"results_dir={folder}"]) == 0
    assert capsys.readouterr().out.splitlines() == [str(path) for path in paths]
    assert figure.main([NAME, "--preset=smoke", "--dry-run", f"results_dir={folder}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("0 missing")


@pytest.mark.parametrize("paper", ["review", "review/"])
def test_a_paper_stands_for_its_figures(paper, tmp_path, monkeypatch, capsys):
    """Each is made once, and what fails is named at the end."""
    made = []

    def make(name, results_dir):
        made.append(name)
        if name == "review/fig2":
            raise DataError("there are no data")
        return [results_dir, name]

    def makers(names, results_dir, *_, **__):
        return {name: functools.partial(make, name, results_dir) for name in names}

    monkeypatch.setattr("fwexp.papers.figure_pipeline.makers", makers)
    with pytest.raises(RunsFailed, match=r"^1 of 6 figures failed: review/fig2; repeat the command to try again$"):
        figure.main([NAME, paper, "review/fig1", f"results_dir={tmp_path}"])
    assert made == [NAME, *(name for name in FIGURES if name.startswith("review/"))]
    out, err = capsys.readouterr()
    assert out.split() == [word for name in made if name != "review/fig2" for word in (str(tmp_path), name)]
    assert "review/fig2: there are no data" in err.splitlines()
    assert len(err.splitlines()) == len(made) + 1
