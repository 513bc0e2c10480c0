"""Stochastic subgradient descent with the Pegasos step (Lacoste-Julien et al., ICML 2013, section 6 and Appendix F).

At step k = 0, 1, ..., for the drawn example i and step size 1/(lam (k + 1)),

    y* = argmax_y H_i(y; w_k),   w_{k+1} = (1 - 1/(k+1)) w_k + psi_i(y*)/(lam (k+1)),

so w_k = S_k/(lam k) with S_k = sum_{s<=k} psi_s. With the harmonic numbers H_k the averages are sums over the same psi_s:

    wavg_k = 2 ((k+1) S_k - sum_s s psi_s) / (lam k (k+1))                      weights proportional to the step
    avg_k  = (H_k S_k - sum_s H_{s-1} psi_s) / (lam k)                          mean of w_1 .. w_k
    tavg_k = (H_k S_k - H_{K0-1} S_{K0} - sum_{s>K0} H_{s-1} psi_s) / (lam (k - K0 + 1))     mean of w_{K0} .. w_k

with K0 the last power of two <= k. There is no dual point, hence no gap.

Where some weights must not be negative, w_k = max(S_k, 0)/(lam k) there: regularised dual averaging (Xiao, JMLR 2010, section
3.2, for the strongly convex regulariser lam/2 ||w||^2 and w >= 0), of which the step above is the case without constraints.
S_k itself is never clipped. Averages are taken of S_k/(lam k), and clipped in the end.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.blocks import projections
from fwexp.blocks.averaging import AVG, KINDS, TAVG, WAVG, last_power_of_two
from fwexp.blocks.projections import add_psi_change
from fwexp.blocks.sampling import Draws, fixed_order_draws, order_draws
from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol import (
    accumulate_psi,
    max_oracle,
    new_sums,
    new_weights,
    rescale,
    scatter_sum,
    scores,
    workspace,
)
from fwexp.solvers.base import PlainOrder, Point, Solver, Stop


class Sums(NamedTuple):
    """S_k, what the averages need, and the step."""

    psi_sum: np.ndarray  # S_k as internal weights, max(S_k, 0) where these must not be negative
    kinds: np.ndarray  # int64 (m,), the averages that are kept
    sums: np.ndarray  # m weighted sums of psi_s; with tavg among the kinds one more, S_k
    harmonic: np.ndarray  # float64 (1,), H_k
    step: np.ndarray  # int64 (1,), k


@dataclass
class State:
    """All that a run changes."""

    iterate: Sums
    projection: projections.Unconstrained | projections.Nonnegative  # S_k itself, where that is something else
    draws: Draws


@njit
def _steps(problem, iterate, projection, work, order, lam):
    """Take one step per index in ``order``; modifies ``iterate``, ``projection`` and ``work``."""
    sums = iterate.sums
    for i in order:
        k = iterate.step[0]
        scores(problem, i, iterate.psi_sum, work.theta)
        if k > 0:
            rescale(problem, i, 1.0 / (lam * k), work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        add_psi_change(projection, problem, i, work.y, 1.0, iterate.psi_sum)
        k += 1
        for j in range(len(iterate.kinds)):
            if iterate.kinds[j] == WAVG:
                accumulate_psi(problem, i, work.y, float(k), sums[j])
            elif iterate.kinds[j] == AVG:
                accumulate_psi(problem, i, work.y, iterate.harmonic[0], sums[j])
            else:
                total = sums[len(sums) - 1]
                accumulate_psi(problem, i, work.y, 1.0, total)
                if k == last_power_of_two(k):  # k is K0: the average starts anew
                    sums[j][:] = iterate.harmonic[0] * total
                else:
                    accumulate_psi(problem, i, work.y, iterate.harmonic[0], sums[j])
        iterate.step[0] = k
        iterate.harmonic[0] += 1.0 / k


@njit
def _subtract_sum(problem, total, w):
    scatter_sum(problem, total, -1.0, w)


class SSG(Solver):
    """Stochastic subgradient descent."""

    name = "ssg"
    title = "stochastic subgradient"
    Options = PlainOrder
    iterates = ("last", "wavg", "tavg", "avg")
    stochastic = True
    has_dual = False
    takes_order = True
    constraints = True

    def start(self, seed, iterates, order, warm_start):
        problem, rule = self.problem, self.options.sampling
        kinds = np.array([KINDS[name] for name in iterates if name in KINDS], dtype=np.int64)
        sums = new_sums(problem, len(kinds) + int(TAVG in kinds))
        iterate = Sums(new_weights(problem), kinds, sums, np.zeros(1), np.zeros(1, dtype=np.int64))
        draws = order_draws(rule, problem.n, seed) if order is None else fixed_order_draws(order)
        self.state = State(iterate, projections.new_projection(problem), draws)

    def prepare(self):
        self.work = workspace(self.problem)

    def advance(self, budget):
        order = self.state.draws.take(max(0, min(budget.calls, budget.steps) - self.step))
        state = self.state
        specialise(_steps, self.problem)(self.problem, state.iterate, state.projection, self.work, order, self.lam)
        return Stop()

    @property
    def step(self):
        return int(self.state.iterate.step[0])

    oracle_calls = step

    def point(self, iterate):
        state, k = self.state.iterate, self.step
        if k == 0:
            return Point(state.psi_sum.copy(), np.nan)
        if iterate == "last":
            return Point(state.psi_sum / (self.lam * k), np.nan)
        first = last_power_of_two(k)
        # wavg, avg, tavg = scale * (factor * S - sum)
        factor = {"wavg": k + 1.0}.get(iterate, state.harmonic[0])
        scale = {"wavg": 2.0 / (k * (k + 1.0)), "avg": 1.0 / k, "tavg": 1.0 / (k - first + 1.0)}[iterate] / self.lam
        w = factor * projections.unclipped(self.state.projection, state.psi_sum)
        total = state.sums[int(np.flatnonzero(state.kinds == KINDS[iterate])[0])]
        specialise(_subtract_sum, self.problem)(self.problem, total, w)
        return Point(projections.clip(projections.constrained_indices(self.problem), scale * w), np.nan)
