"""Several labels at once: those that go together pull each other, and the best set of them is a minimum cut."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from fwexp.errors import ParameterError, shown
from fwexp.estimators.examples import ExampleModel
from fwexp.problems.features import as_features
from fwexp.problems.graphs import check_edges
from fwexp.problems.segmentation import segmentation_from_arrays


class MultiLabelSVM(ClassifierMixin, ExampleModel):
    """Predict sets of labels, trained to a certified gap.

    A set of labels has the scores of its labels, minus a weight u_e >= 0 for every edge e with one of its two labels alone: labels
    may attract each other, not repel. The best set is found exactly, by a minimum cut. H_i bounds the share of wrong labels.

    Parameters
    ----------
    lam : float or "1/n"
        Regularisation.
    C : float, optional
        Regularisation as elsewhere, instead of ``lam``: lam = 1/(C n), n examples (or the sum of their weights).
    edges : "full", None or int array (E, 2)
        Which labels may attract each other: all, none (each label is a classifier of its own), or these pairs of columns of y.
    fit_intercept : bool
        Whether a constant feature is added. Its weights are regularised like all others.
    min_count : int
        Features by name that fewer examples have are left out.
    solver : str
        A solver or method of `fwexp.solve` that keeps weights nonnegative.
    tol : float
        Certified gap, in units of the objective, at which training stops.
    max_passes : float
        Bound on passes over the data.
    warm_start : bool
        Whether `fit` goes on from the last one where the data are the same, at whatever lam. Keeps the data.
    random_state : int, RandomState or None
        Seed; None is another one each time.
    verbose : int
        Whether to show progress on standard error.

    Attributes
    ----------
    classes_ : ndarray (L,)
        The columns of y.
    coef_ : ndarray (L, p)
        Weights of features.
    intercept_ : ndarray (L,)
        Weights of the constant feature.
    edges_ : ndarray (E, 2)
        The pairs of labels that may attract each other.
    edge_weights_ : ndarray (E,)
        How much they do.
    n_features_in_, feature_names_in_
        The features, as of `MulticlassSVM`.
    dual_gap_, n_passes_, status_, trace_, result_
        The certificate and the log, as of `ChainSVM`.

    Notes
    -----
    X is as for `MulticlassSVM`. y is an array or sparse matrix (n, L) of 0 and 1, as `sklearn.preprocessing.MultiLabelBinarizer`
    makes it.

    Examples
    --------
    >>> from fwexp.estimators import MultiLabelSVM
    >>> X = [["sand", "sea"], ["sea"], ["snow"], ["snow", "sea"]]
    >>> y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> MultiLabelSVM(lam=0.1).fit(X, y).predict([["sea"], ["snow"]]).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(
        self,
        lam=0.01,
        *,
        C=None,
        edges="full",
        fit_intercept=True,
        min_count=1,
        solver="auto",
        tol=1e-2,
        max_passes=50,
        warm_start=False,
        random_state=0,
        verbose=0,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Train on examples with sets of labels.

        Parameters
        ----------
        X : (n, p) array, sparse matrix, or list of n dicts, strings or lists of strings
            Inputs.
        y : (n, L) array or sparse matrix of 0 and 1
            Which labels every example has.
        sample_weight : array (n,), optional
            How much every example counts: 2 is the example twice, 0 its absence.

        Returns
        -------
        self
        """
        X, y = self._learn_rows(X, _indicators(y), multi_output=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        self.classes_ = np.arange(y.shape[1])
        self.edges_ = self._edges(y.shape[1])
        self._train(self._problem(X, y), sample_weight)
        self._set_weights()
        return self

    def to_problem(self, X, y):
        """Return examples as a problem for `fwexp.solve` and all else, with the features learned.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        SegmentationProblem
            Graphs whose nodes are labels: the features of label l are those of X, at columns of its own.
        """
        check_is_fitted(self)
        return self._problem(self._rows(X), _indicators(y))

    def predict(self, X):
        """Return the best set of labels of every example.

        Parameters
        ----------
        X : (n, p) array, sparse matrix, or list of n dicts, strings or lists of strings
            Inputs, as for `fit`.

        Returns
        -------
        ndarray (n, L)
            Of 0 and 1.
        """
        rows = self._rows(X)
        unknown = np.zeros((rows.shape[0], len(self.classes_)), dtype=np.int64)
        return np.array(self.result_.predict(self._problem(rows, unknown)))

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

    def _problem(self, X, y):
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
            foreground_only=True,
        )

    def _set_weights(self) -> None:
        L, w = len(self.classes_), self.result_.w
        size = L * (self.n_features_in_ + bool(self.fit_intercept))
        self._split_weights(w[:size].reshape(L, -1))
        self.edge_weights_ = w[size:][: len(self.edges_)]

    def _learned(self):
        return super()._learned() | {"edges": self.edges_}

    def _restore(self, edges, **learned):
        self.edges_ = np.reshape(edges, (-1, 2))
        super()._restore(**learned)


def _indicators(y) -> np.ndarray:
    """Return which labels examples have, (n, L)."""
    y = y.toarray() if sp.issparse(y) else np.asarray(y)
    if y.ndim != 2 or y.shape[1] == 0 or not np.isin(y, (0, 1)).all():
        got = f"shape {y.shape}" if y.ndim != 2 or y.shape[1] == 0 else f"others, such as {shown(y[~np.isin(y, (0, 1))].item(0))}"
        raise ParameterError(f"y must be an array (n, L) of 0 and 1, as of MultiLabelBinarizer, got {got}")
    return y.astype(np.int64)
