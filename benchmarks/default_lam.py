"""The c of the default lam = c/N of estimators: ``python -m benchmarks.default_lam [--report] [ESTIMATOR ...]``.

Data sets are divided into two halves, `CHOICE` and `REPORT`. On the first one, c is chosen: estimators are trained with their
defaults at each c of a grid, and the mean of error / lowest error over the data sets, on validation examples, is compared. Of the
c whose mean is at most 1 % above the lowest one, the c nearest to 1 is chosen. ``--report ESTIMATOR=c`` prints test errors on the
second half: with this c, and with the c that validation picks on that data set alone.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning

import fwexp
from benchmarks.peers.generated_texts import write_morphology, write_names
from benchmarks.peers.tagger_comparison import features_of_tokens, read_morphology
from fwexp.data import conll2000, ocr, read_columns, synthetic_horseseg
from fwexp.data.data_files import resolve_data_dir
from fwexp.estimators import ChainCRF, ChainSVM, GraphSVM, MatchingSVM, MulticlassLogistic, MulticlassSVM, MultiLabelSVM

GRID = 2.0 ** np.arange(-6, 8)  # of c
SPLITS = 5  # of tables, whose validation examples are few
CHAINS, CLASSES = (ChainSVM, ChainCRF), (MulticlassSVM, MulticlassLogistic)


class Data(NamedTuple):
    """Examples to train on, and others."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    several: bool = False  # whether errors are means over `SPLITS` random divisions of all examples


def halves(X, y, size: int, seed: int = 0) -> Data:
    """Return the first examples of a random order, and the others."""
    order = np.random.default_rng(seed).permutation(len(y))
    return Data(*((_some(X, part), _some(y, part)) for part in (order[:size], order[size:])), several=True)


def divisions(data: Data) -> Iterator[Data]:
    """Yield the divisions of the examples of which errors are means."""
    yield data
    for seed in range(1, SPLITS if data.several else 1):
        X, y = (_joined(*parts) for parts in zip(data.train, data.test))
        yield halves(X, y, len(data.train[1]), seed)


def _joined(one, other):
    if isinstance(one, list):
        return one + other
    return sp.vstack([one, other], format="csr") if sp.issparse(one) else np.concatenate([one, other])


def _some(values, places):
    return values[places] if hasattr(values, "shape") else [values[i] for i in places]


# --- data sets --------------------------------------------------------------------------------------------------------


def letters_of_words(fold: int) -> Data:
    """Return words of OCR, a fold to train on and half of the next one."""
    (path,) = ocr.DATASET.locate(resolve_data_dir(None)).values()
    letters = ocr.read_letters(path)
    pixels = np.pad(letters.pixels, ((0, 0), (0, 1)), constant_values=1).astype(float)
    words = [*zip(np.split(pixels, letters.ptr[1:-1]), np.split(letters.labels, letters.ptr[1:-1]))]
    chosen = [[word for word, of in zip(words, letters.folds) if of == k] for k in (fold, fold + 1)]
    return Data(*(tuple(map(list, zip(*part))) for part in (chosen[0], chosen[1][::2])))


def text(sentences: list, labels: list, size: int) -> Data:
    """Return sentences with the features of `make bench-tagger`."""
    X = [features_of_tokens(sentence) for sentence in sentences]
    return Data((X[:size], labels[:size]), (X[size:], labels[size:]))


def generated(write: Callable, read: Callable, folder: Path, size: int = 1500) -> Data:
    """Return a generated text: sentences to train on, and as many others."""
    (X, y), (more, labels) = map(read, write(folder, (size, size)))
    return text(X + more, y + labels, size)


def chunks() -> Data:
    """Return a thousand sentences of CoNLL-2000 to train on, and as many of its test text."""
    (X, y), (more, labels) = map(read_columns, conll2000.DATASET.locate(resolve_data_dir(None)).values())
    return text(X[:1000] + more[:1000], y[:1000] + labels[:1000], 1000)


