"""Graphs with labelled nodes, checked as users pass them; and the costs of labels."""

from typing import ClassVar, NamedTuple

import numpy as np

from fwexp.conversion import as_floats, as_list
from fwexp.errors import ParameterError
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.tree_max_product import is_forest
from fwexp.problems.arrays import as_labels, as_matrix, check_scale_of, pointer
from fwexp.problems.features import Features
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable

LOSSES = ("share", "errors", "balanced")


class GraphArrays(NamedTuple):
    """The fields of `Graphs`."""

    n: int
    d: int
    num_labels: int  # L
    width: int  # of two labels how many have weights; of more the length of a weight row, L padded
    num_features: int  # p
    num_pairwise: int  # q
    num_weights: int  # width * p + q
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
    x: Features  # one row per node
    z: Features  # one row per edge
    nonnegative: np.ndarray  # int64 (q,), where u is among the internal weights


class Graphs(Sliceable, GraphArrays):
    """Labelled graphs, for all numbers of labels."""

    __slots__ = ()
    rows: ClassVar = {
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


def graph_fields(
    x, z, *, edges, labels, sizes, label_ptr, num_features, num_pairwise, num_labels, width, parts, loss="share"
) -> dict:
    """Return the fields of a problem but d, of concatenated arrays that are right; nodes have ``parts`` parts each."""
    label_ptr = np.ascontiguousarray(label_ptr, dtype=np.int64)
    ends = [np.ascontiguousarray(pairs, dtype=np.int32).ravel() for pairs in edges]
    graphs = [incidence(of_one, nodes) for of_one, nodes in zip(ends, np.diff(label_ptr), strict=True)]
    costs, counts = node_loss(labels, sizes, label_ptr, num_labels, loss)
    joined = [np.reshape(pairs, (-1, 2)) + start for pairs, start in zip(edges, label_ptr)]
    num_weights = width * num_features + num_pairwise
    return {
        "n": len(label_ptr) - 1,
        "num_labels": num_labels,
        "width": width,
        "num_features": num_features,
        "num_pairwise": num_pairwise,
        "num_weights": num_weights,
        "part_ptr": label_ptr * parts + np.arange(len(label_ptr)) * num_pairwise,
        "label_ptr": label_ptr,
        "edge_ptr": pointer([len(pairs) for pairs in edges]),
        "ends": np.concatenate(ends),
        "first": np.concatenate([first for first, _ in graphs]),
        "out": np.concatenate([out for _, out in graphs]),
        "labels": np.ascontiguousarray(labels, dtype=np.int32),
        "node_loss": costs,
        "counts": counts,
        "is_forest": is_forest(np.concatenate(joined) if joined else np.zeros((0, 2)), int(label_ptr[-1])),
        "x": x,
        "z": z,
        "nonnegative": np.arange(width * num_features, num_weights, dtype=np.int64),
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
