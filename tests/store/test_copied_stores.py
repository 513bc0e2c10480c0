"""Stores that people copy or make: checksums that are right, contents that are not. Such a run is left out, with one line."""

import json
import os
import random
import warnings

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.papers import comparison
from fwexp.store import commit, records
from fwexp.store.keys import key_of

LONG = 10**400
VALUES = [None, True, -1, LONG, 1e300, "", "text", "\x1b[31m\n", [], [1], [[]], {}, {"a": [{}]}, {"name": "digits"}]


@pytest.fixture
def folder(tmp_path, config, make_result):
    """Return the folder of a run that has a good neighbour."""
    store.save(make_result(), config | {"seed": 1}, tmp_path)
    return store.save(make_result(), config, tmp_path)


def forge(folder, **changes):
    """Write a record anew with the checksums of the files as they are; a run of another configuration gets its place."""
    record = records.read(folder / "run.json") | changes
    record["files"] = {name: commit.fingerprint((folder / name).read_bytes()) for name in record["files"]}
    if "config" in changes:
        record["key"] = key_of(record["config"])
        folder = folder.rename(folder.with_name(record["key"]))
    records.write(folder / "run.json", record)
    return folder


def check(results_dir, capsys, *, left_out=True, reads=True):
    """Readers of the store go on without the run, and warn once; ``reads``: it has to be read for that."""
    capsys.readouterr()
    assert main(["ls", f"results_dir={results_dir}"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        frame = fwexp.load_results(results_dir)
        comparison.load([comparison.parse("bcfw"), comparison.parse("ssg")], results_dir)
    if left_out:
        assert set(frame["seed"]) == {1}
        assert 1 <= len(found) <= 2  # unread runs cause no warning
        assert all(str(warning.message).isprintable() and len(str(warning.message)) < 600 for warning in found)
        assert reads or sum("damaged" in line for line in listed) == 1
    frame.groupby([name for name in frame if name.startswith(("solver.", "dataset.", "split"))], dropna=False).size()


@pytest.mark.parametrize(
    "changes",
    [
        {"gap": LONG},
        {"gap": "0.1"},
        {"time": [1]},
        {"lam": True},
        {"dual": {}},
        {"status": "excellent"},
        {"created": 5},
        {"published": "yes"},
        {"sources": {"modules": 5, "sha256": "0"}},
        {"sources": {"modules": ["x"] * 10**4, "sha256": "0"}},
        {"provenance": None},
        {"provenance": {"git": "main"}},
        {"provenance": {"git": {"commit": "0"}}},
    ],
)
def test_facts_of_another_kind(folder, capsys, changes):
    forge(folder, **changes)
    check(folder.parents[3], capsys, reads=False)


@pytest.mark.parametrize(
    "change", [{"seed": "0"}, {"seed": LONG}, {"seed": -1}, {"lam": [0.1]}, {"max_passes": "all"}, {"solver": {"name": ["bcfw"]}}]
)
def test_settings_of_another_kind(folder, config, capsys, change):
    forge(folder, config=config | change)
    check(folder.parents[3], capsys, reads=False)


def test_lists_among_options_are_text_in_tables(folder, config, capsys):
    forge(folder, config=config | {"dataset": {"name": "digits", "sizes": [1, {"a": 2}]}})
    check(folder.parents[3], capsys, left_out=False)


@pytest.mark.parametrize("content", ["a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "[" * 10**5, "a: " * 30, "x" * 2**23])
def test_yaml_that_is_small_and_stands_for_much(folder, capsys, content):
    (folder / "config.yaml").write_text(content)
    record = json.loads((forge(folder) / "run.json").read_bytes())
    older = {name: value for name, value in record.items() if name not in ("format", "config", "checksum")}
    (folder / "run.json").write_text(json.dumps(older))
    check(folder.parents[3], capsys, reads=False)


TRACES = {
    "text": lambda frame: frame.assign(primal=[str(value) for value in frame["primal"]]),
    "numbers": lambda frame: frame.assign(iterate=1.0),
    "lists": lambda frame: frame.assign(more=[[1.0]] * len(frame)),
    "dates": lambda frame: frame.assign(time=pd.Timestamp("2020-01-01")),
    "fewer": lambda frame: frame.drop(columns="primal"),
    "a column of the run": lambda frame: frame.assign(key="0"),
    "an option": lambda frame: frame.assign(**{"solver.step": 1.0}),
    "none": lambda frame: frame[[]],
    "long names": lambda frame: pd.concat([frame.assign(iterate="x" * 10**5)] * 5000),
    "many rows": lambda frame: pyarrow.table(
        {
            name: pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(2 * 10**6, np.int8)), [frame[name].iloc[0]])
            for name in frame
        }
    ),
}


@pytest.mark.parametrize("kind", TRACES)
def test_traces_of_other_kinds(folder, capsys, request, kind):
    table = TRACES[kind](pd.read_parquet(folder / "trace.parquet"))
    table = table if isinstance(table, pyarrow.Table) else pyarrow.Table.from_pandas(table, preserve_index=False)
    parquet.write_table(table, folder / "trace.parquet")
    assert (folder / "trace.parquet").stat().st_size < 10**6
    forge(folder)
    usual = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(usual)
    pyarrow.set_memory_pool(pool)
    request.addfinalizer(lambda: pyarrow.set_memory_pool(usual))
    check(folder.parents[3], capsys)
    assert 0 < pool.max_memory() < 2**24


def test_traces_whose_numbers_have_other_widths_are_read(folder):
    frame = pd.read_parquet(folder / "trace.parquet").assign(more=True)
    frame.astype({"step": "int32", "primal": "float32"}).to_parquet(folder / "trace.parquet")
    forge(folder)
    found = fwexp.load_results(folder.parents[3], seed=0)
    assert found["step"].tolist() == frame["step"].tolist()
    assert found["more"].tolist() == [1.0] * len(frame)


def test_iterates_of_long_traces_are_read(folder, monkeypatch):
    from fwexp.store import traces

    monkeypatch.setattr(traces, "ROOM", 2**10)
    assert fwexp.load_results(folder.parents[3])["iterate"].tolist() == ["last", "wavg"] * 4


@pytest.mark.parametrize("name", ["run.json", "trace.parquet"])
def test_a_file_of_holes(folder, capsys, name):
    record = records.read(folder / "run.json")
    os.truncate(folder / name, 50 * 2**30)
    if name != "run.json":
        record["files"][name]["size"] = 50 * 2**30
        records.write(folder / "run.json", record)
    check(folder.parents[3], capsys)


def spoil(value, rng):
    """Return plain data with another value in one place."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.1:
        return rng.choice(VALUES)
    place = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
    other = value.copy()
    other[place] = spoil(value[place], rng)
    return other


def test_any_value_anywhere_in_a_record(folder, capsys):
    rng, record = random.Random(0), records.read(folder / "run.json")
    for _ in range(80):
        other = spoil(record, rng)
        if isinstance(other, dict):
            records.write(folder / "run.json", other)
            check(folder.parents[3], capsys, left_out=False)


def test_damage_anywhere_in_a_run(folder, capsys):
    rng, whole = random.Random(0), {path: path.read_bytes() for path in folder.iterdir()}
    for _ in range(50):
        path = rng.choice(list(whole))
        content, place = whole[path], rng.randrange(len(whole[path]))
        flipped = bytes([content[place] ^ 1 << rng.randrange(8)])
        damaged = [b"", content[:place], rng.randbytes(len(content)), content[:place] + flipped + content[place + 1 :]]
        path.write_bytes(rng.choice(damaged))
        if path.name == "trace.parquet" and rng.random() < 0.5:  # with the right checksum
            forge(folder)
            check(folder.parents[3], capsys, left_out=False)
        else:
            check(folder.parents[3], capsys)
        for path, content in whole.items():
            path.write_bytes(content)
