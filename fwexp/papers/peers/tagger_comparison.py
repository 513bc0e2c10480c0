"""A tagger from a plain text, written with `ChainSVM` and with CRFsuite: both take the same features of words, as dicts.

`ours` is all the code that a user writes, except the features. CRFsuite is called as sklearn-crfsuite calls it, with the defaults
of that: L-BFGS, 100 iterations. Times are processor times, from lists of words and labels to a model, features included.
"""

import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np

from fwexp.data import read_columns
from fwexp.data.metrics import chunk_f1
from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV
from fwexp.papers.peers.peer_table import in_columns
from fwexp.papers.peers.tools import called, module

LAMS = (1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)  # to choose from
HEAD = ("tool", "setting", "CPU seconds", "token accuracy", "chunk F1")


def features(words: Sequence[str]) -> list[dict]:
    """Return the features of every word: what stands there and around it, how it begins and ends, and what it is made of."""
    padded = ["", "", *words, "", ""]
    around = [padded[t : t + len(words)] for t in range(5)]
    return [
        {
            "-2": before,
            "-1": last,
            "word": word,
            "+1": following,
            "+2": after,
            "-1 0": f"{last} {word}",
            "0 +1": f"{word} {following}",
        }
        | {"lower": word.lower(), "suffix": word[-3:], "last": word[-2:], "prefix": word[:3], "previous ends": last[-3:]}
        | {"capital": word[0].isupper(), "digit": any(map(str.isdigit, word)), "constant": True}
        for before, last, word, following, after in zip(*around)
    ]


def read(path, label: int = -1) -> tuple[list[list[str]], list[list[str]]]:
    """Return the words, which the first column has, and the labels of a text in columns."""
    X, y = read_columns(path, label)
    return [[token[0] for token in tokens] for tokens in X], y


def ours(words, labels) -> ChainSVM:
    """Return a tagger."""
    return ChainSVM(features=features).fit(words, labels)


def ours_with_lam_chosen(words, labels) -> ChainSVMCV:
    """Return a tagger at the lam of `LAMS` that three folds of the text choose."""
    return ChainSVMCV(lams=LAMS, cv=3, n_jobs=1, features=features).fit(words, labels)


def crfsuite(words, labels, c1: float, c2: float) -> Callable[[list[list[str]]], list[list[str]]]:
    """Return the predictions of a conditional random field of CRFsuite."""
    trainer = module("pycrfsuite").Trainer(algorithm="lbfgs", params={"c1": c1, "c2": c2, "max_iterations": 100}, verbose=False)
    for sentence, tags in zip(words, labels):
        trainer.append(features(sentence), tags)
    file = tempfile.NamedTemporaryFile(suffix=".crfsuite")  # noqa: SIM115, the tagger reads it
    trainer.train(file.name)

    def predict(X):
        tagger = module("pycrfsuite").Tagger()
        tagger.open(file.name)
        return [tagger.tag(features(sentence)) for sentence in X]

    return predict


def compare(train, test) -> list[tuple]:
    """Train all tools on a text, and return their rows of the table: quality on another text.

    Parameters
    ----------
    train, test : path
        Texts in columns: the word first, the label last.

    Returns
    -------
    list of tuple
        As in `HEAD`.
    """
    data, (X, y) = read(train), read(test)
    ours_with_lam_chosen(*(part[:20] for part in data))  # compiles
    tagger, seconds = _timed(ours, *data)
    rows = [("ChainSVM", f"lam={tagger.lam:g}, gap {tagger.dual_gap_:.2g}", seconds, *_quality(tagger.predict, X, y))]
    chosen, seconds = _timed(ours_with_lam_chosen, *data)
    rows.append(("ChainSVMCV", f"chooses lam={chosen.lam_:g} of {len(LAMS)} in 3 folds", seconds, *_quality(chosen.predict, X, y)))
    for c1, c2 in ((0.0, 1.0), (0.1, 0.1)):
        predict, seconds = _timed(crfsuite, *data, c1, c2)
        rows.append((called("CRFsuite", "pycrfsuite"), f"c1={c1:g}, c2={c2:g}", seconds, *_quality(predict, X, y)))
    return rows


def table(rows: list[tuple]) -> str:
    """Return the rows of `compare` as Markdown."""
    return in_columns(HEAD, [(*row[:2], f"{row[2]:.1f}", *("-" if np.isnan(n) else f"{n:.4f}" for n in row[3:])) for row in rows])


def _timed(train: Callable, *arguments) -> tuple:
    start = time.process_time()
    return train(*arguments), time.process_time() - start


def _quality(predict: Callable, X, y) -> tuple[float, float]:
    """Return the share of right labels, and the F1 of chunks where labels are those of chunks."""
    predicted = predict(X)
    right = [a == b for labels, found in zip(y, predicted) for a, b in zip(labels, found)]
    try:
        return float(np.mean(right)), chunk_f1(y, predicted)
    except ParameterError:
        return float(np.mean(right)), float("nan")
