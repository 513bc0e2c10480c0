"""README and the pages of the documentation: commands are accepted, figures and pictures exist, code fits its column."""

import json
import os
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from fwexp.experiments import FIGURES
from fwexp.papers.claims import Kind
from fwexp.papers.claims.verdict_records import close_thresholds, tally
from fwexp.papers.figure_files import stem_of
from fwexp.run.from_arguments import expand
from tests.pages import PAGES, ROOT, TUTORIALS, blocks, command_lines, figure_target, too_wide
from tools.publish import claims_by_kind

DRAWN = {*re.findall(r"savefig\(\"(\S+?)\"", "".join(page.read_text() for page in TUTORIALS)), "fig1.png"}
DRAWN |= set(re.findall(r"card-\w+\.png", (ROOT / "docs" / "pictures.py").read_text()))
"""Pictures that ``make docs`` draws: those of the tutorials, by their own commands, and those on the home page."""


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_code_fits_its_column_and_comments_on_commands_stand_above_them(page):
    assert too_wide(page) == []
    commands = [line for block in blocks(page) if block.language in ("sh", "bash") for line in block.text.splitlines()]
    assert [line for line in commands if re.search(r"\S +# ", line.lstrip("# "))] == []


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS], ids=lambda page: page.stem)
def test_a_page_is_read_in_one_sitting(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert len(text.split()) <= 2000


def test_the_navigation_is_short_and_has_every_page():
    """Pages that belong to another one are below it, where the navigation folds them."""
    docs, below = ROOT / "docs", {}
    for page in (*PAGES[1:], *TUTORIALS, *docs.glob("theory/*.md")):
        tree = re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        names = [line for block in tree for line in block.splitlines() if line and line[0] != ":"]
        below[page] = [os.path.normpath(page.parent / f"{name}.md") for name in names]
    assert len(below[docs / "index.md"]) <= 25
    listed = Counter(path for names in below.values() for path in names if "generated" not in path)
    assert listed == Counter(str(page) for page in below if page.stem != "index")


def test_pages_name_figures_that_exist():
    words = {word for line in command_lines("fwexp") if line.startswith("figure ") for word in line.split()[1:]}
    figures = {word for word in words if "/" in word and "=" not in word}
    assert figures
    assert figures <= {*FIGURES, "elsewhere/fig1"}  # that of the tutorial
    targets = {figure_target(name) for name in FIGURES}
    assert {line for line in command_lines("make") if line.startswith(("fig-", "table-"))} <= targets


def test_runs_of_pages_are_valid():
    """Every ``fwexp run`` gives configurations that are accepted; nothing is run."""
    runs = [shlex.split(line)[1:] for line in command_lines("fwexp") if line.startswith("run ")]
    assert runs
    for words in runs:
        if "hydra/sweeper=optuna" in words:  # which chooses the values
            continue
        known = [word for word in words if "=" in word and not word.startswith(("hydra", "results_dir=", "data_dir="))]
        if not {"solver=subgradient", "install=bash"} & {*known}:  # that of the tutorial
            assert expand(known), words


def test_readme_counts_what_is_published():
    """All claims, by kind, with their parts, and what we chose or changed."""
    published = ROOT / "results" / "published"
    records = [record for path in (published / "claims").glob("*.json") for record in json.loads(path.read_text()).values()]
    readme, page = (path.read_text(encoding="utf-8") for path in (ROOT / "README.md", published / "README.md"))
    text = " ".join(readme.split())
    assert f"Of {len(records)} claims, [{tally(records)}](results/published/README.md)" in text
    rows = [line for line in claims_by_kind(records) if line.startswith(("| all ", *(f"| {kind} " for kind in Kind)))]
    assert len(rows) == len(Kind) + 1
    assert [row for row in rows if row not in readme.splitlines()] == []
    assert [line for line in claims_by_kind(records) if line not in page.splitlines()] == []
    changed, close = sum(bool(record["changed"]) for record in records), sum(bool(close_thresholds(record)) for record in records)
    assert f"{changed} criteria were changed after we saw a result, and {close} verdicts are close to a threshold" in text
    seeded = [record for record in records if record["confirmation"]]
    confirmed = [record for record in seeded if record["confirmation"]["verdict"] != "undecided"]
    assert f"{len(confirmed)} of the {len(seeded)} claims that read several seeds" in text
    same = sum(record["confirmation"]["verdict"] == record["verdict"] for record in confirmed)
    assert (f"All {same} have the same verdict there" in text) == (same == len(confirmed))


def test_messages_name_pages_that_exist():
    """Each page that a message ends on is there; `see` writes the name."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "fwexp").rglob("*.py"))
    names = set(re.findall(r"""see\(["']([\w/-]+)["']\)""", source))
    assert {"faq", "tagging", "taggers"} <= names
    for name in [*names, *re.findall(r"docs/([\w/-]+)\.md", source)]:
        assert (ROOT / "docs" / f"{name}.md").is_file(), name


PICTURES = re.compile(r"!\[[^]]*\]\(([^)]+)\)|^:img-top: (\S+)", re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS], ids=lambda page: page.stem)
def test_pictures_of_pages_are_published_measured_or_drawn_when_the_site_is_built(page):
    """No page shows a picture that a command wrote to ``results`` at some time: of an empty store, or of other runs."""
    for match in PICTURES.finditer(page.read_text(encoding="utf-8")):
        path = Path(os.path.normpath(page.parent / next(filter(None, match.groups())))).relative_to(ROOT)
        match path.parts:
            case ("results", "published", "figures", *name):
                assert Path(*name).with_suffix("").as_posix() in FIGURES
                assert (ROOT / path).with_suffix(".json").is_file()
            case ("results", "bench", _):
                assert (ROOT / path).with_suffix(".csv").is_file()
            case ("docs", "generated", "tutorials", name):
                assert name in DRAWN
            case _:
                pytest.fail(f"{path} is neither published nor generated with the site")


def test_every_picture_of_the_publication_is_one_of_its_figures():
    folder = ROOT / "results" / "published"
    for path in folder.rglob("*.png"):
        assert path.relative_to(folder).parts[0] == "figures", path
        assert "runs" in json.loads(Path(f"{stem_of(path)}.json").read_text()), path
