"""Predictions of saved estimators with numpy alone, in processes that are to start fast or have no other packages."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats, as_list
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.estimators import chains_in_numpy
from fwexp.estimators.chains_in_numpy import Chains, check_found
from fwexp.estimators.json_values import Unsaved, from_json, names_of
from fwexp.estimators.named_features import FORMS, NONE, Known, encoded
from fwexp.estimators.sequence_inputs import inputs_of, length
from fwexp.estimators.tag_schemes import forbidden_pairs
from fwexp.files import saved_results
from fwexp.options import check_integer
from fwexp.types import AnyPath

__all__ = ["ChainPredictor", "ClassPredictor", "LabelSetPredictor", "Predictor", "load"]

MOST_LABELS = 12  # of sets of labels that influence each other: all sets are compared


def load(path: AnyPath, **functions: Callable) -> "Predictor":
    """Return a predictor from the file of an estimator.

    It answers as the estimator does, but imports numpy only. Start-up takes a tenth of the time and of the memory; the estimator is
    faster once it runs.

    Parameters
    ----------
    path : path
        A file that ``save`` of ``ChainSVM``, ``ChainSVMCV``, ``ChainCRF``, ``MulticlassSVM``, ``MulticlassLogistic`` or
        ``MultiLabelSVM`` wrote. Nothing in it is executed.
    **functions
        Parameters ``features`` and ``transition_features`` of the estimator that are functions, which files do not hold.

    Returns
    -------
    ChainPredictor, ClassPredictor or LabelSetPredictor
        With methods ``predict``, ``predict_one`` and, for estimators that have it, ``predict_proba``. Threads can share it.

    Raises
    ------
    ValueError
        If the file is missing or damaged, or its estimator needs other packages to predict.

    Examples
    --------
    >>> import fwexp.predictor
    >>> from fwexp.estimators import ChainSVM
    >>> X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    >>> path = ChainSVM(lam=0.1).fit(X, y).save("tagger.npz")
    >>> fwexp.predictor.load(path).predict([["the", "cat"]])
    [['D', 'N']]
    """
    _, w, estimator = saved_results.read(path, "ChainSVM", saved_results.checked)
    wrong = f"path must be a file of {', '.join(KINDS)}, got {shown(str(path))}"
    name = (estimator or {}).get("name")
    if name not in KINDS:
        got = "a Result" if estimator is None else f"an estimator of kind {shown(name)}, which predicts with fwexp.estimators only"
        raise ParameterError(f"{wrong} of {got}")
    try:
        params, learned = ({key: from_json(value) for key, value in estimator[part].items()} for part in ("params", "learned"))
        for key, function in functions.items():
            if key not in params or not callable(function):
                raise OptionError(f"{key} must be features or transition_features and a function, got {shown(function)}")
        for key, value in (params | functions).items():
            if key in ("features", "transition_features") and isinstance(value, Unsaved):
                raise OptionError(f"{key} was {value}, which files do not hold: pass it, load(path, {key}=...)")
        return KINDS[name](name, params | functions, learned, w)
    except OptionError:
        raise
    except _Refused as error:
        raise ParameterError(str(error)) from None
    except Exception as error:  # Damaged files fail anywhere.
        raise ParameterError(f"{wrong}, which is damaged ({error or type(error).__name__})") from error


class _Refused(Exception):
    """A model that numpy alone cannot predict with."""


class Predictor:
    """Base of predictors.

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels, as of the estimator.
    """

    classes_: np.ndarray

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray) -> None:
        self.classes_, self._name = learned["classes"], name

    def predict(self, X: Any) -> Any:
        """Return the labelings of highest score.

        Parameters
        ----------
        X : sequence of inputs
            As for ``fit`` of the estimator.

        Returns
        -------
        sequence of labelings
            As of the estimator.
        """
        raise NotImplementedError

    def predict_one(self, x: Any) -> Any:
        """Return the labeling of highest score of one input.

        Parameters
        ----------
        x : input
            One element of an X for ``predict``.

        Returns
        -------
        labeling
            The labeling of highest score.
        """
        return self.predict(x.reshape(1, -1) if sp.issparse(x) and not isinstance(self, ChainPredictor) else [x])[0]

    def _check_probabilities(self) -> None:
        if self._name not in ("ChainCRF", "MulticlassLogistic"):
            raise ParameterError(f"predict_proba needs a file of ChainCRF or MulticlassLogistic, got that of {self._name}")


class _Rows:
    """Columns of features, by name or by number, and the scores that rows of weights (p, K) give to rows of features."""

    def __init__(self, names: list[str] | None, num_features: int, source: str = "X") -> None:
        if names is not None and len(names) != num_features:
            raise ValueError(f"{len(names)} names are those of {num_features} features")
        self._tables, self.size, self._source = None if names is None else Known(names), num_features, source

    def scores(self, X: list, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores (N, K) of all positions of sequences, and where sequences begin and end."""
        if self._tables is None:
            found = [self._matrix(x) @ weights for x in X]
            scores = np.concatenate([np.zeros((0, weights.shape[1])), *map(np.asarray, found)])
            return scores, np.cumsum([0, *map(len, found)])
        ends, columns, values, ptr = encoded(X, self._tables)
        entries = weights[columns - 1]  # in which column 0 has the last row
        entries *= (columns != NONE)[:, None] if values is None else np.where(columns != NONE, values, 0.0)[:, None]
        scores, has = np.zeros((len(ends) - 1, weights.shape[1])), np.diff(ends) > 0
        if has.any():
            scores[has] = np.add.reduceat(entries, ends[:-1][has], axis=0)
        return scores, ptr

    def _matrix(self, x):
        """Return the rows of a sequence as a matrix."""
        if isinstance(x, list) and not x:
            return np.zeros((0, self.size))
        matrix = x if sp.issparse(x) else as_floats(self._source, x, "be an array of numbers (T, p)")
        if matrix.ndim != 2 or matrix.shape[1] != self.size:
            got = matrix.shape[1] if matrix.ndim == 2 else f"shape {matrix.shape}"
            raise ParameterError(f"{self._source} must have {self.size} features per position, as in fit, got {got}")
        return matrix


