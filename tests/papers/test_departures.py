"""The page on what is reproduced and how it differs: from declarations and from what is published."""

import json
import re

import pytest

from fwexp.experiments import FIGURES, PAPERS, Paper
from fwexp.papers.declarations import STAND_IN
from fwexp.papers.figure_pipeline import configs_of
from tools import departures

RUN = {"dataset": {"name": "ocr", "split": "ocr"}, "solver": {}, "lam": 0.1, "max_passes": 50.0, "gap_tol": 0.0, "time_limit": None}
ABOUT = {
    "cpu": "a processor",
    "memory_gb": 4.0,
    "runs": {
        "stored": 3,
        "solver_hours": 0.5,
        "cpus": {"a processor": 3},
        "cores": [2],
        "threads": [1],
        "figures": {"icml2013/fig2": {"runs": 3, "solver_seconds": 1800.0}},
    },
    "since": [{"runs": {"figures": {"icml2013/fig3": {"runs": 4, "solver_seconds": 60.0}}}}],
}


@pytest.fixture
def page(monkeypatch, tmp_path):
    """Return the page on figures that all have four runs, of which a folder has published two figures."""
    monkeypatch.setattr(
        departures,
        "_configs",
        lambda name: [
            *(RUN | {"seed": seed} for seed in range(3)),
            RUN | {"dataset": {"name": "hansards"}, "lam": "1/n", "seed": 0, "gap_tol": 1e-6, "time_limit": 5.0, "max_passes": 1e5},
        ],
    )
    (tmp_path / "provenance.json").write_text(json.dumps(ABOUT))
    return departures.page(tmp_path)


def row(page, figure, number=0):
    lines = page.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith(f"| {figure} |"))
    return [cell.strip() for cell in lines[at + number].strip("|").split("|")]


def test_rows_have_data_seeds_budgets_and_what_was_published(page):
    assert row(page, "fig1") == ["fig1", "`ocr`", "3", "0.1", "50 passes", "4", "not published"]
    assert row(page, "fig1", 1) == ["", "`hansards`", "1", "1/n", "5 s or gap 1e-06", "", ""]
    assert row(page, "fig2")[-2:] == ["4 (published: 3)", "30 min"]
    assert row(page, "fig3")[-2:] in (["4", "60 s"], ["4", "1 min"])
    assert "The 3 published runs took 0.5 solver hours in all, on a processor; 2 cores; 4 GB; threads: 1." in page
    path = RUN | {"task": {"name": "path", "lam_min": 0.5}, "max_passes": 1e5}
    assert departures._ends([path, path | {"max_passes": 250.0}, path]) == "lam 0.5; lam 0.5 or 250 passes"


def test_papers_tell_their_budgets_choices_and_stand_ins(page):
    for paper in (PAPERS["icml2013"], PAPERS["icml2016"]):
        assert paper.budget in page
        assert all(choice in page for choice in paper.choices)
    assert "| `hansards` | n 5000 + 347, d 95 | **stand-in:** the corpus" in page
    assert "- fig1: (f): training alignments and features stand in for the paper's." in page


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icml2013", "icml2016"])
def test_every_data_set_of_a_paper_is_held_against_the_papers(name):
    figures = [figure for figure in FIGURES.values() if figure.name.startswith(f"{name}/") and figure.has_runs]
    used = {config["dataset"]["name"] for figure in figures for config in configs_of(figure, "full")}
    assert used == set(PAPERS[name].data)


def test_stand_ins_are_marked_in_the_notes_of_the_figures_that_show_them():
    names = {paper.name: {name for name, words in paper.data.items() if words.startswith(STAND_IN)} for paper in PAPERS.values()}
    checked = 0
    for figure in FIGURES.values():
        paper = figure.name.partition("/")[0]
        if figure.chart and {panel.dataset for panel in figure.chart.panels} & names.get(paper, set()):
            assert re.search("stand in|synthetic|other images", figure.note), figure.name
            checked += 1
    assert checked >= 7


def test_what_is_said_of_papers_names_its_place():
    told = {paper.name: paper.budget for paper in PAPERS.values() if paper.budget}
    told |= {figure.name: figure.paper for figure in FIGURES.values() if figure.paper}
    assert len(told) >= 20
    for name, words in told.items():
        assert re.search(r"section \d|caption|abstract|appendix [A-Z]|table \d|figure \d", words, re.IGNORECASE), name
    assert Paper("X", "x", "X").data == {}
