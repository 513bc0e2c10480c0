"""Kernelised batch Frank-Wolfe (Lacoste-Julien et al., ICML 2013, Algorithm 2 with the dual variables of Appendix B.5).

At step k, y_i* = argmax_y H_i(y; A a) for all i, s = (e_{y_1*}, ..., e_{y_n*}),

    gamma = 2/(k + 2), or by line search,   a <- (1 - gamma) a + gamma s.

For comparison with ``kernel_bcfw``: a step may add n support vectors where that one adds one at a time.
"""

import numpy as np

from fwexp._jit import njit, specialise
from fwexp.errors import OptionError
from fwexp.problems.protocol import inner, loss, max_oracle, new_weights, scatter, scores, workspace
from fwexp.solvers import active_set
from fwexp.solvers.base import Point, Solver, clipped_step
from fwexp.solvers.kernel_bcfw import Kernelised, KernelOptions
from fwexp.solvers.sparse import UNLIMITED, move, set_direction


@njit
def _oracles(problem, start, w, sets, slots, work):
    """Store y_i* of the examples from ``start`` on; return the first for which there is no room, or n."""
    for i in range(start, problem.n):
        scores(problem, i, w, work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        slots[i] = active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, UNLIMITED, sets, work)
        if slots[i] < 0:
            return i
    return problem.n


@njit
def _difference(problem, sets, slots, work, c, difference):
    """Add c sum_i F_i' (p_i(y_i*) - p_i) to ``difference``; return the change of n ell."""
    loss_change = 0.0
    for i in range(problem.n):
        loss_change += set_direction(problem, i, slots[i], sets, work.direction)
        scatter(problem, i, work.direction, c, difference)
    return loss_change


@njit
def _move_all(problem, sets, slots, gamma):
    for i in range(problem.n):
        move(i, slots[i], gamma, sets)


class KernelFW(Kernelised, Solver):
    """Kernelised batch Frank-Wolfe."""

    name = "kernel_fw"
    title = "kernelised batch Frank-Wolfe"
    Options = KernelOptions
    needs = ("max_oracle", "with_inputs")

    def start(self, seed, iterates, order, warm_start):
        if warm_start is not None:
            raise OptionError("solver kernel_fw takes no warm start; accepted: bcfw, fw, kernel_bcfw")
        self.work, self.sets = workspace(self.problem), self.new_sets()
        self.calls_per_step = self.problem.n
        self.w, self.ell = new_weights(self.problem), 0.0

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self._corner(self.w)
        while self.oracle_calls + self.problem.n <= calls and self.step < max_steps:
            slots, difference, ell_change = self._corner(self.w)
            # difference = w_s - w
            curvature = self.lam * inner(self.problem, difference, difference)
            gap = ell_change - self.lam * inner(self.problem, difference, self.w)
            gamma = clipped_step(gap, curvature) if self.options.line_search else 2.0 / (self.step + 2.0)
            specialise(_move_all, self.problem)(self.problem, self.sets, slots, gamma)
            self.w, self.ell = self.w + gamma * difference, self.ell + gamma * ell_change
            self.step += 1
            self.oracle_calls += self.problem.n

    def _corner(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Call all oracles at w; return the slots of the corner s, w_s - w and ell_s - ell."""
        problem, slots, difference = self.problem, np.zeros(self.problem.n, dtype=np.int64), np.zeros_like(w)
        i = 0
        while (i := specialise(_oracles, problem)(problem, i, w, self.sets, slots, self.work)) < problem.n:
            self.sets = active_set.grown(problem, self.sets, UNLIMITED)
        c = 1.0 / (self.lam * problem.n)
        change = specialise(_difference, problem)(problem, self.sets, slots, self.work, c, difference)
        return slots, difference, change / problem.n

    def point(self, iterate):
        w_sq = inner(self.problem, self.w, self.w)
        return Point(self.w, self.ell - 0.5 * self.lam * w_sq, w_sq)
