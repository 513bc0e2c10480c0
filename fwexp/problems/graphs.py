"""Graphs with labelled nodes, checked as users pass them; and the costs of labels."""

import numpy as np

from fwexp.conversion import as_floats, as_list
from fwexp.errors import ParameterError
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.tree_max_product import is_forest
from fwexp.problems.arrays import as_labels, as_matrix, check_scale_of, pointer
from fwexp.problems.subsets import PER_EXAMPLE

LOSSES = ("share", "errors", "balanced")

GRAPH_ROWS = {  # of `Sliceable`
    "labels": "label_ptr",
    "node_loss": "label_ptr",
    "counts": PER_EXAMPLE,
    "x": "label_ptr",
    "z": "edge_ptr",
    "first": lambda problem: problem.label_ptr + np.arange(problem.n + 1),
    "ends": lambda problem: 2 * problem.edge_ptr,
    "out": lambda problem: 2 * problem.edge_ptr,
}


def node_loss(labels, sizes, label_ptr, num_labels: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cost of a wrong label of every node, (nodes,), and the weight of nodes in every example, (n,)."""
    sizes, lengths = np.array(sizes, dtype=np.float64), np.diff(label_ptr)
    totals = np.add.reduceat(sizes, label_ptr[:-1])
    if loss == "errors":
        return sizes, totals
    share, once = sizes / np.repeat(totals, lengths), np.ones(len(lengths))
    if loss == "share":
        return share, once
    own = np.repeat(np.arange(len(lengths)) * num_labels, lengths) + np.maximum(labels, 0)
    classes, place = np.unique(own, return_inverse=True)
    counts = np.bincount(classes // num_labels)
    return share / (np.repeat(counts, lengths) * np.bincount(place, share)[place]), once


def graph_fields(edges, labels, sizes, label_ptr, num_labels: int, loss: str) -> dict:
    """Return the fields of a problem that hold its graphs, its labels and their costs; the arguments are checked."""
    label_ptr = np.ascontiguousarray(label_ptr, dtype=np.int64)
    ends = [np.ascontiguousarray(pairs, dtype=np.int32).ravel() for pairs in edges]
    graphs = [incidence(of_one, nodes) for of_one, nodes in zip(ends, np.diff(label_ptr), strict=True)]
    costs, counts = node_loss(labels, sizes, label_ptr, num_labels, loss)
    joined = [np.reshape(pairs, (-1, 2)) + start for pairs, start in zip(edges, label_ptr)]
    return {
        "n": len(label_ptr) - 1,
        "num_labels": num_labels,
        "label_ptr": label_ptr,
        "edge_ptr": pointer([len(pairs) for pairs in edges]),
        "ends": np.concatenate(ends),
        "first": np.concatenate([first for first, _ in graphs]),
        "out": np.concatenate([out for _, out in graphs]),
        "labels": np.ascontiguousarray(labels, dtype=np.int32),
        "node_loss": costs,
        "counts": counts,
        "is_forest": is_forest(np.concatenate(joined) if joined else np.zeros((0, 2)), int(label_ptr[-1])),
    }


def node_features(X) -> list:
    """Return the inputs of graphs as a list of float64 arrays and scipy.sparse matrices."""
    return matrices("X", X, "(V, p) arrays of node features, one per example", "(V, p)")


def matrices(name: str, value, of: str, shape: str) -> list:
    """Return a list of matrices; ``of`` and ``shape`` describe the required ones."""
    arrays = [as_matrix(f"{name}[{i}]", array, f"hold numbers, shape {shape}") for i, array in enumerate(as_list(name, value, of))]
    for i, array in enumerate(arrays):
        if array.ndim != 2:
            raise ParameterError(f"{name}[{i}] must have shape {shape}, got {array.shape}")
    return arrays


def check_edges(name: str, edges, nodes: int) -> np.ndarray:
    """Return edges as an int64 array (E, 2) of two different nodes each."""
    pairs = as_labels(name, edges, "be an int array of edges, shape (E, 2)")
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ParameterError(f"{name} must be an int array of edges, shape (E, 2), got shape {pairs.shape}")
    outside, loops = ((pairs < 0) | (pairs >= nodes)).any(axis=1), pairs[:, 0] == pairs[:, 1]
    if outside.any():
        raise ParameterError(
            f"{name} must join nodes 0 .. {nodes - 1}, got the edge {tuple(pairs[outside][0].tolist())} to nowhere"
        )
    if loops.any():
        raise ParameterError(f"{name} must join different nodes, got the edge {tuple(pairs[loops][0].tolist())} from one to itself")
    return pairs


def check_labels(name: str, y, nodes: int, num_labels: int) -> np.ndarray:
    """Return a labeling as an int32 array (nodes,)."""
    accepted = "0 or 1" if num_labels == 2 else f"0 .. {num_labels - 1}"
    labels = as_labels(name, y, f"hold {nodes} labels, {accepted}")
    if labels.shape != (nodes,):
        raise ParameterError(f"{name} must hold {nodes} labels, one per node, got shape {labels.shape}")
    wrong = (labels < 0) | (labels >= num_labels)
    if wrong.any():
        raise ParameterError(f"labels in {name} must be {accepted}, got {labels[wrong][0]}")
    return labels.astype(np.int32)


def check_sizes(name: str, sizes, nodes: int) -> np.ndarray:
    """Return weights of nodes as a float64 array (nodes,)."""
    sizes = as_floats(name, sizes, f"hold {nodes} numbers > 0, one per node")
    if sizes.shape != (nodes,):
        raise ParameterError(f"{name} must hold {nodes} numbers > 0, one per node, got shape {sizes.shape}")
    if sizes.min() <= 0.0:
        raise ParameterError(f"{name} must be > 0, got {sizes.min():g}")
    check_scale_of(name, sizes)
    return sizes
