"""Words that make texts hard to read: pages, docstrings, comments and messages use plain ones."""

import re

import pytest

from tests.pages import ROOT

INSTEAD = {
    "nobody": "no process, no user, ...",
    "somebody": "a user, another process, ...",
    "whoever": "the user who, the process that, ...",
    "whatever": "any, anything that, ...",
    "beside": "next to, in addition to, compared with",
    "in place of": "instead of",
    "but for": "except",
    "hang on": "depend on",
    "made anew": "made again",
}
BANNED = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
FOLDERS = ["fwexp", "experiments", "plots", "docs", "conf", "results"]
MADE = ("docs/_build", "docs/generated", "results/published", "results/runs", "results/figures", "results/report")
FILES = [path for folder in FOLDERS for kind in ("py", "md", "yaml") for path in (ROOT / folder).rglob(f"*.{kind}")]
FILES += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]


@pytest.mark.parametrize("word", INSTEAD)
def test_the_pattern_finds(word):
    assert BANNED.search(f"It is {word.upper()} it.")
    assert not BANNED.search(f"It is x{word}s it.")


def test_texts_have_plain_words():
    found = []
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(MADE):
            lines = path.read_text(encoding="utf-8").splitlines()
            matches = [(k, match[1].lower()) for k, line in enumerate(lines, 1) for match in BANNED.finditer(line)]
            found += [f"{name}:{k}: write {INSTEAD[word]!r} instead of {word!r}" for k, word in matches]
    assert not found, "\n".join(found)
