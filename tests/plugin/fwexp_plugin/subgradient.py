"""Batch subgradient descent: w <- (1 - gamma) w + gamma w_s, with gamma = 1/(k + 1 + offset)."""

from dataclasses import dataclass

import numpy as np

from fwexp.options import check_number, option
from fwexp.problems.protocol import new_weights
from fwexp.solvers import Solver
from fwexp.solvers.base import Point
from fwexp.solvers.fw import BatchOracle

from .steps import step_size


@dataclass(frozen=True)
class Options:
    """Options of ``subgradient``."""

    offset: float = option(1.0, check_number, "a finite number >= 0", least=0.0)


@dataclass
class State:
    """All that a run changes."""

    w: np.ndarray
    step: int = 0
    oracle_calls: int = 0


class Subgradient(Solver):
    """Batch subgradient descent."""

    name = "subgradient"
    title = "batch subgradient descent"
    Options = Options

    has_dual = False

    def prepare(self):
        self.oracle = BatchOracle(self.problem, self.lam)
        self.calls_per_step = self.problem.n

    def start(self, seed, iterates, order, warm_start):
        self.state = State(new_weights(self.problem))

    def advance(self, calls, max_steps):
        state = self.state
        if max_steps == 0:
            self.oracle(np.zeros_like(state.w))
        while state.oracle_calls + self.problem.n <= calls and state.step < max_steps:
            gamma = step_size(state.step, self.options.offset)
            state.w = (1.0 - gamma) * state.w + gamma * self.oracle(state.w)[0]
            state.step += 1
            state.oracle_calls += self.problem.n

    def point(self, iterate):
        return Point(self.state.w, float("nan"))
