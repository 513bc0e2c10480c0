"""Pages on the commands: what `fwexp COMMAND --help` prints, for each of them."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import reference

from fwexp.cli import COMMANDS, USAGE, main

SUMMARY = re.compile(r"^  (\w+) +(.+?)(?:  |$)", re.MULTILINE)
COMMON = """
All commands take these keys, and end with one of these exit codes:

| key | folder |
| --- | --- |
| `results_dir=DIR` | stored runs, figures and verdicts (default: `results`) |
| `data_dir=DIR` | files of the data sets (default: the folder in `FWEXP_DATA`, otherwise `~/.cache/fwexp`) |

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | a run failed, `doctor` found a fault, or `claims --strict` another verdict |
| 2 | wrong arguments or data; one line names the value and what is accepted |
| 130 | interrupted; finished runs are kept |
"""


def pages(source: Path, folder: Path) -> None:
    """Write a page per command, and the page that lists them, below ``folder``; each names the pages that use it."""
    guides = reference.guides(source)
    folder.mkdir()
    (folder / "index.md").write_text("\n".join(_index()), encoding="utf-8")
    for name in COMMANDS:
        (folder / f"{name}.md").write_text("\n".join(_page(name, guides)), encoding="utf-8")


def summaries() -> dict[str, str]:
    """Return what each command does, as `fwexp --help` says it."""
    return {name: summary for name, summary in SUMMARY.findall(USAGE) if name in COMMANDS}


def printed(*arguments: str) -> str:
    """Return what the command line prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        main(arguments)
    return text.getvalue().strip()


def _index() -> Iterator[str]:
    yield "# Command line\n\n| command | what it does |\n| --- | --- |"
    yield from (f"| [`fwexp {name}`]({name}.md) | {reference.plain(summary)} |" for name, summary in summaries().items())
    yield f"{COMMON}\n## `fwexp --help`\n\n```text\n{printed('--help')}\n```"


def _page(name: str, guides: dict[Path, str]) -> Iterator[str]:
    yield f"{reference.LEAF}# fwexp {name}\n\n{reference.plain(summaries()[name])}."
    yield "[Common keys and exit codes](index.md) are those of all commands.\n"
    yield f"```text\n{printed(name, '--help')}\n```\n"
    yield reference.see_also(re.compile(rf"\bfwexp {name}\b"), guides)
