"""What segmentations into two classes and into more share: losses, labelings, and the pairwise part of vectors of parts.

Edges count by whether they are cut: for every edge feature a vector of parts holds how much more of it is cut than by the truth.
"""

import numpy as np

from fwexp._jit import register_jitable
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.features import product_bound, row_entries, row_product, row_scatter_label
from fwexp.problems.graphs import check_labels
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.segmentation import SegmentationProblem

BOTH = SegmentationProblem, MultiLabelProblem


@protocol.check_weights.register(*BOTH)
def _(problem, w):
    start = problem.d - problem.num_pairwise
    negative = np.flatnonzero(w[start:] < 0.0)
    if len(negative):
        place = start + int(negative[0])
        what = f"w must be >= 0 for edge features, w[{start}] .. w[{problem.d - 1}], or no minimum cut is the best labeling"
        raise ParameterError(f"{what}, got {w[place]:g} at {place}")


@protocol.loss.register(*BOTH)
def _(problem, i, y):
    start, total = problem.label_ptr[i], 0.0
    for v in range(problem.label_ptr[i + 1] - start):
        if y[v] != problem.labels[start + v]:
            total += problem.node_loss[start + v]
    return total


@protocol.as_labeling.register(*BOTH)
def _(problem, i, y):
    return check_labels("y", y, int(problem.label_ptr[i + 1] - problem.label_ptr[i]), problem.num_labels)


@protocol.public_labeling.register(*BOTH)
def _(problem, i, y):
    return np.array(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]], dtype=np.int64)


@register_jitable
def graph(problem, i):
    """Return the ends of the edges of example i, and where those of every node are, as ``oracles.max_flow`` takes them."""
    node, nodes = problem.label_ptr[i] + i, problem.label_ptr[i + 1] - problem.label_ptr[i]
    start, end = 2 * problem.edge_ptr[i], 2 * problem.edge_ptr[i + 1]
    return problem.ends[start:end], problem.first[node : node + nodes + 1], problem.out[start:end]


@register_jitable
def _cut_change(problem, i, y, e):
    """Return whether y cuts edge e less whether the truth does."""
    start, a, b = problem.label_ptr[i], problem.ends[2 * e], problem.ends[2 * e + 1]
    return int(y[a] != y[b]) - int(problem.labels[start + a] != problem.labels[start + b])


@register_jitable
def add_cuts(problem, i, y, c, pairwise):
    """Add c times what y cuts of every edge feature, less what the truth does, to ``pairwise``."""
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        change = _cut_change(problem, i, y, e)
        if change != 0:
            row_scatter_label(problem.z, e, 0, c * change, 1, pairwise)


@register_jitable
def cut_score(problem, i, y, u):
    """Return <u, z> of what y cuts, less that of what the truth does."""
    total = 0.0
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        change = _cut_change(problem, i, y, e)
        if change != 0:
            total += change * row_product(problem.z, e, u)
    return total


def subtract_cuts(problem, i, y, phi) -> None:
    """Subtract the features of the edges that y cuts from the end of phi."""
    pairwise = phi[len(phi) - problem.num_pairwise :]
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        if y[problem.ends[2 * e]] != y[problem.ends[2 * e + 1]]:
            columns, values = row_entries(problem.z, e)
            pairwise[columns] -= values


def product_bounds(problem) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds on the squared norms of sums of node features, with signs, and of edge features, each (n,)."""
    of_nodes, of_edges = (
        np.array([product_bound(rows, ptr[i], ptr[i + 1]) for i in range(problem.n)])
        for rows, ptr in ((problem.x, problem.label_ptr), (problem.z, problem.edge_ptr))
    )
    return of_nodes, of_edges
