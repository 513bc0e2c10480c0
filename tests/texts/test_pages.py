"""README and the pages of the documentation: commands are accepted, figures and pictures exist, code fits its column."""

import json
import os
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from fwexp.experiments import FIGURES
from fwexp.papers.claims import VERDICTS
from fwexp.papers.figure_files import stem_of
from fwexp.run.sweep import expand
from tests.pages import PAGES, ROOT, TUTORIALS, blocks, command_lines, figure_target, too_wide

SEVERAL = {"holds": "hold", "holds in part": "hold in part", "fails": "fail"}
DRAWN = {*re.findall(r"savefig\(\"(\S+?)\"", "".join(page.read_text() for page in TUTORIALS)), "fig1.png"}
DRAWN |= set(re.findall(r"card-\w+\.png", (ROOT / "docs" / "pictures.py").read_text()))
"""Pictures that ``make docs`` draws: those of the tutorials, by their own commands, and those on the home page."""


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_code_fits_its_column_and_comments_on_commands_stand_above_them(page):
    assert too_wide(page) == []
    commands = [line for block in blocks(page) if block.language in ("sh", "bash") for line in block.text.splitlines()]
    assert [line for line in commands if re.search(r"\S +# ", line.lstrip("# "))] == []


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


def test_readme_counts_the_published_verdicts():
    records = [json.loads(path.read_text()) for path in (ROOT / "results" / "published" / "claims").glob("*.json")]
    counts = Counter(record["verdict"] for claims in records for record in claims.values())
    named = {verdict: f"{count} {verdict if count == 1 else SEVERAL.get(verdict, verdict)}" for verdict, count in counts.items()}
    *others, last = (named[verdict] for verdict in VERDICTS if counts[verdict])
    told = f"Of {counts.total()} claims, [{' and '.join(filter(None, (', '.join(others), last)))}]"
    assert told in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


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
