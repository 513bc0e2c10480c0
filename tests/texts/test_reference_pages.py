"""The reference of the site: a page for every public object, and links from their names."""

import re
import sys

import pytest

import fwexp.convex
import fwexp.data
import fwexp.estimators
import fwexp.experiments
import fwexp.papers.claims
import fwexp.testing
from tests.pages import ROOT

pytest.importorskip("sphinx")
sys.path.insert(0, str(ROOT / "docs"))
import command_pages
import links
import reference

from fwexp.cli import COMMANDS

ALL = [fwexp, fwexp.estimators, fwexp.data, fwexp.convex, fwexp.testing, fwexp.experiments, fwexp.papers.claims]


@pytest.mark.parametrize("module", ALL, ids=lambda module: module.__name__)
def test_a_group_has_all_public_names(module):
    assert {*reference.members(module.__name__)} == {*module.__all__} - {"__version__"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder of the reference."""
    folder = tmp_path_factory.mktemp("reference")
    reference.pages(ROOT / "docs", folder)
    return folder


def test_every_object_has_a_page_and_a_row_with_its_summary(written):
    api = written / "api"
    table = (api / "fwexp.estimators.md").read_text()
    for name in fwexp.estimators.__all__:
        page = (api / f"fwexp.estimators.{name}.md").read_text()
        assert f".. autoclass:: {name}\n" in page
        assert f"| [`{name}`](fwexp.estimators.{name}.md) | {reference.summary(getattr(fwexp.estimators, name))} |" in table
    assert "[Train on your own data](../../practice.md)" in (api / "fwexp.estimators.ChainSVMCV.md").read_text()
    for name in ("data.metrics.chunk_f1", "blocks.orders.Order", "errors.DataError", "solvers.base.Point", "experiments.Figure"):
        assert (api / f"fwexp.{name}.md").is_file()
    for module, text in (
        ("problems.walk", ".. autofunction:: num_shared\n"),
        ("problems.protocol.declared", ".. autofunction:: max_oracle\n"),
        ("blocks.block_loop", ".. autofunction:: next_block\n"),
        ("blocks.block_loop", ".. autoclass:: FrankWolfe\n"),
        ("types", r"| `Lam` | `float \| str` |"),
    ):
        assert text in (api / f"fwexp.{module}.md").read_text()
    names = [path.name.lower() for path in api.iterdir()]
    assert len(names) == len({*names})  # some file systems do not tell case


def test_the_text_of_a_module_is_printed_once_per_group(written):
    text = "Convex problems and saddle points to compare methods on"
    pages = {path.stem: path.read_text().count(text) for path in (written / "dataset").glob("*.md")}
    assert pages["lasso"] <= 1
    assert pages["index"] <= 2  # its convex problems, and its saddle points
    assert "solver.sampling=gap" in (written / "solver" / "bcfw_gap.md").read_text()


def test_every_command_has_a_page_with_its_help(tmp_path):
    command_pages.pages(ROOT / "docs", tmp_path / "command")
    index = (tmp_path / "command" / "index.md").read_text()
    for name in COMMANDS:
        text = (tmp_path / "command" / f"{name}.md").read_text()
        assert f"[`fwexp {name}`]({name}.md) | {command_pages.summaries()[name]} |" in index
        assert re.search(rf"```text\n.*fwexp {name} ", text, re.DOTALL)
    assert "[Compared" not in (tmp_path / "command" / "ls.md").read_text()
    assert "(../../tagging.md)" in (tmp_path / "command" / "tag.md").read_text()


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("ChainSVM", "api/fwexp.estimators.ChainSVM"),
        ("solve(problem, lam=0.1)", "api/fwexp.solve"),
        ("fwexp.solve", "api/fwexp.solve"),
        ("bcfw_gap", "solver/bcfw_gap"),
        ("loss", None),
        ("lam", None),
        ("pairwise", None),
        ("no name", None),
    ],
)
def test_names_in_the_text_lead_to_their_pages(text, page):
    found = links.target(text)
    assert (found and found[0]) == (page and f"generated/{page}")
