"""Figures, verdicts and reports of a store that may not be written go to another folder."""

import os

import pytest

from fwexp.cli import main
from fwexp.papers.claims import of_paper, verdict_records
from fwexp.papers.report import build as building
from fwexp.papers.report import figures as report_figures
from fwexp.store import run_store

FIGURE = ("figure", "quickstart", "lam=0.1", "dataset=digits", "--preset", "smoke")
COMMANDS = {
    ("figure", "--from", "solver=bcfw"): "figures/from/solver=bcfw_passes_gap.png",
    FIGURE: "figures/quickstart-lam=0.1,dataset=digits-smoke.png",
    ("compare", "bcfw", "fw"): "figures/compare/bcfw-fw.png",
    ("claims", "L-3"): "claims/lecture.json",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    assert main([*FIGURE, f"results_dir={folder}", f"out={tmp_path_factory.mktemp('elsewhere')}"]) == 0
    return folder


def state(folder):
    """Return when each file and folder was changed; a file that is made and removed changes its folder."""
    return {path: path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))}


@pytest.mark.parametrize(("command", "file"), COMMANDS.items(), ids=[" ".join(words[:2]) for words in COMMANDS])
def test_files_go_to_out_and_the_store_stays_as_it_is(command, file, store, tmp_path):
    before = state(store)
    assert main([*command, f"results_dir={store}", f"out={tmp_path / 'mine'}"]) == 0
    assert (tmp_path / "mine" / file).stat().st_size > 0
    assert state(store) == before


@pytest.mark.slow
def test_the_report_goes_to_out_and_shows_the_figures_there(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(building, "all_claims", lambda: of_paper("L-3"))
    before = state(store)
    for command in (("compare", "bcfw", "fw"), ("report",)):
        assert main([*command, f"results_dir={store}", f"out={tmp_path}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path}/report/index.html"
    assert (tmp_path / "claims/lecture.json").is_file()
    assert state(store) == before
    assert [drawing.stem for drawing in report_figures.compared(tmp_path, store)] == [tmp_path / "figures/compare/bcfw-fw"]
    assert "Performance profiles of bcfw, fw" in (tmp_path / "report/yours.html").read_text()


@pytest.mark.parametrize("command", [*COMMANDS, ("report",)], ids=" ".join)
def test_a_folder_that_may_not_be_written_is_named_before_the_work(command, store, monkeypatch, capsys):
    monkeypatch.setattr(run_store.os, "access", lambda path, mode: mode != os.W_OK | os.X_OK)
    monkeypatch.setattr(verdict_records, "check_all", lambda *_, **__: pytest.fail("claims were checked"))
    assert main([*command, f"results_dir={store}"]) == 2
    said = f"fwexp: out must be a folder that can be written, got '{store}' ({store} is not writable)\n"
    assert capsys.readouterr() == ("", said)
