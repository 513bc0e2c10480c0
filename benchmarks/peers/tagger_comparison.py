"""Taggers on texts: the estimators of fwexp and CRFsuite, with identical features and with lam chosen by validation alike.

All tools get the same indicators of words, and lam is strength per word: CRFsuite's c2 is lam N / 2 for N words. `ChainCRF`
minimises what CRFsuite minimises; softmax-margin and `ChainSVM` have objectives of their own. Every tool chooses the lam with the
fewest errors on a fifth of the sentences, and is trained with it on all of them. Only then is it applied to the test text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.peers import generated_texts, tools
from benchmarks.peers.peer_table import in_columns
from benchmarks.peers.validated import SEED, SHARE, choose
from fwexp.data import read_columns, read_conllu
from fwexp.data.metrics import chunk_f1
from fwexp.data.validation import aside
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM
from fwexp.estimators.feature_matrices import Vectorizer

HEAD = ("text", "tool", "lam", "c2", "validation error", "error", "chunk F1", "seconds")
MIN_COUNT = 3  # of positions that have a feature
ITERATIONS = 100  # of CRFsuite, as sklearn-crfsuite has it


class Text(NamedTuple):
    """Sentences as tuples of columns, the word first, with their labels."""

    name: str
    train: tuple[list, list[list[str]]]
    test: tuple[list, list[list[str]]]


def features(words: Sequence[str]) -> list[dict]:
    """Return the features of every word: the words there and around it, its prefixes and suffixes, and its kinds of characters."""
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


def features_of_tokens(tokens: Sequence[Sequence[str]]) -> list[dict]:
    """Return the features of words, and of the next column around it, if there is one, such as parts of speech."""
    found = features([token[0] for token in tokens])
    if len(tokens[0]) > 1:
        padded = ["", "", *(token[1] for token in tokens), "", ""]
        for t, position in enumerate(found):
            tags = padded[t : t + 5]
            spans = [(first, last) for length in (1, 2, 3) for first in range(6 - length) if (last := first + length)]
            position |= {f"tag {first - 2} {last - 3}": " ".join(tags[first:last]) for first, last in spans}
    return found


def text_in_columns(name: str, train, test) -> Text:
    """Return a text in columns: the word first, the label last."""
    return Text(name, read_columns(train), read_columns(test))


def read_morphology(path) -> tuple[list, list[list[str]]]:
    """Return the words of a text in CoNLL-U, and parts of speech with morphological features."""
    X, feats = read_conllu(path, "FEATS", columns=("FORM", "UPOS"))
    words = [[(token[0],) for token in tokens] for tokens in X]
    labels = [[f"{token[1]}|{one}" for token, one in zip(tokens, of_one)] for tokens, of_one in zip(X, feats)]
    return words, labels


def texts(conll2000: Sequence[Path], folder: Path) -> list[Text]:
    """Return the texts of the table; those that are generated are written to a folder first."""
    return [
        text_in_columns("CoNLL-2000", *conll2000),
        text_in_columns("generated, CoNLL-2003-like", *generated_texts.write_names(folder)),
        Text("generated, UD-like", *map(read_morphology, generated_texts.write_morphology(folder))),
    ]


@dataclass(frozen=True)
class Sentences:
    """Encoded sentences: a sparse matrix with a row per word of each, and their labels."""

    X: list
    y: list[list[str]]

    def __len__(self) -> int:
        return len(self.y)

    def subset(self, mask: np.ndarray) -> "Sentences":
        """Return some of the sentences."""
        chosen = np.flatnonzero(mask).tolist()
        return Sentences([self.X[i] for i in chosen], [self.y[i] for i in chosen])

    @property
    def words(self) -> int:
        """The number of words."""
        return sum(map(len, self.y))


def encoded(text: Text) -> tuple[Sentences, Sentences]:
    """Return the training and the test sentences, with features that `MIN_COUNT` words of the training text have."""
    vectorizer, parts = Vectorizer(MIN_COUNT), []
    for encode, (tokens, labels) in ((vectorizer.fit_transform, text.train), (vectorizer.transform, text.test)):
        rows, ptr = encode([features_of_tokens(sentence) for sentence in tokens])
        rows = rows.tocsr()
        rows.eliminate_zeros()  # of flags that are false
        parts.append(Sentences([rows[start:end] for start, end in pairwise(ptr.tolist())], labels))
    return tuple(parts)


def error(labels: Sequence, predicted: Sequence) -> float:
    """Return the share of words with another label than the true one."""
    return float(np.mean([a != b for a, b in zip(chain.from_iterable(labels), chain.from_iterable(predicted), strict=True)]))


def estimator(make: Callable, train: Sentences, lam: float) -> tuple[float, Callable]:
    """Train an estimator of fwexp; return the seconds, and the function that predicts."""
    seconds, tagger = tools.timed(lambda: make(lam=lam, random_state=0).fit(train.X, train.y))
    return seconds, tagger.predict


def crfsuite(pairs: dict, train: Sentences, lam: float) -> tuple[float, Callable]:
    """Train a conditional random field of CRFsuite, as `estimator` does for fwexp, with weights for these pairs."""
    parameters = pairs | {"c2": 0.5 * lam * train.words, "max_iterations": ITERATIONS}
    return tools.train_crfsuite(map(tools.attributes, train.X), train.y, "lbfgs", parameters, prepare=tools.attributes)


def contenders() -> dict[str, Callable[[Sentences, float], tuple[float, Callable]]]:
    """Return the tools by the names that the table has."""
    return {
        "softmax-margin (ChainCRF)": partial(estimator, partial(ChainCRF, objective="softmax_margin")),
        "CRF (ChainCRF)": partial(estimator, ChainCRF),
        "SVM (ChainSVM)": partial(estimator, ChainSVM),
        tools.called("CRF: CRFsuite", "pycrfsuite"): partial(crfsuite, tools.ALL_PAIRS),
        "CRF: CRFsuite, with its defaults": partial(crfsuite, {}),
    }


def measure(text: Text, say: Callable[[str], object] = lambda line: None) -> list[tuple]:
    """Return a row for each tool, as in `HEAD`."""
    train, test = encoded(text)
    mask = aside(len(train), SHARE, SEED)
    part, validation = train.subset(~mask), train.subset(mask)
    rows = []
    for name, fit in contenders().items():
        fit(part.subset(np.arange(len(part)) < 20), 1.0 / part.words)  # compiles

        def error_at(lam: float, name=name, fit=fit) -> float:
            seconds, predict = fit(part, lam)
            found = error(validation.y, predict(validation.X))
            say(f"{text.name}, {name}: lam={lam:.3g}, validation error {found:.4f}, {seconds:.1f} s")
            return found

        lam, least = choose(error_at, 2.0 / part.words)  # c2 = 1
        seconds, predict = fit(train, lam)
        predicted = predict(test.X)
        found = error(test.y, predicted), _f1(test.y, predicted), seconds
        rows.append((text.name, name, lam, 0.5 * lam * train.words, least, *found))
    return rows


def table(rows: Sequence[tuple]) -> str:
    """Return the rows of `measure` as Markdown."""
    formats = ("", "", ".2g", ".2g", ".4f", ".4f", ".4f", ".1f")
    cells = [[format(cell, spec) for cell, spec in zip(row, formats, strict=True)] for row in rows]
    return in_columns(HEAD, [["-" if cell == "nan" else cell for cell in row] for row in cells])


def _f1(labels: Sequence, predicted: Sequence) -> float:
    """Return the F1 of chunks; NaN where labels are none of chunks."""
    try:
        return chunk_f1(labels, predicted)
    except ParameterError:
        return float("nan")
