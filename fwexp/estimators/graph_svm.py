"""Labels of the nodes of graphs, such as the pixels of images: trained to a certified gap where there are two of them."""

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fwexp.conversion import as_list
from fwexp.errors import ParameterError, shown
from fwexp.estimators.conventions import check_fitted
from fwexp.estimators.encoding import Encoding, are_factors, are_labels, check_factors, is_size
from fwexp.estimators.estimator import CertifiedSVM, PartsScore
from fwexp.estimators.graph_inputs import as_graph, check_sizes, induced, node_labels, node_weights, warn_without_constant, widened
from fwexp.estimators.joinable_lists import Labelings
from fwexp.estimators.labels import (
    at_positions,
    check_counted,
    check_weights,
    classes_of,
    counted,
    names_of,
    numbers_of,
    right_parts,
    weights_of,
)
from fwexp.options import check_choice, check_flag
from fwexp.problems import full_pairs
from fwexp.problems.segmentation import segmentation_problem
from fwexp.types import AnyArray, FloatArray, Lam

VOID = (-100, -1, 255)  # of images and graphs, for nodes without a label
PAIRWISE = ("potts", "full")
SIDES = ((0, 1), (1, 0), (1, 1), (1, -1))  # of a pixel: how far the neighbour is down and to the right
FORMS = "images (H, W, p), or graphs (features, edges) or (features, edges, edge_features)"


