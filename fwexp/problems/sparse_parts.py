"""Vectors of parts as entries, for families with a walk (``walk``) whose examples have many parts of which labelings use few.

A vector (``sparse_visitors``) has entries, and its rows as arrays with a list of those that are not zero. Most labels are right, so
most rows are zero, and the functions skip them. A vector for a block has all of its parts as entries (``sparse_blocks``); another
vector may have entries for its shared parts only.

A family calls `register`, registers ``most_parts`` of ``sparse_blocks``, and the hooks below where their defaults do not fit.
"""

import numpy as np

from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems import protocol
from fwexp.problems.rows import row_dot
from fwexp.problems.sparse_blocks import of_blocks
from fwexp.problems.sparse_visitors import Entries, Marks, Rows, RowsAndWeights, SparseParts, clear_rows
from fwexp.problems.walk import (
    Implied,
    Scores,
    first_row,
    inputs,
    is_of_weights,
    num_rows,
    num_shared,
    of_walk,
    parts,
    row_of,
    row_width,
    scatter_at,
    scores_at,
    scratch_size,
    shared_of,
    sums_of,
)

# --- functions that a family registers: inner products of rows ----------------------------------------------------------


@dispatched(default=())
def product_at(problem, i, r, s):
    """Return the inner product of the features of rows r and s of example i, for one label: by default of the inputs."""
    return row_dot(inputs(problem), first_row(problem, i) + r, inputs(problem), first_row(problem, i) + s)


@dispatched(default=())
def num_local(problem, i):
    """Return the size of weights of the features of example i alone, 0 to use `product_at`: 0 by default.

    Products of all rows with all others cost less through such weights where there are many rows.
    """
    return 0


@dispatched(default=())
def scores_local(problem, i, r, local, out):
    """Compute ``scores_at`` with weights of the features of example i alone."""


@dispatched(default=())
def scatter_local(problem, i, r, row, local):
    """Add the features of row r to weights of the features of example i alone, as ``scatter_at`` does to all."""


# --- derived functions ----------------------------------------------------------------------------------------------------

of_entries = Implied()


def register(*classes: type) -> None:
    """Register the functions that follow from the walk of a family, with entries as vectors."""
    for implied in (of_walk, of_blocks, of_entries):
        implied.register(*classes)


@of_entries(protocol.workspace)
def _(problem):
    size = int(np.diff(problem.part_ptr).max())
    rows = (size - num_shared(problem)) // row_width(problem)
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=SparseParts(
            codes=np.zeros(size + 1, dtype=np.int32),  # `mark_entry` writes one past those in use
            values=np.zeros(size),
            count=np.zeros(1, dtype=np.int64),
            entry_of=np.full(size, -1, dtype=np.int32),
            row_values=np.zeros(rows * row_width(problem)),
            rows=np.zeros(rows, dtype=np.int32),
            num_rows=np.zeros(1, dtype=np.int64),
            touched=np.zeros(rows, dtype=np.int64),
            scored=np.zeros(rows, dtype=np.int64),
            sums=np.zeros(num_shared(problem)),
        ),
        image=np.zeros(size),
        y=np.zeros(int(np.diff(problem.label_ptr).max()), dtype=np.int32),
        scratch=np.zeros(scratch_size(problem)),
    )


@of_entries(protocol.clear)
def _(problem, i, direction):
    direction.count[0] = 0
    clear_rows(problem, direction)


@of_entries(protocol.add_psi)
def _(problem, i, y, c, direction):
    parts(problem, i, y, c, Entries(direction, num_shared(problem), row_width(problem)))


