"""Block-coordinate Frank-Wolfe on sparse dual variables: labelings with weights, instead of their expected parts.

For methods that have to know the dual variables themselves: Algorithm B.1 of Lacoste-Julien et al. (ICML 2013), and
Algorithm C.2 with oracles that choose among stored labelings.
"""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from fwexp._jit import register_jitable
from fwexp.errors import OptionError
from fwexp.problems.protocol import dot, inner, norm_sq, scatter, workspace
from fwexp.solvers import active_set
from fwexp.solvers.averaging import averaged, new_averages, update_averages
from fwexp.solvers.base import Point, Solver, clipped_step
from fwexp.solvers.sampling import given_draws, order_draws

clipped_step = register_jitable(clipped_step)

SAMPLING = ("uniform", "perm", "cyclic")
UNLIMITED = 1 << 60  # labelings that an active set may store


class State(NamedTuple):
    """w = A a, ell = b'a and ||w||^2; the dual variables a are in the active sets."""

    w: np.ndarray  # internal weights
    ell: np.ndarray  # float64 (1,)
    w_sq: np.ndarray  # float64 (1,), ||w||^2
    steps: np.ndarray  # int64 (1,), steps taken, one oracle call each


@register_jitable
def set_direction(problem, i, slot, sets, direction):
    """Set ``direction`` to the way from block i to the corner in ``slot``; return the change of n ell_i."""
    first = sets.first[i]
    for a in range(sets.count[i]):
        sets.change[a] = (1.0 if a == slot else 0.0) - sets.weight[first + a]
    return active_set.set_change(problem, i, sets, direction)


@register_jitable
def move(i, slot, gamma, sets):
    """Go the share ``gamma`` of the way from block i to the corner in ``slot``; all of it empties the others exactly."""
    first = sets.first[i]
    for a in range(sets.count[i]):
        sets.weight[first + a] += gamma * ((1.0 if a == slot else 0.0) - sets.weight[first + a])


@register_jitable
def step_towards(problem, i, slot, line_search, predefined, lam, state, sets, averages, work):
    """Take the step alpha_i <- (1 - gamma) alpha_i + gamma e_slot, given the part scores under w in ``work.theta``."""
    lam_n = lam * problem.n
    loss_change = set_direction(problem, i, slot, sets, work.direction)
    # gamma = (lam (w_i - w_s)'w - ell_i + ell_s) / (lam ||w_i - w_s||^2)
    slope, length_sq = dot(problem, i, work.direction, work.theta), norm_sq(problem, i, work.direction)
    gamma = predefined
    if line_search:
        gamma = clipped_step(loss_change - slope, length_sq / lam_n)
    move(i, slot, gamma, sets)
    state.ell[0] += gamma * loss_change / problem.n
    state.w_sq[0] += gamma / lam_n * (2.0 * slope + gamma / lam_n * length_sq)
    scatter(problem, i, work.direction, gamma / lam_n, state.w)
    state.steps[0] += 1
    update_averages(problem, averages, i, work.direction, gamma / lam_n, gamma * loss_change / problem.n, state.steps[0])


class SparseBCFW(Solver):
    """What such methods share; a subclass says how to take steps."""

    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    takes_order = True

    def start(self, seed, iterates, order, warm_start):
        problem, rule = self.problem, self.options.sampling
        if warm_start is not None and type(warm_start) is not type(self):
            name = self.name
            raise OptionError(f"solver {name} cannot start from the dual variables of {warm_start.name}; accepted: {name}")
        self.draws = order_draws(rule, problem.n, seed) if order is None else given_draws(order)
        self.work = workspace(problem)
        self.averages = new_averages(problem, iterates)
        self.sets = self.new_sets() if warm_start is None else active_set.copied(problem, warm_start.sets)
        w, ell = self._from_scratch()
        self.state = State(w, np.array([ell]), np.array([inner(problem, w, w)]), np.zeros(1, dtype=np.int64))

    @abstractmethod
    def new_sets(self) -> active_set.ActiveSets:
        """Return the dual variables of the start: the true labelings, with weight 1."""

    @abstractmethod
    def take_steps(self, order: np.ndarray) -> None:
        """Visit the examples in ``order``; may leave the last ones out."""

    def advance(self, calls, max_steps):
        if max_steps == 0:
            self.take_steps(np.empty(0, dtype=np.int64))  # compiles
        while (wanted := min(calls, max_steps) - self.step) > 0:
            order, before = self.draws.peek(wanted), self.step
            if len(order) == 0:
                return
            self.take_steps(order)
            self.draws.drop(self.step - before)

    @property
    def step(self):
        return int(self.state.steps[0])

    @property
    def oracle_calls(self):
        return self.step

    def point(self, iterate):
        w, ell, w_sq = self.state.w, self.state.ell[0], self.state.w_sq[0]
        if iterate != "last":
            w, ell = averaged(self.problem, self.averages, iterate, w, ell, self.step)
            w_sq = inner(self.problem, w, w)
        return Point(w, ell - 0.5 * self.lam * w_sq, w_sq)

    def exact_dual(self):
        w, ell = self._from_scratch()
        return ell - 0.5 * self.lam * inner(self.problem, w, w)

    def _from_scratch(self) -> tuple[np.ndarray, float]:
        """Return A a and b'a, computed from the dual variables."""
        w, losses = active_set.from_scratch(self.problem, self.sets, 1.0 / (self.lam * self.problem.n))
        return w, float(losses.mean())
