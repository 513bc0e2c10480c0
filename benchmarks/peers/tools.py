"""Other tools trained on our problems: the objective of each, and the conversion of its weights and labels.

LIBLINEAR minimises 1/2 ||w||^2 + C sum_i H_i(w), which is ours at C = 1/(lam n); dlib minimises 1/2 ||w||^2 + C/n sum_i H_i(w),
which is ours at C = 1/lam. CRFsuite's conditional random fields have another objective: only their predictions are compared.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import fwexp
from fwexp.errors import MissingPackage, install
from fwexp.problems.features import BinaryFeatures, DenseFeatures

ALL_PAIRS = {"feature.possible_states": 1, "feature.possible_transitions": 1}
"""Parameters of CRFsuite for weights of all features and labels, as fwexp has, not only of those that occur together."""

PACKAGES = {"sklearn": "scikit-learn", "dlib": "dlib-bin", "pycrfsuite": "python-crfsuite"}
"""The modules of the extra ``peers``, and the packages that have them."""


class Trained(NamedTuple):
    """The result of a training."""

    seconds: float
    w: np.ndarray | None = None  # in the order of our problem
    calls: float = np.nan  # of an oracle in Python
    test_error: float = np.nan


def module(name: str):
    """Return a module of another tool; `MissingPackage` if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        package = PACKAGES[name.partition(".")[0]]
        raise MissingPackage(f"this comparison needs {package}, which is not installed: {install('peers')}") from error


def called(tool: str, name: str) -> str:
    """Return the name of a module's tool in the table, with its version."""
    return f"{tool} ({PACKAGES[name]} {metadata.version(PACKAGES[name])})"


def timed(function: Callable[[], object]) -> tuple[float, object]:
    """Return the time of a call, in seconds of the processor, which is shared with others, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def ours(problem, lam: float, gap_tol: float, test=None, **options) -> Trained:
    """Train with ``auto``; the time is all of it, with the evaluations that the certificate needs."""
    seconds, result = timed(lambda: fwexp.solve(problem, "auto", lam=lam, gap_tol=gap_tol, max_passes=100_000, **options))
    error = np.nan if test is None else fwexp.evaluate(test, result.w).error
    return Trained(seconds, result.w, test_error=error)


def liblinear(X, y, lam: float, tol: float) -> Trained:
    """Train the SVM of Crammer and Singer with LIBLINEAR, as scikit-learn has it, without a bias."""
    model = module("sklearn.svm").LinearSVC(
        multi_class="crammer_singer", C=1.0 / (lam * len(y)), fit_intercept=False, tol=tol, max_iter=100_000, random_state=0
    )
    seconds, _ = timed(lambda: model.fit(X, y))
    return Trained(seconds, np.ascontiguousarray(model.coef_.T).ravel())


def liblinear_binary(X, y, lam: float, tol: float) -> Trained:
    """Train a binary SVM (classes 0 and 1) with LIBLINEAR's dual coordinate descent, without a bias.

    It regularises u = w_1 - w_0, where ours are w_1 = -w_0 = u/2 at the optimum: ||w||^2 = ||u||^2 / 2, so C = 2/(lam n).
    """
    model = module("sklearn.svm").LinearSVC(
        loss="hinge", C=2.0 / (lam * len(y)), fit_intercept=False, tol=tol, max_iter=100_000, random_state=0
    )
    seconds, _ = timed(lambda: model.fit(X, y))
    (u,) = model.coef_
    return Trained(seconds, np.column_stack([-u, u]).ravel() / 2.0)


@dataclass
class PythonOracle:
    """The SVM of Crammer and Singer as Python functions, for `CallbackProblem` and dlib; weights are rows of classes here."""

    X: np.ndarray
    y: np.ndarray
    num_classes: int
    calls: int = 0

    @property
    def d(self) -> int:
        """The number of weights."""
        return self.num_classes * self.X.shape[1]

    def features(self, i: int, label: int) -> np.ndarray:
        """Return the joint features of an example and a class."""
        phi = np.zeros((self.num_classes, self.X.shape[1]))
        phi[label] = self.X[i]
        return phi.ravel()

    def loss(self, i: int, label: int) -> float:
        """Return the 0/1 loss."""
        return float(label != self.y[i])

    def max_oracle(self, i: int, w: np.ndarray) -> int:
        """Return the class of largest loss plus score."""
        self.calls += 1
        scores = w.reshape(self.num_classes, -1) @ self.X[i] + 1.0
        scores[self.y[i]] -= 1.0
        return int(scores.argmax())

    def problem(self):
        """Return the problem of fwexp with these functions."""
        return fwexp.CallbackProblem(self.y.tolist(), features=self.features, loss=self.loss, max_oracle=self.max_oracle)

    def public(self, w: np.ndarray) -> np.ndarray:
        """Return weights in the order of `fwexp.multiclass_problem`."""
        return np.ascontiguousarray(w.reshape(self.num_classes, -1).T).ravel()


def ours_in_python(oracle: PythonOracle, lam: float, gap_tol: float) -> Trained:
    """Train with ``auto`` and the oracle in Python; calls for the certificate count."""
    before = oracle.calls
    trained = ours(oracle.problem(), lam, gap_tol)
    return trained._replace(w=oracle.public(trained.w), calls=oracle.calls - before)


def dlib(oracle: PythonOracle, lam: float, epsilon: float) -> Trained:
    """Train with dlib's cutting planes and the oracle in Python."""
    problem = _DlibProblem(oracle, 1.0 / lam, epsilon)
    before = oracle.calls
    seconds, w = timed(lambda: module("dlib").solve_structural_svm_problem(problem))
    return Trained(seconds, oracle.public(np.array(w)), oracle.calls - before)


