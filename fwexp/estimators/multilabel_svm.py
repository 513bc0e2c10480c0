"""Several labels at once: those that go together pull each other, and the best set of them is a minimum cut."""

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from fwexp.errors import ParameterError, shown
from fwexp.estimators.conventions import check_fitted
from fwexp.estimators.encoding import are_factors, check_factors
from fwexp.estimators.json_values import as_array_of
from fwexp.estimators.labels import weights_of
from fwexp.estimators.row_encoding import ClassifierMixin, ExampleModel, RowEncoding
from fwexp.options import check_choice
from fwexp.oracles.max_flow import incidence, min_cut, scratch_size
from fwexp.problems import full_pairs
from fwexp.problems.chain import LOSSES
from fwexp.problems.features import as_features
from fwexp.problems.graphs import check_edges
from fwexp.problems.python_labelings import read_only
from fwexp.problems.segmentation import segmentation_from_arrays
from fwexp.types import ArrayLike, FloatArray, IntArray, Lam

PAIRWISE = ("potts", "full")


class LabelSetEncoding(RowEncoding):
    """Columns of features, labels, and pairs of labels that may influence each other."""

    edges_: IntArray
    class_weight_: FloatArray | None
    pairwise: str
    schema: ClassVar = RowEncoding.schema | {
        "edges": lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "iu",
        "class_weight": are_factors,
        "pairwise": PAIRWISE.__contains__,
    }

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        names = _names(y)
        weights, X, y = self.learn_rows(X, _indicators(y), sample_weight, multi_output=True)
        self.classes_ = np.arange(y.shape[1]) if names is None else as_array_of(names)
        self.edges_, self.class_weight_ = self._edges(y.shape[1]), self._class_weights(y, weights)
        self.pairwise = check_choice("pairwise", self.params.pairwise, PAIRWISE)
        return self._from_rows(X, y), weights

    def problem(self, X, y, sample_weight=None):
        return self._from_rows(self.rows(X), self.indicators(y)), sample_weight

    def indicators(self, y) -> IntArray:
        """Return which labels examples have, (n, L), after a check of the columns."""
        names = _names(y)
        if names is not None and self.classes_.dtype == object and names != self.classes_.tolist():
            raise ParameterError(f"y must have the columns {shown(self.classes_.tolist())}, as in fit, got {shown(names)}")
        return _indicators(y)

    def _edges(self, L: int) -> IntArray:
        if self.params.edges is None:
            return np.zeros((0, 2), dtype=np.int64)
        if isinstance(self.params.edges, str):
            if self.params.edges != "full":
                raise ParameterError(f'edges must be "full", None or pairs of columns of y, got {shown(self.params.edges)}')
            return np.column_stack(np.triu_indices(L, 1))
        return check_edges("edges", self.params.edges, L)

    def _from_rows(self, X, y):
        X, L, E = sp.csr_array(self.with_constant(X)), y.shape[1], len(self.edges_)
        n, p = X.shape
        rows = X[np.repeat(np.arange(n), L)]
        places = rows.indices + np.repeat(np.tile(p * np.arange(L), n), np.diff(rows.indptr))
        nodes = sp.csr_array((rows.data, places, rows.indptr), shape=(n * L, L * p))
        q = max(E, 1)  # a feature that no edge has
        loss, weights = check_choice("loss", self.params.loss, LOSSES), self.class_weight_
        costs = None if weights is None else np.where(y == 1, weights[1], weights[0])
        if self.pairwise == "full":
            graphs = [nodes[i : i + L] for i in range(0, n * L, L)], [self.edges_] * n, [np.eye(E, q)] * n
            return full_pairs.FullPairsProblem(*graphs, list(y), 2, loss=loss, weights=None if costs is None else list(costs))
        pairs = sp.csr_array((np.ones(n * E), np.tile(np.arange(E), n), np.arange(n * E + 1)), shape=(n * E, q))
        problem = segmentation_from_arrays(
            as_features(nodes, copy=False),
            as_features(pairs, copy=False),
            edges=[self.edges_] * n,
            labels=y.ravel(),
            sizes=np.ones(n * L),
            label_ptr=L * np.arange(n + 1),
            num_features=L * p,
            num_pairwise=q,
            loss=loss,
            foreground_only=True,
        )
        return problem if costs is None else problem._replace(node_loss=problem.node_loss * costs.ravel())

    def _class_weights(self, y: IntArray, weights: FloatArray | None) -> FloatArray | None:
        """Return by how much more errors cost at the absence and at the presence of every label, (2, L)."""
        if isinstance(self.params.class_weight, str) and self.params.class_weight == "balanced":
            weights = np.ones(len(y)) if weights is None else weights
            counts = np.stack([weights @ (y == 0), weights @ (y == 1)])
            return 0.5 * weights.sum() / np.where(counts == 0.0, 1.0, counts)
        of_labels = weights_of(self.params.class_weight, self.classes_, [])
        return None if of_labels is None else np.stack([of_labels, of_labels])

    def learned(self):
        return super().learned() | {"edges": self.edges_, "class_weight": self.class_weight_, "pairwise": self.pairwise}

    def restore(self, d, edges, class_weight, pairwise, **learned):
        super().restore(d, **learned)
        self.edges_, self.class_weight_, self.pairwise = np.reshape(edges, (-1, 2)), class_weight, pairwise

    def structure(self):
        L, q = len(self.classes_), max(len(self.edges_), 1)
        check_factors(self.class_weight_, (2, L))
        check_edges("edges", self.edges_, L)
        if self.pairwise == "full":
            return {"family": "FullPairsProblem", "d": 2 * self.size + 4 * q}
        return {"family": "SegmentationProblem", "d": self.size + q, "num_labels": 2, "num_features": self.size}


