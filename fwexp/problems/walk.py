"""A family in one walk: the parts of a labeling, the operations on a part, and the functions that follow.

A part is a component of a labeling that has one score: a label of a row of inputs, or a component that all examples share, such
as a transition between two labels. Of each part, p_i(y) holds how often the true labeling has it minus how often y has it. The part
scores theta of an example are `num_shared` scores of shared parts, then `row_width` scores for each of its rows. The internal
weights end with those of the shared parts; only the row hooks depend on the layout of the others.

A family registers `parts`, which takes a visitor along all parts of p_i(y), and the row hooks whose defaults do not fit. It then
calls ``register`` of ``dense_parts`` or of ``sparse_parts``, for vectors of parts in one of the two forms. All functions of the
protocol on vectors, scores and weights follow. Visitors are named tuples, so that the compiler chooses the functions that treat a
part, and puts them into a copy of the walk.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import dispatched, named, register_jitable
from fwexp.problems import protocol
from fwexp.problems.rows import entry_column, entry_span, entry_value, row_product, row_scatter, row_scatter_label, row_scores

LARGE_SUM = 1 << 23  # numbers, 64 MB, from which a sum takes the form with less memory

# --- functions that a family registers ----------------------------------------------------------------------------------


@dispatched
def parts(problem, i, y, c, visitor):
    """Lead ``visitor`` along the parts of c p_i(y), by `swap_row`, `add_row`, `swap_shared` and `add_shared`.

    Returns the sum of the numbers that these return.
    """


@dispatched(default=())
def num_shared(problem):
    """Return how many parts all examples share: 0 by default."""
    return 0


@dispatched(default=())
def row_width(problem):
    """Return how many labels a row has, with padding: ``width`` by default."""
    return problem.width


@dispatched(default=())
def inputs(problem):
    """Return the rows of inputs of all examples, one of the classes of ``features``: ``x`` by default."""
    return problem.x


@dispatched(default=())
def first_row(problem, i):
    """Return which row of the inputs is the first one of example i, or past the last one of i = n; ``label_ptr`` by default."""
    return problem.label_ptr[i]


@dispatched(default=())
def scratch_size(problem):
    """Return how many numbers the oracles need in ``Workspace.scratch`` (plain Python): `row_width` by default."""
    return row_width(problem)


@dispatched(default=())
def sums_weights(problem):
    """Return whether running sums of large problems may be of weights instead of parts: False by default."""
    return False


@dispatched(default=())
def scores_at(problem, i, r, w, out):
    """Set ``out`` (row_width,) to the scores of the labels of row r of example i; by default from the inputs alone."""
    if row_width(problem) == 1:
        out[0] = row_product(inputs(problem), first_row(problem, i) + r, w)
    else:
        row_scores(inputs(problem), first_row(problem, i) + r, w, row_width(problem), out)


@dispatched(fastmath=False, default=())
def scatter_at(problem, i, r, row, c, w):
    """Add c times the features of row r to the weights, for each label as often as ``row`` (row_width,) has it."""
    row_scatter(inputs(problem), first_row(problem, i) + r, row, c, row_width(problem), w)


@dispatched(fastmath=False, default=())
def scatter_one(problem, i, r, label, c, w):
    """Add c times the features of row r to the weights of one label."""
    row_scatter_label(inputs(problem), first_row(problem, i) + r, label, c, row_width(problem), w)


# --- operations of a visitor on a part --------------------------------------------------------------------------------


@dispatched
def add_row(visitor, r, label, c):
    """Add c times a label of row r."""


@dispatched
def add_shared(visitor, k, c):
    """Add c times a shared part."""


@dispatched(default=())
def swap_row(visitor, r, truth, label, c):
    """Add c times the true label of row r, and subtract c times another label; nothing if both are the same."""
    return add_row(visitor, r, truth, c) + add_row(visitor, r, label, -c) if truth != label else 0.0


@dispatched(default=())
def swap_shared(visitor, k, other, c):
    """Add c times a shared part, and subtract c times another one; nothing if both are the same."""
    return add_shared(visitor, k, c) + add_shared(visitor, other, -c) if k != other else 0.0


@register_jitable
def add_shared_row(visitor, z, e, c):
    """Add c times shared parts, each as often as row e of the inputs ``z`` has it."""
    (start, end), total = entry_span(z, e), 0.0
    for j in range(start, end):
        total += add_shared(visitor, np.int64(entry_column(z, j)), c * entry_value(z, e, j))
    return total


class Scores(NamedTuple):
    """Sums part scores up."""

    shared: np.ndarray
    rows: np.ndarray
    width: int


class Sums(NamedTuple):
    """Adds to arrays: a vector of parts as long as theta, or a running sum."""

    shared: np.ndarray
    rows: np.ndarray
    width: int


class Weights(NamedTuple):
    """Adds features to weights."""

    problem: NamedTuple
    i: int
    shared: np.ndarray
    w: np.ndarray


@add_row.register(Scores)
def _(visitor, r, label, c):
    return c * visitor.rows[np.uint64(r * visitor.width + label)]


@add_shared.register(Scores)
def _(visitor, k, c):
    return c * visitor.shared[np.uint64(k)]


@swap_row.register(Scores)
def _(visitor, r, truth, label, c):  # without a branch: which labels are wrong cannot be predicted
    row = np.uint64(r * visitor.width)
    return c * (visitor.rows[row + np.uint64(truth)] - visitor.rows[row + np.uint64(label)])


@swap_shared.register(Scores)
def _(visitor, k, other, c):
    return c * (visitor.shared[np.uint64(k)] - visitor.shared[np.uint64(other)])


@add_row.register(Sums)
def _(visitor, r, label, c):
    visitor.rows[r * visitor.width + label] += c
    return 0.0


@add_row.register(Weights)
def _(visitor, r, label, c):
    scatter_one(visitor.problem, visitor.i, r, label, c, visitor.w)
    return 0.0


@add_shared.register(Sums, Weights)
def _(visitor, k, c):
    visitor.shared[k] += c
    return 0.0


# --- functions for all forms of vectors -------------------------------------------------------------------------------


class Implied:
    """Functions of the protocol that follow from others, which a family registers together."""

    def __init__(self) -> None:
        self._functions: list[tuple[Callable, Callable]] = []

    def __call__(self, function: Callable) -> Callable[[Callable], Callable]:
        """Add an implementation of ``function``, as a decorator."""

        def add(implementation: Callable) -> Callable:
            self._functions.append((function, named(implementation, function.__name__)))
            return implementation

        return add

    def register(self, *classes: type) -> None:
        """Register all of them for families, which may replace some afterwards."""
        for function, implementation in self._functions:
            function.register(*classes)(implementation)


of_walk = Implied()


@register_jitable
def num_rows(problem, i):
    """Return how many rows example i has."""
    return first_row(problem, i + 1) - first_row(problem, i)


@register_jitable
def shared_of(problem, w):
    """Return the weights of the shared parts."""
    return w[problem.num_weights - num_shared(problem) :]


@register_jitable
def row_of(values, problem, r):
    """Return the labels of row r in an array that starts with row 0."""
    width = row_width(problem)
    return values[r * width : (r + 1) * width]


@register_jitable
def num_parts(problem):
    """Return the length of a running sum of the parts of all examples."""
    return num_shared(problem) + first_row(problem, problem.n) * row_width(problem)


@register_jitable
def is_of_weights(problem, total):
    """Return whether a running sum is of weights."""
    return sums_weights(problem) and len(total) < num_parts(problem)


@register_jitable
def sums_of(problem, i, total):
    """Return the rows of example i in a running sum: the shared parts of all examples together, then every row."""
    return total[num_shared(problem) + first_row(problem, i) * row_width(problem) :]


@of_walk(protocol.scores)
def _(problem, i, w, theta):
    size, shared = num_shared(problem), shared_of(problem, w)
    for k in range(size):
        theta[k] = shared[k]
    rows = theta[size:]
    for r in range(num_rows(problem, i)):
        scores_at(problem, i, r, w, row_of(rows, problem, r))


@of_walk(protocol.psi_score)
def _(problem, i, y, theta):
    return parts(problem, i, y, 1.0, Scores(theta, theta[num_shared(problem) :], row_width(problem)))


@of_walk(protocol.scatter_psi)
def _(problem, i, y, c, w):
    parts(problem, i, y, c, Weights(problem, i, shared_of(problem, w), w))


@of_walk(protocol.new_sums)
def _(problem, count):
    size = num_parts(problem)
    is_large = size > LARGE_SUM and size > 2 * problem.num_weights  # Sums of parts take less time per step.
    return np.zeros((count, problem.num_weights if sums_weights(problem) and is_large else size))


@of_walk(protocol.accumulate_psi)
def _(problem, i, y, c, total):
    if is_of_weights(problem, total):
        parts(problem, i, y, c, Weights(problem, i, shared_of(problem, total), total))
    else:
        parts(problem, i, y, c, Sums(total, sums_of(problem, i, total), row_width(problem)))


@of_walk(protocol.scatter_sum)
def _(problem, total, c, w):
    if is_of_weights(problem, total):
        for j in range(len(total)):
            w[j] += c * total[j]
        return
    shared = shared_of(problem, w)
    for k in range(num_shared(problem)):
        shared[k] += c * total[k]
    for i in range(problem.n):
        rows = sums_of(problem, i, total)
        for r in range(num_rows(problem, i)):
            scatter_at(problem, i, r, row_of(rows, problem, r), c, w)
