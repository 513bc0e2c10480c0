"""One call of the expectation oracle for every example: the distributions in proportion to exp(c H_i(y; w)), as one point.

Entropic projections onto the simplices of all labelings are such distributions, and since H_i(y; w) is affine in w a sum
of c_j H_i(y; w_j) is one c H_i(y; w) again. So of distributions only (A a, b'a) is ever kept, a vector of the size of w:
the memory-efficient form of Taskar, Lacoste-Julien and Jordan (JMLR 2006).
"""

import numpy as np

from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import (
    expectation_oracle,
    expectation_scratch,
    loss_augmented_scores,
    new_weights,
    scatter,
    scores,
    set_dense,
    workspace,
)


@njit
def _add_expectations(problem, w, c, scale, work, potentials, mean, scratch, total):
    """Add ``scale`` times the expected psi of all examples to ``total``; return the sum of the expected losses."""
    losses = 0.0
    for i in range(problem.n):
        size = problem.part_ptr[i + 1] - problem.part_ptr[i]
        scores(problem, i, w, work.theta)
        potentials[:size] = 0.0
        loss_augmented_scores(problem, i, work.theta, c, 1.0, potentials[:size])
        losses += expectation_oracle(problem, i, potentials[:size], mean[:size], scratch)[1]
        set_dense(problem, i, mean[:size], work.direction)
        scatter(problem, i, work.direction, scale, total)
    return losses


class EntropicOracle:
    """The points (A a, b'a) of such distributions."""

    def __init__(self, problem, lam: float) -> None:
        size = int(np.diff(problem.part_ptr).max())
        self.problem, self.lam = problem, lam
        self._buffers = workspace(problem), np.zeros(size), np.zeros(size), expectation_scratch(problem)

    def __call__(self, w: np.ndarray, c: float) -> tuple[np.ndarray, float]:
        """Return (A a, b'a) for a_i(y) in proportion to exp(c H_i(y; w)); c = 0: uniform."""
        problem, total = self.problem, new_weights(self.problem)
        scale = 1.0 / (self.lam * problem.n)
        losses = specialise(_add_expectations, problem)(problem, w, c, scale, *self._buffers, total)
        return total, losses / problem.n
