"""README and the pages of the documentation: examples print what is shown, commands are accepted, tutorials can be followed."""

import doctest
import json
import re
from collections import Counter

import pytest

from fwexp.experiments import FIGURES
from fwexp.run.sweep import expand
from tests.pages import FLAGS, PAGES, ROOT, TUTORIALS, blocks, command_lines, figure_target, follow, too_wide

EXAMPLES = {page: [block.text for block in blocks(page) if block.language == "python" and not block.file] for page in PAGES}


@pytest.mark.portable
@pytest.mark.parametrize("page", [page for page, examples in EXAMPLES.items() if examples], ids=lambda page: page.stem)
def test_pages_show_what_python_prints(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # they write files
    test = doctest.DocTestParser().get_doctest("\n".join(EXAMPLES[page]), {}, page.name, page.name, 0)
    assert test.examples
    report = []
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_can_be_followed_in_an_empty_folder(page, tmp_path):
    assert follow(page, tmp_path) > 0


@pytest.mark.parametrize("page", [*PAGES, *TUTORIALS, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_code_fits_its_column_and_comments_on_commands_stand_above_them(page):
    assert too_wide(page) == []
    commands = [line for block in blocks(page) if block.language in ("sh", "bash") for line in block.text.splitlines()]
    assert [line for line in commands if re.search(r"\S +# ", line.lstrip("# "))] == []


def test_pages_name_figures_that_exist():
    figures = {word for line in command_lines("fwexp") if line.startswith("figure ") for word in line.split()[1:] if "/" in word}
    assert figures
    assert figures <= {*FIGURES, "elsewhere/fig1"}  # that of the tutorial
    targets = {figure_target(name) for name in FIGURES}
    assert {line for line in command_lines("make") if line.startswith(("fig-", "table-"))} <= targets


def test_runs_of_pages_are_valid():
    """Every ``fwexp run`` gives configurations that are accepted; nothing is run."""
    runs = [line.split()[1:] for line in command_lines("fwexp") if line.startswith("run ")]
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
    told = (
        f"Of {counts.total()}\nclaims, [{counts['holds']} hold, {counts['holds in part']} hold in part and {counts['fails']} fails]"
    )
    assert told in (ROOT / "README.md").read_text(encoding="utf-8")
