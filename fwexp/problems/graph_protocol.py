"""Functions that segmentations into two classes and into more share: their graphs, and the pairwise part of vectors of parts.

Edges count by whether they are cut: for every edge feature a vector of parts holds how much more of it is cut than by the truth.
"""

import numpy as np

from fwexp.errors import ParameterError
from fwexp.jit.compilation import register_jitable
from fwexp.problems import protocol
from fwexp.problems.features import row_entries
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.rows import product_bound, row_scatter_label, row_sum
from fwexp.problems.segmentation import SegmentationProblem


@protocol.check_weights.register(SegmentationProblem, MultiLabelProblem)
def _(problem, w):
    start = problem.d - problem.num_pairwise
    negative = np.flatnonzero(w[start:] < 0.0)
    if len(negative):
        place = start + int(negative[0])
        what = f"w must be >= 0 for edge features, w[{start}] .. w[{problem.d - 1}], or no minimum cut is the best labeling"
        raise ParameterError(f"{what}, got {w[place]:g} at {place}")


@protocol.has_best_block.register(SegmentationProblem, MultiLabelProblem)
def _(problem):
    """Return whether the nodes of an example share no edge and no feature: they are several labels of one input."""
    if problem.edge_ptr[-1] > 0:
        return False
    for i in range(problem.n):
        columns = [row_entries(problem.x, t)[0] for t in range(problem.label_ptr[i], problem.label_ptr[i + 1])]
        if len(np.unique(np.concatenate(columns))) < sum(map(len, columns)):
            return False
    return True


@register_jitable
def graph(problem, i):
    """Return the ends of the edges of example i, and where those of every node are, as ``oracles.max_flow`` takes them."""
    node, nodes = problem.label_ptr[i] + i, problem.label_ptr[i + 1] - problem.label_ptr[i]
    start, end = 2 * problem.edge_ptr[i], 2 * problem.edge_ptr[i + 1]
    return problem.ends[start:end], problem.first[node : node + nodes + 1], problem.out[start:end]


@register_jitable
def cut_change(problem, i, y, e):
    """Return whether y cuts edge e less whether the truth does."""
    a, b = np.uint32(problem.ends[2 * e]), np.uint32(problem.ends[2 * e + 1])
    labels = problem.labels[problem.label_ptr[i] : problem.label_ptr[i + 1]]
    return int(y[a] != y[b]) - int(labels[a] != labels[b])


@register_jitable
def add_cuts(problem, i, y, c, pairwise):
    """Add c times what y cuts of every edge feature, less what the truth does, to ``pairwise``."""
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        change = cut_change(problem, i, y, e)
        if change != 0:
            row_scatter_label(problem.z, e, 0, c * change, 1, pairwise)


def cuts(problem, i, y: np.ndarray) -> np.ndarray:
    """Return the sums (q,) of the features of the edges that y cuts (plain Python)."""
    ends, _, _ = graph(problem, i)
    cut = (y[ends[0::2]] != y[ends[1::2]]).astype(np.float64)
    return row_sum(problem.z, problem.edge_ptr[i], problem.edge_ptr[i + 1], cut, problem.num_pairwise)


def product_bounds(problem) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds on the squared norms of sums of node features, with signs, and of edge features, each (n,)."""
    of_nodes, of_edges = (
        np.array([product_bound(rows, ptr[i], ptr[i + 1]) for i in range(problem.n)])
        for rows, ptr in ((problem.x, problem.label_ptr), (problem.z, problem.edge_ptr))
    )
    return of_nodes, of_edges
