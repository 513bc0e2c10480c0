"""The code of the documentation's pages and of README, as people read it: examples in Python, files to write, commands."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", *(page for place in ("", "tasks", "coming") for page in sorted((ROOT / "docs" / place).glob("*.md")))]
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE


ANY = re.compile(r"\d[\d.e+-]*(?= (?:s|seconds|passes)\b)")
NEAR = re.compile(r"\b\d+\.\d{3,}(?:e[+-]?\d+)?")


class Printed(OutputChecker):
    """Takes what a page shows for what is printed if words are equal, and numbers that depend on the machine are near.

    Numbers with three decimals or more may differ by a tenth or by 0.001, seconds and passes by any factor.
    """

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Return whether a page may show `want` if `got` is printed."""
        want, got = (ANY.sub("0", text) for text in (want, got))
        shown, printed = ([float(number) for number in NEAR.findall(text)] for text in (want, got))
        if len(shown) == len(printed) and all(math.isclose(*pair, rel_tol=0.1, abs_tol=1e-3) for pair in zip(shown, printed)):
            want, got = (NEAR.sub("0.000", text) for text in (want, got))
        return super().check_output(want, got, optionflags)


class Block(NamedTuple):
    """A block of code: its language, the file that it is if it has a caption, and its text."""

    language: str
    file: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of code of a page in their order."""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            caption = re.match(r":caption: (\S+)\n\n", token.content)
            language = token.info.removeprefix("{code-block} ").strip()
            yield Block(language, caption[1] if caption else "", token.content.removeprefix(caption[0] if caption else ""))


WIDEST = 84  # characters of a line of code that fits the column of the site


def too_wide(page: Path) -> list[str]:
    """Return the lines of code of a page that would be cut at its right edge; a glossary is text."""
    return [line for block in blocks(page) if block.language[0:1] != "{" for line in block.text.splitlines() if len(line) > WIDEST]


def command_lines(program: str) -> list[str]:
    """Return what stands after ``program`` in the code of README and all pages, up to a comment."""
    pattern = re.compile(rf"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?{program} ([^#|&>]+)")
    texts = [page.read_text(encoding="utf-8") for page in (*PAGES, *TUTORIALS)]
    code = [block for text in texts for block in re.findall(r"```(?:sh|bash)?\n(.*?)```|`([^`\n]+)`", text, flags=re.DOTALL)]
    lines = [line.strip() for block in code for line in "\n".join(block).splitlines()]
    return [match[1].strip() for line in lines if (match := pattern.match(line))]


def figure_target(name: str) -> str:
    """Return the make target of a figure: ``icml2013/fig1`` is ``fig-icml2013-1``."""
    return re.sub(
        r"(\w+)/(fig|table|overlays|auto|orders|original)(\d*)$", lambda m: "-".join(filter(None, (m[2], m[1], m[3]))), name
    )


def files(page: Path) -> dict[str, str]:
    """Return the texts of the files of a page by name; blocks of one name are the parts of a file in their order."""
    texts: dict[str, str] = {}
    for block in blocks(page):
        if block.file:
            texts[block.file] = f"{texts[block.file]}\n{block.text}" if block.file in texts else block.text
    return texts


def write_files(page: Path, folder: Path) -> None:
    """Write the files of a page below a folder."""
    for name, text in files(page).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def follow(page: Path, folder: Path, until: Collection[str] = ()) -> int:
    """Do what a page says, in a folder; return how many outputs are as it shows them, which is none if the commands fail.

    With ``until``, do so until files of these names exist below the folder, and compare no outputs.

    Files are written when their turn comes, commands (``sh``) run, and what follows as ``text`` is what they print. Packages are
    installed below ``folder / "site"``, without a network.
    """
    site, printed, compared = folder / "site", "", 0
    places = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(site), "PIP_TARGET": str(site)}
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "FWEXP_DATA"} | places | offline
    for language, file, text in blocks(page):
        if until and all(any(folder.rglob(name)) for name in until):
            break
        if file:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as part:
                part.write("\n" * bool(part.tell()) + text)
        elif language == "sh":
            command = ["bash", "-euo", "pipefail", "-c", text]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{text}{done.stdout}{done.stderr}"
            printed = done.stdout
        elif language == "text" and not until:
            assert Printed().check_output(text, printed, FLAGS), f"{page.stem} shows\n{text}\nbut printed was\n{printed}"
            compared += 1
    return compared
