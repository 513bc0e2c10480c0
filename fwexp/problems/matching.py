"""Bipartite matchings: which words of two sentences belong together, by an assignment oracle.

phi(x, y) is the sum of the feature vectors of the links (r, c) in y; every row has at most one link, and every column at most
``column_links``, which is 1 unless given. So d = p, the parts of an example are the edges of its grid of R rows and C columns, row
after row, and theta holds their scores. Columns with several links are as many columns to the assignment, with the same scores.

The loss counts a predicted link that is not true as ``precision_cost`` and a true one that is not predicted as
``recall_cost``, divided by ``recall_cost`` times the number of true links plus ``precision_cost`` times the most links there can
be, min(R, C ``column_links``): that is 1 if every true link is missed and as many wrong ones as fit are predicted, and so between 0
and 1.

A labeling is kept as one integer per row: 0 for no link, else 1 + the column. The public form is arrays (m, 2) of links, from 0.

Test sets may have two sets of true links instead, sure ones and possible ones (Och and Ney 2000); their loss is the
alignment error rate. Such links need not be matchings, and nothing can be trained on them.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_list, links_in
from fwexp.errors import ParameterError, see, shown
from fwexp.jit.compilation import inlined, njit
from fwexp.options import check_integer, check_positive_scale
from fwexp.oracles.assignment import max_matching, scratch_size
from fwexp.problems import dense_parts, protocol, walk
from fwexp.problems.arrays import as_labels, as_matrix, pointer
from fwexp.problems.constraints import constrained
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, as_features, row_entries, stack
from fwexp.problems.protocol import UNCONSTRAINED
from fwexp.problems.rows import row_scatter_label
from fwexp.problems.subsets import PER_EXAMPLE, Sliceable
from fwexp.types import SetOfExamples, Weights

POSSIBLE, SURE = 1, 2  # marks of edges in test sets
MOST_COLUMN_LINKS = 2**31 - 1  # as many rows as an example may have
SEVERAL_ROWS = "if rows have several links, exchange rows and columns, and raise column_links"
SEVERAL_COLUMNS = "raise column_links if a column may have several"


class MatchingArrays(NamedTuple):
    """The fields of `MatchingProblem`."""

    n: int
    d: int  # p
    num_weights: int  # p
    part_ptr: np.ndarray  # int64 (n + 1,): edges part_ptr[i] .. part_ptr[i+1] belong to example i
    label_ptr: np.ndarray  # int64 (n + 1,): the same for rows
    columns: np.ndarray  # int64 (n,), C_i
    labels: np.ndarray  # int32 (rows,): 0 for no link, else 1 + the column; -1 in test sets with ``marks``
    x: DenseFeatures | SparseFeatures | BinaryFeatures  # one row per edge
    precision: np.ndarray  # float64 (n,), the loss of a link that is not true
    recall: np.ndarray  # float64 (n,), the loss of a true link that is missed
    marks: np.ndarray  # int8, POSSIBLE or SURE or 0 for every edge of a test set that has these; else empty
    num_sure: np.ndarray  # int64 (n,) or empty, the same for sure links
    nonnegative: np.ndarray = UNCONSTRAINED  # int64, indices of weights that must not be negative
    column_links: int = 1  # the most links of a column


class MatchingProblem(Sliceable, MatchingArrays):
    """A set of pairs to be matched; build it with ``fwexp.matching_problem``."""

    __slots__ = ()
    tiers = ("sets", "bounds")
    rows: ClassVar = {
        "labels": "label_ptr",
        "x": "part_ptr",
        "marks": "part_ptr",
        "columns": PER_EXAMPLE,
        "precision": PER_EXAMPLE,
        "recall": PER_EXAMPLE,
        "num_sure": PER_EXAMPLE,
    }

    def __repr__(self) -> str:
        return f"MatchingProblem(n={self.n}, d={self.d}, edges={self.part_ptr[-1]})"


def matching_problem(
    X: Sequence[Any],
    y: Sequence[Any],
    *,
    shapes: Sequence[tuple[int, int]] | None = None,
    possible: Sequence[Any] | None = None,
    precision_cost: float = 1.0,
    recall_cost: float = 3.0,
    column_links: int = 1,
    nonnegative: Weights | None = None,
) -> SetOfExamples:
    """Build a matching problem from your own arrays.

    Parameters
    ----------
    X : list of (R_i, C_i, p) arrays, or of (R_i * C_i, p) arrays or scipy.sparse matrices
        Features of every edge, used as given: no constant is added. Two-dimensional ones have row ``r * C_i + c`` for the
        edge (r, c), and need ``shapes``.
    y : list of int arrays (m_i, 2) or of str
        The true links (row, column), from 0, or texts such as ``"0-0 1-2"``; every row has at most one, and every column at most
        ``column_links``.
    shapes : list of (R_i, C_i), optional
        Numbers of rows and columns; by default the shapes of X.
    possible : list of int arrays (m_i, 2), optional
        For a test set: links that are neither required nor wrong. The links of ``y`` are the sure ones, and are possible too;
        neither need be a matching. The loss of an example is then ``1 - (|A & S| + |A & P|) / (|A| + |S|)`` for predicted links A,
        sure links S and possible links P. It counts ``|A| + |S|`` times in the mean error, which therefore is the alignment error
        rate of the whole set. Such a problem cannot be trained on.
    precision_cost, recall_cost : float, default 1 and 3
        Costs > 0 of a predicted link that is not true, and of a true link that is not predicted.
    column_links : int, default 1
        The most links of a column. With 2 or more, several rows may have the same column. Exchange rows and columns if a row has
        several links instead.
    nonnegative : mask, slice or int array, optional
        Weights that must not be negative: a mask of length d, a slice, or indices from 0.

    Returns
    -------
    MatchingProblem
        Its fields include ``n`` and ``d = p``. w has the weights of the features of a link.

    Raises
    ------
    ValueError
        If there are no examples, shapes differ, features are not finite, sparse matrices are malformed, features or costs are out
        of the scales 1e-50 .. 1e50, links or ``nonnegative`` are out of range, or the true links are no matching.

    See Also
    --------
    fwexp.estimators.MatchingSVM : The estimator.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> x = np.array([[[1.0, 0.2], [1.0, 0.9]], [[1.0, 0.8], [1.0, 0.1]]])
    >>> problem = fwexp.matching_problem([x], [[(0, 1), (1, 0)]])
    >>> fwexp.predict(problem, [-0.5, 1.0])[0].tolist()
    [[0, 1], [1, 0]]
    """
    X, y = as_list("X", X, "arrays of edges, one per example"), as_list("y", y, "int arrays (m, 2) of links, one per example")
    if len(X) == 0 or len(X) != len(y):
        raise ParameterError(f"X and y must have the same length n >= 1, got {len(X)} and {len(y)}")
    x, shapes = _stack(X, shapes)
    costs = {
        "precision_cost": precision_cost,
        "recall_cost": recall_cost,
        "column_links": check_integer("column_links", column_links, 1),
    }
    if costs["column_links"] > MOST_COLUMN_LINKS:
        raise ParameterError(f"column_links must be an integer <= {MOST_COLUMN_LINKS}, got {shown(column_links)}")
    problem = matching_from_arrays(as_features(x, copy=False), int(x.shape[1]), shapes, y, possible=possible, **costs)
    return constrained(problem, nonnegative)


def matching_from_arrays(
    x,
    num_features: int,
    shapes,
    links,
    *,
    possible=None,
    precision_cost: float = 1.0,
    recall_cost: float = 3.0,
    column_links: int = 1,
) -> MatchingProblem:
    """Build a problem from concatenated features of edges, example after example and row after row; ``shapes`` are (R_i, C_i)."""
    shapes = np.asarray(shapes, dtype=np.int64)
    precision_cost = check_positive_scale("precision_cost", precision_cost)
    recall_cost = check_positive_scale("recall_cost", recall_cost)
    n = len(shapes)
    part_ptr, label_ptr = pointer(shapes.prod(axis=1)), pointer(shapes[:, 0])
    truth = [check_links(f"y[{i}]", links[i], shapes[i]) for i in range(n)]
    if possible is None:
        labels = np.zeros(label_ptr[-1], dtype=np.int32)
        for i, start in enumerate(label_ptr[:-1]):
            labels[start : start + shapes[i, 0]] = as_matching(f"y[{i}]", truth[i], shapes[i], column_links)
        marks = num_sure = np.zeros(0, dtype=np.int8)
    else:
        possible = as_list("possible", possible, "int arrays (m, 2) of links, one per example")
        if len(possible) != n:
            raise ParameterError(f"possible must have length {n} like y, got {len(possible)}")
        labels, marks = np.full(label_ptr[-1], -1, dtype=np.int32), np.zeros(part_ptr[-1], dtype=np.int8)
        for i, start in enumerate(part_ptr[:-1]):
            more = check_links(f"possible[{i}]", possible[i], shapes[i])
            marks[start + more[:, 0] * shapes[i, 1] + more[:, 1]] = POSSIBLE
            marks[start + truth[i][:, 0] * shapes[i, 1] + truth[i][:, 1]] = SURE
        num_sure = np.add.reduceat(marks == SURE, part_ptr[:-1], dtype=np.int64)
        if num_sure.sum() == 0:
            raise ParameterError("y must hold at least one sure link if possible is given, got none")
    num_links = np.array([len(pairs) for pairs in truth])
    most_links = np.minimum(shapes[:, 0], shapes[:, 1] * np.minimum(shapes[:, 0], column_links))
    scale = recall_cost * num_links + precision_cost * most_links
    return MatchingProblem(
        n=n,
        d=num_features,
        num_weights=num_features,
        part_ptr=part_ptr,
        label_ptr=label_ptr,
        columns=shapes[:, 1].copy(),
        labels=labels,
        x=x,
        precision=precision_cost / scale,
        recall=recall_cost / scale,
        marks=marks,
        num_sure=num_sure.astype(np.int64),
        column_links=column_links,
    )


def _stack(X, shapes):
    """Return the features of all examples as one matrix, and the shapes of their grids."""
    if shapes is None:
        grids = [as_matrix(f"X[{i}]", grid, "hold numbers, shape (rows, columns, p)") for i, grid in enumerate(X)]
        for i, grid in enumerate(grids):
            if grid.ndim != 3:
                raise ParameterError(f"X[{i}] must have shape (rows, columns, p) unless shapes are given, got {grid.shape}")
        shapes = [grid.shape[:2] for grid in grids]
        X = [grid.reshape(-1, grid.shape[2]) for grid in grids]
    shapes = [tuple(as_labels(f"shapes[{i}]", s).ravel()) for i, s in enumerate(as_list("shapes", shapes, "(rows, columns)"))]
    if len(shapes) != len(X):
        raise ParameterError(f"shapes must have length {len(X)} like X, got {len(shapes)}")
    matrices = [as_matrix(f"X[{i}]", grid, "hold numbers, shape (rows * columns, p)") for i, grid in enumerate(X)]
    for i, (matrix, shape) in enumerate(zip(matrices, shapes, strict=True)):
        if len(shape) != 2 or min(shape) < 1:
            raise ParameterError(f"example {i} must have at least one row and one column, got shape {tuple(map(int, shape))}")
        expected = (int(shape[0] * shape[1]), matrices[0].shape[-1] if matrices[0].ndim else 0)
        if matrix.shape != expected:
            raise ParameterError(f"X[{i}] must have shape {expected} for a grid of {shape[0]} x {shape[1]}, got {matrix.shape}")
    return stack(matrices), shapes


def check_links(name: str, links, shape) -> np.ndarray:
    """Return links as an int64 array (m, 2) of edges of a grid."""
    pairs = links_in(name, links) if isinstance(links, str) else as_labels(name, links, "be an int array of links, shape (m, 2)")
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ParameterError(f"{name} must be an int array of links, shape (m, 2), got {pairs.dtype} of shape {pairs.shape}")
    outside = ((pairs < 0) | (pairs >= shape)).any(axis=1)
    if outside.any():
        bad = tuple(pairs[outside][0].tolist())
        raise ParameterError(f"links in {name} must be within a grid of {shape[0]} x {shape[1]}, got {bad}")
    return pairs


def as_matching(name: str, pairs: np.ndarray, shape, column_links: int = 1) -> np.ndarray:
    """Return checked links as a labeling."""
    for axis, (kind, most, cure) in enumerate((("row", 1, SEVERAL_ROWS), ("column", column_links, SEVERAL_COLUMNS))):
        counts = np.bincount(pairs[:, axis], minlength=1)
        if counts.max() > most:
            word = int(counts.argmax())
            raise ParameterError(
                f"{name} must be a matching, got {counts[word]} links of {kind} {word}; {cure}{see('tasks/alignment')}"
            )
    labels = np.zeros(shape[0], dtype=np.int32)
    labels[pairs[:, 0]] = pairs[:, 1] + 1
    return labels


# --- protocol: the walk through a labeling, whose parts are edges, the oracle and the losses -----------------------------------

dense_parts.register(MatchingProblem)

SHORT = 40.0  # Up to so many words in the mean, an assignment takes less time than the scores of its edges, which all steps need.


@protocol.cheap_oracle.register(MatchingProblem)
def _(problem):
    return bool(problem.label_ptr[-1] <= SHORT * problem.n)


# An edge is a row of one label.


@walk.parts.register(MatchingProblem)
def _(problem, i, y, c, visitor):
    start, columns, total = problem.label_ptr[i], problem.columns[i], 0.0
    for r in range(problem.label_ptr[i + 1] - start):
        truth = problem.labels[start + r]
        if y[r] != truth:
            if truth > 0:
                total += walk.add_row(visitor, r * columns + truth - 1, 0, c)
            if y[r] > 0:
                total += walk.add_row(visitor, r * columns + y[r] - 1, 0, -c)
    return total


@walk.first_row.register(MatchingProblem)
def _(problem, i):
    return problem.part_ptr[i]


@walk.row_width.register(MatchingProblem)
def _(problem):
    return 1


@walk.scratch_size.register(MatchingProblem)
def _(problem):
    size, rows = int(np.diff(problem.part_ptr).max()), int(np.diff(problem.label_ptr).max())
    copies = min(problem.column_links, rows)
    return size * (copies if copies == 1 else copies + 1) + scratch_size(rows, int(problem.columns.max()) * copies)


@inlined
def _best_links(problem, i, score, y, scratch):
    """Find the labeling of highest total score, with a score for every edge, and return that."""
    rows, columns = problem.label_ptr[i + 1] - problem.label_ptr[i], problem.columns[i]
    copies = min(problem.column_links, rows)
    if copies == 1:
        return max_matching(score, columns, y[:rows], scratch)
    wide = columns * copies
    several = scratch[: rows * wide]
    for r in range(rows):
        for c in range(wide):
            several[r * wide + c] = score[r * columns + c % columns]
    value = max_matching(several, wide, y[:rows], scratch[rows * wide :])
    for r in range(rows):
        if y[r] > 0:
            y[r] = 1 + (y[r] - 1) % columns
    return value


@protocol.max_oracle.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    start, rows = problem.label_ptr[i], problem.label_ptr[i + 1] - problem.label_ptr[i]
    columns, size = problem.columns[i], problem.part_ptr[i + 1] - problem.part_ptr[i]
    # The loss of y is the loss of no links, plus precision for every link, less precision and recall for every true one.
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
    value = constant + _best_links(problem, i, augmented, y, scratch[size:])
    return max(value, 0.0)  # the value of the true labeling, which rounding must not undercut


@protocol.decode.register(MatchingProblem)
def _(problem, i, theta, y, scratch):
    _best_links(problem, i, theta, y, scratch)


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


@protocol.as_labeling.register(MatchingProblem)
def _(problem, i, y):
    shape = (int(problem.label_ptr[i + 1] - problem.label_ptr[i]), int(problem.columns[i]))
    return as_matching("y", check_links("y", y, shape), shape, problem.column_links)


@protocol.public_labeling.register(MatchingProblem)
def _(problem, i, y):
    rows = np.flatnonzero(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]])
    return np.column_stack([rows, y[rows].astype(np.int64) - 1])


@protocol.joint_feature.register(MatchingProblem)
def _(problem, i, y):
    phi = np.zeros(problem.d)
    for r in np.flatnonzero(y[: problem.label_ptr[i + 1] - problem.label_ptr[i]]):
        columns, values = row_entries(problem.x, problem.part_ptr[i] + r * problem.columns[i] + y[r] - 1)
        phi[columns] += values
    return sp.csr_array(phi[np.newaxis])
