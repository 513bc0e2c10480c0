"""Block-coordinate Frank-Wolfe with approximate oracles (Lacoste-Julien et al., ICML 2013, section 5 and Algorithm C.2).

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

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.active_set import UNLIMITED
from fwexp.blocks.block_loop import STEPS_TAKEN
from fwexp.blocks.corners import DegradedOracle, allowed_error, best_slot, worst_allowed
from fwexp.errors import ParameterError
from fwexp.jit.compilation import njit, specialise
from fwexp.options import check_number, option
from fwexp.problems import tiers
from fwexp.problems.protocol import all_labelings, loss, max_oracle, scores
from fwexp.solvers.bcfw import BCFW, State
from fwexp.solvers.bcfw_options import PlainOptions

MAX_ENUMERATED = 512  # labelings per example, to try all
FIRST_ROOM = 4  # labelings that an active set has room for at first, where not all are stored


@dataclass(frozen=True)
class Options(PlainOptions):
    """Options of ``approx_bcfw``.

    Attributes
    ----------
    nu : float
        Multiplicative error: the oracle finds at least this part of the largest gap.
    delta : float
        Additive error, in multiples of half the step times the curvature of the block.
    """

    nu: float = option(1.0, check_number, "a number > 0 and <= 1", above=0.0, most=1.0)
    delta: float = option(0.0, check_number, "a number >= 0", least=0.0)

    def setting(self):
        """Return the setting that these options choose: blocks are labelings, all of which are kept."""
        return super().setting()._replace(keeps_labelings=True, stored=UNLIMITED, nu=self.nu)


@njit
def _store_all(problem, i, found, sets, work):
    """Store all labelings of example i, which are the rows of an array."""
    for j in range(len(found)):
        for t in range(found.shape[1]):
            work.y[t] = found[j, t]
        active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, UNLIMITED, sets, work)


@njit
def _diameters_sq(sets, out):
    """Set ``out`` to max_{y, y'} ||psi_i(y) - psi_i(y')||^2 of every example."""
    for i in range(len(out)):
        for a in range(sets.count[i]):
            for b in range(a):
                out[i] = max(out[i], active_set.distance_sq(i, a, b, sets))


@njit
def _certificate(problem, iterate, corner, work):
    """Return sum_i (gap_i(y_i) + 1/2 delta gamma_k C_i)/nu, calling the degraded oracle for every example."""
    total, sets = 0.0, corner.sets
    for i in range(problem.n):
        scores(problem, i, iterate.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
        best = sets.score[best_slot(i, sets)]
        if not corner.complete:
            best = max(best, max_oracle(problem, i, work.theta, work.y, work.scratch))
        error = allowed_error(corner, i, iterate.counts[STEPS_TAKEN], problem.n)
        total += worst_allowed(i, best, corner.nu, error, sets)[0] - active_set.mean_score(i, sets) + error
    return total / (corner.nu * problem.n)


@dataclass
class ApproxState(State):
    """All that a run changes."""

    complete: bool  # whether all labelings are stored
    diameters: np.ndarray  # float64 (n,), see `DegradedOracle`


class ApproxBCFW(BCFW):
    """Block-coordinate Frank-Wolfe with an oracle that is as bad as allowed."""

    name = "approx_bcfw"
    title = "block-coordinate Frank-Wolfe, approximate oracle"
    Options = Options

    @classmethod
    def needs(cls, options):
        return ("sets",)

    def start(self, seed, iterates, order, warm_start):
        labelings = _enumerated(self.problem) if warm_start is None else None
        self.labelings = labelings
        super().start(seed, iterates, order, warm_start)
        complete = labelings is not None if warm_start is None else warm_start.state.complete
        diameters = np.zeros(self.problem.n)
        specialise(_diameters_sq, self.problem)(self.state.iterate.dual, diameters)
        self.state = ApproxState(**vars(self.state), complete=complete, diameters=diameters)

    def new_sets(self):
        problem, labelings = self.problem, self.labelings
        if labelings is None:
            return active_set.new_active_sets(problem, np.full(problem.n, FIRST_ROOM))
        sets = active_set.new_active_sets(problem, np.array([len(of_i) for of_i in labelings]))
        for i, of_i in enumerate(labelings):
            specialise(_store_all, problem)(problem, i, of_i, sets, self.work)
        return sets

    def corner(self):
        options, state = self.options, self.state
        lam_n = self.lam * self.problem.n
        return DegradedOracle(options.nu, options.delta, lam_n, state.complete, state.diameters, state.iterate.dual)

    @cached_property
    def terms(self):
        return super().terms._replace(calls_for_extras=0 if self.state.complete else self.problem.n)

    def extras(self):
        """Return the certificate; its oracle calls are made for the log."""
        kernel = specialise(_certificate, self.problem)
        return {"gap_estimate": kernel(self.problem, self.state.iterate, self.corner(), self.work)}


def _enumerated(problem) -> list[np.ndarray] | None:
    """Return all labelings of every example, or None where there are too many of one or the family cannot tell."""
    if not tiers.has(problem, "enumeration"):
        return None
    try:
        return [all_labelings(problem, i, MAX_ENUMERATED) for i in range(problem.n)]
    except ParameterError:
        return None
