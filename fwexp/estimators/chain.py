"""Sequence labelling: a structural SVM on chains, which is trained to a certified gap."""

import math
from itertools import chain, pairwise

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from fwexp.errors import ParameterError, shown
from fwexp.estimators.base import CertifiedSVM, as_seed
from fwexp.estimators.decoding import decode_chains
from fwexp.estimators.features import FORMS, Vectorizer
from fwexp.estimators.labels import as_sequences, classes_of, numbers_of
from fwexp.jit.kernels import specialise
from fwexp.options import check_number
from fwexp.problems.arrays import as_list
from fwexp.problems.chain import chain_from_arrays
from fwexp.problems.constraints import constrained
from fwexp.problems.features import padded_width
from fwexp.problems.weighted import weighted_problem
from fwexp.store.models import load_run

PATIENCE = 5  # passes without fewer errors of validation, after which training stops early


class ChainSVM(CertifiedSVM):
    """Label sequences: a linear SVM with scores of transitions, trained to a certified gap.

    It minimises lam/2 ||w||^2 + 1/n sum_i H_i(w), where H_i bounds the share of wrong labels in sequence i.

    Parameters
    ----------
    lam : float or "1/n"
        Regularisation.
    C : float, optional
        Regularisation as elsewhere, instead of ``lam``: lam = 1/(C n), n sequences (or the sum of their weights).
    features : "auto" or callable
        ``"auto"``: X has the features; else ``features(x)`` returns those of one sequence x, in a form below.
    min_count : int
        Features by name that fewer positions have are left out.
    solver : str
        A solver or method of `fwexp.solve`, but none with a kernel.
    tol : float
        Certified gap, in units of the objective, at which training stops.
    max_passes : float
        Bound on passes over the data.
    nonnegative : mask, slice or int array, optional
        Which weights must not be negative, in the order of ``result_.w``: see `fwexp.chain_problem`.
    warm_start : bool
        Whether `fit` goes on from the last one where the data are the same, at whatever lam. Keeps the data.
    early_stopping : bool
        Whether to set ``validation_fraction`` of the sequences aside, and stop when five passes have brought no fewer errors there.
    validation_fraction : float
        Between 0 and 1.
    random_state : int, RandomState or None
        Seed; None is another one each time.
    verbose : int
        Whether to show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Their names, where X has names.
    coef_ : ndarray (K, p)
        Weights of features.
    start_, end_ : ndarray (K,)
        Scores of the first and of the last label.
    transitions_ : ndarray (K, K)
        Scores of a label (column) after another (row).
    dual_gap_ : float
        The certificate: the objective is at most so far above its minimum.
    n_passes_ : float
        Oracle calls / n.
    status_ : str
        How training ended: ``converged``, ``max_passes``, ..., or ``interrupted`` where it stopped early.
    trace_ : DataFrame
        The log of training.
    result_ : Result
        All of these, as `fwexp.solve` returns it.

    Notes
    -----
    X is a list of sequences, y a list of as many lists of labels, of any type that can be hashed. A sequence is an array or
    sparse matrix (T, p); or has the features of every position by name: a string, a list of strings, or a dict, in which a
    number v of key k is the feature k of value v (False and True are 0 and 1), a string v is the feature "k=v", and so is each of
    a list of strings. No constant is added. Features that are unknown when predicting are left out.

    Examples
    --------
    >>> from fwexp.estimators import ChainSVM
    >>> X = [[{"word": "the"}, {"word": "dog"}, {"word": "barks"}], [{"word": "a"}, {"word": "cat"}]]
    >>> tagger = ChainSVM(lam=0.1).fit(X, [["DET", "NOUN", "VERB"], ["DET", "NOUN"]])
    >>> tagger.predict([[{"word": "the"}, {"word": "cat"}]])
    [['DET', 'NOUN']]
    """

    def __init__(
        self,
        lam=0.01,
        *,
        C=None,
        features="auto",
        min_count=1,
        solver="auto",
        tol=1e-2,
        max_passes=50,
        nonnegative=None,
        warm_start=False,
        early_stopping=False,
        validation_fraction=0.1,
        random_state=0,
        verbose=0,
    ):
        super().__init__(
            lam,
            C=C,
            solver=solver,
            tol=tol,
            max_passes=max_passes,
            warm_start=warm_start,
            random_state=random_state,
            verbose=verbose,
        )
        self.features = features
        self.min_count = min_count
        self.nonnegative = nonnegative
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction

    def fit(self, X, y, sample_weight=None):
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of n sequences
            Inputs; see the notes of the class.
        y : list of n lists of labels
            Labels, one per position.
        sample_weight : array (n,), optional
            How much every sequence counts: 2 is the sequence twice, 0 its absence.

        Returns
        -------
        self
        """
        more = {}
        if self.early_stopping:
            X, y = list(X), list(y)
            left_out = self._validation(len(X))
            kept = np.setdiff1d(np.arange(len(X)), left_out)
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
            parts = [([X[i] for i in part], [y[i] for i in part]) for part in (kept.tolist(), left_out.tolist())]
            problem = self._learn(*parts[0])
            more = {"test": self._problem(*parts[1]), "callback": Patience(), "iterates": ["last"]}
        else:
            problem = self._learn(X, y)
        self._train(problem, sample_weight, **more)
        return self

    def to_problem(self, X, y, sample_weight=None):
        """Return labelled sequences as a problem for `fwexp.solve` and all else, with the features and labels learned.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. Labels that are not known become -1, as in the test sets of `fwexp.chain_problem`.

        Returns
        -------
        problem
        """
        check_is_fitted(self)
        problem = self._problem(X, y)
        return problem if sample_weight is None else weighted_problem(problem, sample_weight)

    def predict(self, X):
        """Return the labels of sequences, a list of lists.

        Parameters
        ----------
        X : list of sequences
            Inputs, as for `fit`.
        """
        numbers, ptr = self._decode(X)
        names = self.classes_.tolist()
        labels = [names[k] for k in numbers.tolist()]
        return [labels[start:end] for start, end in zip(ptr[:-1].tolist(), ptr[1:].tolist())]

    def predict_one(self, x):
        """Return the labels of one sequence, a list: in microseconds, for use one by one.

        Parameters
        ----------
        x : sequence
            As those in X.
        """
        return self.predict([x])[0]

    def score(self, X, y, sample_weight=None) -> float:
        """Return the share of positions whose label is predicted.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        """
        check_is_fitted(self)
        predicted = self.predict(X)
        lengths = np.array([len(labels) for labels in predicted])
        y = as_sequences(y, lengths)
        right = [sum(a == b for a, b in zip(*labels)) for labels in zip(y, predicted)]
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        return float(weights @ right / (weights @ lengths))

    def decision_function(self, X):
        """Return for every position and label the score of the best labels of the sequence that have it there.

        Parameters
        ----------
        X : list of sequences
            As for `fit`.

        Returns
        -------
        list of arrays (T, K)
            The largest of every row is the score of the prediction.
        """
        check_is_fitted(self)
        rows, ptr = self.vectorizer_.transform(self._features(X))
        unary = rows @ self.coef_.T
        return [_max_marginals(unary[start:end], self.transitions_, self.start_, self.end_) for start, end in pairwise(ptr)]

    @classmethod
    def from_run(cls, key=None, results_dir="results", **filters):
        """Return the tagger of a stored run on chains, for matrices as its data set has them; labels are numbers.

        Parameters
        ----------
        key, results_dir, **filters
            Which run, as for `fwexp.load_run`.
        """
        result = load_run(key, results_dir=results_dir, **filters)
        if result.structure.get("family") != "ChainProblem":
            raise ParameterError(f"the run must be one on chains, got {result.structure.get('family', 'one that does not say')}")
        self = cls(lam=result.lam)
        self._restore(np.arange(result.structure["num_states"]), None, result.structure["num_features"])
        self.result_ = result
        return self

    @property
    def coef_(self) -> np.ndarray:
        """Weights of features, (K, p)."""
        return self._blocks()[0].T

    @property
    def start_(self) -> np.ndarray:
        """Scores of the first label, (K,)."""
        return self._blocks()[1][0]

    @property
    def end_(self) -> np.ndarray:
        """Scores of the last label, (K,)."""
        return self._blocks()[1][1]

    @property
    def transitions_(self) -> np.ndarray:
        """Scores of a label (column) after another (row), (K, K)."""
        return self._blocks()[2]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, (p,), where X has names."""
        if self.vectorizer_.names is None:
            raise AttributeError("X had no names of features")
        return np.array(self.vectorizer_.names, dtype=object)

    def state_features_(self, top=20):
        """Return the weights of features that are largest in absolute value.

        Parameters
        ----------
        top : int or None
            How many; None for all that are not 0.

        Returns
        -------
        DataFrame
            Columns ``feature``, ``label``, ``weight``.
        """
        names = self.vectorizer_.names or range(self.n_features_in_)
        return _largest(self._blocks()[0], "feature", names, "label", self.classes_, top)

    def transition_features_(self, top=None):
        """Return the scores of transitions, those largest in absolute value first.

        Parameters
        ----------
        top : int, optional
            How many; by default all that are not 0.

        Returns
        -------
        DataFrame
            Columns ``from``, ``to``, ``weight``.
        """
        return _largest(self.transitions_, "from", self.classes_, "to", self.classes_, top)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.vectorizer_.num_features

    def _learn(self, X, y):
        """Return the training problem; learn features and labels."""
        vectorizer = Vectorizer(self.min_count)
        rows, ptr = vectorizer.fit_transform(self._features(X))
        labels = _labels(y, ptr)
        self.vectorizer_, self.classes_ = vectorizer, classes_of(labels)
        return constrained(self._from_arrays(rows, labels, ptr), self.nonnegative)

    def _problem(self, X, y):
        """Return a problem with the features and labels that are known."""
        rows, ptr = self.vectorizer_.transform(self._features(X))
        return self._from_arrays(rows, _labels(y, ptr), ptr)

    def _from_arrays(self, rows, labels: list, ptr: np.ndarray):
        return chain_from_arrays(rows, numbers_of(labels, self.classes_), ptr, len(self.classes_))

    def _features(self, X) -> list:
        X = as_list("X", X, FORMS)
        if isinstance(self.features, str) and self.features == "auto":
            return X
        if not callable(self.features):
            raise ParameterError(f'features must be "auto" or a function of a sequence, got {shown(self.features)}')
        return [self.features(x) for x in X]

    def _validation(self, n: int) -> np.ndarray:
        """Return the sequences that are set aside."""
        part = check_number("validation_fraction", self.validation_fraction, "a number > 0 and < 1", above=0.0, below=1.0)
        size = max(1, round(part * n))
        if size >= n:
            raise ParameterError(f"early_stopping needs at least one sequence beside the {size} set aside, got n = {n}")
        return np.sort(np.random.default_rng(as_seed(self.random_state)).permutation(n)[:size])

    def _blocks(self) -> list[np.ndarray]:
        """Return the weights of features, of both ends and of transitions."""
        K, p = len(self.classes_), self.vectorizer_.num_features
        return np.split(self.result_.w.reshape(-1, K), [p, p + 2])

    def _decode(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the labels of all positions, and where sequences begin and end."""
        check_is_fitted(self)
        x, ptr = self.vectorizer_.encode(self._features(X))
        K, labels = len(self.classes_), np.empty(ptr[-1], dtype=np.int32)
        specialise(decode_chains, x)(x, ptr, self._padded_weights(), K, padded_width(K), labels)
        return labels, ptr

    def _padded_weights(self) -> np.ndarray:
        """Return the weights in rows as long as kernels want them."""
        of, weights = self.__dict__.get("_padded", (None, None))
        if of is not self.result_:
            rows = self.result_.w.reshape(-1, len(self.classes_))
            weights = np.pad(rows, ((0, 0), (0, padded_width(rows.shape[1]) - rows.shape[1]))).ravel()
            self._padded = self.result_, weights
        return weights

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_padded"}

    def _learned(self):
        return {"classes": self.classes_, "names": self.vectorizer_.names, "num_features": self.vectorizer_.num_features}

    def _restore(self, classes, names, num_features):
        self.classes_, self.vectorizer_ = classes, Vectorizer(self.min_count)
        self.vectorizer_.restore(names, num_features)


class Patience:
    """Ends a run, as its callback, once validation has not had fewer errors for some passes."""

    def __init__(self) -> None:
        self.fewest, self.passes = math.inf, 0.0

    def __call__(self, row) -> bool:
        if row["test_error"] < self.fewest:
            self.fewest, self.passes = row["test_error"], row["passes"]
        return row["passes"] >= self.passes + PATIENCE


def _labels(y, ptr: np.ndarray) -> list:
    return list(chain.from_iterable(as_sequences(as_list("y", y, "sequences of labels"), np.diff(ptr))))


def _max_marginals(unary, transitions, start, end) -> np.ndarray:
    """Return the scores (T, K) of the best labelings that have a label at a position."""
    unary = unary.copy()
    unary[0] += start
    unary[-1] += end
    to, after = unary.copy(), np.zeros_like(unary)
    for t in range(1, len(unary)):
        to[t] += (to[t - 1][:, None] + transitions).max(axis=0)
    for t in range(len(unary) - 1, 0, -1):
        after[t - 1] = (transitions + unary[t] + after[t]).max(axis=1)
    return to + after


def _largest(weights, rows: str, row_names, columns: str, column_names, top: int | None) -> pd.DataFrame:
    """Return the weights of a table that are largest in absolute value, with the names of their places."""
    values = np.ascontiguousarray(weights).ravel()
    order = np.argsort(-np.abs(values), kind="stable")[: np.count_nonzero(values)][:top]
    row, column = np.unravel_index(order, weights.shape)
    names = {rows: [row_names[k] for k in row], columns: [column_names[k] for k in column]}
    return pd.DataFrame(names | {"weight": values[order]})
