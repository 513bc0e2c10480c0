"""Published figures that are drawn again."""

import re
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from fwexp.errors import OptionError
from fwexp.experiments import FIGURES
from fwexp.papers.claims.verdict_records import read
from fwexp.run import from_arguments
from tests.pages import ROOT
from tests.plots.synthetic_results import make_results
from tools import redraw
from tools.published_faults import faults

NAME = "quickstart"


@pytest.mark.slow
def test_a_figure_is_drawn_again_unless_its_numbers_would_change(published, tmp_path, monkeypatch):
    folder = shutil.copytree(published, tmp_path / "published")
    results = make_results(from_arguments.expand([f"+experiment={NAME}"], preset="smoke"))
    monkeypatch.setattr(redraw, "configs_of", lambda figure, preset: [])
    monkeypatch.setattr(redraw, "read_runs", lambda configs, folder: (results, []))
    picture, numbers = (folder / f"figures/{NAME}{suffix}" for suffix in (".png", ".csv"))
    before = picture.read_bytes(), numbers.read_bytes()
    assert redraw.redraw(FIGURES[NAME], folder, tmp_path, None) == ""
    assert picture.read_bytes() != before[0]
    assert numbers.read_bytes() == before[1]
    changed = pd.read_csv(numbers)
    changed.loc[3, "median"] *= 2
    changed.to_csv(numbers, index=False)
    before = picture.read_bytes(), numbers.read_bytes()
    assert redraw.redraw(FIGURES[NAME], folder, tmp_path, None) == "its numbers would change: median"
    assert (picture.read_bytes(), numbers.read_bytes()) == before
    assert redraw.redraw(replace(FIGURES[NAME], has_runs=False), folder, tmp_path, None) == ""  # computed anew
    assert numbers.read_bytes() != before[1]
    monkeypatch.setattr(redraw, "configs_of", lambda figure, preset: [{}, {}])
    assert redraw.redraw(FIGURES[NAME], folder, tmp_path, None) == "2 of 2 runs are not in the archive"


def test_numbers_may_have_more_columns_and_another_order():
    table = pd.DataFrame({"panel": ["a", "b"], "x": [1.0, float("nan")]})
    assert redraw.differences(table, table[::-1].assign(lower=0.0)) == ""
    assert redraw.differences(table, table.assign(x=[1.0, 2.0])) == "x"
    assert redraw.differences(table, table[:1]) == "1 rows instead of 2"


def test_verdicts_are_decided_again_where_that_is_asked_for(published, tmp_path, monkeypatch):
    folder = shutil.copytree(published, tmp_path / "published")
    given = read(ROOT / "results" / "published" / "claims" / "lecture.json")
    given["L-5"] |= {"verdict": "fails", "why": "does not hold: lam = 1", "runs": ["a" * 64]}
    monkeypatch.setattr(redraw, "check_all", lambda *_, **__: given)
    pictures = {path: path.read_bytes() for path in folder.rglob("*.png")}
    assert redraw.main(["claims", f"published={folder}"]) == 0
    found = read(folder / "claims" / "lecture.json")["L-5"]
    assert (found["verdict"], found["runs"]) == ("fails", ["a" * 12])
    text = (folder / "README.md").read_text()
    assert "4 hold, 1 fails |" in text
    assert re.search("Verdicts were decided again on [0-9-]{10} at commit [0-9a-f]{12}", text)
    assert [fault for fault in faults(folder) if fault.startswith("provenance")] == []
    assert {path: path.read_bytes() for path in folder.rglob("*.png")} == pictures


@pytest.mark.parametrize("name", ["icml2013/table1", "nothing"])
def test_only_pictures_are_drawn_again(name, tmp_path):
    with pytest.raises(OptionError, match=f"NAME must be a published figure or claims, got '{name}'"):
        redraw.main([name, f"published={tmp_path}"])
