"""``make bench-rule``: when gaps are reached, and that all settings are measured; how long it takes is no matter for tests."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import rule
from fwexp.testing import small_chains


def test_halves_share_no_data_set_and_have_all():
    fitted, held_out = (set(names) for names in rule.HALVES.values())
    assert not fitted & held_out
    assert fitted | held_out == set(rule.CASES)
    assert abs(len(fitted) - len(held_out)) <= 1


def test_when_a_gap_is_reached_is_interpolated():
    run = rule.Run(steps=[0, 5, 10], passes=[0.0, 1.0, 2.0], gaps=[1.0, 0.1, 0.001], seconds=[0.0, 3.0, 2.0])
    assert rule.reached(run, 0.1) == pytest.approx((3.0, 1.0))
    assert rule.reached(run, 0.01) == pytest.approx((4.0, 1.5))
    assert rule.reached(run, 1e-4) == (np.inf, np.inf)


def test_a_run_stops_at_the_last_gap_or_where_it_falls_behind(monkeypatch):
    monkeypatch.setattr(rule, "LONGEST", 100.0)  # Its first steps may compile.
    problem = small_chains(20)
    found = rule.run(problem, 0.1, "corrective", dict.fromkeys(rule.GAPS, 100.0))
    assert found.gaps[-1] <= rule.GAPS[-1] < found.gaps[-2]
    assert found.steps == sorted(set(found.steps))
    assert len({len(column) for column in found}) == 1


def test_settings_that_take_the_same_steps_share_their_runs():
    auto = rule.Run([0, 5], [0.0, 1.0], [1.0, 0.1], [0.0, 3.0])
    same = rule.Run([0, 5, 9], [0.0, 1.0, 2.0], [1.0, 0.1, 0.01], [0.0, 2.0, 4.0])
    other = same._replace(gaps=[1.0, 0.2, 0.01])
    runs = {"other": other, "same": same, "auto": auto}
    rule.share_times(runs)
    assert runs == {"other": other, "same": same, "auto": same}
    rule.share_times(runs := {"other": other, "auto": auto})
    assert runs == {"other": other, "auto": auto}


@pytest.mark.slow
def test_all_settings_are_measured_and_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(rule, "LEAST", 100.0)
    monkeypatch.setattr(rule, "LONGEST", 100.0)
    monkeypatch.setattr(rule, "TABLE", tmp_path / "bench" / "rule.csv")
    rows = rule.measure("some", small_chains(8), 0.5)
    assert len(rows) == len(rule.GAPS) * (len(rule.SETTINGS) + 1)
    for gap in rule.GAPS:
        ratios = [row["over best"] for row in rows if row["gap"] == gap and row["setting"] != "auto"]
        assert min(ratios) == 1.0
    rule.show(rows)
    assert capsys.readouterr().out.startswith("some")
    for _ in range(2):  # a case that is measured again is there once
        rule.keep("held out", rows)
        table = pd.read_csv(rule.TABLE)
        assert table["gap"].tolist() == list(rule.GAPS)
        assert table["auto: seconds"].tolist() == pytest.approx(
            [row["seconds"] for row in rows if row["setting"] == "auto"], rel=1e-3
        )
