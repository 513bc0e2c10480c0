"""Vectors of parts as plain float64 arrays: what follows from the required functions for families that keep no other form.

A vector is as long as theta, ``part_ptr[i + 1] - part_ptr[i]``; blocks and running sums hold those of all examples one
after the other: 8 bytes per part of every example each. A family replaces whatever it can do faster: ``psi_score``,
``scatter_psi``, ``gram_scores`` and ``norm_sq`` allocate here, and the last two go through R^d.
"""

import numpy as np

from fwexp.problems import protocol
from fwexp.problems.protocol import add_psi, clear, dot, gram_scores, scatter, scores


@protocol.workspace.register(object, reads=("part_ptr", "label_ptr"))
def _(problem):
    size = int(np.diff(problem.part_ptr).max())
    return protocol.Workspace(
        theta=np.zeros(size),
        direction=np.zeros(2 * size),
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


def register_norm_by_gram(*classes: type) -> None:
    """Have ``classes`` take norms from their ``gram_scores``; their buffers for a vector are twice as long as the vector."""

    @protocol.norm_sq.register(*classes)
    def _(problem, i, direction):
        size = problem.part_ptr[i + 1] - problem.part_ptr[i]
        image = direction[size : 2 * size]  # the second half of the buffer is free
        gram_scores(problem, i, direction, image)
        return dot(problem, i, direction, image)


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
