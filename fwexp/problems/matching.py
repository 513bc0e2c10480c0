"""Bipartite matchings: which words of two sentences belong together, by an assignment oracle.

phi(x, y) is the sum of the feature vectors of the links (r, c) in y; every word has at most one link. So d = p, the parts of
an example are the edges of its grid of R rows and C columns, row after row, and theta holds their scores.

The loss counts a predicted link that is not true as ``precision_cost`` and a true one that is not predicted as
``recall_cost``, divided by ``recall_cost`` times the number of true links plus ``precision_cost`` times min(R, C): that is
1 if every true link is missed and as many wrong ones as fit are predicted, and so between 0 and 1.

A labeling is kept as one integer per row: 0 for no link, else 1 + the column. People see int arrays (m, 2) of links, from 0.

Test sets may have two sets of true links instead, sure ones and possible ones (Och and Ney 2000); their loss is the
alignment error rate. Such links need not be matchings, and nothing can be trained on them.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fwexp._jit import dispatched, njit
from fwexp.errors import ParameterError
from fwexp.oracles.assignment import max_matching, scratch_size
from fwexp.problems import protocol
from fwexp.problems.dense_parts import register_dense_parts
from fwexp.problems.features import (
    BinaryFeatures,
    DenseFeatures,
    SparseFeatures,
    as_features,
    row_entries,
    row_scatter_label,
)

POSSIBLE, SURE = 1, 2  # marks of edges in test sets


class MatchingProblem(NamedTuple):
    """A set of pairs to be matched; build it with ``fwexp.matching_problem``."""

    n: int
    d: int  # p
    num_weights: int  # p
    part_ptr: np.ndarray  # int64 (n + 1,): edges part_ptr[i] .. part_ptr[i+1] belong to example i
    label_ptr: np.ndarray  # int64 (n + 1,): likewise for rows
    columns: np.ndarray  # int64 (n,), C_i
    labels: np.ndarray  # int32 (rows,): 0 for no link, else 1 + the column; -1 in test sets with ``marks``
    x: DenseFeatures | SparseFeatures | BinaryFeatures  # one row per edge
    precision: np.ndarray  # float64 (n,), the loss of a link that is not true
    recall: np.ndarray  # float64 (n,), the loss of a true link that is missed
    marks: np.ndarray  # int8, POSSIBLE or SURE or 0 for every edge of a test set that has these; else empty
    num_sure: np.ndarray  # int64 (n,) or empty, likewise

    def __repr__(self) -> str:
        return f"MatchingProblem(n={self.n}, d={self.d}, edges={self.part_ptr[-1]})"


def matching_problem(X, y, *, shapes=None, possible=None, precision_cost: float = 1.0, recall_cost: float = 3.0):
    """Build a matching problem from your own arrays.

    Parameters
    ----------
    X : list of (R_i, C_i, p) arrays, or of (R_i * C_i, p) arrays or scipy.sparse matrices
        Features of every edge, used as given: no constant is added. Two-dimensional ones have row ``r * C_i + c`` for the
        edge (r, c), and need ``shapes``.
    y : list of int arrays (m_i, 2)
        The true links (row, column), from 0; every row and every column has at most one.
    shapes : list of (R_i, C_i), optional
        How many rows and columns there are.
    possible : list of int arrays (m_i, 2), optional
        For a test set: links that are neither demanded nor wrong. Those of ``y``, the sure ones, are possible too; neither
        need be a matching. The loss of an example is then ``1 - (|A & S| + |A & P|) / (|A| + |S|)`` for predicted links A,
        sure S and possible P. It counts ``|A| + |S|`` times in the mean error, which so is the alignment error rate of the
        whole set. Such a problem cannot be trained on.
    precision_cost, recall_cost : float
        Costs > 0 of a predicted link that is not true, and of a true one that is not predicted.

    Returns
    -------
    MatchingProblem
        With ``n`` and ``d = p``.

    Raises
    ------
    ValueError
        No examples, shapes that differ, non-finite features, links out of range, true links that are no matching.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> x = np.array([[[1.0, 0.2], [1.0, 0.9]], [[1.0, 0.8], [1.0, 0.1]]])
    >>> problem = fwexp.matching_problem([x], [[(0, 1), (1, 0)]])
    >>> fwexp.predict(problem, [-0.5, 1.0])[0].tolist()
    [[0, 1], [1, 0]]
    """
    if len(X) == 0 or len(X) != len(y):
        raise ParameterError(f"X and y must have the same length n >= 1, got {len(X)} and {len(y)}")
    x, shapes = _stack(X, shapes)
    return matching_from_arrays(x, shapes, y, possible=possible, precision_cost=precision_cost, recall_cost=recall_cost)


def matching_from_arrays(
    x, shapes, links, *, possible=None, precision_cost: float = 1.0, recall_cost: float = 3.0
) -> MatchingProblem:
    """Build a problem from concatenated features.

    Parameters
    ----------
    x : array or scipy.sparse of shape (edges, p)
        Features, example after example and row after row.
    shapes : int array (n, 2)
        R_i and C_i, all >= 1.
    links, possible, precision_cost, recall_cost
        ``y`` and the others of `matching_problem`.
    """
    shapes = np.asarray(shapes, dtype=np.int64)
    for name, cost in (("precision_cost", precision_cost), ("recall_cost", recall_cost)):
        if not 0 < cost < np.inf:
            raise ParameterError(f"{name} must be a positive finite number, got {cost}")
    n = len(shapes)
    part_ptr, label_ptr = (np.concatenate(([0], np.cumsum(sizes))) for sizes in (shapes.prod(axis=1), shapes[:, 0]))
    truth = [_check_links(f"y[{i}]", links[i], shapes[i]) for i in range(n)]
    if possible is None:
        labels = np.zeros(label_ptr[-1], dtype=np.int32)
        for i, start in enumerate(label_ptr[:-1]):
            labels[start : start + shapes[i, 0]] = _as_matching(f"y[{i}]", truth[i], shapes[i])
        marks = num_sure = np.zeros(0, dtype=np.int8)
    else:
        if len(possible) != n:
            raise ParameterError(f"possible must have length {n} like y, got {len(possible)}")
        labels, marks = np.full(label_ptr[-1], -1, dtype=np.int32), np.zeros(part_ptr[-1], dtype=np.int8)
        for i, start in enumerate(part_ptr[:-1]):
            more = _check_links(f"possible[{i}]", possible[i], shapes[i])
            marks[start + more[:, 0] * shapes[i, 1] + more[:, 1]] = POSSIBLE
            marks[start + truth[i][:, 0] * shapes[i, 1] + truth[i][:, 1]] = SURE
        num_sure = np.add.reduceat(marks == SURE, part_ptr[:-1], dtype=np.int64)
        if num_sure.sum() == 0:
            raise ParameterError("y must hold at least one sure link if possible is given, got none")
    num_links = np.array([len(pairs) for pairs in truth])
    scale = recall_cost * num_links + precision_cost * shapes.min(axis=1)
    return MatchingProblem(
        n=n,
        d=int(x.shape[1]),
        num_weights=int(x.shape[1]),
        part_ptr=part_ptr,
        label_ptr=label_ptr,
        columns=np.ascontiguousarray(shapes[:, 1]),
        labels=labels,
        x=as_features(x),
        precision=precision_cost / scale,
        recall=recall_cost / scale,
        marks=marks,
        num_sure=num_sure.astype(np.int64),
    )


def _stack(X, shapes):
    """Return the features of all examples as one matrix, and the shapes of their grids."""
    if shapes is None:
        grids = [np.asarray(grid) if not sp.issparse(grid) else grid for grid in X]
        for i, grid in enumerate(grids):
            if grid.ndim != 3:
                raise ParameterError(f"X[{i}] must have shape (rows, columns, p) unless shapes are given, got {grid.shape}")
        shapes = [grid.shape[:2] for grid in grids]
        X = [grid.reshape(-1, grid.shape[2]) for grid in grids]
    if len(shapes) != len(X):
        raise ParameterError(f"shapes must have length {len(X)} like X, got {len(shapes)}")
    matrices = [part if sp.issparse(part) else np.asarray(part, dtype=np.float64) for part in X]
    for i, (matrix, shape) in enumerate(zip(matrices, shapes, strict=True)):
        if len(shape) != 2 or min(shape) < 1:
            raise ParameterError(f"example {i} must have at least one row and one column, got shape {tuple(shape)}")
        expected = (shape[0] * shape[1], matrices[0].shape[1])
        if matrix.shape != expected:
            raise ParameterError(f"X[{i}] must have shape {expected} for a grid of {shape[0]} x {shape[1]}, got {matrix.shape}")
    sparse = any(sp.issparse(matrix) for matrix in matrices)
    return sp.vstack(matrices, format="csr") if sparse else np.concatenate(matrices), shapes


def _check_links(name: str, links, shape) -> np.ndarray:
    """Return links as an int64 array (m, 2) of edges of a grid."""
    pairs = np.asarray(links)
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be an int array of links, shape (m, 2), got {pairs.dtype} of shape {pairs.shape}")
    outside = ((pairs < 0) | (pairs >= shape)).any(axis=1)
    if outside.any():
        bad = tuple(pairs[outside][0].tolist())
        raise ParameterError(f"links in {name} must be within a grid of {shape[0]} x {shape[1]}, got {bad}")
    return pairs.astype(np.int64)


def _as_matching(name: str, pairs: np.ndarray, shape) -> np.ndarray:
    """Return checked links as a labeling."""
    for axis, kind in ((0, "row"), (1, "column")):
        counts = np.bincount(pairs[:, axis], minlength=1)
        if counts.max() > 1:
            word = int(counts.argmax())
            raise ParameterError(f"{name} must be a matching, got {counts[word]} links of {kind} {word}")
    labels = np.zeros(shape[0], dtype=np.int32)
    labels[pairs[:, 0]] = pairs[:, 1] + 1
    return labels


@dispatched
def row_product(x, t, w):
    """Return <x_t, w>."""


@row_product.register(DenseFeatures)
def _(x, t, w):
    total = 0.0
    for f in range(x.values.shape[1]):
        total += x.values[t, f] * w[f]
    return total


@row_product.register(SparseFeatures)
def _(x, t, w):
    total = 0.0
    for j in range(x.indptr[t], x.indptr[t + 1]):
        total += x.values[j] * w[x.indices[j]]
    return total


@row_product.register(BinaryFeatures)
def _(x, t, w):
    total = 0.0
    for j in range(x.indptr[t], x.indptr[t + 1]):
        total += w[x.indices[j]]
    return total


protocol.register_labelings(MatchingProblem)
register_dense_parts(MatchingProblem)


@protocol.workspace.register(MatchingProblem)
def _(problem):
    size, rows = int(np.diff(problem.part_ptr).max()), int(np.diff(problem.label_ptr).max())
    return protocol.Workspace(
        theta=np.zeros(size),
        # After the vector itself there is room for its image in R^d.
        direction=np.zeros(size + max(size, problem.d)),
        image=np.zeros(size),
        y=np.zeros(rows, dtype=np.int32),
        scratch=np.zeros(size + scratch_size(rows, int(problem.columns.max()))),
    )


@protocol.scores.register(MatchingProblem)
def _(problem, i, w, theta):
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        theta[j] = row_product(problem.x, start + j, w)


@protocol.max_oracle.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    start, rows = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    columns, size = problem.columns[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    # The loss of y is that of no links, plus precision for every link, less precision and recall for every true one.
    augmented = scratch[:size]
    for j in range(size):
        augmented[j] = theta[j] + problem.precision[i]
    constant = 0.0
    for r in range(rows):
        label = problem.labels[start + r]
        if label > 0:
            j = r * columns + label - 1
            augmented[j] -= problem.precision[i] + problem.recall[i]
            constant += problem.recall[i] - theta[j]
    value = constant + max_matching(augmented, columns, y[:rows], scratch[size:])
    return max(value, 0.0)  # that of the true labeling, which rounding must not undercut


@protocol.decode.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    rows = problem.label_ptr[i + 1] - problem.label_ptr[i]
    max_matching(theta, problem.columns[i], y[:rows], scratch)


@protocol.loss.register(MatchingProblem)
def _(problem, i, y):
    start, rows = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    if len(problem.marks) > 0:
        edges, columns = problem.part_ptr[i], problem.columns[i]
        total, wrong = problem.num_sure[i], problem.num_sure[i]
        for r in range(rows):
            if y[r] > 0:
                mark = problem.marks[edges + r * columns + y[r] - 1]
                total += 1
                wrong += 1 - (mark == SURE) - (mark >= POSSIBLE)
        return wrong / total if total > 0 else 0.0
    value = 0.0
    for r in range(rows):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if y[r] > 0:
                value += problem.precision[i]
            if truth > 0:
                value += problem.recall[i]
    return value


@protocol.loss_weight.register(MatchingProblem)
def _(problem, i, y):
    if len(problem.marks) == 0:
        return 1.0
    total = problem.num_sure[i]
    for r in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
        total += y[r] > 0
    return float(total)


@protocol.add_psi.register(MatchingProblem)
def _(problem, i, y, c, direction):
    start, columns = problem.label_ptr[i], problem.columns[i]
    for r in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if truth > 0:
                direction[r * columns + truth - 1] += c
            if y[r] > 0:
                direction[r * columns + y[r] - 1] -= c


@protocol.psi_score.register(MatchingProblem)
def _(problem, i, y, theta):
    start, columns = problem.label_ptr[i], problem.columns[i]
    total = 0.0
    for r in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if truth > 0:
                total += theta[r * columns + truth - 1]
            if y[r] > 0:
                total -= theta[r * columns + y[r] - 1]
    return total


@protocol.scatter.register(MatchingProblem)
def _(problem, i, direction, c, w):
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        if direction[j] != 0.0:
            row_scatter_label(problem.x, start + j, 0, c * direction[j], 1, w)


@protocol.scatter_psi.register(MatchingProblem)
def _(problem, i, y, c, w):
    start, edges, columns = problem.label_ptr[i], problem.part_ptr[i], problem.columns[i]
    for r in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if truth > 0:
                row_scatter_label(problem.x, edges + r * columns + truth - 1, 0, c, 1, w)
            if y[r] > 0:
                row_scatter_label(problem.x, edges + r * columns + y[r] - 1, 0, -c, 1, w)


# d is small and examples have many edges, so inner products go through R^d and no edges x edges matrix is kept.


@protocol.gram_scores.register(MatchingProblem)
def _(problem, i, direction, theta):
    size = problem.part_ptr[i + 1] - problem.part_ptr[i]
    vector = direction[size : size + problem.d]  # free, see the workspace
    vector[:] = 0.0
    protocol.scatter(problem, i, direction, 1.0, vector)
    protocol.scores(problem, i, vector, theta)


@protocol.norm_sq.register(MatchingProblem)
def _(problem, i, direction):
    size = problem.part_ptr[i + 1] - problem.part_ptr[i]
    vector = direction[size : size + problem.d]
    vector[:] = 0.0
    protocol.scatter(problem, i, direction, 1.0, vector)
    total = 0.0
    for f in range(problem.d):
        total += vector[f] * vector[f]
    return total


@njit
def _radii_sq(problem, bounds):
    """Bound every coordinate of psi_i(y) by the largest and smallest that one link per row can make it."""
    truth, low, high = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    row_low, row_high, edge = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    for i in range(problem.n):
        columns = problem.columns[i]
        truth[:] = low[:] = high[:] = 0.0
        for r in range(problem.label_ptr[i + 1] - problem.label_ptr[i]):
            row_low[:] = row_high[:] = 0.0
            for c in range(columns):
                edge[:] = 0.0
                row_scatter_label(problem.x, problem.part_ptr[i] + r * columns + c, 0, 1.0, 1, edge)
                row_low[:] = np.minimum(row_low, edge)
                row_high[:] = np.maximum(row_high, edge)
                if problem.labels[problem.label_ptr[i] + r] == c + 1:
                    truth += edge
            low += row_low
            high += row_high
        bounds[i] = np.sum(np.maximum(np.abs(truth - low), np.abs(truth - high)) ** 2)


@protocol.radii_sq.register(MatchingProblem)
def _(problem):
    bounds = np.empty(problem.n)
    _radii_sq(problem, bounds)
    return bounds


@protocol.to_public.register(MatchingProblem)
def _(problem, w):
    return w.copy()


@protocol.from_public.register(MatchingProblem)
def _(problem, w):
    return np.array(w, dtype=np.float64)


@protocol.as_labeling.register(MatchingProblem)
def _(problem, i, y):
    shape = (int(problem.label_ptr[i + 1] - problem.label_ptr[i]), int(problem.columns[i]))
    return _as_matching("y", _check_links("y", y, shape), shape)


@protocol.public_labeling.register(MatchingProblem)
def _(problem, i, y):
    rows = np.flatnonzero(y)
    return np.column_stack([rows, y[rows].astype(np.int64) - 1])


@protocol.joint_feature.register(MatchingProblem)
def _(problem, i, y):
    phi = np.zeros(problem.d)
    for r in np.flatnonzero(y):
        columns, values = row_entries(problem.x, problem.part_ptr[i] + r * problem.columns[i] + y[r] - 1)
        phi[columns] += values
    return sp.csr_array(phi[np.newaxis])
