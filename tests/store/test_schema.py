"""Records of other versions and programs: commands skip one of another kind with one line, and never end in a traceback."""

import copy
import io
import json

import pytest
from PIL import Image

from fwexp import store
from fwexp.cli import main
from fwexp.papers import comparison, figure_files
from fwexp.papers.report import build as building
from fwexp.papers.report import run_pages as of_runs
from fwexp.store import paths, records, stored_run
from fwexp.store.provenance import provenance


@pytest.fixture
def folder(tmp_path, config, make_result):
    """Return the folder of a run that has a good neighbour."""
    store.save(make_result(), config | {"seed": 1}, tmp_path)
    return store.save(make_result(), config, tmp_path)


def check(results_dir, capsys):
    """Readers of the store go on without the run, and warn once."""
    assert main(["ls", f"results_dir={results_dir}"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3
    assert sum("damaged" in line for line in listed) == 1
    with pytest.warns(UserWarning, match="is damaged and was left out: ") as found:
        assert set(store.load_results(results_dir)["seed"]) == {1}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("provenance",), None),
        (("provenance", "git"), {"commit": [1], "dirty": False}),
        (("provenance", "git"), {"commit": "0"}),
        (("provenance", "versions"), ["numpy"]),
        (("sources",), {"modules": 5, "sha256": "0"}),
        (("status",), "excellent"),
        (("gap",), "0.1"),
        (("lam",), True),
        (("published",), "yes"),
        (("config", "seed"), -1),
        (("config", "lam"), [0.1]),
        (("config", "solver", "name"), ["bcfw"]),
        (("files", "model.npz", "sha256"), None),
        (("key",), ...),
        (("provenance",), ...),
        (("files",), ...),
    ],
)
def test_records_of_another_kind_are_left_out_with_one_line_and_replaced(folder, capsys, config, make_result, path, value):
    record = copy.deepcopy(records.read(folder / "run.json"))
    *above, last = path
    part = record
    for name in above:
        part = part[name]
    part[last] = value
    if value is ...:
        del part[last]
    records.write(folder / "run.json", record)
    check(folder.parents[3], capsys)
    store.tidy(folder.parents[3])
    store.save(make_result(), config, folder.parents[3])
    assert store.is_stored(folder.parents[3], config)


def test_facts_that_are_not_known(folder):
    record = records.read(folder / "run.json")
    record["provenance"] |= dict.fromkeys(("versions", "git", "cpu", "python"))
    records.write(folder / "run.json", record | {"oracle_calls": 1e18, "passes": 5e-324})
    runs, results = store.find_runs(folder.parents[3]), store.load_results(folder.parents[3])
    assert len(of_runs.pages(runs, of_runs.with_suboptimality(results, comparison.comparable(results)), {}, [])) == 2


PLANTED = {
    "a file": lambda runs: (runs / "notes.txt").write_text("hi"),
    "a link": lambda runs: (runs / "link").symlink_to("nowhere"),
    "a file below": lambda runs: (runs / "digits" / "bcfw" / "notes.txt").write_text("hi"),
    "a long name": lambda runs: (runs / ("d" * 250) / "bcfw" / "notes").mkdir(parents=True),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_stray_files_and_links_are_left_out(folder, plant):
    plant(folder.parents[2])
    assert main(["ls", f"results_dir={folder.parents[3]}"]) == 0
    assert len(store.find_runs(folder.parents[3])) == 2


def test_what_fwexp_writes_fits(tmp_path, config, make_result):
    record = records.read(store.save(make_result(), config, tmp_path) / "run.json")
    assert records.misfit(records.Run, record) == ""
    assert record["provenance"] == json.loads(json.dumps(provenance()))
    path = store.save_failure(ValueError("\udc80" * 10**6), config, tmp_path)
    assert stored_run.read(paths.Entry(path, "digits", "bcfw", path.stem)).status == "failed"


# -- figures


def picture(width, height):
    made = io.BytesIO()
    Image.new("1", (width, height)).save(made, "PNG")
    return made.getvalue()


FIGURE = {"figure": "quickstart", "title": "t", "preset": "full", "description": "", "note": "", "axes": {}, "runs": {}}
FOREIGN = {
    "runs": {"record": {"runs": {"a": 5}}},
    "title": {"record": {"title": ["t"]}},
    "a huge picture": {".png": picture(20_000, 20_000)},
    "no picture": {".png": b"PNG"},
    "a table that is no UTF-8": {".csv": b"panel,variant,x\n\xff,b,1\n"},
    "a table without columns": {".csv": b"a\n1\n"},
    "a table of text": {".csv": b"panel,variant,measure,axis,runs,x,median\na,b,gap,passes,c,d,e\n"},
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_of_figures_are_left_out_with_one_line(tmp_path, capsys, monkeypatch, kind):
    contents = {
        ".png": picture(30, 20),
        ".svg": b"<svg/>",
        ".csv": b"panel,variant,measure,axis,runs,x,median\na,ssg,gap,passes,1,1,1\n",
    }
    changes = dict(FOREIGN[kind])
    record = FIGURE | changes.pop("record", {})
    figure_files.write(tmp_path / "figures" / "quickstart", contents | changes, record)
    monkeypatch.setattr(building, "all_claims", dict)
    monkeypatch.setattr("plotly.offline.get_plotlyjs", str)
    building.build(tmp_path)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("figure quickstart is damaged: quickstart.")
    assert not list((tmp_path / "report" / "figures").glob("quickstart*"))