class _DlibProblem:
    """An oracle under the names that dlib looks for, with its vectors: to copy one to numpy takes longer than all else here."""

    def __init__(self, oracle: PythonOracle, C: float, epsilon: float) -> None:
        self.C, self.epsilon, self._oracle, self._dlib = C, epsilon, oracle, module("dlib")
        self.num_samples, self.num_dimensions = len(oracle.y), oracle.d
        classes = range(oracle.num_classes)
        self._psi = [[self._dlib.vector(oracle.features(i, k)) for k in classes] for i in range(self.num_samples)]

    def get_truth_joint_feature_vector(self, i):
        return self._psi[i][self._oracle.y[i]]

    def separation_oracle(self, i, w):
        self._oracle.calls += 1
        dot, truth, psi = self._dlib.dot, self._oracle.y[i], self._psi[i]
        label = max(range(len(psi)), key=lambda k: (k != truth) + dot(w, psi[k]))
        return self._oracle.loss(i, label), psi[label]


def bags_of_words(n: int = 20_000, words: int = 50_000, topics: int = 20, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Return made-up texts, rows of tf-idf weights of length 1, and their topics.

    Texts have some 140 words, drawn by Zipf's law; every tenth is drawn from an order of the words that is the topic's own.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(topics, size=n)
    frequency = 1.0 / (np.arange(words) + 10.0)
    text = np.repeat(np.arange(n), np.maximum(10, rng.lognormal(np.log(120), 0.6, size=n)).astype(int))
    word = np.searchsorted(np.cumsum(frequency / frequency.sum())[:-1], rng.random(len(text)))
    own, order = rng.random(len(text)) < 0.1, np.array([rng.permutation(words) for _ in range(topics)])
    word[own] = order[y[text[own]], word[own]]
    X = sp.csr_array((np.ones(len(text)), (text, word)), shape=(n, words))  # which adds up entries of the same place
    X.data = (1.0 + np.log(X.data)) * np.log((1 + n) / (1 + np.bincount(X.indices, minlength=words)[X.indices]))
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)  # LIBLINEAR takes no other integers
    return X, y


def crfsuite(train: "Sequences", test: "Sequences", algorithm: str, parameters: dict, hear: Callable | None = None) -> Trained:
    """Train a model of CRFsuite on one of our problems, and pass on what it says meanwhile."""
    labels = [[str(label) for label in of_one] for of_one in train.labels]
    seconds, predict = train_crfsuite(train.items, labels, algorithm, parameters, hear=hear)
    return Trained(seconds, test_error=test.error([[int(tag) for tag in tags] for tags in predict(test.items)]))


def train_crfsuite(
    items: Iterable,
    labels: Iterable,
    algorithm: str,
    parameters: dict,
    prepare: Callable = lambda sequence: sequence,
    hear: Callable | None = None,
) -> tuple[float, Callable[[Iterable], list[list[str]]]]:
    """Train a model of CRFsuite; return the seconds, with its file but without handing over data, and a function that predicts."""
    pycrfsuite = module("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=parameters, verbose=False)
    trainer.message = hear or trainer.message
    for sequence, of_one in zip(items, labels, strict=True):
        trainer.append(sequence, of_one)
    with tempfile.NamedTemporaryFile(suffix=".crfsuite") as file:
        seconds, _ = timed(lambda: trainer.train(file.name))
        model = Path(file.name).read_bytes()

    def predict(sequences: Iterable) -> list[list[str]]:
        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(model)
        return [tagger.tag(prepare(sequence)) for sequence in sequences]

    return seconds, predict


def attributes(rows: sp.csr_array) -> list[list[str]]:
    """Return the indicators of a sequence as CRFsuite takes them, with one for the first and one for the last position."""
    names = [list(map(str, rows.indices[start:end].tolist())) for start, end in pairwise(rows.indptr.tolist())]
    names[0].append("first")
    names[-1].append("last")
    return names


@dataclass(frozen=True)
class Sequences:
    """The sequences of one of our chain problems as CRFsuite takes them: the same features, by their numbers as names."""

    items: Sequence
    labels: Sequence[np.ndarray]

    @classmethod
    def of(cls, problem) -> "Sequences":
        """Return the sequences of a problem."""
        x, ptr = inputs(problem), problem.label_ptr
        names = [str(f) for f in range(x.shape[1])]
        ones = bool((x.data == 1.0).all())
        items = [[_attributes(x, t, names, ones) for t in range(start, end)] for start, end in pairwise(ptr.tolist())]
        for sequence in items:
            for position, name in ((0, "first"), (-1, "last")):
                sequence[position] = [*sequence[position], name] if ones else sequence[position] | {name: 1.0}
        return cls(items, np.split(problem.labels, ptr[1:-1]))

    def error(self, predicted: Sequence[Sequence[int]]) -> float:
        """Return the mean share of wrong labels of a sequence, which is the test error of fwexp."""
        return float(np.mean([np.mean(labels != np.asarray(guess)) for labels, guess in zip(self.labels, predicted, strict=True)]))


def _attributes(x, t: int, names: Sequence[str], ones: bool):
    row = slice(x.indptr[t], x.indptr[t + 1])
    here = [names[f] for f in x.indices[row]]
    return here if ones else dict(zip(here, x.data[row].tolist(), strict=True))


def inputs(problem) -> sp.csr_array:
    """Return the features of a chain problem, a row per position."""
    x, shape = problem.x, (len(problem.labels), problem.num_features)
    if isinstance(x, DenseFeatures):
        return sp.csr_array(x.values)
    values = np.ones(len(x.indices)) if isinstance(x, BinaryFeatures) else x.values
    return sp.csr_array((values, x.indices, x.indptr.astype(np.int32)), shape=shape)  # LIBLINEAR takes no other integers
