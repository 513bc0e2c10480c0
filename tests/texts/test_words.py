"""The mechanical rules of our texts: plain words, imperative first lines, and code that fits a page. `make lint` runs them."""

import ast
import re
from pathlib import Path

import pytest

from tests.pages import ROOT, WIDEST

INSTEAD = {
    "nobody": "no process, no user, ...",
    "somebody": "a user, another process, ...",
    "everybody": "every user, every process, ...",
    "whoever": "the user who, the process that, ...",
    "whatever": "any, anything that, ...",
    "beside": "next to, in addition to, compared with",
    "likewise": "the same, in the same way, also",
    "in place of": "instead of",
    "but for": "except",
    "hang on": "depend on",
    "made anew": "made again",
    "of account": "important",
}
BANNED = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
FOLDERS = ["fwexp", "benchmarks", "experiments", "plots", "docs", "conf", "results", "tests"]
MADE = ("docs/_build", "docs/generated", "results/published", "results/runs", "results/figures", "results/report")
FILES = [path for folder in FOLDERS for kind in ("py", "md", "yaml") for path in (ROOT / folder).rglob(f"*.{kind}")]
FILES += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
FILES = [path for path in FILES if not path.relative_to(ROOT).as_posix().startswith(MADE) and path != Path(__file__)]
# First words of docstrings of functions that ruff's D401 takes for imperatives, or that name no action.
WEAK = {"Whether", "Say", "Do", "Let", "Have", "Give", "See", "As", "Of", "For", "The", "A", "An", "All", "Every", "What", "That"}


def functions(source: str):
    """Yield the functions with docstrings, except properties and claims, whose docstrings are no commands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if "property" not in decorators and "claim" not in decorators:
                yield node, text


def weak_firsts(source: str) -> list[str]:
    """Return the names of functions whose docstring begins with a weak word, or has no full stop in its first paragraph."""
    firsts = [(node.name, text.partition("\n\n")[0]) for node, text in functions(source)]
    return [name for name, first in firsts if first.split()[0] in WEAK or not first.rstrip().endswith((".", ":", "!"))]


def wide(lines: list[str]) -> list[str]:
    """Return the lines that a page of the documentation cuts."""
    return [line for line in lines if len(line) > WIDEST]


def test_texts_have_plain_words():
    found = []
    for path in FILES:
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        matches = [(k, match[1].lower()) for k, line in lines for match in BANNED.finditer(line)]
        found += [f"{path.relative_to(ROOT)}:{k}: write {INSTEAD[word]!r} instead of {word!r}" for k, word in matches]
    assert not found, "\n".join(found)


def test_first_lines_of_functions_say_what_they_do():
    code = [path for path in FILES if path.suffix == ".py" and not path.is_relative_to(ROOT / "tests")]
    sources = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in code}
    found = [f"{path}: {name}" for path, source in sources.items() for name in weak_firsts(source)]
    assert not found, "\n".join(found)


def test_examples_in_docstrings_fit_a_page():
    found = []
    for path in FILES:
        if path.suffix == ".py":
            lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
            found += [f"{path.relative_to(ROOT)}: {line}" for line in wide(lines) if line.startswith((">>> ", "... "))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", INSTEAD)
def test_banned_words_are_found(word):
    assert BANNED.search(f"It is {word.upper()} it.")
    assert not BANNED.search(f"It is x{word}s it.")


def test_weak_first_lines_are_found():
    source = 'def f():\n    """{}"""\n'
    weak = ("Whether it is so.", "Do as f does.", "The weights.", "Return the weights", "Say why.")
    assert [text for text in weak if not weak_firsts(source.format(text))] == []
    assert weak_firsts(source.format("Return the weights.")) == []
    assert weak_firsts('@property\ndef f():\n    """The weights."""\n') == []
    assert wide([">>> " + "x" * 80, ">>> " + "x" * 81]) == [">>> " + "x" * 81]
