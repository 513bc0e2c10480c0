"""``python -m benchmarks.peers.tagger``."""

import sys
import tempfile
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.errors import ParameterError, exit_code

USAGE = """\
usage: python -m benchmarks.peers.tagger [TRAIN TEST] [data_dir=DIR]

Compare taggers with identical features and with lam chosen by validation: softmax-margin, CRF and SVM of fwexp, and CRFsuite, of
the extra peers. The texts are CoNLL-2000 and two generated ones, which are like CoNLL-2003 (names) and like Universal Dependencies
(morphology); or a text of yours, in columns with the word first and its label last, and an empty line after each sentence. Prints
a table: lam, errors (share of words), F1 of chunks, and the seconds of training at that lam on one core. `fwexp tag` trains and
applies a single tagger.
"""


@command("python -m benchmarks.peers.tagger", USAGE, words=2)
def main(given: Arguments) -> int:
    """Compare, and print the table; return the exit code."""
    from benchmarks.peers import tagger_comparison, tools
    from benchmarks.yardstick import pin
    from fwexp.data import conll2000
    from fwexp.data.data_files import resolve_data_dir

    words, _, keys = given
    if len(words) == 1:
        raise ParameterError(f"TRAIN and TEST must both be given, got {words[0]}")
    tools.module("pycrfsuite")
    pin()
    with tempfile.TemporaryDirectory() as folder:
        if words:
            texts = [tagger_comparison.text_in_columns(Path(words[0]).name, *words)]
        else:
            paths = conll2000.DATASET.locate(resolve_data_dir(keys.get("data_dir"))).values()
            texts = tagger_comparison.texts([*paths], Path(folder))
    rows = [row for text in texts for row in tagger_comparison.measure(text, print_line)]
    print(tagger_comparison.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("fwexp", lambda: main(sys.argv[1:])))
