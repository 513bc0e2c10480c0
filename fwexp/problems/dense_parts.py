"""Vectors of parts as plain float64 arrays, for families whose examples have few parts.

Such a family supplies ``scores``, the oracles, ``loss``, ``add_psi``, ``psi_score``, ``scatter``, ``scatter_psi`` and
``gram_scores``; the rest follows here. Buffers for a vector are twice as long as the vector. Blocks and running
sums hold the vectors of all examples one after the other (``part_ptr``): 8 bytes per part of every example each.
"""

import numpy as np

from fwexp.problems import protocol
from fwexp.problems.protocol import add_psi, clear, dot, gram_scores, scatter


def register_dense_parts(*classes: type) -> None:
    """Register the functions on vectors of parts for ``classes``."""

    @protocol.clear.register(*classes)
    def _(problem, i, direction):
        for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
            direction[j] = 0.0

    @protocol.close.register(*classes)
    def _(problem, i, direction):
        pass

    @protocol.new_blocks.register(*classes)
    def _(problem):
        return np.zeros(problem.part_ptr[-1])

    @protocol.no_blocks.register(*classes)
    def _(problem):
        return np.zeros(0)

    @protocol.copy_blocks.register(*classes)
    def _(problem, blocks):
        return blocks.copy()

    @protocol.set_direction.register(*classes)
    def _(problem, i, y, blocks, direction):
        clear(problem, i, direction)
        add_psi(problem, i, y, 1.0, direction)
        start = problem.part_ptr[i]
        for j in range(problem.part_ptr[i + 1] - start):
            direction[j] -= blocks[start + j]

    @protocol.set_dense.register(*classes)
    def _(problem, i, values, direction):
        for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
            direction[j] = values[j]

    @protocol.dot.register(*classes)
    def _(problem, i, direction, theta):
        total = 0.0
        for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
            total += direction[j] * theta[j]
        return total

    @protocol.norm_sq.register(*classes)
    def _(problem, i, direction):
        size = problem.part_ptr[i + 1] - problem.part_ptr[i]
        image = direction[size : 2 * size]  # the second half of the buffer is free
        gram_scores(problem, i, direction, image)
        return dot(problem, i, direction, image)

    @protocol.add_to_block.register(*classes)
    def _(problem, i, direction, c, blocks):
        start = problem.part_ptr[i]
        for j in range(problem.part_ptr[i + 1] - start):
            blocks[start + j] += c * direction[j]

    @protocol.scatter_block.register(*classes)
    def _(problem, i, blocks, c, w):
        scatter(problem, i, blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)

    @protocol.new_sums.register(*classes)
    def _(problem, count):
        return np.zeros((count, problem.part_ptr[-1]))

    @protocol.accumulate.register(*classes)
    def _(problem, i, direction, c, total):
        start = problem.part_ptr[i]
        for j in range(problem.part_ptr[i + 1] - start):
            total[start + j] += c * direction[j]

    @protocol.accumulate_psi.register(*classes)
    def _(problem, i, y, c, total):
        add_psi(problem, i, y, c, total[problem.part_ptr[i] : problem.part_ptr[i + 1]])

    @protocol.scatter_sum.register(*classes)
    def _(problem, total, c, w):
        for i in range(problem.n):
            scatter(problem, i, total[problem.part_ptr[i] : problem.part_ptr[i + 1]], c, w)
