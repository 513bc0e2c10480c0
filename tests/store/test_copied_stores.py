"""Damaged runs, and traces of other programs: such a run is left out, with one line."""

import random
import warnings

import pandas as pd
import pytest

import fwexp
from fwexp import store
from fwexp.cli import main
from fwexp.papers import comparison
from fwexp.store import commit, records


@pytest.fixture
def folder(tmp_path, config, make_result):
    """Return the folder of a run that has a good neighbour."""
    store.save(make_result(), config | {"seed": 1}, tmp_path)
    return store.save(make_result(), config, tmp_path)


def forge(folder):
    """Write a record anew with the checksums of the files as they are."""
    record = records.read(folder / "run.json")
    record["files"] = {name: commit.fingerprint((folder / name).read_bytes()) for name in record["files"]}
    records.write(folder / "run.json", record)


def check(results_dir, capsys, *, left_out=True):
    """Readers of the store go on without the run, and warn once."""
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
    frame.groupby([name for name in frame if name.startswith(("solver.", "dataset.", "split"))], dropna=False).size()


TRACES = {
    "text": lambda frame: frame.assign(primal=[str(value) for value in frame["primal"]]),
    "numbers": lambda frame: frame.assign(iterate=1.0),
    "lists": lambda frame: frame.assign(more=[[1.0]] * len(frame)),
    "dates": lambda frame: frame.assign(time=pd.Timestamp("2020-01-01")),
    "fewer": lambda frame: frame.drop(columns="primal"),
    "a column of the run": lambda frame: frame.assign(key="0"),
    "an option": lambda frame: frame.assign(**{"solver.step": 1.0}),
    "none": lambda frame: frame[[]],
}


@pytest.mark.parametrize("kind", TRACES)
def test_traces_of_other_kinds(folder, capsys, kind):
    TRACES[kind](pd.read_parquet(folder / "trace.parquet")).to_parquet(folder / "trace.parquet", index=False)
    forge(folder)
    check(folder.parents[3], capsys)


def test_traces_whose_numbers_have_other_widths_are_read(folder):
    frame = pd.read_parquet(folder / "trace.parquet").assign(more=1)
    frame.astype({"step": "int32", "primal": "float32"}).to_parquet(folder / "trace.parquet")
    forge(folder)
    found = fwexp.load_results(folder.parents[3])
    assert sorted(found["step"]) == sorted([*frame["step"]] * 2)
    assert sorted(found["more"].dropna()) == [1.0] * len(frame)


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
