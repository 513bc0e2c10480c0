"""Excessive gap reduction (Nesterov 2005; Zhang, Saha, Vishwanathan, NIPS 2010 and 2011, for max-margin Markov networks).

The primal is smoothed by an entropy, P_mu(w) = lam/2 ||w||^2 + 1/n sum_i max_a <a, H_i(w)> - mu KL(a, uniform), and pairs
are kept with P_mu(w_k) <= D(a_k), so P(w_k) - D(a_k) <= mu_k log |Y|. With a_mu(w) in proportion to exp(H(w)/mu),

    mu_1 = R^2/lam,  w_1 = A a_0 (uniform),  a_1 = a_mu(w_1);    for k = 1, 2, ..., tau = 2/(k+3):
    a^ = (1 - tau) a_k + tau a_mu(w_k),            w_k+1 = (1 - tau) w_k + tau A a^,
    a~ in proportion to exp(H(w_k)/mu_k + tau/((1 - tau) mu_k) H(A a^)),
    a_k+1 = (1 - tau) a_k + tau a~,                mu_k+1 = (1 - tau) mu_k,

so mu_k = O(1/k^2), with R^2 the mean over the examples of the largest ||psi_i(y)||^2, which bounds the curvature of D in the
norm of the entropy. Every step takes two calls of the expectation oracle for every example. Memory: a few vectors like w.
"""

from dataclasses import dataclass

import numpy as np

from fwexp.problems.protocol import new_weights, product, radii_sq
from fwexp.solvers.base import Point, Solver, Stop
from fwexp.solvers.entropic_oracle import EntropicOracle


@dataclass
class State:
    """All that a run changes."""

    w: np.ndarray  # internal weights
    v: np.ndarray  # A a
    ell: float  # b'a
    mu: float
    step: int = 0
    oracle_calls: int = 0


class ExcessiveGap(Solver):
    """Excessive gap reduction."""

    name = "excessive_gap"
    title = "excessive gap reduction"

    @classmethod
    def needs(cls, options):
        return ("expectations", "bounds")

    def prepare(self):
        self.entropic_oracle = EntropicOracle(self.problem, self.lam)

    def start(self, seed, iterates, order, warm_start):
        mu = max(float(np.mean(radii_sq(self.problem))) / self.lam, np.finfo(float).tiny)
        v, ell = self.entropic_oracle(new_weights(self.problem), 0.0)
        self.state = State(v.copy(), v, ell, mu)

    def advance(self, budget):
        state, calls = self.state, 2 * self.problem.n
        while state.oracle_calls + calls <= budget.calls and state.step < budget.steps:
            if state.step == 0:  # the two calls are those for a_0 and a_1
                state.v, state.ell = self.entropic_oracle(state.w, 1.0 / state.mu)
            else:
                self._take_step()
            state.step += 1
            state.oracle_calls += calls
        return Stop(calls_needed=calls)

    def _take_step(self) -> None:
        state, w, mu = self.state, self.state.w, self.state.mu
        tau = 2.0 / (state.step + 3.0)
        # a^ and w_k+1
        v, _ = self.entropic_oracle(w, 1.0 / mu)
        v = (1.0 - tau) * state.v + tau * v
        state.w = (1.0 - tau) * w + tau * v
        # a~ : H(w)/mu + tau/((1 - tau) mu) H(v) = 1/((1 - tau) mu) H((1 - tau) w + tau v)
        v, ell = self.entropic_oracle(state.w, 1.0 / ((1.0 - tau) * mu))
        # a_k+1
        state.v = (1.0 - tau) * state.v + tau * v
        state.ell += tau * (ell - state.ell)
        state.mu = (1.0 - tau) * mu

    def point(self, iterate):
        state = self.state
        return Point(state.w, state.ell - 0.5 * self.lam * product(state.v, state.v))
