"""L-BFGS (Nocedal, Mathematics of Computation 1980; Liu and Nocedal 1989) for objectives with an entropy: what CRFsuite runs.

From w_0 = 0, with the gradient g of P and the H_k that the last ``memory`` pairs (s, y) of changes of w and g define:

    p = -H_k g,    t = 1, shortened until P(w + t p) <= P(w) + 1e-4 t <g, p>,    w <- w + t p.

A step is one evaluation of P and g, with n oracle calls, whether the trial is accepted or not: so runs stop and go on anywhere.
(`scipy.optimize.minimize` does neither; a test compares the evaluations that both need.) The dual points are the marginals at w.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.options import check_integer, option
from fwexp.problems.protocol import new_weights, product
from fwexp.solvers.base import Point, Solver, Stop
from fwexp.solvers.marginal_oracle import MarginalOracle

DECREASE = 1e-4  # of the line search (Armijo)
SHORTEST, LONGEST = 0.1, 0.5  # factors of a shortened step


@dataclass(frozen=True)
class Options:
    """Options of ``lbfgs``.

    Attributes
    ----------
    memory : int
        Pairs of changes that are kept.
    """

    memory: int = option(10, check_integer, 1)


@dataclass
class State:
    """All that a run changes."""

    w: np.ndarray  # internal weights
    primal: float  # P(w); infinite before the first evaluation
    dual: float
    gradient: np.ndarray
    direction: np.ndarray  # p
    slope: float  # <g, p>
    length: float  # t of the next trial
    changes: list[tuple[np.ndarray, np.ndarray]]  # (s, y), the latest last
    step: int = 0
    oracle_calls: int = 0


class LBFGS(Solver):
    """L-BFGS."""

    name = "lbfgs"
    title = "L-BFGS"
    objectives = ("log", "softmax_margin")
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("expectations",)

    @classmethod
    def memory(cls, problem, options, iterates):
        return super().memory(problem, options, iterates) + 16 * options.memory * problem.num_weights

    def prepare(self):
        self.oracle = MarginalOracle(self.problem, self.lam, self.objective)

    def start(self, seed, iterates, order, warm_start):
        # At the truth a_i, with entropy 0, D is 0 and w = 0.
        w, g, p = (new_weights(self.problem) for _ in range(3))
        self.state = State(w, np.inf, 0.0, g, p, 0.0, 1.0, [])

    def start_near(self, w):
        self.state.w = w

    def compile(self):
        self.oracle(self.state.w)

    def advance(self, budget):
        state, n = self.state, self.problem.n
        while state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            self._try_step()
            state.step += 1
            state.oracle_calls += n
        return Stop(calls_needed=n)

    def _try_step(self) -> None:
        """Evaluate P and g at the next trial, and accept it or shorten the step."""
        state = self.state
        trial = state.w + state.length * state.direction
        point = self.oracle(trial)
        if not point.primal <= state.primal + DECREASE * state.length * state.slope:
            # The minimum of the parabola through both values and the slope.
            fall = 2.0 * (point.primal - state.primal - state.length * state.slope)
            state.length *= min(LONGEST, max(SHORTEST, -state.length * state.slope / fall if fall > 0.0 else 0.0))
            return
        if state.primal < np.inf:
            s, y = trial - state.w, point.gradient - state.gradient
            if product(s, y) > 0.0:
                state.changes = [*state.changes, (s, y)][-self.options.memory :]
        state.w, state.primal, state.dual, state.gradient = trial, point.primal, point.dual, point.gradient
        state.direction = self._direction()
        state.slope = product(state.direction, state.gradient)
        norm = np.sqrt(product(state.gradient, state.gradient))
        state.length = 1.0 if state.changes or norm == 0.0 else 1.0 / norm

    def _direction(self) -> np.ndarray:
        """Return -H g, by two loops over the pairs."""
        q, alphas = -self.state.gradient, []
        for s, y in reversed(self.state.changes):
            alphas.append(product(s, q) / product(s, y))
            q -= alphas[-1] * y
        if self.state.changes:
            s, y = self.state.changes[-1]
            q *= product(s, y) / product(y, y)
        for s, y in self.state.changes:
            q += (alphas.pop() - product(y, q) / product(s, y)) * s
        return q

    def point(self, iterate):
        return Point(self.state.w, self.state.dual)
