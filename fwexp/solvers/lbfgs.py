"""L-BFGS (Nocedal, Mathematics of Computation 1980; Liu and Nocedal 1989) for objectives with an entropy, as in CRFsuite.

From w_0 = 0, with the gradient g of P and the H_k that the last ``memory`` pairs (s, y) of changes of w and g define:

    p = -H_k g,    t = 1, shortened until P(w + t p) <= P(w) + 1e-4 t <g, p>,    w <- w + t p.

A step is one evaluation of P and g, with n oracle calls, whether the trial is accepted or not: so runs stop and go on anywhere.
(`scipy.optimize.minimize` does neither; a test compares the evaluations that both need.)

The dual point is a mixture a of the truth and of the marginals at all trials, kept as v = A a and a lower bound ell. Every
evaluation finds marginals p with the image v_p and ell_p (`fwexp.solvers.marginal_oracle`), and an exact line search moves a there:

    gamma = clip[0,1] (ell_p - ell - lam <v, v_p - v>) / (lam ||v_p - v||^2).

If some weights must not be negative, trials are clipped, D is that of max(v, 0) (`fwexp.blocks.projections`), and weights at 0
that p would make negative are held: they are left out of g and p (two-metric projection: Bertsekas, SIAM J. Control 1982).

With the option ``scaled``, H_0 is the inverse of the diagonal of an approximate Hessian at w = 0 (`curvatures`), lam I + diag(c)/(n
tau), and t = 1 at first. Columns of features that differ in scale then cost no more steps than standardised ones.

The marginals at w alone certify ||g||^2/(2 lam). On handwriting with lam = 1/n the mixture needs a quarter fewer evaluations.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fwexp.blocks import projections
from fwexp.errors import ParameterError
from fwexp.options import check_integer, choice, option
from fwexp.problems.protocol import curvatures, new_weights, product
from fwexp.solvers.base import Point, Reason, Solver, Stop
from fwexp.solvers.marginal_oracle import MarginalOracle, MarginalPoint

DECREASE = 1e-4  # of the line search (Armijo)
SHORTEST, LONGEST = 0.1, 0.5  # factors of a shortened step


@dataclass(frozen=True)
class Options:
    """Options of ``lbfgs``.

    Attributes
    ----------
    memory : int
        Pairs of changes that are kept.
    scaled : bool
        Whether steps allow for the scale of each feature, if the family of the problem tells it: chains and classes.
    """

    memory: int = option(10, check_integer, 1)
    scaled: bool = choice(False, True)


@dataclass
class State:
    """All that a run changes."""

    lam: float
    w: np.ndarray  # internal weights
    primal: float  # P(w); infinite before the first evaluation
    image: np.ndarray  # v
    ell: float
    gradient: np.ndarray
    direction: np.ndarray  # p
    length: float  # t of the next trial
    changes: list[tuple[np.ndarray, np.ndarray]]  # (s, y), the latest last
    step: int = 0
    oracle_calls: int = 0


class LBFGS(Solver):
    """L-BFGS."""

    name = "lbfgs"
    title = "L-BFGS"
    objectives = ("log", "softmax_margin")
    takes_warm_start = True
    constraints = True
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("expectations",)

    @classmethod
    def memory(cls, problem, options, iterates):
        return super().memory(problem, options, iterates) + 16 * options.memory * problem.num_weights

    def prepare(self):
        self.oracle = MarginalOracle(self.problem, self.lam, self.objective)
        self.index = projections.constrained_indices(self.problem)

    @cached_property
    def curvatures(self) -> np.ndarray | None:
        """About the second derivatives of the sum of the H_i at 0; None if steps do not allow for them."""
        return curvatures(self.problem) if self.options.scaled else None

    def start(self, seed, iterates, order, warm_start):
        w, v, g, p = (new_weights(self.problem) for _ in range(4))
        self.state = State(self.lam, w, np.inf, v, 0.0, g, p, 1.0, [])
        if warm_start is not None:
            self.check_warm_start(warm_start)
            # The dual variables stay: A is proportional to 1/lam.
            before = warm_start.state
            self.state.w, self.state.ell = before.w, before.ell
            self.state.image = before.image * (warm_start.lam / self.lam)

    def check_warm_start(self, other):
        super().check_warm_start(other)
        self.check_same_objective(other)

    def start_near(self, w):
        self.state.w = w

    def restart(self, w: np.ndarray, image: np.ndarray, ell: float) -> None:
        """Start from weights and a dual point, which the run keeps."""
        self.state = replace(self.state, w=w, primal=np.inf, image=image, ell=ell, length=1.0, changes=[])
        self.state.gradient, self.state.direction = new_weights(self.problem), new_weights(self.problem)

    def compile(self):
        self.oracle.compile()

    def advance(self, budget):
        state, n = self.state, self.problem.n
        while state.oracle_calls + n <= budget.calls and state.step < budget.steps:
            self._try_step()
            if budget.until_known:
                return Stop(Reason.KNOWN, n)
            if self.known_gap <= budget.target_gap:
                return Stop(Reason.ROW, n)
        return Stop(calls_needed=n)

    def _try_step(self) -> None:
        """Evaluate P and g at the next trial, and accept it or shorten the step."""
        state = self.state
        trial = projections.clip(self.index, state.w + state.length * state.direction)
        slope = product(trial - state.w, state.gradient)
        point = self.oracle(trial)
        state.step += 1
        state.oracle_calls += self.problem.n
        self._mix(point)
        if not point.primal <= state.primal + DECREASE * slope:
            # The minimum of the parabola through both values and the slope.
            fall = 2.0 * (point.primal - state.primal - slope)
            state.length *= min(LONGEST, max(SHORTEST, -slope / fall if fall > 0.0 else 0.0))
            return
        if state.primal < np.inf:
            s, y = trial - state.w, point.gradient - state.gradient
            if product(s, y) > 0.0:
                state.changes = [*state.changes, (s, y)][-self.options.memory :]
        state.w, state.primal, state.gradient = trial, point.primal, point.gradient
        self._head()

    def _mix(self, point: MarginalPoint) -> None:
        """Move the dual point towards the marginals of a trial."""
        state, change = self.state, point.image - self.state.image
        gap = point.ell - state.ell - self.lam * product(projections.clip(self.index, state.image), change)
        gamma = projections.line_search(self.index, gap, state.image, change, self.lam)
        state.image = state.image + gamma * change
        state.ell += gamma * (point.ell - state.ell)

    def _head(self) -> None:
        """Set the direction from w, and the length of the first trial."""
        state, index = self.state, self.index
        held = index[(state.w[index] <= 0.0) & (state.gradient[index] > 0.0)]
        gradient = state.gradient.copy()
        gradient[held] = 0.0
        state.direction = self._direction(gradient)
        state.direction[held] = 0.0
        norm = np.sqrt(product(gradient, gradient))
        state.length = 1.0 if state.changes or norm == 0.0 or self.curvatures is not None else 1.0 / norm

    def _direction(self, gradient: np.ndarray) -> np.ndarray:
        """Return -H g, by two loops over the pairs."""
        q, alphas, curvature = -gradient, [], 1.0
        if self.curvatures is not None:
            curvature = self.lam + self.curvatures / (self.problem.n * self.objective.temperature)
        for s, y in reversed(self.state.changes):
            alphas.append(product(s, q) / product(s, y))
            q -= alphas[-1] * y
        if self.state.changes:
            s, y = self.state.changes[-1]
            q *= product(s, y) / product(y, y / curvature)
        q /= curvature
        for s, y in self.state.changes:
            q += (alphas.pop() - product(y, q) / product(s, y)) * s
        return q

    # --- for tasks ---

    def exact_gap(self) -> float:
        """Return the gap P(w) - D(a), with n oracle calls unless it is known."""
        if self.state.primal == np.inf:
            self._try_step()
        return self.known_gap

    @property
    def known_gap(self) -> float:
        """The gap P(w) - D(a), infinite before the first evaluation."""
        return self.state.primal - self.point("last").dual

    def full_step(self) -> np.ndarray:
        """Move the dual point to the marginals at w, which stays; return A a."""
        point = self.oracle(self.state.w)
        self.state.oracle_calls += self.problem.n
        self.state.image, self.state.ell = point.image, point.ell
        return projections.clip(self.index, point.image)

    def change_lam(self, lam: float) -> None:
        """Change lam to a smaller value, with w and A a as they are: as `fwexp.blocks.events.change_lam` for blocks."""
        state, rho, fall = self.state, lam / self.lam, self.lam - lam
        if not 0.0 < rho <= 1.0:
            raise ParameterError(f"lam can be changed to positive values up to {self.lam!r} only, got {lam!r}")
        state.ell *= rho
        state.primal -= 0.5 * fall * product(state.w, state.w)
        state.gradient = state.gradient - fall * state.w
        state.changes = [(s, y - fall * s) for s, y in state.changes]
        self.lam = state.lam = self.oracle.lam = lam
        if state.primal < np.inf:
            self._head()

    # --- for the driver ---

    @property
    def known_hinge(self):
        w, primal = self.state.w, self.state.primal
        return float(primal - 0.5 * self.lam * product(w, w)) if np.isfinite(primal) else None

    def restore(self, state):
        super().restore(state)
        self.lam = self.oracle.lam = state.lam

    def point(self, iterate):
        v = self.dual_weights()
        return Point(self.state.w, self.dual_value(self.state.ell, product(v, v)))

    def dual_weights(self) -> np.ndarray:
        """Return the w that belongs to the dual variables."""
        return projections.clip(self.index, self.state.image)
