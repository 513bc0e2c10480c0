"""One call of the expectation oracle for every example at w: objective, dual objective and gradient of objectives with an entropy.

With p_i the distribution of example i at w (`fwexp.problems.loss_terms`), one point serves all three: v = A p and
ell = 1/n sum_i [cost <p_i, L_i> + tau Ent(p_i)] give

    P(w) = lam/2 ||w||^2 + ell - lam <w, v>,    grad P(w) = lam (w - v),    D(p) = ell - lam/2 ||v||^2,

so P(w) - D(p) = ||grad P(w)||^2/(2 lam): the certificate by strong convexity is the duality gap at the marginals. A mixture of
such points has the mean v, and at least the mean ell, because the entropy is concave.
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import njit, specialise
from fwexp.problems.loss_terms import expectations, soft_workspace
from fwexp.problems.protocol import new_weights, product, scatter, scores, set_dense


class MarginalPoint(NamedTuple):
    """Results of the calls at w."""

    primal: float  # rounded up
    gradient: np.ndarray
    image: np.ndarray  # v
    ell: float  # rounded down


@njit
def _add_expectations(problem, objective, count, w, c, work, total):
    """Add c times expected psi of ``count`` examples to ``total``; return the sums of n ell_i, rounded down, and of bounds."""
    ell = rounding = 0.0
    for i in range(count):
        scores(problem, i, w, work.theta)
        value, _, bound = expectations(objective, problem, i, work)
        ell += value
        rounding += bound
        set_dense(problem, i, work.mean, work.direction)
        scatter(problem, i, work.direction, c, total)
    return ell, rounding


class MarginalOracle:
    """The points of an objective with an entropy."""

    def __init__(self, problem, lam: float, objective) -> None:
        self.problem, self.lam, self.objective = problem, lam, objective
        self._work = soft_workspace(problem)
        self._kernel = specialise(_add_expectations, problem, objective)

    def compile(self) -> None:
        """Compile what a call needs."""
        self._kernel(self.problem, self.objective, 0, new_weights(self.problem), 0.0, self._work, new_weights(self.problem))

    def __call__(self, w: np.ndarray) -> MarginalPoint:
        """Return the point at internal weights w."""
        v, n = new_weights(self.problem), self.problem.n
        ell, rounding = self._kernel(self.problem, self.objective, n, w, 1.0 / (self.lam * n), self._work, v)
        primal = 0.5 * self.lam * product(w, w) + (ell + rounding) / n - self.lam * product(w, v)
        return MarginalPoint(primal, self.lam * (w - v), v, ell / n)