class GraphEncoding(Encoding):
    """Features of nodes and edges, and labels of nodes."""

    classes_: AnyArray
    class_weight_: FloatArray | None
    n_features_in_: int
    num_edge_features: int
    pairwise: str
    schema: ClassVar = {
        "classes": are_labels,
        "num_features": is_size,
        "class_weight": are_factors,
        "pairwise": PAIRWISE.__contains__,
    }

    def learn(self, X, y, sample_weight=None, classes=None, former=None):
        self.pairwise = check_choice("pairwise", self.params.pairwise, PAIRWISE)
        graphs, of_nodes = self.graphs(X), node_weights(sample_weight)
        labels = node_labels(y, graphs, self.params.ignore_label)
        weights = None if sample_weight is None or of_nodes is not None else check_weights(sample_weight, len(graphs))
        weights, graphs, labels = counted(weights, graphs, labels)
        warn_without_constant([features for features, *_ in graphs])
        self.num_edge_features = next((of_edges.shape[-1] for _, edges, of_edges, _ in graphs if len(edges)), 1)
        graphs = widened(graphs, self.num_edge_features)
        all_labels = [label for of_one in labels for label in of_one if label is not None]
        self.classes_ = classes_of(all_labels)
        check_counted(self.classes_, VOID)
        if len(self.classes_) < 2:
            raise ParameterError(f"y must hold at least two labels, got {self.classes_.tolist()}")
        counts = None
        if weights is not None:
            counts = np.repeat(weights, [sum(label is not None for label in of_one) for of_one in labels])
        self.class_weight_ = weights_of(self.params.class_weight, self.classes_, all_labels, counts)
        self.n_features_in_ = graphs[0][0].shape[1]
        return self._from_graphs(graphs, labels, of_nodes), weights

    def problem(self, X, y, sample_weight=None):
        of_nodes, graphs = node_weights(sample_weight), self.known(self.graphs(X))
        problem = self._from_graphs(graphs, node_labels(y, graphs, self.params.ignore_label), of_nodes)
        return problem, sample_weight if of_nodes is None else None

    def graphs(self, X) -> list[tuple]:
        """Return inputs as graphs."""
        connectivity, contrast = self.params.connectivity, check_flag("contrast", self.params.contrast)
        if connectivity not in (4, 8):
            raise ParameterError(f"connectivity must be 4 or 8, got {shown(connectivity)}")
        X = as_list("X", X, FORMS)
        if not X:
            raise ParameterError("X must hold at least one example, got n = 0")
        names = [f"X[{i}]" for i in range(len(X))]
        directions = SIDES[: connectivity // 2], self.pairwise == "full", contrast
        return [as_graph(name, x, *directions) for name, x in zip(names, X)]

    def known(self, graphs: list[tuple]) -> list[tuple]:
        """Return graphs, if they have as many features as those in training."""
        wanted = self.n_features_in_, self.num_edge_features
        graphs = widened(graphs, wanted[1])
        for i, (features, _, of_edges, _) in enumerate(graphs):
            for what, rows, size in zip(("node", "edge"), (features, of_edges), wanted):
                if np.ndim(rows) == 2 and rows.shape[1] != size:
                    raise ParameterError(f"X[{i}] must have {size} features per {what}, as in fit, got {rows.shape[1]}")
        return graphs

    def _from_graphs(self, graphs, labels, of_nodes=None):
        check_sizes(of_nodes, labels)
        if self.params.ignore_label is not None:
            kept = [np.array([label is not None for label in of_one]) for of_one in labels]
            graphs = [induced(f"y[{i}]", graph, nodes) for i, (graph, nodes) in enumerate(zip(graphs, kept))]
            labels = [[label for label in of_one if label is not None] for of_one in labels]
            of_nodes = None if of_nodes is None else [weights[nodes] for weights, nodes in zip(of_nodes, kept)]
        numbers = [numbers_of(of_one, self.classes_) for of_one in labels]
        for i, (of_one, found) in enumerate(zip(labels, numbers)):
            if (found < 0).any():
                raise ParameterError(f"y[{i}] must hold labels that fit saw, got {of_one[found.argmin()]!r}")
        features, edges, of_edges, _ = map(list, zip(*graphs))
        weights = of_nodes
        if self.class_weight_ is not None:
            weights = [self.class_weight_[of_one] for of_one in numbers]
            weights = weights if of_nodes is None else [one * other for one, other in zip(weights, of_nodes)]
        if self.pairwise == "full":
            pairs = features, edges, of_edges, numbers, len(self.classes_)
            return full_pairs.FullPairsProblem(*pairs, loss=self.params.loss, weights=weights)
        for i, rows in enumerate(of_edges):
            if rows.size and (least := rows.min()) < 0:
                raise ParameterError(f'edge features in X[{i}] must be >= 0 unless pairwise="full", got {least:g}')
        problem = segmentation_problem(features, edges, of_edges, numbers, num_labels=len(self.classes_), loss=self.params.loss)
        return problem if weights is None else problem._replace(node_loss=problem.node_loss * np.concatenate(weights))

    def learned(self):
        learned = {"classes": self.classes_, "num_features": self.n_features_in_, "class_weight": self.class_weight_}
        return learned | {"pairwise": self.pairwise}

    def restore(self, d, classes, num_features, pairwise, class_weight=None):
        self.classes_, self.n_features_in_, self.class_weight_ = classes, num_features, class_weight
        K, self.pairwise = len(classes), pairwise
        of_edges, size = d - K * num_features, K * K if pairwise == "full" else 1
        if of_edges < size or of_edges % size or K < 2:
            raise ValueError(f"{d} weights are not those of {num_features} features and {K} labels")
        self.num_edge_features = of_edges // size
        self.graphs([np.zeros((1, 1))])  # refuses parameters with which predictions fail

    def structure(self):
        K = len(self.classes_)
        check_factors(self.class_weight_, (K,))
        if self.pairwise == "full":
            return {"family": "FullPairsProblem"}
        if K > 2:
            return {"family": "MultiLabelProblem"}
        return {"family": "SegmentationProblem", "num_labels": K, "num_features": self.n_features_in_}


@dataclass(eq=False, repr=False)
class GraphSVM(PartsScore, CertifiedSVM):
    r"""Label the nodes of graphs, such as the pixels of images, where neighbours tend to have the same label.

    Parameters
    ----------
    lam : float or "c/n", default "8/n"
        Strength of the L2 regularisation, > 0. Larger values give smaller weights and faster training. A text such as "8/n" is a
        number divided by n, the number of labelled nodes of all graphs, or of graphs with another loss than ``"errors"``, which
        count as often as their weights say. The default was chosen by validation.
    pairwise : {"potts", "full"}, default "potts"
        Weights of edges. ``"potts"`` has weights u >= 0 for edges whose nodes have different labels. ``"full"`` has weights for
        every pair of labels at the beginning and at the end of an edge, so labels may repel each other or keep an order. See the
        notes on certificates.
    connectivity : {4, 8}, default 4
        Number of neighbours of a pixel; 8 adds the diagonal ones.
    contrast : bool, default False
        Whether every edge of an image has a second set of features, exp(-||x_a - x_b||^2 / (2 m)) times the first set, where x_a
        and x_b are the features of its pixels and m is the mean of ||x_a - x_b||^2 in that image. Edges between similar pixels
        then cost more to cut.
    loss : {"errors", "share", "balanced"}, default "errors"
        Loss that H_i bounds. ``"errors"`` counts the wrong nodes of graph i, and the mean is over the N nodes of all graphs.
        ``"share"`` divides by the number of nodes, ``"balanced"`` takes the mean of the shares of the labels that graph i has, and
        the mean of both is over the graphs.
    class_weight : dict or "balanced", optional
        Factor by which the loss is multiplied at nodes whose true label is the key, 1 by default. ``"balanced"`` uses factors
        inversely proportional to the frequency of the label.
    ignore_label : object, optional
        Mark of nodes without a label in y, such as 255. Training and scores leave out these nodes and their edges.
    solver : str, default "auto"
        A solver or method of `fwexp.solve`; with ``pairwise="potts"``, one that keeps weights nonnegative.
    iterate : {"best", "last", "wavg", "tavg", "avg"}, optional
        Iterate of `fwexp.solve` that becomes the weights. By default the average ``wavg``, which depends less on ``lam`` and mostly
        predicts better, or ``best`` if the solver has no averages or ``pairwise="full"``. ``dual_gap_`` certifies this iterate.
    C, tol, max_passes, time_limit, callback, warm_start, n_jobs, random_state, verbose
        The same as for `ChainSVM`.

    Attributes
    ----------
    classes_ : ndarray (K,)
        The labels.
    class_weight_ : ndarray (K,) or None
        Factors of the loss, in the order of ``classes_``.
    n_features_in_ : int
        p, the number of features of a node.
    coef_ : ndarray (K, p)
        Weights of the features of nodes.
    edge_weights_ : ndarray (q,) or (q, K, K)
        Weights u of the features of edges; with ``"full"`` the scores of the labels at the beginning (row) and the end (column).
    dual_gap_, status_, n_passes_, trace_, result_
        The same as of `ChainSVM`.

    See Also
    --------
    ChainSVM : Labels of sequences.
    MultiLabelSVM : Sets of labels.
    fwexp.segmentation_problem : The training problem, for `fwexp.solve`.

    Notes
    -----
    The objective is

    .. math:: \min_w \frac{\lambda}{2} \|w\|^2 + \frac{1}{N} \sum_i H_i(w),

    where H_i bounds the number of wrong nodes in graph i, and N is the number of nodes in all graphs. The score of a labeling is
    the sum of the scores of its nodes, minus <u, z_e> for every edge e whose nodes have different labels, with edge features
    z_e >= 0.

    Training is certified if the best labeling can be found exactly: with ``"potts"`` for two labels (a minimum cut), and for more
    labels if no graph has a cycle; with ``"full"`` if every graph has no cycle or at most 65,536 labelings. Otherwise alpha
    expansion, or a slower local search, may miss the best labeling. Nothing is certified then, ``dual_gap_`` is NaN, and `fit`
    issues a ConvergenceWarning.

    X is a list of images, arrays (H, W, p) or (H, W), whose pixels have neighbours to the left, right, above and below; or of
    graphs, as tuples (lists) of node features (V, p), edges (E, 2) from 0, and optionally edge features (E, q), which are 1
    otherwise. With ``pairwise="full"`` edges of images have a feature per direction: to the right, down, and with
    ``connectivity=8`` down to the right and down to the left. y is a list of arrays of labels, (H, W) or (V,). No constant
    is added: append a feature of ones to features that are >= 0, such as colours; otherwise no threshold of them is learned.
    Weights of nodes are arrays like those of y, by which the loss at every node is multiplied. Missing labels are rejected: None,
    NaN, masked entries and "", and if labels are 0, 1, ... also -1, -100 and 255.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.estimators import GraphSVM
    >>> labels = np.tile(["back", "back", "fore", "fore"], (4, 1))
    >>> image = np.where(labels == "fore", 1.0, -1.0)
    >>> image[1, 0], image[2, 3] = 1.0, -1.0  # noise
    >>> model = GraphSVM(lam=0.01).fit([image], [labels])
    >>> print(model.predict([image])[0])
    [['back' 'back' 'fore' 'fore']
     ['back' 'back' 'fore' 'fore']
     ['back' 'back' 'fore' 'fore']
     ['back' 'back' 'fore' 'fore']]
    """

    lam: Lam = "8/n"
    _: KW_ONLY
    C: float | None = None
    pairwise: str = "potts"
    connectivity: int = 4
    contrast: bool = False
    loss: str = "errors"
    class_weight: Any = None
    ignore_label: Any = None
    warm_start: bool = False

    averages = True
    _Encoding = GraphEncoding

    if TYPE_CHECKING:  # `fit` sets these, which are no parameters
        classes_: AnyArray = field(init=False)
        class_weight_: FloatArray | None = field(init=False)
        n_features_in_: int = field(init=False)

    def predict(self, X: Any) -> list[AnyArray]:
        check_fitted(self)
        X = as_list("X", X, FORMS)
        if not X:
            return []
        features, edges, of_edges, shapes = zip(*self.encoding_.known(self.encoding_.graphs(X)))
        if self.encoding_.pairwise == "full":
            inputs = zip(*full_pairs.checked(features, edges, of_edges))
            found = [full_pairs.decode(*graph, self.result_.w, len(self.classes_)) for graph in inputs]
        else:
            found = self.result_.predict(list(features), edges=list(edges), Z=list(of_edges))
        return Labelings(self.classes_[numbers].reshape(shape) for numbers, shape in zip(found, shapes))

    def _right(self, X, y, sample_weight):
        X = as_list("X", X, FORMS)  # which may be a generator
        wanted = node_labels(y, self.encoding_.graphs(X), self.encoding_.params.ignore_label)
        predicted = [names_of(labels.ravel()) for labels in self.predict(X)]
        if sample_weight is None:
            return right_parts(wanted, predicted)
        of_nodes, sizes = node_weights(sample_weight), np.array([len(labels) for labels in wanted])
        check_sizes(of_nodes, wanted)
        weights = check_weights(sample_weight, len(sizes)) if of_nodes is None else of_nodes
        return right_parts(wanted, predicted, at_positions(weights, sizes))

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features of nodes, (K, p)."""
        K = len(self.classes_)
        return self.result_.w[: K * self.n_features_in_].reshape(-1, K).T

    @property
    def edge_weights_(self) -> FloatArray:
        """Weights of the features of edges, (q,) or (q, K, K)."""
        K = len(self.classes_)
        weights = self.result_.w[K * self.n_features_in_ :]
        return weights.reshape(-1, K, K) if self.encoding_.pairwise == "full" else weights
