"""Features that have weights for some labels only: for those with which they occur in the training data.

Weights of a feature stand one after the other, without padding, in the order of its labels. Inner products of two rows depend on
the label then, so sequences have no Gram matrix, but weights of their own features (``local_x`` of chains).
"""

import zlib
from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import dispatched, inlined, njit
from fwexp.problems.arrays import pointer
from fwexp.problems.features import BinaryFeatures, DenseFeatures, Features, SparseFeatures, row_entries
from fwexp.problems.rows import product_bound, renumbered, row_scatter, row_scatter_label, row_scores

AT_ONCE = 1 << 20  # entries, whose labels are marked at once


class PairFeatures(NamedTuple):
    """CSR rows, and the labels for which each feature has weights."""

    shared = ("starts", "labels", "rows", "width")  # fields that subsets of the rows have as they are
    saves_memory = True  # so solvers should as well

    indptr: np.ndarray  # int64
    indices: np.ndarray  # int32
    values: np.ndarray  # float64, or none if all are 1
    begins: np.ndarray  # int32, where the weights of the feature of an entry begin, or none if that is ``starts`` of the feature
    starts: np.ndarray  # int64 (p + 1,), where the labels of features begin and end
    labels: np.ndarray  # int32
    rows: int  # rows of ``width`` numbers that the weights take
    width: int


