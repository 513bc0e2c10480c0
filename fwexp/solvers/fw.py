"""Batch Frank-Wolfe for structural SVMs (Lacoste-Julien et al., ICML 2013, Algorithm 2).

Per iteration one max-oracle call for every example at the same w:

    w_s = 1/(lam n) sum_i psi_i(y_i*),  ell_s = 1/n sum_i L_i(y_i*),
    gamma = clip[0,1] (lam (w - w_s)'w - ell + ell_s) / (lam ||w - w_s||^2)   or   2/(k + 2),
    w <- (1 - gamma) w + gamma w_s,  ell <- (1 - gamma) ell + gamma ell_s.

No dual blocks are needed. With 2/(k + 2) this is batch subgradient descent with step gamma/lam.

Where some weights must not be negative, all of this is for v = A a, and oracles and objective are at w = max(v, 0)
(``projections``); the line search is then that of a piecewise quadratic function, exact as well. Averages are those of v.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fwexp.blocks import projections
from fwexp.jit.compilation import njit, specialise
from fwexp.options import choice
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import new_weights, product, scatter_psi, stored_labeling
from fwexp.solvers.base import Point, Solver, Stop
from fwexp.types import FloatArray, SolverProblem


@dataclass(frozen=True)
class Options:
    """Options of ``fw``.

    Attributes
    ----------
    line_search : bool
        Whether steps are as long as is best; else 2/(k + 2).
    """

    line_search: bool = choice(True, False)


@njit
def _scatter_labelings(problem, labelings, c, w):
    for i in range(problem.n):
        scatter_psi(problem, i, stored_labeling(problem, i, labelings), c, w)


class BatchOracle:
    """One max-oracle call for every example, summed up to a corner (w_s, ell_s) of the whole dual domain.

    The calls run in parallel; the sum is taken in a fixed order, so the result does not depend on the threads.
    """

    def __init__(self, problem: SolverProblem, lam: float) -> None:
        self.problem, self.lam = problem, lam
        self._evaluator = Evaluator(problem)

    @property
    def labelings(self) -> Any:
        """The labelings of the latest calls, one per example."""
        return self._evaluator.labelings

    def __call__(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return the corner (w_s, ell_s) that maximises ell_s - lam <w_s, w>."""
        problem = self.problem
        losses = self._evaluator.oracles(w)[1]
        w_s = new_weights(problem)
        specialise(_scatter_labelings, problem)(problem, self._evaluator.labelings, 1.0 / (self.lam * problem.n), w_s)
        return w_s, float(losses.mean())


@dataclass
class State:
    """All that a run changes."""

    w: np.ndarray  # internal weights, A a: v where there are constraints
    ell: float
    averages: dict[str, tuple[np.ndarray, float]]  # (A a, ell) by name
    step: int = 0
    oracle_calls: int = 0


class FW(Solver):
    """Batch Frank-Wolfe."""

    name = "fw"
    title = "batch Frank-Wolfe"
    takes_warm_start = True
    Options = Options
    iterates = ("last", "wavg", "tavg", "avg")
    constraints = True

    def prepare(self):
        self.index = projections.constrained_indices(self.problem)
        self.oracle = BatchOracle(self.problem, self.lam)

    def start(self, seed, iterates, order, warm_start):
        if warm_start is None:
            w, ell = new_weights(self.problem), 0.0
        else:
            self.check_warm_start(warm_start)
            # The dual variables stay; w = A a is proportional to 1/lam.
            w, ell = warm_start.state.w * (warm_start.lam / self.lam), warm_start.state.ell
        self.state = State(w, ell, {name: (w.copy(), ell) for name in iterates if name != "last"})

    def compile(self):
        self.oracle(np.zeros_like(self.state.w))

    def advance(self, budget):
        state, n = self.state, self.problem.n
        while state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            # 3: the corner that minimises the linearisation
            w = projections.clip(self.index, state.w)
            w_s, ell_s = self.oracle(w)
            # 4: step size
            difference = state.w - w_s
            if self.options.line_search:
                gap = self.lam * product(difference, w) - state.ell + ell_s
                gamma = projections.line_search(self.index, gap, state.w, -difference, self.lam)
            else:
                gamma = 2.0 / (state.step + 2.0)
            # 5: update
            state.w = state.w - gamma * difference
            state.ell += gamma * (ell_s - state.ell)
            state.step += 1
            state.oracle_calls += n
            self._average()
        return Stop(calls_needed=n)

    def _average(self) -> None:
        state, k = self.state, self.step
        for name, (w, ell) in state.averages.items():
            first = 1 << (k.bit_length() - 1)  # the last power of two
            rho = {"wavg": 2.0 / (k + 1.0), "avg": 1.0 / k, "tavg": 1.0 / (k - first + 1.0)}[name]
            state.averages[name] = (w + rho * (state.w - w), ell + rho * (state.ell - ell))

    def point(self, iterate):
        state = self.state
        v, ell = (state.w, state.ell) if iterate == "last" else state.averages[iterate]
        w = projections.clip(self.index, v)
        return Point(w, ell - 0.5 * self.lam * product(w, w))
