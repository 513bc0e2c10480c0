"""Segmentation into more than two classes: a graph of superpixels, labelled by max-product or expansion moves.

phi(x, y) makes the score of a labeling y in {0 .. L-1}^V

    score(y) = sum_v <W[:, y_v], x_v> - sum_e <u, z_e> [y_a != y_b],    edges e = (a, b),

with edge features z_e >= 0 and weights u >= 0. The public w holds ``W[f*L + k]`` for feature f and label k, then u, so
d = L p + q. The loss is that of two classes (``segmentation``): the weighted share of wrong nodes, their weighted number, or the
mean of the shares of the classes that an example has.

If no graph has a cycle, max-product finds the best labeling. Otherwise that is NP-hard with three labels. The oracle is then alpha
expansion, a local search whose every move is a minimum cut, and declared inexact: what it finds is a labeling, never worse than the
true one, so that the dual objective is a lower bound on the optimum; but the primal objective may be too low, and nothing is
certified.

The parts of an example are the q edge features, then its nodes with their labels: theta holds u, then the score of every label
at every node, in rows of a padded width. Internal weights are rows of that width for W, then u.

Functions that solvers call are in ``multilabel_protocol``.
"""

from typing import ClassVar, NamedTuple

import numpy as np

from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, padded_width
from fwexp.problems.graphs import GRAPH_ROWS, graph_fields
from fwexp.problems.subsets import Sliceable


class MultiLabelArrays(NamedTuple):
    """The fields of `MultiLabelProblem`."""

    n: int
    d: int  # L p + q
    num_labels: int  # L
    width: int  # length of a weight row, L padded
    num_features: int  # p
    num_pairwise: int  # q
    num_weights: int  # p * width + q
    part_ptr: np.ndarray  # int64 (n + 1,)
    label_ptr: np.ndarray  # int64 (n + 1,): nodes label_ptr[i] .. label_ptr[i+1] belong to example i
    edge_ptr: np.ndarray  # int64 (n + 1,): the same for edges
    ends: np.ndarray  # int32 (2 edges,): the two nodes of every edge, numbered from 0 within the example
    first: np.ndarray  # int32 (nodes + n,): per example the V + 1 numbers of ``oracles.max_flow.incidence``
    out: np.ndarray  # int32 (2 edges,): the same
    labels: np.ndarray  # int32 (nodes,); -1 where they are unknown
    node_loss: np.ndarray  # float64 (nodes,), the cost of a wrong label
    counts: np.ndarray  # float64 (n,), by how much nodes count in the loss: 1 if it is a share
    is_forest: bool  # whether no graph has a cycle
    x: DenseFeatures | SparseFeatures | BinaryFeatures  # one row per node
    z: DenseFeatures | SparseFeatures | BinaryFeatures  # one row per edge
    nonnegative: np.ndarray  # int64 (q,), where u is among the internal weights


class MultiLabelProblem(Sliceable, MultiLabelArrays):
    """A set of graphs whose nodes have more than two labels; build it with ``fwexp.segmentation_problem``."""

    __slots__ = ()
    tiers = ("sets", "expectations", "bounds", "exact")
    rows: ClassVar = GRAPH_ROWS

    def __repr__(self) -> str:
        sizes = f"L={self.num_labels}, nodes={len(self.labels)}, edges={self.edge_ptr[-1]}"
        return f"MultiLabelProblem(n={self.n}, d={self.d}, {sizes})"


def multilabel_from_arrays(
    x, z, *, edges, labels, sizes, label_ptr, num_features, num_pairwise, num_labels, loss="share"
) -> MultiLabelProblem:
    """Build a problem from concatenated arrays that are right, as `fwexp.problems.segmentation.segmentation_from_arrays`."""
    fields, width = graph_fields(edges, labels, sizes, label_ptr, num_labels, loss), padded_width(num_labels)
    num_weights = width * num_features + num_pairwise
    return MultiLabelProblem(
        **fields,
        d=num_labels * num_features + num_pairwise,
        width=width,
        num_features=num_features,
        num_pairwise=num_pairwise,
        num_weights=num_weights,
        part_ptr=fields["label_ptr"] * width + np.arange(fields["n"] + 1) * num_pairwise,
        x=x,
        z=z,
        nonnegative=np.arange(width * num_features, num_weights, dtype=np.int64),
    )
