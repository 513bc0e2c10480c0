"""Images and graphs as the features of nodes, edges and their features; labels and weights of their nodes."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from fwexp.conversion import as_floats, as_list
from fwexp.errors import ParameterError, warn
from fwexp.estimators.json_values import names_of
from fwexp.estimators.labels import check_same_length, known_or_none
from fwexp.problems.arrays import as_labels, as_matrix
from fwexp.problems.graphs import check_edges

MOST_NODES, ROUNDING = 10_000, 1e-6  # of the check of constants: nodes, and the largest error


def warn_without_constant(features: list) -> None:
    """Warn if no threshold of features can be learned: they are >= 0, and no combination of them is constant."""
    if any(map(sp.issparse, features)) or min(rows.min(initial=0.0) for rows in features) < 0.0:
        return
    rows = np.concatenate(features)[:MOST_NODES]
    ones = np.ones(len(rows))
    if np.abs(rows @ np.linalg.lstsq(rows, ones)[0] - ones).max(initial=0.0) > ROUNDING:
        reason = "GraphSVM adds none, and without one it learns no threshold of features that are all >= 0"
        warn(f"X has no constant feature: {reason}; append a feature of ones to every node", UserWarning)


def _is_graph(name: str, x) -> bool:
    """Return whether an input is a tuple, or a list of a matrix and parts of other shapes, as rows of images are not."""
    if not isinstance(x, list) or len(x) not in (2, 3):
        return isinstance(x, tuple)
    try:
        first, *shapes = (part.shape if hasattr(part, "shape") else np.shape(part) for part in x)
    except ValueError:  # ragged
        return False
    if len(first) == 2 and first[1] == 2 and set(shapes) == {first}:
        raise ParameterError(f"{name} must be an array for an image, or a tuple for a graph, got a list of {len(x)} parts")
    return len(first) == 2 and set(shapes) != {first}


def as_graph(name: str, x, *directions) -> tuple:
    """Return an input as the features of its nodes, its edges, their features and the shape of its labels."""
    return _graph(name, x) if _is_graph(name, x) else _grid(name, x, *directions)


def _graph(name: str, x: tuple) -> tuple:
    if len(x) not in (2, 3):
        raise ParameterError(f"a graph in X must be (features, edges) or (features, edges, edge_features), got {len(x)} parts")
    features = as_matrix(f"{name}[0]", x[0], "hold numbers, features (V, p) of nodes")
    edges = as_labels(f"{name}[1]", x[1], "be an int array of edges, shape (E, 2)")
    of_edges = np.ones((len(edges), 1)) if len(x) == 2 else as_matrix(f"{name}[2]", x[2], "hold numbers, features (E, q) of edges")
    return features, edges, of_edges, features.shape[:1]


def widened(graphs: list[tuple], q: int) -> list[tuple]:
    """Return graphs, those without edges with as many features of edges as others."""
    return [(features, edges, of_edges if len(edges) else np.ones((0, q)), shape) for features, edges, of_edges, shape in graphs]


def _grid(name: str, x, sides: Sequence[tuple[int, int]], directed: bool, contrast: bool) -> tuple:
    """Return an image as a graph, whose edges lead from every pixel to those at its ``sides``."""
    x = as_floats(name, x, "be an image, an array (H, W, p) or (H, W), or a tuple for a graph")
    x = x[..., None] if x.ndim == 2 else x
    if x.ndim != 3 or x.size == 0:
        raise ParameterError(f"{name} must be an image, an array (H, W, p) or (H, W), or a tuple for a graph, got shape {x.shape}")
    found = [_edges_to(x.shape[:2], *side) for side in sides]
    features, edges = x.reshape(-1, x.shape[2]), np.concatenate(found)
    of_edges = np.repeat(np.eye(len(sides)), [len(part) for part in found], axis=0) if directed else np.ones((len(edges), 1))
    if contrast:
        differences = np.square(features[edges[:, 0]] - features[edges[:, 1]]).sum(axis=1)
        mean = differences.mean() if len(edges) else 0.0
        likeness = np.exp(-0.5 * differences / mean) if mean > 0.0 else np.ones(len(edges))
        of_edges = np.hstack([of_edges, of_edges * likeness[:, None]])
    return features, edges, of_edges, x.shape[:2]


def _edges_to(shape: tuple[int, int], down: int, right: int) -> np.ndarray:
    """Return the edges from every pixel to the one so many rows below and columns to the right, where there is one."""
    places = np.arange(shape[0] * shape[1]).reshape(shape)
    start = places[: shape[0] - down, max(-right, 0) : shape[1] - max(right, 0)]
    end = places[down:, max(right, 0) : shape[1] - max(-right, 0)]
    return np.column_stack([start.ravel(), end.ravel()])


def _array(labels) -> np.ndarray:
    """Return the labels of a graph as an array that has them unchanged, masked entries too."""
    if np.ma.is_masked(labels):
        return labels
    return np.asarray(labels, dtype=object if isinstance(labels, list | tuple) else None)


def node_labels(y, graphs: list[tuple], ignore_label=None) -> list[list]:
    """Return the labels of the nodes of every graph; where ``ignore_label`` is not None, those are None instead."""
    y = as_list("y", y, "arrays of labels, one per example")
    check_same_length(graphs, y)
    arrays = [_array(labels) for labels in y]
    for i, (array, (*_, shape)) in enumerate(zip(arrays, graphs)):
        if array.shape != shape:
            raise ParameterError(f"y[{i}] must have shape {shape} like X[{i}], got {array.shape}")
    found = []
    for i, array in enumerate(arrays):
        labels = list(array.ravel()) if np.ma.is_masked(array) else names_of(array.ravel())

        def place(v, i=i, shape=array.shape):
            return f"y[{i}][{', '.join(map(str, np.unravel_index(v, shape)))}]"

        found.append(known_or_none(labels, ignore_label, place, "this example"))
    return found


def node_weights(sample_weight) -> list[np.ndarray] | None:
    """Return weights of nodes, a flat array per graph, or None if these are weights of graphs."""
    if not isinstance(sample_weight, list | tuple) or not any(np.ndim(weights) for weights in sample_weight):
        return None
    found = [as_floats(f"sample_weight[{i}]", weights, "hold numbers").ravel() for i, weights in enumerate(sample_weight)]
    if any((weights < 0).any() for weights in found):
        raise ParameterError(f"sample_weight must be >= 0, got {min(weights.min(initial=0.0) for weights in found):g}")
    return found


def check_sizes(of_nodes: list[np.ndarray] | None, labels: list[list]) -> None:
    """Refuse weights of nodes that are not as many as the labels of every graph."""
    if of_nodes is not None and [len(weights) for weights in of_nodes] != [len(of_one) for of_one in labels]:
        raise ParameterError("sample_weight must hold a number per graph, or an array like y[i] per graph")


def induced(name: str, graph: tuple, kept: np.ndarray) -> tuple:
    """Return the graph of some nodes, with the edges among them."""
    features, edges, of_edges, shape = graph
    if not kept.any():
        raise ParameterError(f"{name} must have a label, got ignore_label everywhere; leave this example out")
    edges = check_edges("edges", edges, len(kept))
    among, numbers = kept[edges].all(axis=1), np.cumsum(kept) - 1
    return features[kept], numbers[edges[among]], of_edges[among], shape
