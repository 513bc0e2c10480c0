"""Records of other versions and programs: commands skip one of another kind with one line, and never end in a traceback."""

import contextlib
import copy
import io
import json
import os
import shutil
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fwexp import store
from fwexp.cli import main
from fwexp.papers import comparison, figure_files
from fwexp.papers.report import build as building
from fwexp.papers.report import pages
from fwexp.papers.report import run_pages as of_runs
from fwexp.store import commit, paths, records, schema, stored_run
from fwexp.store.keys import key_of
from fwexp.store.provenance import provenance


def forge(folder, record):
    """Write a record as fwexp would, with the checksums of the files and the key of its configuration, in its place."""
    record = {name: value for name, value in record.items() if name != records.FORMAT}
    record["files"] = {name: commit.fingerprint((folder / name).read_bytes()) for name in commit.FILES[:-1]}
    try:
        record["key"] = key_of(record["config"])
        place = [record["config"][group]["name"] for group in ("dataset", "solver")]
        target = folder.parents[2].joinpath(*place, record["key"])
        target.relative_to(folder.parents[2])
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = folder.rename(target)
    except (LookupError, TypeError, ValueError, OSError):
        pass
    (folder / "run.json").write_bytes(records.content_of(record))
    return folder


@pytest.fixture
def forged(tmp_path, config, make_result):
    """Return a function that makes a store with a good run and one whose record was changed; the function returns the folders."""
    good = tmp_path / "good"
    store.save(make_result(), config | {"seed": 1}, good)
    folder = store.save(make_result(), config, good)
    record, count = records.read(folder / "run.json"), iter(range(10**9))

    def make(change):
        results_dir = tmp_path / str(next(count))
        shutil.copytree(good, results_dir)
        changed = copy.deepcopy(record)
        change(changed)
        return results_dir, forge(results_dir / folder.relative_to(good), changed)

    return make


def data_step(results_dir):
    """Do what a report does with runs, and return its pages."""
    runs = [run for run in store.find_runs(results_dir, include=("partial", "failed", "damaged")) if run.is_placed]
    results = store.load_results(results_dir)
    comparable = comparison.comparable(results)
    found = of_runs.pages(runs, of_runs.with_suboptimality(results, comparable), {}, [])
    return [pages.render("run.html", "T", {}, run=page) for page in found] + [pages.render("runs.html", "T", {}, runs=found)]


def check(results_dir, capsys, left_out=True):
    """Read a store by all that reads stores."""
    capsys.readouterr()
    assert main(["ls", f"results_dir={results_dir}"]) == 0
    listed = capsys.readouterr().out.splitlines()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        data = data_step(results_dir)
    lines = [str(warning.message) for warning in found]
    assert all(line.isprintable() and len(line) < 1000 for line in lines)
    assert len(data) >= 2  # a page of a run, and the table
    if left_out:
        assert len(listed) == 3
        assert sum("damaged" in line for line in listed) == 1
        assert len(lines) == 1
        assert "is damaged and was left out: " in lines[0]
    return data


def put(record, path, value):
    *above, last = path
    for name in above:
        record = record[name]
    record[last] = value


CRAFTED = [
    (("provenance",), None),
    (("provenance",), [1]),
    (("provenance", "git"), {"commit": [1], "dirty": False}),
    (("provenance", "git"), {"commit": "0"}),
    (("provenance", "git"), "main"),
    (("provenance", "versions"), ["numpy"]),
    (("provenance", "plugins"), {"mine": "1.0"}),
    (("sources",), {"modules": 5, "sha256": "0"}),
    (("status",), {"a": 1}),
    (("status",), "excellent"),
    (("passes",), -1),
    (("gap",), "0.1"),
    (("time",), [1]),
    (("dual",), {}),
    (("lam",), True),
    (("created",), 5),
    (("published",), "yes"),
    (("lost",), {"money": 1}),
    (("config", "seed"), "0"),
    (("config", "seed"), -1),
    (("config", "lam"), [0.1]),
    (("config", "lam"), -1),
    (("config", "max_passes"), "all"),
    (("config", "solver", "name"), ["bcfw"]),
    (("config", "dataset", "name"), "digits\n"),
]


@pytest.mark.parametrize(("path", "value"), CRAFTED)
def test_records_of_another_kind_are_left_out_with_one_line(forged, capsys, path, value):
    results_dir, _ = forged(lambda record: put(record, path, value))
    check(results_dir, capsys)


