"""Block-coordinate Frank-Wolfe with approximate oracles (Lacoste-Julien et al., ICML 2013, section 4 and Algorithm C.2).

An experiment, not a method to use: the exact oracle is degraded on purpose, to see what an approximate one costs. With
gap_i(y) the gap that moving block i towards the corner y promises, the step goes towards the *worst* labeling that

    gap_i(y) >= nu max_y' gap_i(y') - 1/2 delta gamma_k C_i,   gamma_k = 2n/(nu k + 2n)                             (13)

allows: delta = 0 is the multiplicative error (12), nu = 1 the additive error (11), and both defaults are the exact oracle.
The additive error shrinks with k; C_i = max_{y, y'} ||psi_i(y) - psi_i(y')||^2/(lam n^2) is the curvature of block i. The
step is gamma_k, enlarged for nu < 1, or found by line search; Theorem C.1 bounds what is missing to the optimum by
2n/(nu k + 2n) (sum_i C_i (1 + delta)/nu + h_0), which is 1/nu^2 times as many steps to a given accuracy.

The worst labeling is sought among all where every example has 512 of them at most and the family can enumerate them. Else it
is sought among the exact answer and those given before (and the true labeling), which stay stored; C_i is then the largest
over these, so (13) holds with the true C_i all the more. ``gap_estimate`` is the certificate that one call of the degraded
oracle per example gives, with no use made of exact ones:

    gap = sum_i max_y gap_i(y) <= sum_i (gap_i(y_i) + 1/2 delta gamma_k C_i)/nu.
"""

from dataclasses import dataclass, field

import numpy as np

from fwexp._jit import njit, register_jitable, specialise
from fwexp.errors import ParameterError
from fwexp.problems.protocol import all_labelings, loss, max_oracle, scores
from fwexp.solvers import active_set
from fwexp.solvers.sparse import SAMPLING, UNLIMITED, SparseBCFW, step_towards

LIMIT = 512  # labelings per example, to try all
FIRST_ROOM = 4  # labelings that an active set has room for at first, where not all are stored


def check_nu(value) -> float:
    """Return a number in (0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise ParameterError(f"solver.nu of approx_bcfw must be a number > 0 and <= 1, got {value!r}")
    return float(value)


def check_delta(value) -> float:
    """Return a nonnegative number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ParameterError(f"solver.delta of approx_bcfw must be a number >= 0, got {value!r}")
    return float(value)


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
def worst_allowed(i, best, nu, error, sets):
    """Return the lowest score of a labeling whose n gap_i(y) >= nu n max gap_i - error, and its slot (-1: the best itself).

    ``best`` is the highest score; the scores of the others are known.
    """
    mean, slot, score = active_set.mean_score(i, sets), -1, best
    # Rounding may leave the largest gap below 0, but the best labeling is always good enough.
    least = min(nu * (best - mean) - error, best - mean)
    for a in range(sets.count[i]):
        if sets.score[a] < score and sets.score[a] - mean >= least:
            slot, score = a, sets.score[a]
    return score, slot


@register_jitable
def best_slot(i, sets):
    """Return the slot of the highest score."""
    best = 0
    for a in range(1, sets.count[i]):
        if sets.score[a] > sets.score[best]:
            best = a
    return best


@njit
def _steps(problem, state, sets, averages, work, order, lam, line_search, nu, delta, complete, diameters):
    """Take a step per index in ``order``; stops early where a set has no room. Modifies all that is mutable."""
    n = problem.n
    for i in order:
        gamma = 2.0 * n / (nu * state.steps[0] + 2.0 * n)
        scores(problem, i, state.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        if complete:
            best = best_slot(i, sets)
        else:
            max_oracle(problem, i, work.theta, work.y, work.scratch)
            known = sets.count[i]
            best = active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, UNLIMITED, sets, work)
            if best < 0:
                return
            if best == known:
                for a in range(known):
                    diameters[i] = max(diameters[i], active_set.distance_sq(i, a, best, sets))
        error = gamma * 0.5 * delta * diameters[i] / (lam * n)
        slot = worst_allowed(i, sets.score[best], nu, error, sets)[1]
        step_towards(problem, i, best if slot < 0 else slot, line_search, gamma, lam, state, sets, averages, work)


@njit
def _certificate(problem, state, sets, work, lam, nu, delta, complete, diameters):
    """Return sum_i (gap_i(y_i) + 1/2 delta gamma_k C_i)/nu, calling the degraded oracle for every example."""
    n, total = problem.n, 0.0
    gamma = 2.0 * n / (nu * state.steps[0] + 2.0 * n)
    for i in range(n):
        scores(problem, i, state.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        best = sets.score[best_slot(i, sets)]
        if not complete:
            best = max(best, max_oracle(problem, i, work.theta, work.y, work.scratch))
        error = gamma * 0.5 * delta * diameters[i] / (lam * n)
        total += worst_allowed(i, best, nu, error, sets)[0] - active_set.mean_score(i, sets) + error
    return total / (nu * n)


class ApproxBCFW(SparseBCFW):
    """Block-coordinate Frank-Wolfe with an oracle that is as bad as allowed."""

    name = "approx_bcfw"
    title = "block-coordinate Frank-Wolfe, approximate oracle"
    Options = Options
    needs = ("max_oracle",)

    def start(self, seed, iterates, order, warm_start):
        super().start(seed, iterates, order, warm_start)
        self.complete = warm_start.complete if warm_start is not None else self.complete
        self.diameters = np.zeros(self.problem.n)  # sq., of the labelings that are stored
        specialise(_diameters_sq, self.problem)(self.sets, self.diameters)

    def new_sets(self):
        problem = self.problem
        labelings = _enumerated(problem)
        self.complete = labelings is not None  # whether all labelings are stored
        if not self.complete:
            return active_set.new_active_sets(problem, np.full(problem.n, FIRST_ROOM))
        sets = active_set.new_active_sets(problem, np.array([len(of_i) for of_i in labelings]))
        for i, of_i in enumerate(labelings):
            specialise(_store_all, problem)(problem, i, of_i, sets, self.work)
        return sets

    def take_steps(self, order):
        options, before = self.options, self.step
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
            options.delta,
            self.complete,
            self.diameters,
        )
        if self.step - before < len(order):
            self.sets = active_set.grown(self.problem, self.sets, UNLIMITED)

    def extras(self):
        """Return the certificate; its oracle calls are made for the log and not counted."""
        nu, delta = self.options.nu, self.options.delta
        kernel = specialise(_certificate, self.problem)
        args = (self.problem, self.state, self.sets, self.work, self.lam, nu, delta, self.complete, self.diameters)
        return {"gap_estimate": kernel(*args)}


def _enumerated(problem) -> list[np.ndarray] | None:
    """Return all labelings of every example, or None where there are too many of one or the family cannot tell."""
    if type(problem) not in all_labelings.implementations:
        return None
    try:
        return [all_labelings(problem, i, LIMIT) for i in range(problem.n)]
    except ParameterError:
        return None
