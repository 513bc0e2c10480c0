"""Binary segmentation: a graph of superpixels in two classes, by minimum cuts.

phi(x, y) makes the score of a labeling y in {0, 1}^V

    score(y) = sum_v <W[:, y_v], x_v> - sum_e <u, z_e> [y_a != y_b],    edges e = (a, b),

with edge features z_e >= 0, such as the bin of a contrast, and weights u >= 0: then the energy is submodular, and a
minimum cut is a labeling of highest score. The public w holds ``W[f*2 + k]`` for feature f and label k, then u, so
d = 2 p + q. With ``foreground_only`` label 0 has no weights of its own, w holds ``W[f]`` of label 1, then u, and d = p + q:
the same predictions, with half the regularisation of W.

The loss is the share of wrong nodes, weighted by their sizes; with ``loss="errors"`` their weighted number; or with
``loss="balanced"`` the mean of the shares in both classes, where an example has both.

With more labels the constructor returns a problem of ``multilabel_graph``, whose oracle is not exact if there are cycles.

The parts of an example are its nodes, then the q edge features: theta holds the score of label 1 against label 0 for every
node, then u. Internal weights are W of label 0 (unless that has none), W of label 1, u.

Functions that solvers call are in ``segmentation_protocol``.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fwexp.conversion import as_list
from fwexp.errors import ParameterError, shown
from fwexp.options import check_choice, check_flag, check_integer
from fwexp.problems.arrays import check_num_labels, pointer
from fwexp.problems.features import as_features, stack
from fwexp.problems.graphs import LOSSES, Graphs, check_edges, check_labels, check_sizes, graph_fields, matrices, node_features
from fwexp.problems.multilabel_graph import multilabel_from_arrays
from fwexp.types import Loss, SetOfExamples


class SegmentationProblem(Graphs):
    """A set of graphs with labelled nodes; build it with ``fwexp.segmentation_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "bounds", "enumeration", "exact")

    def __repr__(self) -> str:
        return f"SegmentationProblem(n={self.n}, d={self.d}, nodes={len(self.labels)}, edges={self.edge_ptr[-1]})"


