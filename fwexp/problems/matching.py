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
alignment error rate. Such links need not be matchings, and nothing can be trained on them. What solvers do with matchings is in
``matching_protocol``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fwexp.conversion import as_list, links_in
from fwexp.errors import ParameterError, see, shown
from fwexp.options import check_integer, check_positive_scale
from fwexp.problems.arrays import as_labels, as_matrix, pointer
from fwexp.problems.constraints import constrained
from fwexp.problems.features import Features, as_features, stack
from fwexp.problems.protocol import UNCONSTRAINED
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
    x: Features  # one row per edge
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
