"""Block-coordinate Frank-Wolfe with approximate oracles (Lacoste-Julien et al., ICML 2013, section 4 and Algorithm C.2).

An experiment, not a method to use: the exact oracle is degraded on purpose, to see what an approximate one costs. With
gap_i(y) the gap that moving block i towards the corner y promises, the step goes towards the *worst* labeling that

    gap_i(y) >= nu max_y' gap_i(y') - 1/2 delta gamma_k C_i,   gamma_k = 2n/(nu k + 2n)                             (13)

allows: delta = 0 is the multiplicative error (12), nu = 1 the additive error (11), and both defaults are the exact oracle.
The additive error shrinks with k; C_i = max_{y, y'} ||psi_i(y) - psi_i(y')||^2/(lam n^2) is the curvature of block i. The
step is gamma_k, enlarged for nu < 1, or found by line search; Theorem C.1 bounds what is missing to the optimum by
2n/(nu k + 2n) (sum_i C_i (1 + delta)/nu + h_0), which is 1/nu^2 times as many steps to a given accuracy.

The worst labeling is found by trying all, so every example may have 512 of them at most. ``gap_estimate`` is the
certificate that one call of the degraded oracle per example gives, with no use made of exact ones:

    gap = sum_i max_y gap_i(y) <= sum_i (gap_i(y_i) + 1/2 delta gamma_k C_i)/nu.
"""

from dataclasses import dataclass, field

import numpy as np

from fwexp._jit import njit, register_jitable, specialise
from fwexp.checks import check_number
from fwexp.problems.protocol import all_labelings, loss, scores
from fwexp.solvers import active_set
from fwexp.solvers.sparse import SAMPLING, UNLIMITED, SparseBCFW, step_towards

LIMIT = 512  # labelings per example


def check_nu(value) -> float:
    """Return a number in (0, 1]."""
    return check_number("solver.nu of approx_bcfw", value, "a number > 0 and <= 1", above=0.0, most=1.0)


def check_delta(value) -> float:
    """Return a nonnegative number."""
    return check_number("solver.delta of approx_bcfw", value, "a number >= 0", least=0.0)


@dataclass(frozen=True)
class Options:
    """Options of ``approx_bcfw``."""

    nu: float = field(default=1.0, metadata={"check": check_nu})
    delta: float = field(default=0.0, metadata={"check": check_delta})
    line_search: bool = field(default=True, metadata={"choices": (True, False)})
    sampling: str = field(default="uniform", metadata={"choices": SAMPLING})


@njit
def _store_all(problem, i, labelings, sets, work):
    """Store all labelings of example i."""
    for j in range(len(labelings)):
        for t in range(labelings.shape[1]):
            work.y[t] = labelings[j, t]
        active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, UNLIMITED, sets, work)


@njit
def _diameters_sq(sets, out):
    """Set ``out`` to max_{y, y'} ||psi_i(y) - psi_i(y')||^2 of every example."""
    for i in range(len(out)):
        for a in range(sets.count[i]):
            for b in range(a):
                out[i] = max(out[i], active_set.distance_sq(i, a, b, sets))


@register_jitable
def degraded_oracle(problem, i, nu, error, sets, work):
    """Return the slot of the worst labeling whose n gap_i(y) >= nu max_y' n gap_i(y') - error, and n gap_i(y)."""
    active_set.score_all(problem, i, work.theta, sets)
    mean, best = active_set.mean_score(i, sets), 0
    for a in range(1, sets.count[i]):
        if sets.score[a] > sets.score[best]:
            best = a
    # Rounding may leave the largest gap below 0, but the best labeling is always good enough.
    least = min(nu * (sets.score[best] - mean) - error, sets.score[best] - mean)
    worst = best
    for a in range(sets.count[i]):
        if sets.score[a] < sets.score[worst] and sets.score[a] - mean >= least:
            worst = a
    return worst, sets.score[worst] - mean


@njit
def _steps(problem, state, sets, averages, work, order, lam, line_search, nu, errors):
    """Take a step per index in ``order``; ``errors`` holds n/2 delta C_i. Modifies all that is mutable."""
    n = problem.n
    for i in order:
        gamma = 2.0 * n / (nu * state.steps[0] + 2.0 * n)
        scores(problem, i, state.w, work.theta)
        slot = degraded_oracle(problem, i, nu, gamma * errors[i], sets, work)[0]
        step_towards(problem, i, slot, line_search, gamma, lam, state, sets, averages, work)


@njit
def _certificate(problem, state, sets, work, nu, errors):
    """Return sum_i (gap_i(y_i) + 1/2 delta gamma_k C_i)/nu, calling the degraded oracle for every example."""
    total, gamma = 0.0, 2.0 * problem.n / (nu * state.steps[0] + 2.0 * problem.n)
    for i in range(problem.n):
        scores(problem, i, state.w, work.theta)
        total += degraded_oracle(problem, i, nu, gamma * errors[i], sets, work)[1] + gamma * errors[i]
    return total / (nu * problem.n)


class ApproxBCFW(SparseBCFW):
    """Block-coordinate Frank-Wolfe with an oracle that is as bad as allowed."""

    name = "approx_bcfw"
    title = "block-coordinate Frank-Wolfe, approximate oracle"
    Options = Options
    needs = ("all_labelings",)

    def start(self, seed, iterates, order, warm_start):
        super().start(seed, iterates, order, warm_start)
        diameters = np.zeros(self.problem.n)
        _diameters_sq(self.sets, diameters)
        self.errors = 0.5 * self.options.delta * diameters / (self.lam * self.problem.n)

    def new_sets(self):
        labelings = [all_labelings(self.problem, i, LIMIT) for i in range(self.problem.n)]
        sets = active_set.new_active_sets(self.problem, np.array([len(of_i) for of_i in labelings]))
        for i, of_i in enumerate(labelings):
            specialise(_store_all, self.problem)(self.problem, i, of_i, sets, self.work)
        return sets

    def take_steps(self, order):
        options = self.options
        kernel = specialise(_steps, self.problem)
        kernel(
            self.problem,
            self.state,
            self.sets,
            self.averages,
            self.work,
            order,
            self.lam,
            options.line_search,
            options.nu,
            self.errors,
        )

    def extras(self):
        """Return the certificate; its oracle calls are made for the log and not counted."""
        kernel = specialise(_certificate, self.problem)
        return {"gap_estimate": kernel(self.problem, self.state, self.sets, self.work, self.options.nu, self.errors)}
