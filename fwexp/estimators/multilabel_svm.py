"""Several labels at once: those that go together pull each other, and the best set of them is a minimum cut."""

from dataclasses import field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from fwexp.errors import ParameterError, shown
from fwexp.estimators.base_classes import ClassifierMixin
from fwexp.estimators.estimator import as_array_of
from fwexp.estimators.examples import ExampleModel
from fwexp.options import check_choice
from fwexp.problems.chain import LOSSES
from fwexp.problems.features import as_features
from fwexp.problems.graphs import check_edges
from fwexp.problems.segmentation import segmentation_from_arrays
from fwexp.types import Lam


class MultiLabelSVM(ClassifierMixin, ExampleModel):
    """Predict sets of labels, trained to a certified gap.

    A set of labels has the scores of its labels, minus a weight u_e >= 0 for every edge e with one of its two labels alone: labels
    may attract each other, not repel. The best set is found exactly, by a minimum cut. Training minimises
    lam/2 ||w||^2 + 1/N sum_i H_i(w), where H_i bounds the number of wrong labels of example i, and N is n L.

    Parameters
    ----------
    edges : "full", None or int array (E, 2)
        Which labels may attract each other: all, none (each label is a classifier of its own), or these pairs of columns of y.
    loss : {"errors", "share"}
        H_i bounds the number of wrong labels of example i, and the mean is over all N = n L labels; or H_i bounds the share of
        wrong labels, and the mean is over the examples.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Which iterate of `fwexp.solve` has the weights, by default the average ``wavg``, which depends less on ``lam`` and mostly
        predicts better, or ``best`` if the solver has no averages. ``dual_gap_`` certifies this iterate.
    solver : str
        A solver or method of `fwexp.solve` that keeps weights nonnegative.

    Attributes
    ----------
    classes_ : ndarray (L,)
        The columns of y: the names of a DataFrame, otherwise their numbers.
    coef_ : ndarray (L, p)
        Weights of features.
    intercept_ : ndarray (L,)
        Weights of the constant feature.
    edges_ : ndarray (E, 2)
        The pairs of labels that may attract each other.
    edge_weights_ : ndarray (E,)
        How much they do.

    Notes
    -----
    X is as for `MulticlassSVM`. y is an array or sparse matrix (n, L) of 0 and 1, as `sklearn.preprocessing.MultiLabelBinarizer`
    makes it, or a DataFrame of such columns.

    Examples
    --------
    >>> from fwexp.estimators import MultiLabelSVM
    >>> X = [["sand", "sea"], ["sea"], ["snow"], ["snow", "sea"]]
    >>> y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> MultiLabelSVM(lam=0.1).fit(X, y).predict([["sea"], ["snow"]]).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    lam: Lam = field(default=1e-4, kw_only=False)
    C: float | None = None
    edges: Any = "full"
    loss: str = "errors"
    warm_start: bool = False

    averages = True

    def predict(self, X: Any) -> np.ndarray:
        """Return the best set of labels of every example.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n, L)
            Of 0 and 1.
        """
        rows = self._rows(X)
        unknown = np.zeros((rows.shape[0], len(self.classes_)), dtype=np.int64)
        return np.array(self.result_.predict(self._from_rows(rows, unknown)))

    @property
    def edge_weights_(self) -> np.ndarray:
        """How much the labels of every edge attract each other, (E,)."""
        return self.result_.w[self._size :][: len(self.edges_)]

    @property
    def _size(self) -> int:
        return len(self.classes_) * (self.n_features_in_ + bool(self.fit_intercept))

    @property
    def _rows_of_weights(self) -> np.ndarray:
        return self.result_.w[: self._size].reshape(len(self.classes_), -1)

    def _learn(self, X, y):
        names = _names(y)
        X, y = self._learn_rows(X, _indicators(y), multi_output=True)
        self.classes_ = np.arange(y.shape[1]) if names is None else as_array_of(names)
        self.edges_ = self._edges(y.shape[1])
        return self._from_rows(X, y)

    def _problem(self, X, y):
        return self._from_rows(self._rows(X), _indicators(self._same_columns(y)))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of examples whose set of labels is predicted right as a whole.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        float
        """
        return super().score(X, self._same_columns(y), sample_weight)

    def _same_columns(self, y):
        names = _names(y)
        if names is not None and self.classes_.dtype == object and names != self.classes_.tolist():
            raise ParameterError(f"y must have the columns {shown(self.classes_.tolist())}, as in fit, got {shown(names)}")
        return y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags

    def _edges(self, L: int) -> np.ndarray:
        if self.edges is None:
            return np.zeros((0, 2), dtype=np.int64)
        if isinstance(self.edges, str):
            if self.edges != "full":
                raise ParameterError(f'edges must be "full", None or pairs of columns of y, got {shown(self.edges)}')
            return np.column_stack(np.triu_indices(L, 1))
        return check_edges("edges", self.edges, L)

    def _from_rows(self, X, y):
        X, L, E = sp.csr_array(self._with_constant(X)), y.shape[1], len(self.edges_)
        n, p = X.shape
        rows = X[np.repeat(np.arange(n), L)]
        places = rows.indices + np.repeat(np.tile(p * np.arange(L), n), np.diff(rows.indptr))
        nodes = sp.csr_array((rows.data, places, rows.indptr), shape=(n * L, L * p))
        q = max(E, 1)  # a feature that no edge has
        pairs = sp.csr_array((np.ones(n * E), np.tile(np.arange(E), n), np.arange(n * E + 1)), shape=(n * E, q))
        return segmentation_from_arrays(
            as_features(nodes, copy=False),
            as_features(pairs, copy=False),
            edges=[self.edges_] * n,
            labels=y.ravel(),
            sizes=np.ones(n * L),
            label_ptr=L * np.arange(n + 1),
            num_features=L * p,
            num_pairwise=q,
            loss=check_choice("loss", self.loss, LOSSES),
            foreground_only=True,
        )

    def _learned(self):
        return super()._learned() | {"edges": self.edges_}

    def _restore(self, edges, **learned):
        self.edges_ = np.reshape(edges, (-1, 2))
        super()._restore(**learned)


def _names(y) -> list | None:
    """Return the names of the columns of a DataFrame."""
    return list(y.columns) if hasattr(y, "columns") else None


def _indicators(y) -> np.ndarray:
    """Return which labels examples have, (n, L)."""
    if np.ma.is_masked(y):
        raise ParameterError("y must have no masked entries; leave examples out whose labels are not all known")
    given, y = y, y.toarray() if sp.issparse(y) else np.asarray(y)
    if y.ndim == 0:
        raise ParameterError(f"y must be an array (n, L) of 0 and 1, as of MultiLabelBinarizer, got {shown(given)}")
    if y.ndim != 2 or y.shape[1] == 0 or not np.isin(y, (0, 1)).all():
        got = f"shape {y.shape}" if y.ndim != 2 or y.shape[1] == 0 else f"others, such as {shown(y[~np.isin(y, (0, 1))].item(0))}"
        raise ParameterError(f"y must be an array (n, L) of 0 and 1, as of MultiLabelBinarizer, got {got}")
    return y.astype(np.int64)