@dataclass(eq=False, repr=False)
class MultiLabelSVM(ClassifierMixin, ExampleModel):
    r"""Predict sets of labels, with weights for pairs of labels, trained to a certified gap.

    Parameters
    ----------
    lam : float or "c/n", default "1/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "1/n" is a
        number divided by n, the number of labels of all examples (examples times labels), or of examples with ``loss="share"``,
        which count as often as their weights say. The default was chosen by validation.
    fit_intercept, min_count
        The same as for `MulticlassSVM`.
    edges : "full", None or int array (E, 2), default "full"
        Pairs of labels that may influence each other: all pairs, no pairs (each label is a classifier of its own), or these pairs
        of columns of y.
    pairwise : {"potts", "full"}, default "potts"
        Weights of an edge. ``"potts"`` has one, u_e >= 0, which is subtracted if just one of its labels is present, so labels may
        attract each other only. ``"full"`` has one for each of the four cases, so labels may also repel each other. Training is
        then slower, and it is certified if the edges have no cycle or y has at most 16 labels.
    loss : {"errors", "share"}, default "errors"
        Loss that H_i bounds: ``"errors"`` counts the wrong labels of example i, and the mean is over all N = n L labels;
        ``"share"`` divides by L, and the mean is over the examples.
    class_weight : dict or "balanced", optional
        Factor by which the loss at a label is multiplied, 1 by default. ``"balanced"`` gives examples with the label and examples
        without it the same total weight, for every label.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`; with ``pairwise="potts"``, one that keeps weights nonnegative.
    C, iterate, tol, max_passes, time_limit, callback, warm_start, n_jobs, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    classes_ : ndarray (L,)
        The columns of y: the names of a DataFrame, otherwise their numbers.
    coef_ : ndarray (L, p)
        Weights of features.
    intercept_ : ndarray (L,)
        Weights of the constant feature.
    edges_ : ndarray (E, 2)
        The pairs of labels that may influence each other.
    edge_weights_ : ndarray (E,) or (E, 2, 2)
        Attraction of the labels of an edge; with ``pairwise="full"``, scores of [absent, present] of both labels.
    class_weight_ : ndarray (2, L) or None
        Costs of errors at absent labels and at present labels.
    n_features_in_ : int
        p, the number of features.
    feature_names_in_ : ndarray (p,)
        Their names, where X has names.
    dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    GraphSVM : Labels of the nodes of graphs and images.
    fwexp.segmentation_problem : A training problem, for `fwexp.solve`.

    Notes
    -----
    The score of a set of labels is the sum of the scores of its labels, minus u_e for every edge e with just one of its labels. A
    minimum cut finds the best set exactly. The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{N} \sum_i H_i(w),

    where H_i bounds the number of wrong labels of example i, and N = n L.

    X is as for `MulticlassSVM`. y is an array or sparse matrix (n, L) of 0 and 1, such as the output of
    `sklearn.preprocessing.MultiLabelBinarizer`, or a DataFrame of such columns.

    Examples
    --------
    >>> from fwexp.estimators import MultiLabelSVM
    >>> X = [["sand", "sea"], ["sea"], ["snow"], ["snow", "sea"]]
    >>> y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]]
    >>> MultiLabelSVM(lam=0.1).fit(X, y).predict([["sea"], ["snow"]]).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    lam: Lam = "1/n"
    _: KW_ONLY
    edges: Any = "full"
    pairwise: str = "potts"
    loss: str = "errors"

    _Encoding = LabelSetEncoding
    averages = True

    if TYPE_CHECKING:  # `fit` sets these, which are no parameters
        edges_: IntArray = field(init=False)
        class_weight_: FloatArray | None = field(init=False)

    def predict(self, X: Any) -> IntArray:
        best = np.array([self._best(scores) for scores in self._scores(X)], dtype=np.int64)
        return best.reshape(-1, len(self.classes_))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of labels: the score of the best set with a label minus the best score without it.

        Parameters
        ----------
        X : sequence of inputs
            As for `fit`.

        Returns
        -------
        ndarray (n, L)
            Positive for labels in the predicted set, negative otherwise.
        """
        scores = self._scores(X)
        if not len(self.edges_):
            return scores
        margins = np.empty(scores.shape)
        for i, of_one in enumerate(scores):
            enough = np.abs(of_one).sum() + 4.0 * np.abs(self.edge_weights_).sum() + 1.0
            for label in range(len(of_one)):
                present, absent = (self._best(of_one + sign * enough * (np.arange(len(of_one)) == label)) for sign in (1.0, -1.0))
                margins[i, label] = self._value(of_one, present) - self._value(of_one, absent)
        return margins

    @property
    def edge_weights_(self) -> FloatArray:
        """Weights of edges: attraction of their labels, (E,), or the scores of the four cases, (E, 2, 2)."""
        if self.encoding_.pairwise == "full":
            return self.result_.w[2 * self.encoding_.size :][: 4 * len(self.edges_)].reshape(-1, 2, 2)
        return self.result_.w[self.encoding_.size :][: len(self.edges_)]

    @property
    def _rows_of_weights(self) -> FloatArray:
        """Weights of features for presence, against those for absence."""
        if self.encoding_.pairwise == "full":
            weights = read_only(np.diff(self.result_.w[: 2 * self.encoding_.size].reshape(-1, 2))[:, 0])
        else:
            weights = self.result_.w[: self.encoding_.size]
        return weights.reshape(len(self.classes_), -1)

    def _scores(self, X) -> FloatArray:
        """Return the scores of labels of their own, (n, L)."""
        rows = self._rows(X)
        return np.asarray(self.encoding_.with_constant(rows) @ self._rows_of_weights.T)

    def _best(self, scores: FloatArray) -> IntArray:
        """Return the best set of labels, (L,)."""
        if self.encoding_.pairwise == "full":
            return full_pairs.label(np.column_stack([np.zeros(len(scores)), scores]), self.edge_weights_, self.edges_)
        ends, y = self.edges_.astype(np.int32).ravel(), np.empty(len(scores), dtype=np.int32)
        graph = np.repeat(self.edge_weights_, 2), ends, *incidence(ends, len(y)), y
        min_cut(np.array(scores), *graph, np.empty(scratch_size(len(y), len(ends))))
        return y

    def _value(self, scores: FloatArray, y: IntArray) -> float:
        """Return the score of a set of labels."""
        a, b = y[self.edges_].T
        of_edges = self.edge_weights_
        return float(scores @ y + (of_edges[np.arange(len(a)), a, b].sum() if of_edges.ndim == 3 else -(of_edges @ (a != b))))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of examples whose set of labels is predicted right as a whole.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        float
            Between 0 and 1.
        """
        check_fitted(self)
        return super().score(X, self.encoding_.indicators(y), sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags


def _names(y) -> list | None:
    """Return the names of the columns of a DataFrame."""
    return list(y.columns) if hasattr(y, "columns") else None


def _indicators(y) -> IntArray:
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
