"""Vectors of parts as entries (code, value) and rows, and the visitors that fill them.

A code is the place of a part in theta. The visitors have no branches on labels: which labels are wrong cannot be predicted.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import register_jitable
from fwexp.problems.walk import add_row, add_shared, row_of, swap_row, swap_shared


class SparseParts(NamedTuple):
    """One vector of parts."""

    codes: np.ndarray  # int32, distinct
    values: np.ndarray  # float64
    count: np.ndarray  # int64 (1,), the number of entries
    entry_of: np.ndarray  # int32, as long as theta: the entry of a code while a vector is built, else -1
    row_values: np.ndarray  # float64 (most rows * row_width,): the rows
    rows: np.ndarray  # int32 (most rows,), ascending: which rows are not 0
    num_rows: np.ndarray  # int64 (1,), their number
    touched: np.ndarray  # int64 (most rows,): 1 for such rows while a vector is built, else 0
    scored: np.ndarray  # int64 (most rows,): 1 for rows whose part scores `score_labelings` has computed, else 0
    sums: np.ndarray  # float64 (num_shared,): shared parts while labelings are added, else 0


@register_jitable
def add_entry(v, code, value):
    """Add ``value`` to the entry of ``code``, a new one if there is none; ``entry_of`` must be up to date."""
    e = np.int64(v.entry_of[code])
    if e < 0:
        e = v.count[0]
        v.count[0] = e + 1
        v.entry_of[code] = e
        v.codes[e] = code
        v.values[e] = 0.0
    v.values[e] += value


@register_jitable
def mark_entry(v, code, wanted):
    """Make ``code`` the next entry if it is wanted and has none."""
    count, new = v.count[0], wanted and v.entry_of[code] < 0
    v.codes[count] = code
    v.entry_of[code] = count if new else v.entry_of[code]
    v.count[0] = count + new


@register_jitable
def clear_rows(problem, direction):
    """Set the rows of a vector to 0."""
    for r in direction.rows[: direction.num_rows[0]]:
        row_of(direction.row_values, problem, r)[:] = 0.0
    direction.num_rows[0] = 0


# --- visitors -----------------------------------------------------------------------------------------------------------


class Entries(NamedTuple):
    """Adds entries to a vector."""

    vector: SparseParts
    size: int  # num_shared
    width: int


class Rows(NamedTuple):
    """Adds to the rows of a vector, without entries, and to its sums of shared parts, with entries."""

    vector: SparseParts
    width: int


class RowsAndWeights(NamedTuple):
    """Adds to the rows of a vector, to be scattered together, and shared parts to the weights at once."""

    vector: SparseParts
    width: int
    shared: np.ndarray


class Marks(NamedTuple):
    """Marks the rows that are not 0."""

    touched: np.ndarray


@add_row.register(Entries)
def _(visitor, r, label, c):
    add_entry(visitor.vector, visitor.size + r * visitor.width + label, c)
    return 0.0


@add_shared.register(Entries)
def _(visitor, k, c):
    add_entry(visitor.vector, k, c)
    return 0.0


@add_row.register(Rows, RowsAndWeights)
def _(visitor, r, label, c):
    visitor.vector.row_values[r * visitor.width + label] += c
    visitor.vector.touched[r] = 1
    return 0.0


@swap_row.register(Rows, RowsAndWeights)
def _(visitor, r, truth, label, c):
    wrong, row = truth != label, np.uint64(r * visitor.width)
    amount = c if wrong else 0.0
    visitor.vector.row_values[row + np.uint64(truth)] += amount
    visitor.vector.row_values[row + np.uint64(label)] -= amount
    visitor.vector.touched[r] |= wrong
    return 0.0


@add_shared.register(Rows)
def _(visitor, k, c):
    visitor.vector.sums[k] += c
    mark_entry(visitor.vector, k, True)
    return 0.0


@swap_shared.register(Rows)
def _(visitor, k, other, c):
    differ, vector = k != other, visitor.vector
    amount = c if differ else 0.0
    vector.sums[k] += amount
    vector.sums[other] -= amount
    mark_entry(vector, k, differ)
    mark_entry(vector, other, differ)
    return 0.0


@add_shared.register(RowsAndWeights)
def _(visitor, k, c):
    visitor.shared[np.uint64(k)] += c
    return 0.0


@swap_shared.register(RowsAndWeights)
def _(visitor, k, other, c):
    amount = c if k != other else 0.0
    visitor.shared[np.uint64(k)] += amount
    visitor.shared[np.uint64(other)] -= amount
    return 0.0


@add_row.register(Marks)
def _(visitor, r, label, c):
    visitor.touched[r] = 1
    return 0.0


@swap_row.register(Marks)
def _(visitor, r, truth, label, c):
    visitor.touched[r] |= truth != label
    return 0.0


@add_shared.register(Marks)
def _(visitor, k, c):
    return 0.0


@swap_shared.register(Marks)
def _(visitor, k, other, c):
    return 0.0
