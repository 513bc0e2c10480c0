"""Vectors of parts as plain float64 arrays, as long as theta: ``part_ptr[i + 1] - part_ptr[i]`` numbers.

First the defaults, which follow from the required functions for families that keep no other form and have no walk. Blocks and
running sums hold the vectors of all examples one after the other: 8 bytes per part of every example each. ``psi_score``,
``scatter_psi``, ``gram_scores`` and ``norm_sq`` allocate, and the last two go through R^d.

Families with a walk (``walk``) call `register`. Norms and scores of images go through the weights, without allocating: after a
vector there is room for its image, except the shared parts.
"""

import numpy as np

from fwexp.jit.compilation import register_jitable
from fwexp.problems import protocol
from fwexp.problems.protocol import add_psi, clear, dot, scatter, scores
from fwexp.problems.walk import (
    Implied,
    Sums,
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

# --- defaults ---------------------------------------------------------------------------------------------------------


@protocol.workspace.register(object, reads=("part_ptr", "label_ptr"))
def _(problem):
    size = int(np.diff(problem.part_ptr).max())
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=np.zeros(size),
        image=np.zeros(size),
        y=np.zeros(int(np.diff(problem.label_ptr).max()), dtype=np.int32),
        scratch=np.zeros(size),
    )


@protocol.rescale.register(object, reads=("part_ptr",))
def _(problem, i, c, theta):
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        theta[j] *= c


@protocol.clear.register(object, reads=("part_ptr",))
def _(problem, i, direction):
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        direction[j] = 0.0


@protocol.close.register(object)
def _(problem, i, direction):
    pass


@protocol.new_blocks.register(object, reads=("part_ptr",))
def _(problem):
    return np.zeros(problem.part_ptr[-1])


@protocol.copy_blocks.register(object)
def _(problem, blocks):
    return blocks.copy()


@protocol.set_direction.register(object, reads=("part_ptr",))
def _(problem, i, y, blocks, direction):
    clear(problem, i, direction)
    add_psi(problem, i, y, 1.0, direction)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        direction[j] -= blocks[start + j]


@protocol.set_dense.register(object, reads=("part_ptr",))
def _(problem, i, values, direction):
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        direction[j] = values[j]


@protocol.dot.register(object, reads=("part_ptr",))
def _(problem, i, direction, theta):
    total = 0.0
    for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
        total += direction[j] * theta[j]
    return total


@protocol.psi_score.register(object, reads=("part_ptr",))
def _(problem, i, y, theta):
    psi = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
    add_psi(problem, i, y, 1.0, psi)
    return dot(problem, i, psi, theta)


@protocol.gram_scores.register(object)
def _(problem, i, direction, theta):
    vector = np.zeros(problem.num_weights)
    scatter(problem, i, direction, 1.0, vector)
    scores(problem, i, vector, theta)


@protocol.norm_sq.register(object)
def _(problem, i, direction):
    vector = np.zeros(problem.num_weights)
    scatter(problem, i, direction, 1.0, vector)
    total = 0.0
    for j in range(len(vector)):
        total += vector[j] * vector[j]
    return total


@protocol.add_to_block.register(object, reads=("part_ptr",))
def _(problem, i, direction, c, blocks):
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        blocks[start + j] += c * direction[j]


@protocol.scatter_psi.register(object, reads=("part_ptr",))
def _(problem, i, y, c, w):
    psi = np.zeros(problem.part_ptr[i + 1] - problem.part_ptr[i])
    add_psi(problem, i, y, 1.0, psi)
    scatter(problem, i, psi, c, w)


@protocol.scatter_block.register(object, reads=("part_ptr",))
def _(problem, i, blocks, c, w):
    scatter(problem, i, blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)


@protocol.new_sums.register(object, reads=("part_ptr",))
def _(problem, count):
    return np.zeros((count, problem.part_ptr[-1]))


@protocol.accumulate.register(object, reads=("part_ptr",))
def _(problem, i, direction, c, total):
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        total[start + j] += c * direction[j]


@protocol.accumulate_psi.register(object, reads=("part_ptr",))
def _(problem, i, y, c, total):
    add_psi(problem, i, y, c, total[problem.part_ptr[i] : problem.part_ptr[i + 1]])


@protocol.scatter_sum.register(object, reads=("part_ptr",))
def _(problem, total, c, w):
    for i in range(problem.n):
        scatter(problem, i, total[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)


# --- families with a walk ---------------------------------------------------------------------------------------------

of_arrays = Implied()


def register(*classes: type) -> None:
    """Register the functions that follow from the walk of a family, with arrays as vectors."""
    of_walk.register(*classes)
    of_arrays.register(*classes)


@of_arrays(protocol.workspace)
def _(problem):
    size = int(np.diff(problem.part_ptr).max())
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=np.zeros(size + problem.num_weights - num_shared(problem)),
        image=np.zeros(size),
        y=np.zeros(int(np.diff(problem.label_ptr).max()), dtype=np.int32),
        scratch=np.zeros(scratch_size(problem)),
    )


@register_jitable
def _scatter_rows(problem, i, direction, c, w):
    """Add c times the features of all rows to the weights."""
    rows = direction[num_shared(problem) :]
    for r in range(num_rows(problem, i)):
        scatter_at(problem, i, r, row_of(rows, problem, r), c, w)


@register_jitable
def _image_of(problem, i, direction):
    """Return F_i' direction except the shared parts, in the free part of the buffer."""
    size = problem.part_ptr[i + 1] - problem.part_ptr[i]
    image = direction[size : size + problem.num_weights - num_shared(problem)]
    image[:] = 0.0
    _scatter_rows(problem, i, direction, 1.0, image)
    return image


@of_arrays(protocol.add_psi)
def _(problem, i, y, c, direction):
    parts(problem, i, y, c, Sums(direction, direction[num_shared(problem) :], row_width(problem)))


@of_arrays(protocol.scatter)
def _(problem, i, direction, c, w):
    _scatter_rows(problem, i, direction, c, w)
    shared = shared_of(problem, w)
    for k in range(num_shared(problem)):
        shared[k] += c * direction[k]


@of_arrays(protocol.accumulate)
def _(problem, i, direction, c, total):
    size, rows = num_shared(problem), sums_of(problem, i, total)
    for k in range(size):
        total[k] += c * direction[k]
    for j in range(num_rows(problem, i) * row_width(problem)):
        rows[j] += c * direction[size + j]


@of_arrays(protocol.gram_scores)
def _(problem, i, direction, theta):
    image, rows = _image_of(problem, i, direction), theta[num_shared(problem) :]
    for r in range(num_rows(problem, i)):
        scores_at(problem, i, r, image, row_of(rows, problem, r))
    for k in range(num_shared(problem)):
        theta[k] = direction[k]


@of_arrays(protocol.norm_sq)
def _(problem, i, direction):
    image, total = _image_of(problem, i, direction), 0.0
    for j in range(len(image)):
        total += image[j] * image[j]
    for k in range(num_shared(problem)):
        total += direction[k] * direction[k]
    return total
