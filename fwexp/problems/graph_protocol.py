"""Functions that segmentations into two classes and into more share: their graphs, the pairwise part of vectors of parts, forests.

Edges count by whether they are cut: for every edge feature a vector of parts holds how much more of it is cut than by the truth.
If no graph has a cycle, the best labeling of any number of labels and all marginals are found by messages along the edges.
"""

import numpy as np

from fwexp.errors import ParameterError
from fwexp.jit.compilation import register_jitable
from fwexp.oracles.tree_sum_product import forest_marginals
from fwexp.problems import protocol
from fwexp.problems.features import num_entries, row_entries
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.rows import product_bound, row_product, row_scatter_label, row_sum
from fwexp.problems.segmentation import SegmentationProblem

FLOW = 6.0  # vectorised operations that take as long as a minimum cut, per node times edge: measured on graphs of 120 nodes


@protocol.check_weights.register(SegmentationProblem, MultiLabelProblem)
def _(problem, w):
    start = problem.d - problem.num_pairwise
    negative = np.flatnonzero(w[start:] < 0.0)
    if len(negative):
        place = start + int(negative[0])
        what = f"w must be >= 0 for edge features, w[{start}] .. w[{problem.d - 1}], or no minimum cut is the best labeling"
        raise ParameterError(f"{what}, got {w[place]:g} at {place}")


@protocol.oracle_operations.register(SegmentationProblem, MultiLabelProblem)
def _(problem):
    cuts = FLOW * (problem.num_labels - 1)
    cuts *= float(np.mean(np.diff(problem.label_ptr) * np.diff(problem.edge_ptr)))
    return cuts + num_entries(problem.x) * problem.width / problem.n


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


@protocol.num_positions.register(SegmentationProblem, MultiLabelProblem)
def _(problem, i):
    return problem.label_ptr[i + 1] - problem.label_ptr[i]


@register_jitable
def graph(problem, i):
    """Return the ends of the edges of example i, and where the edges of every node are, as ``oracles.max_flow`` takes them."""
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
    """Add c times the edge features that y cuts, minus those that the truth cuts, to ``pairwise``."""
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


# --- graphs without cycles ------------------------------------------------------------------------------------------------


protocol.has_marginals.register(SegmentationProblem, MultiLabelProblem)(lambda problem: problem.is_forest)


def room_for_forest(problem) -> int:
    """Return how many numbers `forest_tables` needs, and `forest_expectations`."""
    nodes, edges = (int(np.diff(ptr).max()) for ptr in (problem.label_ptr, problem.edge_ptr))
    L = problem.num_labels
    return edges * L * L + (2 * L + 1) * nodes + L


@register_jitable
def forest_tables(problem, i, u, scratch):
    """Return the scores of pairs of labels of the edges of example i, two buffers of nodes, and the rest of the scratch."""
    nodes, edges, L = (
        problem.label_ptr[i + 1] - problem.label_ptr[i],
        problem.edge_ptr[i + 1] - problem.edge_ptr[i],
        problem.num_labels,
    )
    pairs = scratch[: edges * L * L].reshape((edges, L, L))
    for e in range(edges):
        cut = -row_product(problem.z, problem.edge_ptr[i] + e, u)
        for k in range(L):
            for m in range(L):
                pairs[e, k, m] = 0.0 if k == m else cut
    places = scratch[edges * L * L : edges * L * L + nodes].view(np.int32)
    return pairs, places[:nodes], places[nodes : 2 * nodes], scratch[edges * L * L + nodes :]


@register_jitable
def forest_expectations(problem, i, u, score, pairwise, rest_of):
    """Turn ``score`` into marginals; return log Z and the mean of the score."""
    # ``pairwise`` gets how much more of each edge feature, of weights ``u``, is cut than by the truth.
    nodes, L = score.shape
    pairs, order, up, rest = forest_tables(problem, i, u, rest_of)
    messages = rest[: nodes * L].reshape((nodes, L))
    copy = rest[nodes * L : 2 * nodes * L].reshape((nodes, L))
    copy[:] = score
    ends, first, out = graph(problem, i)
    log_z = forest_marginals(score, pairs, ends, first, out, order, up, messages, rest[2 * nodes * L : 2 * nodes * L + L])
    mean_score = 0.0
    for v in range(nodes):
        for k in range(L):
            mean_score += copy[v, k] * score[v, k]
    for e in range(len(pairs)):
        cut = 0.0
        for k in range(L):
            for m in range(L):
                if k != m:
                    cut += pairs[e, k, m]
        row = problem.edge_ptr[i] + e
        mean_score -= cut * row_product(problem.z, row, u)
        row_scatter_label(problem.z, row, 0, cut, 1, pairwise)
    for e in range(problem.edge_ptr[i], problem.edge_ptr[i + 1]):
        a, b = np.uint32(problem.ends[2 * e]), np.uint32(problem.ends[2 * e + 1])
        if problem.labels[problem.label_ptr[i] + a] != problem.labels[problem.label_ptr[i] + b]:
            row_scatter_label(problem.z, e, 0, -1.0, 1, pairwise)
    return log_z, mean_score


@protocol.expectation_scratch.register(SegmentationProblem, MultiLabelProblem)
def _(problem):
    return np.zeros(room_for_forest(problem) + 2 * problem.num_labels * int(np.diff(problem.label_ptr).max()))
