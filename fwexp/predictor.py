"""Predictions of saved estimators with numpy alone, in processes that are to start fast or have no other packages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_list
from fwexp.errors import OptionError, ParameterError, see, shown
from fwexp.estimators.json_values import Unsaved, from_json
from fwexp.estimators.named_features import FORMS
from fwexp.estimators.sequence_inputs import inputs_of
from fwexp.estimators.tagger_in_numpy import FeatureScores, NumpyTagger
from fwexp.files import saved_results
from fwexp.files.packed_weights import PackedWeights
from fwexp.types import AnyPath

__all__ = ["ChainPredictor", "ClassPredictor", "LabelSetPredictor", "Predictor", "load"]

MOST_LABELS = 12  # of sets of labels that influence each other: all sets are compared


def load(path: AnyPath, **functions: Any) -> "Predictor":
    """Return a predictor from the file of an estimator.

    It answers as the estimator does, but imports numpy only, and needs no other package. The estimator takes a little longer to
    start, and is faster once it has imported numba.

    Parameters
    ----------
    path : path
        A file that ``save`` of ``ChainSVM``, ``ChainCRF``, ``ChainSVMCV``, ``ChainCRFCV``, ``MulticlassSVM``,
        ``MulticlassLogistic`` or ``MultiLabelSVM`` wrote. Nothing in it is executed.
    **functions
        Parameters ``features`` and ``transition_features`` of the estimator that are functions, which files do not hold;
        ``features="auto"`` reads features as the function returned them.

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
        raise ParameterError(f"{wrong} of {got}{see('tasks/without-numba')}")
    try:
        params, learned = ({key: from_json(value) for key, value in estimator[part].items()} for part in ("params", "learned"))
        for key, function in functions.items():
            if key not in params or not (callable(function) or (key, function) == ("features", "auto")):
                wanted = 'features (a function or "auto") or transition_features (a function)'
                raise OptionError(f"{key} must be {wanted}, got {shown(function)}")
        for key, value in (params | functions).items():
            if key in ("features", "transition_features") and isinstance(value, Unsaved):
                raise OptionError(f"{key} was {value}, which files do not hold: pass it, load(path, {key}=...)")
        if isinstance(w, PackedWeights) and KINDS[name] is not ChainPredictor:
            w = w.unpacked()
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

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray | PackedWeights) -> None:
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
            As of the estimator: of sequences lists of labels, of examples an array (n,) of classes, or (n, L) of 0 and 1.
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
        if self._name not in ("ChainCRF", "ChainCRFCV", "MulticlassLogistic"):
            raise ParameterError(f"predict_proba needs a file of ChainCRF or MulticlassLogistic, got that of {self._name}")


class ChainPredictor(Predictor):
    """Labels of sequences, from a file of a tagger such as ``ChainSVM``."""

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray | PackedWeights) -> None:
        super().__init__(name, params, learned, w)
        self._features, self._tagger = (params["features"], params.get("transition_features")), NumpyTagger(params, learned, w)

    def predict(self, X: Any, *, n_best: int | None = None, partial: Sequence[Any] | None = None) -> list[list[Any]]:
        """Return the labels of sequences, a list of lists.

        Parameters
        ----------
        X, n_best, partial
            As for ``predict`` of the estimator.

        Returns
        -------
        list of lists
            Per sequence its labels, or with ``n_best`` its pairs.
        """
        return self._tagger.predict(inputs_of(X, *self._features), partial, n_best)

    def predict_proba(self, X: Any, *, partial: Sequence[Any] | None = None) -> list[np.ndarray]:
        """Return the probabilities of all labels at every position, from a file of ``ChainCRF``.

        Parameters
        ----------
        X, partial
            As for ``predict_proba`` of the estimator.

        Returns
        -------
        list of arrays (T, K)
            In the order of ``classes_``; every row sums to 1.
        """
        self._check_probabilities()
        return self._tagger.predict_proba(inputs_of(X, *self._features), partial)


class _ExamplePredictor(Predictor):
    """Base of predictors whose inputs are rows."""

    def __init__(self, name: str, params: dict[str, Any], learned: dict[str, Any], w: np.ndarray) -> None:
        super().__init__(name, params, learned, w)
        self._rows, columns = FeatureScores(learned["names"], learned["num_features"]), learned.get("columns")
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
        scores = self._scores(X)
        if not len(self._sets):
            return (scores > 0.0).astype(np.int64)
        return self._sets[[(self._sets @ of_one + self._of_sets).argmax() for of_one in scores]]


KINDS: dict[str, type[Predictor]] = {
    "ChainSVM": ChainPredictor,
    "ChainSVMCV": ChainPredictor,
    "ChainCRF": ChainPredictor,
    "ChainCRFCV": ChainPredictor,
    "MulticlassSVM": ClassPredictor,
    "MulticlassLogistic": ClassPredictor,
    "MultiLabelSVM": LabelSetPredictor,
}
