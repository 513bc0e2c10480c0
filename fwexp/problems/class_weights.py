"""Weights of classes in the order that suits the inputs.

With sparse inputs they are rows of K scores, one row per feature, as in `fwexp.problems.rows`. Dense inputs have all features in
every example: there they are rows of p weights, one row per class, padded to a multiple of eight. So nothing is multiplied by the
padding of K, and a class whose share stays as it is costs nothing.
"""

import numpy as np

from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.jit.vectors import EIGHT, full8, load8, store8, sum8
from fwexp.problems.features import DenseFeatures
from fwexp.problems.rows import row_scatter, row_scatter_label, row_scores


@register_jitable
def padded(p):
    """Return the length of the row of a class."""
    return -(-p // EIGHT) * EIGHT


def by_class(x) -> bool:
    """Return whether there is a row per class."""
    return isinstance(x, DenseFeatures)


def count(x, num_features: int, num_classes: int, width: int) -> int:
    """Return the number of internal weights."""
    return num_classes * padded(num_features) if by_class(x) else num_features * width


def to_public(problem, w: np.ndarray) -> np.ndarray:
    """Return a new vector ``w[f*K + k]``."""
    if by_class(problem.x):
        return w.reshape(problem.num_classes, -1)[:, : problem.num_features].T.flatten()
    return w.reshape(-1, problem.width)[:, : problem.num_classes].flatten()  # a copy, also without padding


def from_public(problem, w) -> np.ndarray:
    """Return new internal weights."""
    given = np.reshape(w, (-1, problem.num_classes))
    if by_class(problem.x):
        rows = np.zeros((problem.num_classes, padded(problem.num_features)))
        rows[:, : problem.num_features] = given.T
    else:
        rows = np.zeros((problem.num_features, problem.width))
        rows[:, : problem.num_classes] = given
    return rows.ravel()


@dispatched(default=())
def class_scores(x, t, w, num_classes, width, out):
    """Set the first entries of ``out`` to the scores of the classes."""
    row_scores(x, t, w, width, out)


@dispatched(default=())
def class_scatter(x, t, direction, c, num_classes, width, w):
    """Add c direction_k x_t to the weights of every class k."""
    row_scatter(x, t, direction[:width], c, width, w)


@dispatched(default=())
def class_scatter_one(x, t, label, c, width, w):
    """Add c x_t to the weights of a class."""
    row_scatter_label(x, t, label, c, width, w)


@class_scores.register(DenseFeatures)
def _(x, t, w, num_classes, width, out):
    p, row, k = x.values.shape[1], x.values[t], 0
    stride, whole = padded(p), p // EIGHT * EIGHT
    while k + 4 <= num_classes:  # each entry of the input is read once for four of them
        first = k * stride
        second, third, fourth = first + stride, first + 2 * stride, first + 3 * stride
        a = b = c = d = full8(0.0)
        for f in range(0, whole, EIGHT):
            value = load8(row, f)
            a = a + value * load8(w, first + f)
            b = b + value * load8(w, second + f)
            c = c + value * load8(w, third + f)
            d = d + value * load8(w, fourth + f)
        out[k], out[k + 1], out[k + 2], out[k + 3] = sum8(a), sum8(b), sum8(c), sum8(d)
        for f in range(whole, p):
            out[k] += row[f] * w[first + f]
            out[k + 1] += row[f] * w[second + f]
            out[k + 2] += row[f] * w[third + f]
            out[k + 3] += row[f] * w[fourth + f]
        k += 4
    while k + 2 <= num_classes:
        first, f = k * stride, 0
        second = first + stride
        a = b = c = d = full8(0.0)
        while f + 2 * EIGHT <= whole:
            value, other = load8(row, f), load8(row, f + EIGHT)
            a = a + value * load8(w, first + f)
            b = b + value * load8(w, second + f)
            c = c + other * load8(w, first + f + EIGHT)
            d = d + other * load8(w, second + f + EIGHT)
            f += 2 * EIGHT
        if f < whole:
            value = load8(row, f)
            a = a + value * load8(w, first + f)
            b = b + value * load8(w, second + f)
        out[k], out[k + 1] = sum8(a + c), sum8(b + d)
        for f in range(whole, p):
            out[k] += row[f] * w[first + f]
            out[k + 1] += row[f] * w[second + f]
        k += 2
    if k < num_classes:
        first, f = k * stride, 0
        a = b = full8(0.0)
        while f + 2 * EIGHT <= whole:
            a = a + load8(row, f) * load8(w, first + f)
            b = b + load8(row, f + EIGHT) * load8(w, first + f + EIGHT)
            f += 2 * EIGHT
        if f < whole:
            a = a + load8(row, f) * load8(w, first + f)
        out[k] = sum8(a + b)
        for f in range(whole, p):
            out[k] += row[f] * w[first + f]


@class_scatter.register(DenseFeatures)
def _(x, t, direction, c, num_classes, width, w):
    for k in range(num_classes):
        if direction[k] != 0.0:
            class_scatter_one(x, t, k, c * direction[k], width, w)


@class_scatter_one.register(DenseFeatures)
def _(x, t, label, c, width, w):
    p, row = x.values.shape[1], x.values[t]
    first, whole, change = label * padded(p), p // EIGHT * EIGHT, full8(c)
    for f in range(0, whole, EIGHT):
        store8(w, first + f, load8(w, first + f) + load8(row, f) * change)
    for f in range(whole, p):
        w[first + f] += c * row[f]
