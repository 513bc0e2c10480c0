"""``make bench``: everything that it measures can be measured; how long it takes is no matter for tests."""

import pytest

from benchmarks import history, svm
from benchmarks.families import FAMILIES, problem_of
from benchmarks.yardstick import Measured, in_turns, summary, unit_of
from fwexp.testing import small_chains

SMALL = {"n": 6, "T": 4, "K": 3, "p": 4}


def small_problem(name):
    return problem_of(name, **{size: SMALL[size] for size in FAMILIES[name].sizes})


@pytest.mark.slow
@pytest.mark.compiled
def test_all_that_is_measured_runs():
    found = in_turns(svm.measures_of(small_chains(20)), "oracle pass, ocr2", 2)
    assert len(found) > 10
    assert all(0.0 < row.low <= row.median <= row.high for row in found)


@pytest.mark.slow
@pytest.mark.compiled
def test_paths_are_measured_next_to_grids(monkeypatch):
    monkeypatch.setattr(svm, "PATHS", {"digits": ("digits", {})})
    rows = {row.quantity: row for row in svm.paths(1)}
    assert {"path, digits, in ms", "warm grid, digits", "cold grid, digits"} <= set(rows)
    (passes,) = (row for name, row in rows.items() if name.startswith("warm grid, digits, 31 values"))
    assert passes.unit == "passes"
    assert passes.median >= svm.VALUES


@pytest.mark.parametrize("name", FAMILIES)
def test_problems_of_all_families_have_the_sizes_asked_for(name):
    problem, work = small_problem(name), FAMILIES[name].work(**{size: SMALL[size] for size in FAMILIES[name].sizes})
    assert problem.n == SMALL["n"]
    assert min(work) > 0


def test_what_got_slower_by_more_than_the_spread_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(history, "FILE", tmp_path / "bench" / "history.csv")
    row = summary("a pass", "F", [1.0, 2.0, 3.0])
    assert history.compare([row]) == []
    history.record([row])
    history.record([row._replace(quantity="another")])
    assert history.compare([Measured("a pass", "F", 2.6, 2.4, 2.8), Measured("a pass", "s", 9.0, 9.0, 9.0)]) == []
    (line,) = history.compare([Measured("a pass", "F", 4.0, 2.6, 4.2)])
    assert "2.000 -> 4.000 F, 2.00 times" in line
    monkeypatch.setattr(history, "cpu", lambda: "another")
    assert history.compare([Measured("a pass", "F", 4.0, 2.6, 4.2)]) == []


def test_without_a_floor_program_there_is_a_unit(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FWEXP_FLOOR", str(tmp_path / "none.cpp"))
    name, measure = unit_of(tmp_path)
    assert name == "U"
    assert measure() > 0.0
    assert "no floor program" in capsys.readouterr().out
