"""Vectors of parts as plain float64 arrays (``protocol.derived``), for families with a walk (``walk``), which call `register`.

Norms and scores of images go through the weights, without allocating: after a vector there is room for its image, except the shared
parts.
"""

import numpy as np

from fwexp.jit.compilation import register_jitable
from fwexp.problems import protocol
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
