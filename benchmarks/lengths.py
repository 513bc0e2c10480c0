"""Which lam suits sequences of which length: ``python -m benchmarks.lengths``, with either loss of `ChainSVM`.

Sequences are readings of noisy sensors, with one state per position. All lengths T have the same number of positions. lam is
chosen on validation sequences, and the accuracy is that on other sequences.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fwexp.estimators import ChainSVM

LENGTHS = (20, 200, 2000, 20_000)
POSITIONS = 40_000
FORMER = 0.01  # the default lam before estimators had a loss per position
LAMS = {"share": 10.0 ** np.arange(6, -5, -1), "errors": 10.0 ** np.arange(-1, -7, -1)}
SETTINGS = (("share", "best"), ("errors", "best"), ("errors", "wavg"))  # the first is that of versions before, the last the default
HEAD = ("T", "loss", "iterate", "best lam", "accuracy", "default lam", "accuracy", "gap")


def sensors(length: int, positions: int, seed: int = 0) -> list[tuple[list, list]]:
    """Return three sets of sequences (X, y), to train, validate and test: five states last for ten positions on average."""
    rng = np.random.default_rng(seed)
    means, sets = rng.normal(size=(5, 6)), []
    for _ in range(3):
        X, y = [], []
        for _ in range(positions // length):
            begins = np.where(rng.random(length) < 0.1, np.arange(length), 0)
            states = rng.integers(5, size=length)[np.maximum.accumulate(begins)]
            X.append(np.column_stack([means[states] + rng.normal(0.0, 2.0, (length, 6)), np.ones(length)]))
            y.append(states)
        sets.append((X, y))
    return sets


def trained(train, lam: float, loss: str, iterate: str) -> ChainSVM:
    """Return a tagger, whether it converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ChainSVM(lam=lam, loss=loss, iterate=iterate).fit(*train)


def row(length: int, loss: str, iterate: str, positions: int = POSITIONS, lams: Sequence[float] | None = None) -> tuple:
    """Return a row of the table, as in `HEAD`."""
    train, validation, test = sensors(length, positions)
    taggers = {lam: trained(train, lam, loss, iterate) for lam in (LAMS[loss] if lams is None else lams)}
    best = max(taggers, key=lambda lam: taggers[lam].score(*validation))
    default = FORMER if loss == "share" else ChainSVM().lam
    tagger = trained(train, default, loss, iterate)
    return length, loss, iterate, best, taggers[best].score(*test), default, tagger.score(*test), tagger.dual_gap_


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--positions", type=int, default=POSITIONS)
    positions = parser.parse_args(argv).positions
    print(("{:>6} {:>7} {:>7} {:>9} {:>9} {:>12} {:>9} {:>7}").format(*HEAD))
    for loss, iterate in SETTINGS:
        for length in LENGTHS:
            print(
                "{:6} {:>7} {:>7} {:9.0e} {:9.4f} {:12.0e} {:9.4f} {:7.3f}".format(*row(length, loss, iterate, positions)),
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
