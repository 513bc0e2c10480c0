"""The gallery of the site: a page per published figure, with its place, its verdicts and its command."""

import json
import sys

import pytest

from tests.pages import ROOT

pytest.importorskip("sphinx")
sys.path.insert(0, str(ROOT / "docs"))
import figure_pages

PUBLISHED = ROOT / "results" / "published"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    figure_pages.pages(PUBLISHED, folder)
    return folder


def test_every_published_figure_has_a_page_with_its_picture_or_table(gallery):
    names = {path.relative_to(PUBLISHED / "figures").with_suffix("").as_posix() for path in (PUBLISHED / "figures").rglob("*.json")}
    index = (gallery / "index.md").read_text()
    assert names
    for name in names:
        text = (gallery / f"{name}.md").read_text()
        assert f":link: {name}\n" in index
        assert f"fwexp figure {name}\n" in text
        assert (gallery / f"{name}.png").is_file() == (f"({name.rpartition('/')[2]}.png)" in text)


def test_titles_are_no_paths_and_places_are_named(gallery):
    text = (gallery / "icml2013" / "fig1.md").read_text()
    assert "# Primal suboptimality of all solvers on OCR, CoNLL-2000 and word alignment\n" in text
    assert "Figure 1 of\n[Block-Coordinate Frank-Wolfe" in text
    assert "**What the paper's figure shows.**" in text
    assert "Figure" not in (gallery / "icml2016" / "auto.md").read_text().partition("**What ours")[0]


def test_verdicts_stand_on_the_pages_of_their_figures_and_are_counted(gallery):
    index = (gallery / "index.md").read_text()
    for path in (PUBLISHED / "claims").glob("*.json"):
        claims = json.loads(path.read_text())
        assert f"Of {len(claims)} claims, " in index
        for id, claim in claims.items():
            row = f"| {id} | **{claim['verdict']}**"
            assert (row in index) == (claim["verdict"] != "holds")
            if claim["figure"]:
                page = (gallery / f"{claim['figure']}.md").read_text()
                assert row in page
                details = page.partition(f":::{{dropdown}} {id}: ")[2].partition("\n:::\n")[0]
                shown = [claim["criterion"], claim["changed"], *claim["numbers"]]
                assert [text for text in shown if figure_pages.reference.plain(text) not in details] == []
                assert [name for name in claim["sensitivity"] if f"`{name}`" not in details] == []
