"""``python -m fwexp.commands.tagger``."""

# ruff: noqa: T201

import sys

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError, exit_code

USAGE = """\
usage: python -m fwexp.commands.tagger [TRAIN TEST] [data_dir=DIR]

Compare taggers on a text with one word per line in columns, the word first and its label last, and an empty line after each
sentence (by default CoNLL-2000, without its middle column): ChainSVM, ChainSVMCV, which chooses lam, and CRFsuite, of the extra
peers. Prints a table of times, token accuracy and F1 of chunks on TEST. `fwexp tag` trains and applies a single tagger.
"""


@command("python -m fwexp.commands.tagger", USAGE, words=2)
def main(given: Arguments) -> int:
    """Compare, and print the table.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        If a tool or a text is missing, or a text is not in columns.
    """
    from fwexp.data import conll2000
    from fwexp.data.data_files import resolve_data_dir
    from fwexp.papers.peers import tagger_comparison, tools

    words, _, keys = given
    if len(words) == 1:
        raise ParameterError(f"TRAIN and TEST must both be given, got {words[0]}")
    tools.module("pycrfsuite")
    paths = words or [*conll2000.DATASET.locate(resolve_data_dir(keys.get("data_dir"))).values()]
    print(tagger_comparison.table(tagger_comparison.compare(*paths)))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))
