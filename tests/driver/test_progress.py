import io
import math
import sys

import pytest

import fwexp
from fwexp.driver import progress
from fwexp.driver.progress import Progress
from tests.small_problems import chain

ROW = {"passes": 2.0, "primal": 0.5, "dual": 0.25, "gap": 0.25, "train_error": float("nan"), "test_error": 0.125, "time": 1.5}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Closed(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def run(**options):
    shown = Progress(10, options.pop("enabled", True), "bcfw")
    shown.update(1.0, float("nan"), 0.5)
    shown.row(ROW)
    shown.close("max_passes")


def test_a_pipe_gets_a_line_per_row(capsys):
    run()
    assert capsys.readouterr().err.splitlines() == [
        "bcfw: pass 2  primal 0.5  dual 0.25  gap 0.25  test error 0.125  time 1.50 s",
        "bcfw: stopped at 2 passes, gap 0.25, 1.50 s",
    ]


def test_lines_show_what_is_left(capsys, monkeypatch):
    """Gaps that fall as 1 / passes are estimated well by the second number, and gaps that are halved at each pass by the first."""
    shown = Progress(100, True, "", lambda dual: 0.01 * dual)
    for passes in (1.0, 2.0, 4.0):
        shown.row(ROW | {"passes": passes, "gap": 0.25 / passes})
    shown.row(ROW | {"passes": 100.0, "gap": 0.0025})
    lines = [line.partition("time 1.50 s")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines[:2] == ["  wanted 0.0025", "  wanted 0.0025: about 5.6 to 98 more passes (4.2 to 73 s)"]
    assert lines[2:] == ["  wanted 0.0025: about 9.3 to 96 more passes (3.5 to 36 s)", ""]
    assert progress.passes_left([(k, 2.0**-k) for k in range(1, 9)], 2.0**-10)[0] == pytest.approx(2.0)
    for gaps in ([1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 0.0]):
        assert progress.passes_left(list(enumerate(gaps, 1)), 0.1) == (math.inf, math.inf)
    assert progress.passes_left([(0.0, 1.0), (1.0, 1.0 - 1e-12), (2.0, 1.0 - 2e-12)], 1e-300)[1] < math.inf
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = Progress(10, True, "bcfw", lambda dual: 0.01)
    bar._bar.mininterval = 0
    for passes, gap in ((1.0, 0.5), (2.0, 0.25)):
        bar.row(ROW | {"passes": passes, "gap": gap})
        bar.update(passes, gap, 1.0)
    assert "gap 2.50e-01  wanted 0.01: about 4.6 to 48 more passes" in terminal.getvalue()


def test_nothing_is_shown_unasked(capsys):
    run(enabled=False)
    assert capsys.readouterr() == ("", "")


def test_a_caller_may_say_itself_how_runs_end(capsys):
    with progress.without_summaries():
        run()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_long_work_is_counted(monkeypatch, capsys):
    assert list(progress.counted("abc", "claims checked")) == list("abc")
    assert capsys.readouterr().err.splitlines() == ["0 of 3 claims checked"]  # at once, and then every half minute
    monkeypatch.setattr(progress, "PROGRESS", -1.0)
    assert list(progress.counted("abc", "claims checked")) == list("abc")
    assert capsys.readouterr().err.splitlines() == [f"{count} of 3 claims checked" for count in range(3)]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_kept_below", False)
    assert list(progress.counted("ab", "claims checked")) == list("ab")
    assert terminal.getvalue().split(progress.ERASE) == ["0 of 2 claims checked", "1 of 2 claims checked", ""]


def test_a_terminal_gets_a_bar_that_vanishes(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    shown = Progress(10, True, "bcfw")
    shown._bar.mininterval = 0
    shown.update(2.5, 0.01, 1.0)
    assert "25%" in terminal.getvalue()
    assert "pass 2.5 of 10, gap 1.00e-02" in terminal.getvalue()
    shown.row(ROW)
    assert "primal" not in terminal.getvalue()
    shown.close("converged")
    assert terminal.getvalue().split("\r")[-1] == "bcfw: converged after 2 passes, gap 0.25, 1.50 s\n"


def test_a_reader_that_went_away_does_not_stop_the_run(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Closed())
    run()


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_a_gap_that_is_not_known_is_not_shown(capsys, gap):
    shown = Progress(10, True)
    shown.update(1.0, gap, 0.5)
    shown.close("time_limit")
    assert capsys.readouterr().err == "out of time after 1 passes, 0.50 s\n"


def test_the_last_line_says_what_is_returned(capsys):
    """An average may be better than the last iterate, which is logged before it."""
    _, problem = chain("dense", 0, n=8)
    result = fwexp.solve(problem, "bcfw", lam=0.01, max_passes=4, gap_tol=0, sampling="uniform", verbose=True, schedule=4)
    assert result.iterate == "wavg"
    *_, row, end = capsys.readouterr().err.splitlines()
    assert f"  gap {result.gap:.4g}" in row
    assert f"  primal {result.primal:.4g}" in row
    assert f"gap {result.gap:.3g}," in end