def with_pairs(x: Features, labels: np.ndarray, sizes: tuple[int, int, int]) -> PairFeatures:
    """Return features with weights for the labels of their rows; ``sizes`` are p, K and the width of a row of weights."""
    p, num_states, width = sizes
    if isinstance(x, DenseFeatures):
        rows, columns = np.nonzero(x.values)
        indptr = pointer(np.bincount(rows, minlength=len(x.values)))
        x = SparseFeatures(indptr, columns.astype(np.int32), x.values[rows, columns])
    occurs = np.zeros((p, num_states), dtype=np.bool_)
    counts = np.diff(x.indptr)
    for start in range(0, len(labels), AT_ONCE // 16):
        rows = slice(start, start + AT_ONCE // 16)
        entries = slice(x.indptr[start], x.indptr[min(rows.stop, len(labels))])
        occurs[x.indices[entries], np.repeat(labels[rows], counts[rows])] = True
    starts, pairs = pointer(np.count_nonzero(occurs, axis=1)), np.flatnonzero(occurs)
    pairs %= num_states
    return PairFeatures(
        indptr=x.indptr,
        indices=x.indices,
        values=np.zeros(0) if isinstance(x, BinaryFeatures) else x.values,
        begins=np.zeros(0, dtype=np.int32),
        starts=starts,
        labels=pairs.astype(np.int32),
        rows=int(-(-starts[-1] // width)),
        width=width,
    )


def _places(x: PairFeatures, num_states: int) -> np.ndarray:
    """Return where the weights of all pairs are among those of all features and labels."""
    return np.repeat(np.arange(len(x.starts) - 1) * num_states, np.diff(x.starts)) + x.labels


def to_public(x, w: np.ndarray, num_states: int, width: int) -> np.ndarray:
    """Return the weights of all features and labels, 0 where there is no pair, and the others, as a copy without padding."""
    if not isinstance(x, PairFeatures):
        return w.reshape(-1, width)[:, :num_states].flatten()
    others, p = w[x.rows * width :].reshape(-1, width)[:, :num_states], len(x.starts) - 1
    public = np.zeros((p + len(others)) * num_states)
    public[_places(x, num_states)], public[p * num_states :] = w[: len(x.labels)], others.ravel()
    return public


def from_public(x, public: np.ndarray, num_states: int, width: int) -> np.ndarray:
    """Return weights as `to_public` takes them; those where there is no pair are left out."""
    first = x.rows if isinstance(x, PairFeatures) else 0
    others = public[(len(x.starts) - 1) * num_states if isinstance(x, PairFeatures) else 0 :].reshape(-1, num_states)
    rows = np.zeros((first + len(others), width))
    rows[first:, :num_states] = others
    w = rows.ravel()
    if isinstance(x, PairFeatures):
        w[: len(x.labels)] = public[_places(x, num_states)]
    return w


def order(x) -> tuple | None:
    """Return what two problems have in common whose weights for pairs are the same."""
    return (zlib.crc32(x.starts), zlib.crc32(x.labels)) if isinstance(x, PairFeatures) else None


def entries_for(x, t: int, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the values of row t that have a weight for a label (plain Python)."""
    if not isinstance(x, PairFeatures):
        return row_entries(x, t)
    places = np.arange(x.indptr[t], x.indptr[t + 1])
    columns = x.indices[places].astype(np.int64)
    has = np.array([label in x.labels[x.starts[f] : x.starts[f + 1]] for f in columns], dtype=np.bool_)
    return columns[has], x.values[places[has]] if len(x.values) else np.ones(np.count_nonzero(has))


@dispatched(default=())
def feature_rows(x, num_features):
    """Return how many rows of weights the features have."""
    return num_features


@feature_rows.register(PairFeatures)
def _(x, num_features):
    return x.rows


@inlined
def _value(x, j):
    """Return the value of entry j."""
    return x.values[j] if x.values.shape[0] > 0 else 1.0


@inlined
def _begin(x, j, first):
    """Return where the weights of the feature of entry j begin, whose labels begin at ``first``."""
    return np.int64(x.begins[j]) if x.begins.shape[0] > 0 else first


@row_scores.register(PairFeatures)
def _(x, t, weights, width, out):
    for k in range(width):
        out[k] = 0.0
    for j in range(x.indptr[t], x.indptr[t + 1]):
        feature, value = np.uint64(np.uint32(x.indices[j])), _value(x, j)
        first, end = x.starts[feature], x.starts[feature + np.uint64(1)]
        shift = _begin(x, j, first) - first
        for m in range(first, end):
            out[np.uint32(x.labels[np.uint64(m)])] += value * weights[np.uint64(m + shift)]


@row_scatter.register(PairFeatures)
def _(x, t, row, c, width, weights):
    for j in range(x.indptr[t], x.indptr[t + 1]):
        feature, factor = np.uint64(np.uint32(x.indices[j])), c * _value(x, j)
        first, end = x.starts[feature], x.starts[feature + np.uint64(1)]
        shift = _begin(x, j, first) - first
        for m in range(first, end):
            weights[np.uint64(m + shift)] += factor * row[np.uint32(x.labels[np.uint64(m)])]


@row_scatter_label.register(PairFeatures)
def _(x, t, label, c, width, weights):
    for j in range(x.indptr[t], x.indptr[t + 1]):
        feature = np.uint64(np.uint32(x.indices[j]))
        first, end = x.starts[feature], x.starts[feature + np.uint64(1)]
        shift, m = _begin(x, j, first) - first, first
        while m < end and x.labels[np.uint64(m)] < label:
            m += 1
        if m < end and x.labels[np.uint64(m)] == label:
            weights[np.uint64(m + shift)] += c * _value(x, j)


@product_bound.register(PairFeatures)
def _(x, start, end):
    entries = slice(x.indptr[start], x.indptr[end])
    columns = np.unique(x.indices[entries], return_inverse=True)[1]
    return float((np.bincount(columns, np.abs(x.values[entries]) if len(x.values) else None) ** 2.0).sum())


@renumbered.register(PairFeatures)
def _(x, spans, num_features):
    begins, counts = np.zeros(len(x.indices), dtype=np.int32), np.zeros(len(spans), dtype=np.int64)
    latest, place = np.full(num_features, -1, dtype=np.int64), np.zeros(num_features, dtype=np.int64)
    _number(x.indptr, x.indices, x.starts, np.ascontiguousarray(spans), begins, counts, latest, place)
    return x._replace(begins=begins), -(-counts // x.width)


@njit
def _number(indptr, indices, starts, spans, begins, counts, latest, place):
    """Set ``begins`` to places, from 0 in each span, for the weights of its features; ``latest`` is the span that had one last."""
    for k in range(len(spans)):
        total = 0
        for j in range(indptr[spans[k, 0]], indptr[spans[k, 1]]):
            feature = indices[j]
            if latest[feature] != k:
                latest[feature], place[feature] = k, total
                total += starts[feature + 1] - starts[feature]
            begins[j] = place[feature]
        counts[k] = total