@pytest.mark.parametrize("name", ["key", "status", "config", "provenance", "files"])
def test_records_that_lack_something(forged, capsys, name):
    results_dir, folder = forged(lambda record: None)
    record = records.read(folder / "run.json")
    del record[name]
    records.write(folder / "run.json", record)
    check(results_dir, capsys)


@pytest.mark.parametrize("name", ["versions", "git", "cpu", "python"])
def test_facts_that_are_not_known(forged, capsys, name):
    results_dir, _ = forged(lambda record: put(record, ("provenance", name), None))
    check(results_dir, capsys, left_out=False)


def test_calls_and_passes_whose_quotient_overflows(forged, capsys):
    results_dir, _ = forged(lambda record: record.update(oracle_calls=1e18, passes=5e-324))
    check(results_dir, capsys, left_out=False)


def test_records_without_a_checksum(forged, capsys):
    results_dir, folder = forged(lambda record: None)
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({k: v for k, v in record.items() if k not in ("format", "checksum")}))
    check(results_dir, capsys)


PLANTED = {
    "a file": lambda runs: (runs / "notes.txt").write_text("hi"),
    "a link": lambda runs: (runs / "link").symlink_to("nowhere"),
    "a file below": lambda runs: (runs / "digits" / "notes.txt").write_text("hi"),
    "a file further below": lambda runs: (runs / "digits" / "bcfw" / "notes.txt").write_text("hi"),
    "a pipe": lambda runs: os.mkfifo(runs / "pipe"),
    "a link to itself": lambda runs: (runs / "loop").symlink_to(runs),
    "bytes that are no text": lambda runs: (runs / os.fsdecode(b"\xff") / os.fsdecode(b"\xfe\n")).mkdir(parents=True),
    "a long name": lambda runs: (runs / ("d" * 250) / "bcfw" / "notes").mkdir(parents=True),
}


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_stray_files_and_links_are_left_out(forged, capsys, plant):
    results_dir, _ = forged(lambda record: None)
    plant(results_dir / "runs")
    assert sum(map(len, check(results_dir, capsys, left_out=False))) > 1000


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from([1e308, 5e-324, "name", "1/n", "../x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)


def places(value, above=()):
    """All places in a record, and one that it does not have in each object."""
    if isinstance(value, dict):
        yield (*above, "another")
        for name, item in value.items():
            yield (*above, name)
            yield from places(item, (*above, name))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_arbitrary_values_at_arbitrary_places_never_end_in_a_traceback(forged, capsys, data):
    def change(record):
        where = sorted(set(places(record)), key=repr)
        for path in data.draw(st.lists(st.sampled_from(where), min_size=1, max_size=3)):
            with contextlib.suppress(TypeError, LookupError):  # of what was put above it
                put(record, path, data.draw(JSON))

    results_dir, _ = forged(change)
    check(results_dir, capsys, left_out=False)
    shutil.rmtree(results_dir)


@pytest.mark.parametrize("digest", [5, None, [1], "", "x" * 64])
def test_runs_replace_records_whose_checksums_are_none(tmp_path, config, make_result, digest):
    folder = store.save(make_result(), config, tmp_path)
    record = records.read(folder / "run.json")
    record["files"]["config.yaml"]["sha256"] = digest
    records.write(folder / "run.json", record)
    with pytest.warns(UserWarning, match=r"run\.json has files="):
        store.load_results(tmp_path)
    store.tidy(tmp_path)
    store.save(make_result(), config, tmp_path)
    assert store.is_stored(tmp_path, config)


def test_what_fwexp_writes_fits(tmp_path, config, make_result):
    folder = store.save(make_result(), config, tmp_path)
    record = records.read(folder / "run.json")
    assert schema.misfit(schema.Run, record) == ""
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
    "runs": {"record": {"runs": 5}},
    "no runs": {"record": {"runs": None}},
    "names of runs": {"record": {"runs": {"a": 5}}},
    "axes": {"record": {"axes": {"a": {"title": "t", "x": ["cubic", 0, 1], "y": ["log", 0, 1]}}}},
    "title": {"record": {"title": ["t"]}},
    "a huge picture": {".png": picture(20_000, 20_000)},
    "a large picture": {".png": picture(11_000, 11_000)},
    "no picture": {".png": b"PNG"},
    "a table that is no UTF-8": {".csv": b"panel,variant,x\n\xff,b,1\n"},
    "a table without columns": {".csv": b"a\n1\n"},
    "an empty table": {".csv": b""},
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
