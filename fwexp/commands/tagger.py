"""``python -m fwexp.commands.tagger``."""

# ruff: noqa: T201

import sys

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError, exit_code

USAGE = """\
usage: python -m fwexp.commands.tagger [TRAIN TEST] [--sentence TEXT] [data_dir=DIR]

Trains taggers on a plain text, with one word per line in columns, the word first and its label last, and an empty line after each
sentence (by default the texts of CoNLL-2000, the columns between left out): with ChainSVM, with ChainSVMCV, which chooses lam, and
with CRFsuite, of the extra peers. Prints a table of times, token accuracy and F1 of chunks on TEST, then tags a sentence.

  --sentence TEXT   what to tag (default: what is typed in, until an empty line)
"""


@command("python -m fwexp.commands.tagger", USAGE, words=2, flags={"--sentence": ()})
def main(given: Arguments) -> int:
    """Compare, print the table, and tag.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        A tool or a text that is not there, or no text in columns.
    """
    from fwexp.data import conll2000
    from fwexp.data.data_files import resolve_data_dir
    from fwexp.papers.peers import tagger_comparison, tools

    words, flags, keys = given
    if len(words) == 1:
        raise ParameterError(f"TRAIN and TEST must both be given, got {words[0]}")
    tools.module("pycrfsuite")
    paths = words or [*conll2000.DATASET.locate(resolve_data_dir(keys.get("data_dir"))).values()]
    rows, model = tagger_comparison.compare(*paths)
    print(tagger_comparison.table(rows))
    for line in [flags["--sentence"]] if "--sentence" in flags else iter(sys.stdin.readline, ""):
        if not line.strip():
            break
        sentence = line.split()
        print(" ".join(f"{word}/{label}" for word, label in zip(sentence, model.predict_one(sentence))))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))
