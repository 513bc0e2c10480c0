"""Kernelised batch Frank-Wolfe (Lacoste-Julien et al., ICML 2013, Algorithm 2 with the dual variables of Appendix B.5).

At step k, y_i* = argmax_y H_i(y; A a) for all i, s = (e_{y_1*}, ..., e_{y_n*}),

    gamma = 2/(k + 2), or by line search,   a <- (1 - gamma) a + gamma s.

For comparison with ``kernel_bcfw``: a step may add n support vectors where that one adds one at a time.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.blocks import active_set, weight_steps
from fwexp.blocks.active_set import UNLIMITED
from fwexp.blocks.block_loop import clipped_step
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import inner, loss, max_oracle, new_weights, scatter, scores, workspace
from fwexp.solvers.base import Point, Solver, Stop
from fwexp.solvers.kernel_bcfw import Kernelised, KernelOptions


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
        weight_steps.set_change_towards(i, slots[i], sets)
        loss_change += active_set.set_change(problem, i, sets, work.direction)
        scatter(problem, i, work.direction, c, difference)
    return loss_change


@njit
def _move_all(problem, sets, slots, gamma):
    for i in range(problem.n):
        weight_steps.move(i, slots[i], gamma, sets)


@dataclass
class State:
    """All that a run changes."""

    dual: active_set.ActiveSets
    w: np.ndarray  # internal weights
    ell: float
    step: int = 0
    oracle_calls: int = 0


class KernelFW(Kernelised, Solver):
    """Kernelised batch Frank-Wolfe."""

    name = "kernel_fw"
    title = "kernelised batch Frank-Wolfe"
    Options = KernelOptions

    @property
    def sets(self):
        """The dual variables."""
        return self.state.dual

    def start(self, seed, iterates, order, warm_start):
        self.state = State(self.new_sets(), new_weights(self.problem), 0.0)

    def prepare(self):
        self.work = workspace(self.problem)

    def compile(self):
        self._corner(self.state.w)

    def advance(self, budget):
        state, n = self.state, self.problem.n
        while state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            slots, difference, ell_change = self._corner(state.w)
            # difference = w_s - w
            curvature = self.lam * inner(self.problem, difference, difference)
            gap = ell_change - self.lam * inner(self.problem, difference, state.w)
            gamma = clipped_step(gap, curvature) if self.options.line_search else 2.0 / (state.step + 2.0)
            specialise(_move_all, self.problem)(self.problem, state.dual, slots, gamma)
            state.w, state.ell = state.w + gamma * difference, state.ell + gamma * ell_change
            state.step += 1
            state.oracle_calls += n
        return Stop(calls_needed=n)

    def _corner(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Call all oracles at w; return the slots of the corner s, w_s - w and ell_s - ell."""
        problem, slots, difference = self.problem, np.zeros(self.problem.n, dtype=np.int64), np.zeros_like(w)
        i = 0
        while (i := specialise(_oracles, problem)(problem, i, w, self.state.dual, slots, self.work)) < problem.n:
            room = active_set.more_room(self.state.dual, UNLIMITED)
            self.state.dual = active_set.with_room(active_set.with_places(problem, self.state.dual, room), room)
        c = 1.0 / (self.lam * problem.n)
        change = specialise(_difference, problem)(problem, self.state.dual, slots, self.work, c, difference)
        return slots, difference, change / problem.n

    def point(self, iterate):
        w = self.state.w
        w_sq = inner(self.problem, w, w)
        return Point(w, self.state.ell - 0.5 * self.lam * w_sq, w_sq)
