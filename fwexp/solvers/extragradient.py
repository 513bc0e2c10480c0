"""Dual extragradient (Nesterov 2007; Taskar, Lacoste-Julien, Jordan, JMLR 2006) with entropic projections, memory-efficient.

The problem as a saddle point, min over w of max over a of lam/2 ||w||^2 + sum_i <a_i, H_i(w)>/n, has the monotone operator
F(w, a) = (lam (w - A a), -H(w)/n). With T the projection from the centre (w = 0, a uniform) along s, for t = 0, 1, ...:

    v = T(s),    u = T(s - F(v)),    s <- s - F(u);        result: the mean of all u.

In a the distance is the entropy, so T is a distribution in proportion to exp(eta_a (sum of all H(w))); in w it is Euclidean.
The steps keep eta_w lam + R sqrt(eta_w eta_a) = 1, R^2 the mean over the examples of the largest ||psi_i(y)||^2.
(The published method bounds ||w|| instead of adding lam/2 ||w||^2; ``fwexp.convex.svm_game`` is that one.)

Every step takes two calls of the expectation oracle for every example. Memory: a few vectors like w.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.options import check_positive, option
from fwexp.problems.protocol import new_weights, product, radii_sq
from fwexp.solvers.base import Point, Solver, Stop
from fwexp.solvers.entropic_oracle import EntropicOracle


@dataclass(frozen=True)
class Options:
    """Options of ``extragradient``.

    Attributes
    ----------
    scale : float
        Multiplies the step of w and divides the step of a, as far as lam allows it.
    """

    scale: float = option(0.3, check_positive)


@dataclass
class State:
    """All that a run changes: sums over all u."""

    w: np.ndarray  # internal weights
    v: np.ndarray  # A a
    ell: float  # b'a
    start: tuple[np.ndarray, float]  # (A a, b'a) of the uniform distributions
    step: int = 0
    oracle_calls: int = 0


class Extragradient(Solver):
    """Dual extragradient."""

    name = "extragradient"
    title = "dual extragradient"
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("expectations", "bounds")

    def prepare(self):
        self.entropic_oracle = EntropicOracle(self.problem, self.lam)
        R = float(np.sqrt(np.mean(radii_sq(self.problem)))) or 1.0  # without features there is no w to find
        self.eta_w = min(0.5 / self.lam, 0.5 * self.options.scale / (R * np.sqrt(self.lam)))
        self.eta_a = ((1.0 - self.eta_w * self.lam) / R) ** 2 / self.eta_w

    def start(self, seed, iterates, order, warm_start):
        zero = new_weights(self.problem)
        v, ell = self.entropic_oracle(zero, 0.0)
        self.state = State(zero, np.zeros_like(zero), 0.0, (v, ell))

    def advance(self, budget):
        state, calls = self.state, 2 * self.problem.n
        while state.oracle_calls + calls <= budget.calls and state.step < budget.steps:
            t = state.step
            # v = T(s): s_w = lam (sum A a - sum w), s_a = sum H(w) = t H(mean w)
            v_w = self.eta_w * self.lam * (state.v - state.w)
            v_a = self.entropic_oracle(state.w / t, self.eta_a * t)[0] if t else state.start[0]
            # u = T(s - F(v))
            u_w = v_w - self.eta_w * self.lam * (v_w - v_a)
            u_a, ell = self.entropic_oracle((state.w + v_w) / (t + 1), self.eta_a * (t + 1))
            state.w = state.w + u_w
            state.v = state.v + u_a
            state.ell += ell
            state.step, state.oracle_calls = t + 1, state.oracle_calls + calls
        return Stop(calls_needed=calls)

    def point(self, iterate):
        state, t = self.state, self.state.step
        w, (v, ell) = (state.w / t, (state.v / t, state.ell / t)) if t else (state.w, state.start)
        return Point(w, ell - 0.5 * self.lam * product(v, v))