def readings(length: int) -> Data:
    """Return readings of noisy sensors, of which each of five states lasts for ten positions on average."""
    rng = np.random.default_rng(0)
    means, sets = rng.normal(size=(5, 6)), []
    for _ in range(2):
        begins = np.where(rng.random((10_000 // length, length)) < 0.1, np.arange(length), 0)
        places = np.maximum.accumulate(begins, axis=1)
        y = [rng.integers(5, size=length)[of_one] for of_one in places]
        X = [np.column_stack([means[states] + rng.normal(0.0, 2.0, (length, 6)), np.ones(length)]) for states in y]
        sets.append((X, y))
    return Data(*sets)


def table(load: Callable, size: int) -> Data:
    """Return a table of scikit-learn, with columns of mean 0 and variance 1 and a random order."""
    found = load()
    X = (found.data - found.data.mean(axis=0)) / np.maximum(found.data.std(axis=0), 1e-9)
    return halves(X, found.target, size)


def bags(seed: int, classes: int, size: int) -> Data:
    """Return texts as counts of words by Zipf's law, of which each class has its own frequencies, with rows of norm 1."""
    rng, words = np.random.default_rng(seed), 3000
    frequency = 1.0 / np.arange(3.0, words + 3.0)
    shares = frequency * np.exp(0.7 * rng.normal(size=(classes, words)))
    y = rng.integers(classes, size=size + 1000)
    X = sp.csr_array(np.array([rng.multinomial(40, shares[k] / shares[k].sum()) for k in y], dtype=float))
    X = sp.csr_array(sp.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    return halves(X, y, size)


def images(seed: int, count: int, draw: Callable) -> Data:
    """Return images that a function draws, with a constant feature: some to train on, and 60 others."""
    rng = np.random.default_rng(seed)
    X, y = zip(*[draw(rng) for _ in range(count + 60)])
    X = [np.concatenate([x, np.ones((*x.shape[:2], 1))], axis=2) for x in X]
    return Data((X[:count], y[:count]), (X[count:], y[count:]))


def ellipses(rng: np.random.Generator) -> tuple:
    """Return an image of two round figures in noise, and its labels."""
    row, column = np.mgrid[:24, :24]
    a, b, c, d = rng.uniform(4, 20, (4, 2))
    inside = sum(((row - m[0]) ** 2 + (column - m[1]) ** 2 < 4 + h[0]) for m, h in ((a, b), (c, d))) > 0
    return (inside + rng.normal(0, 0.9, inside.shape))[..., None], inside.astype(int)


def stripes(rng: np.random.Generator) -> tuple:
    """Return an image of slanted stripes of two noisy colours, and its labels."""
    row, column = np.mgrid[:20, :28]
    slope, period = rng.uniform(-1, 1), rng.uniform(8, 14)
    label = (((column + slope * row) % period) < 0.5 * period).astype(int)
    return np.array([[0.6, 0.4, 0.3], [0.4, 0.5, 0.5]])[label] + rng.normal(0, 0.25, (*label.shape, 3)), label


def superpixels(count: int) -> Data:
    """Return graphs like those of HorseSeg."""
    X, y = [], []
    for number in range(count + 100):
        image = synthetic_horseseg.draw(number)
        features = sp.csr_array(_indicators(image.words, synthetic_horseseg.NUM_FEATURES))
        X.append((features, image.edges, _indicators(image.levels, synthetic_horseseg.NUM_PAIRWISE)))
        y.append(image.labels)
    return Data((X[:count], y[:count]), (X[count:], y[count:]))


def _indicators(columns: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros((len(columns), size))
    np.put_along_axis(found, columns, 1.0, axis=1)
    return found


def alignments(seed: int, count: int, noise: float) -> Data:
    """Return pairs of sentences whose words have three noisy signs of belonging together, a distance and a constant."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(count + 500):
        R, C = rng.integers(4, 12, size=2)
        order = np.argsort(np.arange(min(R, C)) + rng.normal(0, 1.5, min(R, C)))
        linked = np.zeros((R, C))
        linked[np.arange(min(R, C)), order] = rng.random(min(R, C)) < 0.8
        signs = linked[..., None] + rng.normal(0, noise, (R, C, 3))
        distance = np.abs(np.subtract.outer(np.arange(R) / R, np.arange(C) / C))
        X.append(np.concatenate([signs, distance[..., None], np.ones((R, C, 1))], axis=2))
        y.append(np.argwhere(linked))
    return Data((X[:count], y[:count]), (X[count:], y[count:]), several=True)


def hansards(count: int) -> Data:
    """Return sentence pairs with links by an aligner, as problems."""
    train, _ = fwexp.load_dataset("hansards")
    return Data((train.subset(np.arange(count)), None), (train.subset(np.arange(4000, 4400)), None))


def label_sets(seed: int, labels: int, size: int) -> Data:
    """Return examples with several labels that go together, by scikit-learn."""
    X, y = datasets.make_multilabel_classification(size + 1000, n_classes=labels, n_labels=3, random_state=seed)
    return halves(X / X.std(axis=0), y, size)


def topics(seed: int, size: int) -> Data:
    """Return examples whose eight labels depend on two hidden topics and on noisy features."""
    rng = np.random.default_rng(seed)
    topic = rng.normal(size=(size + 1000, 2))
    y = (topic @ rng.normal(size=(2, 8)) + 0.5 * rng.normal(size=(len(topic), 8)) > 0.7).astype(int)
    X = topic @ rng.normal(size=(2, 15)) + 1.5 * rng.normal(size=(len(topic), 15))
    return halves(X, y, size)


# --- the halves, written down before any of them was trained on -----------------------------------------------------------

CHOICE: dict[str, tuple[tuple, Callable]] = {
    "OCR words": (CHAINS, lambda folder: letters_of_words(0)),
    "generated names": (CHAINS, lambda folder: generated(write_names, read_columns, folder)),
    "sensors": (CHAINS, lambda folder: readings(20)),
    "digits": (CLASSES, lambda folder: halves(datasets.load_digits().data / 16.0, datasets.load_digits().target, 900)),
    "wine": (CLASSES, lambda folder: table(datasets.load_wine, 89)),
    "texts, 20 classes": (CLASSES, lambda folder: bags(0, 20, 1000)),
    "ellipses": ((GraphSVM,), lambda folder: images(1, 30, ellipses)),
    "superpixels": ((GraphSVM,), lambda folder: superpixels(60)),
    "alignments": ((MatchingSVM,), lambda folder: alignments(0, 100, 0.6)),
    "alignments, noisy": ((MatchingSVM,), lambda folder: alignments(1, 100, 1.0)),
    "label sets": ((MultiLabelSVM,), lambda folder: label_sets(0, 6, 500)),
    "topics": ((MultiLabelSVM,), lambda folder: topics(0, 500)),
}
REPORT: dict[str, tuple[tuple, Callable]] = {
    "CoNLL-2000, 1000 sentences": (CHAINS, lambda folder: chunks()),
    "generated morphology": (CHAINS, lambda folder: generated(write_morphology, read_morphology, folder)),
    "letters": (CLASSES, lambda folder: Data(*(tuple(map(np.concatenate, part)) for part in letters_of_words(2)[:2]))),
    "breast cancer": (CLASSES, lambda folder: table(datasets.load_breast_cancer, 284)),
    "texts, 5 classes": (CLASSES, lambda folder: bags(1, 5, 300)),
    "stripes": ((GraphSVM,), lambda folder: images(2, 30, stripes)),
    "Hansards": ((MatchingSVM,), lambda folder: hansards(500)),
    "label sets, 10 labels": ((MultiLabelSVM,), lambda folder: label_sets(1, 10, 500)),
    "topics, 2000 examples": ((MultiLabelSVM,), lambda folder: topics(1, 2000)),
}


def error(cls: type, data: Data, lam: float | str) -> float:
    """Return the error of an estimator with its defaults at a lam: the share of wrong parts, or the mean loss of matchings."""
    (X, y), test, _ = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if y is None:
            lam = float(lam.removesuffix("/n")) / X.n if isinstance(lam, str) else lam
            return fwexp.evaluate(test[0], fwexp.solve(X, lam=lam, gap_tol=0.01)).error
        model = cls(lam=lam).fit(X, y)
    if cls is MultiLabelSVM:
        return float(np.mean(model.predict(test[0]) != test[1]))
    return 1.0 - model.score(*test)


def split(data: Data) -> Data:
    """Return four fifths of the examples to train on, and the rest."""
    X, y = data.train
    if y is None:
        return Data((X.subset(np.arange(X.n * 4 // 5)), None), (X.subset(np.arange(X.n * 4 // 5, X.n)), None))
    return halves(X, y, len(y) * 4 // 5)


def choose(cls: type, sets: dict[str, Data]) -> float:
    """Print the errors of an estimator at all c, on all data sets; return the chosen c."""
    ratios = []
    for name, data in sets.items():
        start = time.process_time()
        errors = np.mean([[error(cls, one, f"{c:g}/n") for c in GRID] for one in divisions(data)], axis=0)
        ratios.append((errors + 1e-4) / (errors.min() + 1e-4))
        shown = " ".join(f"{one:.4f}" for one in errors)
        print(f"{cls.__name__:20} {name:28} {shown}  {time.process_time() - start:.0f} s", flush=True)
    mean = np.mean(ratios, axis=0)
    near = GRID[mean <= 1.01 * mean.min()]
    c = float(near[np.abs(np.log(near)).argmin()])
    print(f"{cls.__name__:20} {'mean of error / lowest':28} {' '.join(f'{one:6.3f}' for one in mean)}  c = {c:g}")
    return c


def report(cls: type, name: str, data: Data, c: float) -> None:
    """Print a row of the report."""
    start = time.process_time()
    validated = GRID[np.argmin([error(cls, split(data), f"{one:g}/n") for one in GRID])]
    found = [error(cls, data, f"{one:g}/n") for one in (c, validated)]
    took = time.process_time() - start
    print(f"| {name} | `{cls.__name__}` | {found[0]:.4f} | {found[1]:.4f} (c = {validated:g}) |  {took:.0f} s", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Choose c for estimators, or report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("estimators", nargs="*", metavar="ESTIMATOR=c or ESTIMATOR")
    parser.add_argument("--report", action="store_true", help="print errors on the second half, with the given c")
    asked = parser.parse_args(argv)
    given = dict(text.partition("=")[::2] for text in asked.estimators)
    with tempfile.TemporaryDirectory() as folder:
        for cls in (*CLASSES, MultiLabelSVM, MatchingSVM, GraphSVM, *CHAINS):
            if given and cls.__name__ not in given:
                continue
            half = REPORT if asked.report else CHOICE
            sets = {name: make(Path(folder)) for name, (users, make) in half.items() if cls in users}
            for name, data in sets.items() if asked.report else ():
                report(cls, name, data, float(given[cls.__name__]))
            if not asked.report:
                choose(cls, sets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