def segmentation_problem(
    X: Sequence[Any],
    edges: Sequence[Any],
    Z: Sequence[Any],
    y: Sequence[Any],
    node_weight: Sequence[Any] | None = None,
    num_labels: int = 2,
    *,
    loss: Loss | Literal["balanced"] = "share",
    foreground_only: bool = False,
) -> SetOfExamples:
    """Build a segmentation problem from your own arrays.

    Parameters
    ----------
    X : list of (V_i, p) arrays or scipy.sparse matrices
        Features of every node, used as given: no constant is added.
    edges : list of int arrays (E_i, 2)
        The two nodes of every edge, from 0; several edges may join the same nodes.
    Z : list of (E_i, q) arrays or scipy.sparse matrices
        Features >= 0 of every edge.
    y : list of int arrays (V_i,)
        Labels from 0.
    node_weight : list of arrays (V_i,), optional
        Weight > 0 of every node in the loss, for instance its number of pixels; by default 1.
    num_labels : int, default 2
        Number of labels L. For more than 2 labels and a graph with a cycle the oracle is alpha expansion, which may miss the
        maximum: such problems can be trained on, but ``gap`` of the result is NaN, because it is not certified. Graphs without
        cycles have exact oracles for any number of labels, and exact probabilities for ``objective="log"``.
    loss : {"share", "errors", "balanced"}, default "share"
        L_i is the weighted share of wrong nodes in example i, their weighted number, or the mean of the shares of the classes
        that example i has. With ``"errors"`` large graphs count for more, and the same ``lam`` n/N, N
        nodes (or the sum of their weights) in n graphs, suits graphs of any size. ``evaluate`` and traces have the error per node.
    foreground_only : bool, default False
        Whether only label 1 has weights of node features; for two labels only.

    Returns
    -------
    SegmentationProblem or MultiLabelProblem
        Its fields include ``n`` and ``d = L p + q``. w has ``w[f*L + k]`` for feature f and label k, then the q weights of edge
        features. With ``foreground_only`` it has ``w[f]`` for label 1, and ``d = p + q``. Training keeps the last q weights
        nonnegative.

    Raises
    ------
    ValueError
        If there are no examples, shapes differ, features are not finite, sparse matrices are malformed, features or weights of
        nodes are out of the scales 1e-50 .. 1e50, an edge has an unknown node or joins a node to itself, an edge feature is
        negative, labels are out of range, or a weight of a node is not positive.

    See Also
    --------
    fwexp.estimators.GraphSVM : The estimator for images and graphs.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> X, edges = [np.array([[2.0], [-0.1], [1.5]])], [[(0, 1), (1, 2)]]
    >>> Z, y = [np.ones((2, 1))], [[1, 1, 1]]
    >>> problem = fwexp.segmentation_problem(X, edges, Z, y, foreground_only=True)
    >>> [fwexp.predict(problem, [1.0, u])[0].tolist() for u in (0.0, 0.2)]
    [[1, 0, 1], [1, 1, 1]]
    """
    num_labels = check_integer("num_labels", num_labels, 2)
    loss = check_choice("loss", loss, LOSSES)
    foreground_only = check_flag("foreground_only", foreground_only)
    if foreground_only and num_labels > 2:
        raise ParameterError(f"foreground_only must be false where num_labels is not 2, got true and {shown(num_labels)} labels")
    X = node_features(X)
    Z = matrices("Z", Z, "(E, q) arrays of edge features, one per example", "(E, q)")
    edges = as_list("edges", edges, "int arrays (E, 2), one per example")
    y = as_list("y", y, "int arrays (V,), one per example")
    lists = {"edges": edges, "Z": Z, "y": y}
    if node_weight is not None:
        lists["node_weight"] = node_weight = as_list("node_weight", node_weight, "arrays (V,), one per example")
    if not X:
        raise ParameterError("X must hold at least one example, got n = 0")
    for name, values in lists.items():
        if len(values) != len(X):
            raise ParameterError(f"{name} must have length {len(X)} like X, got {len(values)}")
    labels, sizes = [], []
    for i, x in enumerate(X):
        if x.shape[0] == 0 or x.shape[1] != X[0].shape[1]:
            raise ParameterError(f"X[{i}] must have shape (V, {X[0].shape[1]}) with V >= 1, got {x.shape}")
        edges[i] = check_edges(f"edges[{i}]", edges[i], x.shape[0])
        if Z[i].shape != (len(edges[i]), Z[0].shape[1]):
            raise ParameterError(f"Z[{i}] must have shape {(len(edges[i]), Z[0].shape[1])} like edges[{i}], got {Z[i].shape}")
        if 0 not in Z[i].shape and Z[i].min() < 0:
            raise ParameterError(f"Z must be >= 0, got {Z[i].min():g} in Z[{i}]")
        labels.append(check_labels(f"y[{i}]", y[i], x.shape[0], num_labels))
        sizes.append(np.ones(x.shape[0]) if node_weight is None else check_sizes(f"node_weight[{i}]", node_weight[i], x.shape[0]))
    label_ptr, p = pointer([x.shape[0] for x in X]), int(X[0].shape[1])
    arrays = {
        "edges": edges,
        "labels": np.concatenate(labels),
        "sizes": np.concatenate(sizes),
        "label_ptr": label_ptr,
        "num_features": p,
        "num_pairwise": int(Z[0].shape[1]),
        "loss": loss,
    }
    x, z = (as_features(stack(rows), name, copy=False) for name, rows in (("X", X), ("Z", Z)))
    if num_labels == 2:
        return segmentation_from_arrays(x, z, **arrays, foreground_only=bool(foreground_only))
    num_labels = check_num_labels("num_labels", num_labels, arrays["labels"], lambda L: L * max(p, int(label_ptr[-1])))
    return multilabel_from_arrays(x, z, **arrays, num_labels=num_labels)


def segmentation_from_arrays(x, z, *, foreground_only: bool = False, **arrays) -> SegmentationProblem:
    """Build a problem from concatenated arrays that are right: ``x`` and ``z`` have rows of all nodes and edges, -1 is no label."""
    fields = graph_fields(x, z, **arrays, num_labels=2, width=1 if foreground_only else 2, parts=1)
    return SegmentationProblem(**fields, d=fields["num_weights"])
