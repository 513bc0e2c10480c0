"""An oracle that is degraded on purpose: the worst labeling that (13) in `fwexp.solvers.approximate` allows."""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.block_loop import find_corner
from fwexp.blocks.corners import call_and_store
from fwexp.blocks.counts import STEPS_TAKEN
from fwexp.jit.compilation import register_jitable
from fwexp.problems.protocol import scores


class DegradedOracle(NamedTuple):
    """The worst labeling that the errors nu and delta allow."""

    nu: float
    delta: float
    lam_n: float
    complete: bool  # whether all labelings are stored
    diameters: np.ndarray  # float64 (n,), max ||psi_i(y) - psi_i(y')||^2 over the stored labelings
    sets: active_set.ActiveSets  # the dual variables


@register_jitable
def worst_allowed(i, best, nu, error, sets):
    """Return the lowest score of a labeling whose n gap_i(y) >= nu n max gap_i - error, and its slot (-1: the best itself).

    ``best`` is the highest score; the scores of the others are known.
    """
    mean, slot, score = active_set.mean_score(i, sets), -1, best
    # Rounding may leave the largest gap below 0, but the best labeling is always allowed.
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


@register_jitable
def allowed_error(corner, i, k, n):
    """Return the additive error of (13), times n."""
    gamma = 2.0 * n / (corner.nu * k + 2.0 * n)
    return gamma * 0.5 * corner.delta * corner.diameters[i] / corner.lam_n


@find_corner.register(DegradedOracle)
def _(corner, problem, i, iterate, work):
    sets = corner.sets
    scores(problem, i, iterate.w, work.theta)
    active_set.score_all(problem, i, work.theta, sets)
    if corner.complete:
        best = best_slot(i, sets)
    else:
        known = sets.count[i]
        best = call_and_store(problem, i, active_set.UNLIMITED, sets, work)
        if best < 0:
            return best, False
        if best == known:
            for a in range(known):
                corner.diameters[i] = max(corner.diameters[i], active_set.distance_sq(i, a, best, sets))
    error = allowed_error(corner, i, iterate.counts[STEPS_TAKEN], problem.n)
    slot = worst_allowed(i, sets.score[best], corner.nu, error, sets)[1]
    return (best if slot < 0 else slot), False
