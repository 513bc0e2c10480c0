"""Batch Frank-Wolfe for structural SVMs (Lacoste-Julien et al., ICML 2013, Algorithm 2).

Per iteration one max-oracle call for every example at the same w:

    w_s = 1/(lam n) sum_i psi_i(y_i*),  ell_s = 1/n sum_i L_i(y_i*),
    gamma = clip[0,1] (lam (w - w_s)'w - ell + ell_s) / (lam ||w - w_s||^2)   or   2/(k + 2),
    w <- (1 - gamma) w + gamma w_s,  ell <- (1 - gamma) ell + gamma ell_s.

No dual blocks are needed. With 2/(k + 2) this is batch subgradient descent with step gamma/lam.
"""

from dataclasses import dataclass, field

import numpy as np

from fwexp._jit import njit, specialise
from fwexp.errors import OptionError
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import new_weights, scatter_psi, stored_labeling
from fwexp.solvers.base import Point, Solver, clipped_step


@dataclass(frozen=True)
class Options:
    """Options of ``fw``."""

    line_search: bool = field(default=True, metadata={"choices": (True, False)})


@njit
def _scatter_labelings(problem, labelings, c, w):
    for i in range(problem.n):
        scatter_psi(problem, i, stored_labeling(problem, i, labelings), c, w)


class BatchOracle:
    """One max-oracle call for every example, summed up to a corner (w_s, ell_s) of the whole dual domain.

    The calls run in parallel; the sum is taken in a fixed order, so the result does not depend on the threads.
    """

    def __init__(self, problem, lam: float) -> None:
        self.problem, self.lam = problem, lam
        self._evaluator = Evaluator(problem)

    @property
    def labelings(self):
        """The labelings of the latest calls, one per example."""
        return self._evaluator.labelings

    def __call__(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the corner (w_s, ell_s) that maximises ell_s - lam <w_s, w>."""
        problem = self.problem
        losses = self._evaluator.oracles(w)[1]
        w_s = new_weights(problem)
        specialise(_scatter_labelings, problem)(problem, self._evaluator.labelings, 1.0 / (self.lam * problem.n), w_s)
        return w_s, float(losses.mean())


class FW(Solver):
    """Batch Frank-Wolfe."""

    name = "fw"
    title = "batch Frank-Wolfe"
    Options = Options
    needs = ("max_oracle",)
    iterates = ("last", "wavg", "tavg", "avg")

    def start(self, seed, iterates, order, warm_start):
        self.oracle = BatchOracle(self.problem, self.lam)
        self.calls_per_step = self.problem.n
        if warm_start is None:
            self.w, self.ell = new_weights(self.problem), 0.0
        elif isinstance(warm_start, FW):
            # The dual variables stay; w = A a is proportional to 1/lam.
            self.w, self.ell = warm_start.w * (warm_start.lam / self.lam), warm_start.ell
        else:
            raise OptionError(f"solver fw cannot start from the dual variables of {warm_start.name}; accepted: fw")
        self.averages = {name: (self.w.copy(), self.ell) for name in iterates if name != "last"}

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self.oracle(np.zeros_like(self.w))
        while self.oracle_calls + self.problem.n <= calls and self.step < max_steps:
            # 3: the corner that minimises the linearisation
            w_s, ell_s = self.oracle(self.w)
            # 4: step size
            difference = self.w - w_s
            if self.options.line_search:
                gap = self.lam * (difference @ self.w) - self.ell + ell_s
                gamma = clipped_step(gap, self.lam * (difference @ difference))
            else:
                gamma = 2.0 / (self.step + 2.0)
            # 5: update
            self.w = self.w - gamma * difference
            self.ell += gamma * (ell_s - self.ell)
            self.step += 1
            self.oracle_calls += self.problem.n
            self._average()

    def _average(self) -> None:
        k = self.step
        for name, (w, ell) in self.averages.items():
            first = 1 << (k.bit_length() - 1)  # the last power of two
            rho = {"wavg": 2.0 / (k + 1.0), "avg": 1.0 / k, "tavg": 1.0 / (k - first + 1.0)}[name]
            self.averages[name] = (w + rho * (self.w - w), ell + rho * (self.ell - ell))

    def point(self, iterate):
        w, ell = (self.w, self.ell) if iterate == "last" else self.averages[iterate]
        return Point(w, ell - 0.5 * self.lam * (w @ w))