class ChainPredictor(Predictor):
    """Labels of sequences, from a file of ``ChainSVM``, ``ChainSVMCV`` or ``ChainCRF``."""

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray) -> None:
        super().__init__(name, params, learned, w)
        K = len(self.classes_)
        self._features = params["features"], params.get("transition_features")
        self._rows, self._edges = _Rows(learned["names"], learned["num_features"]), None
        if learned.get("num_edge_features") is not None:
            self._edges = _Rows(learned["edge_names"], learned["num_edge_features"], "transition_features")
        rows, p = w.reshape(-1, K), self._rows.size
        first = p + (0 if self._edges is None else K * self._edges.size)
        if len(rows) != first + 2 + K:
            raise ValueError(f"{len(rows)} rows of weights are those of {first + 2 + K}")
        self._weights, self._of_edges, ends = rows[:p], rows[p:first].reshape(-1, K * K), rows[first:].copy()
        for one, other in forbidden_pairs(params.get("constraints"), self.classes_):
            ends[0 if one is None else 1 if other is None else 2 + one, one if other is None else other] = -np.inf
        self._start, self._end, self._transitions = ends[0], ends[1], ends[2:]

    def predict(self, X: Any, *, n_best: int | None = None) -> list[list[Any]]:
        """Return the labels of sequences, a list of lists.

        Parameters
        ----------
        X : list of sequences
            As for ``fit`` of the estimator.
        n_best : int, optional
            Return this many labelings of each sequence, best first, as pairs (labels, score); fewer if no more exist.

        Returns
        -------
        list of lists
            Per sequence its labels, or with ``n_best`` its pairs.
        """
        chains, names = self._chains(X), names_of(self.classes_)
        ends = [*zip(chains.ptr[:-1].tolist(), chains.ptr[1:].tolist())]
        if n_best is None:
            found = chains_in_numpy.best(chains)
            check_found(chains.ptr, found < 0)
            labels = [names[k] for k in found.tolist()]
            return [labels[start:end] for start, end in ends]
        most = len(names) ** int(np.diff(chains.ptr).max(initial=0))
        numbers, scores = chains_in_numpy.several_best(chains, min(check_integer("n_best", n_best, 1), most))
        check_found(chains.ptr, np.repeat(np.isneginf(scores[:, 0]), np.diff(chains.ptr)))
        several = [[names[k] for k in labeling] for labeling in numbers.tolist()]
        return [
            [(several[r][start:end], score) for r, score in enumerate(of_one) if score > -np.inf]
            for (start, end), of_one in zip(ends, scores.tolist())
        ]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Return the probabilities of all labels at every position, from a file of ``ChainCRF``.

        Parameters
        ----------
        X : list of sequences
            As for ``fit`` of the estimator.

        Returns
        -------
        list of arrays (T, K)
            In the order of ``classes_``; every row sums to 1.
        """
        self._check_probabilities()
        chains = self._chains(X)
        found, log_z = chains_in_numpy.marginals(chains)
        check_found(chains.ptr, np.repeat(np.isneginf(log_z), np.diff(chains.ptr)))
        return np.split(found, chains.ptr[1:-1]) if len(chains.ptr) > 1 else []

    def _chains(self, X: Any) -> Chains:
        """Return the scores of sequences."""
        X = inputs_of(X, *self._features)
        unary, ptr = self._rows.scores(X, self._weights)
        full = np.diff(ptr) > 0
        unary[ptr[:-1][full]] += self._start
        unary[ptr[1:][full] - 1] += self._end
        edges = self._transitions if self._edges is None or X.edges is None else self._transitions_at(self._edges, X.edges, ptr)
        return Chains(unary, edges, ptr)

    def _transitions_at(self, rows: _Rows, edges: list, ptr: np.ndarray) -> np.ndarray:
        """Return the scores of the transitions to all positions, (N, K, K), 0 for first ones."""
        K, follows = len(self.classes_), np.ones(int(ptr[-1]), dtype=bool)
        follows[ptr[:-1][np.diff(ptr) > 0]] = False
        found = np.zeros((len(follows), K, K))
        several = [x for x in edges if length(x)]
        found[follows] = rows.scores(several, self._of_edges)[0].reshape(-1, K, K) + self._transitions
        return found


class _ExamplePredictor(Predictor):
    """Base of predictors whose inputs are rows."""

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray) -> None:
        super().__init__(name, params, learned, w)
        self._rows, columns = _Rows(learned["names"], learned["num_features"]), learned.get("columns")
        self._columns = None if learned["names"] is not None or columns is None else columns.tolist()
        self._has_constant = learned["has_constant"]
        self._weights, self._constants = self._split(w.copy(), self._rows.size + self._has_constant)

    def _split(self, w: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray | float]:
        """Return the weights of features, (p, K), and of the constant feature."""
        rows = self._rows_of_weights(w, p)
        return (rows[:-1], rows[-1]) if self._has_constant else (rows, 0.0)

    def _rows_of_weights(self, w: np.ndarray, p: int) -> np.ndarray:
        """Return the weights of p features, the constant's last, of all classes."""
        raise NotImplementedError

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores (n, K) of examples."""
        if hasattr(X, "columns"):
            if self._columns is not None and list(X.columns) != self._columns:
                raise ParameterError(f"X must have the columns {shown(self._columns)}, as in fit, got {shown(list(X.columns))}")
            X = np.asarray(X)
        return self._rows.scores([X if hasattr(X, "shape") else as_list("X", X, FORMS)], self._weights)[0] + self._constants


class ClassPredictor(_ExamplePredictor):
    """Classes of examples, from a file of ``MulticlassSVM`` or ``MulticlassLogistic``."""

    def _rows_of_weights(self, w, p):
        rows = w.reshape(p, len(self.classes_))
        return rows[:, 1:] - rows[:, :1] if rows.shape[1] == 2 else rows  # as scikit-learn scores two classes

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of highest score of every example.

        Parameters
        ----------
        X : sequence of inputs
            As for ``fit`` of the estimator.

        Returns
        -------
        ndarray (n,)
            A class per input.
        """
        scores = self._scores(X)
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, from a file of ``MulticlassLogistic``.

        Parameters
        ----------
        X : sequence of inputs
            As for ``fit`` of the estimator.

        Returns
        -------
        ndarray (n, K)
            In the order of ``classes_``; every row sums to 1.
        """
        self._check_probabilities()
        scores = self._scores(X)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        found = np.exp(scores - scores.max(axis=1, keepdims=True))
        return found / found.sum(axis=1, keepdims=True)


class LabelSetPredictor(_ExamplePredictor):
    """Sets of labels of examples, from a file of ``MultiLabelSVM`` whose labels are independent, or 12 at most."""

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray) -> None:
        L, edges = len(learned["classes"]), np.reshape(learned["edges"], (-1, 2))
        if len(edges) and L > MOST_LABELS:
            raise _Refused(f"path must be a file of MultiLabelSVM with edges between at most {MOST_LABELS} labels, got {L} labels")
        self._full = learned["pairwise"] == "full"
        super().__init__(name, params, learned, w)
        of_edges = w[(1 + self._full) * L * (self._rows.size + self._has_constant) :]
        self._sets = (np.arange(2**L if len(edges) else 0)[:, None] >> np.arange(L)) & 1  # all of them, (2^L, L)
        a, b = self._sets[:, edges].transpose(2, 0, 1)
        if self._full:
            tables = of_edges[: 4 * len(edges)].reshape(-1, 2, 2)
            self._of_sets = tables[np.arange(len(edges)), a, b].sum(axis=1)
        else:
            self._of_sets = -((a != b) @ of_edges[: len(edges)])

    def _rows_of_weights(self, w, p):
        L = len(self.classes_)
        if self._full:
            return np.diff(w[: 2 * L * p].reshape(-1, 2))[:, 0].reshape(L, p).T
        return w[: L * p].reshape(L, p).T

    def predict(self, X: Any) -> np.ndarray:
        """Return the best set of labels of every example.

        Parameters
        ----------
        X : sequence of inputs
            As for ``fit`` of the estimator.

        Returns
        -------
        ndarray (n, L)
            Rows of 0 and 1.
        """
        scores = self._scores(X)
        if not len(self._sets):
            return (scores > 0.0).astype(np.int64)
        return self._sets[[(self._sets @ of_one + self._of_sets).argmax() for of_one in scores]]


KINDS: dict[str, type[Predictor]] = {
    "ChainSVM": ChainPredictor,
    "ChainSVMCV": ChainPredictor,
    "ChainCRF": ChainPredictor,
    "MulticlassSVM": ClassPredictor,
    "MulticlassLogistic": ClassPredictor,
    "MultiLabelSVM": LabelSetPredictor,
}
