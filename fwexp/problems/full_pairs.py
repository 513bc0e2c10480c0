"""Graphs whose edges have a weight for every pair of labels, so that labels may repel each other: decoded by max-product or search.

    score(y) = sum_v <W[:, y_v], x_v> + sum_e <U[:, y_a, y_b], z_e>,    edges e from a to b,

with edge features z_e of any sign. w holds ``W[f*L + k]`` for node feature f and label k, then ``U[(j*L + k)*L + l]`` for edge
feature j and labels k, l at the beginning and at the end, so d = L p + q L^2. The loss is defined in ``segmentation``.

Where a graph has no cycle, as chains and trees, the best labeling is found (``oracles.tree_max_product``), and where it has few
labelings all are tried (``oracles.every_labeling``). Otherwise that is NP-hard, and the oracle (``oracles.pair_expansion``) is
declared inexact: it finds a labeling that is never worse than the true one, and nothing is certified.
"""

import numpy as np

from fwexp.errors import ParameterError
from fwexp.options import check_choice
from fwexp.oracles.every_labeling import are_few, best_of_all
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.pair_expansion import expand_pairs, scratch_size
from fwexp.oracles.tree_max_product import is_forest, label_forest
from fwexp.problems import protocol
from fwexp.problems.arrays import pointer
from fwexp.problems.callback import CallbackProblem
from fwexp.problems.graphs import LOSSES, check_edges, check_labels, matrices, node_features, node_loss


def checked(X, edges, Z) -> tuple[list, list, list]:
    """Return node features, edges and edge features of graphs, checked."""
    X, Z, edges = node_features(X), matrices("Z", Z, "(E, q) arrays of edge features, one per example", "(E, q)"), list(edges)
    for i, (x, z) in enumerate(zip(X, Z)):
        edges[i] = check_edges(f"edges[{i}]", edges[i], x.shape[0])
        for name, rows, first, length in (("X", x, X[0], x.shape[0]), ("Z", z, Z[0], len(edges[i]))):
            if rows.shape != (length, first.shape[1]):
                raise ParameterError(f"{name}[{i}] must have shape {(length, first.shape[1])}, got {rows.shape}")
    return X, edges, Z


def joint_feature(x, edges, z, y, num_labels: int) -> np.ndarray:
    """Return phi(x, y), (d,)."""
    ends = np.asarray(y)[edges]
    one_of = np.eye(num_labels)[y], np.eye(num_labels**2)[ends[:, 0] * num_labels + ends[:, 1]]
    return np.concatenate([np.asarray(rows.T @ ones).ravel() for rows, ones in zip((x, z), one_of)])


def _tables(x, z, w, num_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the labels of every node, and of pairs of labels of every edge."""
    own = x.shape[1] * num_labels
    pairs = z @ w[own:].reshape(-1, num_labels**2)
    return x @ w[:own].reshape(-1, num_labels), pairs.reshape(-1, num_labels, num_labels)


def decode(x, edges, z, w, num_labels: int, more=0.0, forest: bool | None = None) -> np.ndarray:
    """Return a labeling of high score under w, as `label` does; ``more`` (V, L) is added to the scores of nodes."""
    score, pairs = _tables(x, z, w, num_labels)
    return label(score + more, pairs, edges, forest)


def label(score: np.ndarray, pairs: np.ndarray, edges: np.ndarray, forest: bool | None = None) -> np.ndarray:
    """Return a labeling of high score, of the highest in a ``forest`` and in a small graph; ``score`` may be overwritten."""
    y, ends = np.empty(len(score), dtype=np.int32), edges.astype(np.int32).ravel()
    graph = score, pairs, ends, *incidence(ends, len(y)), y
    if is_forest(edges, len(y)) if forest is None else forest:
        label_forest(*graph, np.empty_like(y), np.empty_like(y))
    elif are_few(*score.shape):
        best_of_all(*graph)
    else:
        expand_pairs(*graph, np.empty((len(ends) + 1, score.shape[1])), np.empty(scratch_size(len(y), len(edges))))
    return y


class FullPairsProblem(CallbackProblem):
    """Labelled graphs with a weight for every pair of labels; ``weights`` say by how much more a wrong label of a node costs."""

    def __init__(self, X, edges, Z, y, num_labels: int, *, loss: str = "share", weights=None) -> None:
        graphs = list(zip(*checked(X, edges, Z)))
        forests = [is_forest(pairs, x.shape[0]) for x, pairs, _ in graphs]
        self.is_exact = all(forest or are_few(x.shape[0], num_labels) for forest, (x, *_) in zip(forests, graphs))
        self.counts_errors = check_choice("loss", loss, LOSSES) == "errors"
        labels = [check_labels(f"y[{i}]", of_one, graphs[i][0].shape[0], num_labels) for i, of_one in enumerate(y)]
        ptr = pointer([len(of_one) for of_one in labels])
        truth = np.concatenate(labels)
        cost, _ = node_loss(truth, np.ones(ptr[-1]), ptr, num_labels, loss)
        costs = np.split(cost if weights is None else cost * np.concatenate(weights), ptr[1:-1])
        self.arrays = tuple(graphs), tuple(labels), tuple(costs), num_labels  # all that makes the problem

        def augmented(i: int, w: np.ndarray) -> np.ndarray:
            cost = costs[i][:, None] * (labels[i][:, None] != np.arange(num_labels))
            found = decode(*graphs[i], w, num_labels, cost, forests[i])
            more = joint_feature(*graphs[i], found, num_labels) - joint_feature(*graphs[i], labels[i], num_labels)
            return found if costs[i] @ (found != labels[i]) + w @ more > 0.0 else labels[i]

        super().__init__(
            labels,
            features=lambda i, y: joint_feature(*graphs[i], y, num_labels),
            loss=lambda i, y: float(costs[i] @ (y != labels[i])),
            max_oracle=augmented,
            decode=lambda i, w: decode(*graphs[i], w, num_labels, forest=forests[i]),
        )


protocol.exact_oracle.register(FullPairsProblem)(lambda problem: problem.is_exact)


@protocol.counted_positions.register(FullPairsProblem)
def _(problem):
    return np.array([len(y) if problem.counts_errors else 1 for y in problem.y], dtype=np.float64)