@of_entries(protocol.close)
def _(problem, i, direction):
    width, size = row_width(problem), num_shared(problem)
    clear_rows(problem, direction)
    for e in range(direction.count[0]):
        code = direction.codes[e]
        direction.entry_of[code] = -1
        if code >= size:
            direction.row_values[code - size] = direction.values[e]
            direction.touched[np.uint32(code - size) // np.uint32(width)] = 1
    found = 0
    for r in range(num_rows(problem, i)):
        direction.rows[found] = r
        found += direction.touched[r]
        direction.touched[r] = 0
    direction.num_rows[0] = found


@of_entries(protocol.set_dense)
def _(problem, i, values, direction):
    size, width, count = num_shared(problem), row_width(problem), 0
    clear_rows(problem, direction)
    for code in range(size):
        direction.codes[count], direction.values[count] = code, values[code]
        count += values[code] != 0.0
    direction.count[0], found = count, 0
    rows = values[size:]
    for r in range(num_rows(problem, i)):
        row, out, largest = row_of(rows, problem, r), row_of(direction.row_values, problem, r), 0.0
        for k in range(width):
            largest = max(largest, abs(row[k]))
        if largest > 0.0:
            for k in range(width):
                out[k] = row[k]
            direction.rows[found] = r
            found += 1
    direction.num_rows[0] = found


@of_entries(protocol.dot)
def _(problem, i, direction, theta):
    size, total = num_shared(problem), 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total += direction.values[e] * theta[direction.codes[e]]
    scores = theta[size:]
    for r in direction.rows[: direction.num_rows[0]]:
        row, image = row_of(direction.row_values, problem, r), row_of(scores, problem, r)
        for k in range(row_width(problem)):
            total += row[k] * image[k]
    return total


@register_jitable
def _local_sums(problem, i, direction):
    """Return the weights of the features of example i alone that the rows of a vector make."""
    local = np.zeros(num_local(problem, i))
    for r in direction.rows[: direction.num_rows[0]]:
        scatter_local(problem, i, r, row_of(direction.row_values, problem, r), local)
    return local


@of_entries(protocol.gram_scores)
def _(problem, i, direction, theta):
    width, size, count = row_width(problem), num_shared(problem), num_rows(problem, i)
    theta[: size + count * width] = 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            theta[direction.codes[e]] = direction.values[e]
    images = theta[size:]
    if num_local(problem, i) > 0:
        local = _local_sums(problem, i, direction)
        for r in range(count):
            scores_local(problem, i, r, local, row_of(images, problem, r))
        return
    for s in direction.rows[: direction.num_rows[0]]:
        row = row_of(direction.row_values, problem, s)
        for r in range(count):
            product, image = product_at(problem, i, r, s), row_of(images, problem, r)
            for k in range(width):
                image[k] += product * row[k]


@of_entries(protocol.norm_sq)
def _(problem, i, direction):
    width, size, total = row_width(problem), num_shared(problem), 0.0
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total += direction.values[e] * direction.values[e]
    if num_local(problem, i) > 0:
        local, image = _local_sums(problem, i, direction), np.empty(width)
        for r in direction.rows[: direction.num_rows[0]]:
            scores_local(problem, i, r, local, image)
            row = row_of(direction.row_values, problem, r)
            for k in range(width):
                total += image[k] * row[k]
        return total
    for a in range(direction.num_rows[0]):
        r = np.int64(direction.rows[a])
        row = row_of(direction.row_values, problem, r)
        for s in direction.rows[: a + 1]:
            other, product = row_of(direction.row_values, problem, s), 0.0
            for k in range(width):
                product += row[k] * other[k]
            total += (2.0 if s < r else 1.0) * product_at(problem, i, r, np.int64(s)) * product
    return total


@of_entries(protocol.scatter)
def _(problem, i, direction, c, w):
    size, shared = num_shared(problem), shared_of(problem, w)
    for r in direction.rows[: direction.num_rows[0]]:
        scatter_at(problem, i, r, row_of(direction.row_values, problem, r), c, w)
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            shared[direction.codes[e]] += c * direction.values[e]


@of_entries(protocol.accumulate)
def _(problem, i, direction, c, total):
    if is_of_weights(problem, total):
        protocol.scatter(problem, i, direction, c, total)
        return
    size, rows = num_shared(problem), sums_of(problem, i, total)
    for e in range(direction.count[0]):
        if direction.codes[e] < size:
            total[direction.codes[e]] += c * direction.values[e]
    for r in direction.rows[: direction.num_rows[0]]:
        row, out = row_of(direction.row_values, problem, r), row_of(rows, problem, r)
        for k in range(row_width(problem)):
            out[k] += c * row[k]


# --- stored labelings ---------------------------------------------------------------------------------------------------


@of_entries(protocol.add_labelings)
def _(problem, i, storage, places, c, direction):
    length, visitor = problem.label_ptr[i + 1] - problem.label_ptr[i], Rows(direction, row_width(problem))
    for a in range(len(c)):
        if c[a] != 0.0:
            parts(problem, i, storage[places[a] : places[a] + length], c[a], visitor)
    for e in range(direction.count[0]):
        direction.values[e] = direction.sums[direction.codes[e]]
        direction.sums[direction.codes[e]] = 0.0


@of_entries(protocol.scatter_labelings)
def _(problem, i, storage, places, c, factor, direction, w):
    length = problem.label_ptr[i + 1] - problem.label_ptr[i]
    visitor = RowsAndWeights(direction, row_width(problem), shared_of(problem, w))
    clear_rows(problem, direction)
    for a in range(len(c)):
        if c[a] != 0.0:
            parts(problem, i, storage[places[a] : places[a] + length], factor * c[a], visitor)
    for r in range(num_rows(problem, i)):
        if direction.touched[r] != 0:
            direction.touched[r], row = 0, row_of(direction.row_values, problem, r)
            scatter_at(problem, i, r, row, 1.0, w)
            row[:] = 0.0


@of_entries(protocol.score_labelings)
def _(problem, i, storage, places, w, work, out):
    length, touched, scored = problem.label_ptr[i + 1] - problem.label_ptr[i], work.direction.touched, work.direction.scored
    for a in range(len(places)):
        parts(problem, i, storage[places[a] : places[a] + length], 1.0, Marks(touched))
    rows = work.theta[num_shared(problem) :]
    for r in range(num_rows(problem, i)):
        scored[r] = touched[r]
        row = row_of(rows, problem, r)
        if touched[r] != 0:
            touched[r] = 0
            scores_at(problem, i, r, w, row)
        else:  # Two equal scores cancel; others than 0, from another example, would round sums whose terms are reordered.
            row[:] = 0.0
    visitor = Scores(shared_of(problem, w), rows, row_width(problem))
    for a in range(len(places)):
        out[a] = parts(problem, i, storage[places[a] : places[a] + length], 1.0, visitor)


@of_entries(protocol.complete_scores)
def _(problem, i, w, work):
    size, shared = num_shared(problem), shared_of(problem, w)
    for k in range(size):
        work.theta[k] = shared[k]
    rows = work.theta[size:]
    for r in range(num_rows(problem, i)):
        if work.direction.scored[r] == 0:
            scores_at(problem, i, r, w, row_of(rows, problem, r))
