"""Corners from stored labelings: the max-oracle stores its labelings, and the stored ones may replace it (the oracle cache).

`DegradedOracle` is degraded on purpose: its labelings are the worst that (13) in `fwexp.solvers.approximate` allows.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.block_loop import GAPS_KNOWN, MET_GLOBAL, MET_LOCAL, NO_ROOM, STEPS_TAKEN, UNSTORED, Parts, find_corner
from fwexp.blocks.weight_steps import best_and_worst
from fwexp.jit.compilation import dispatched, inlined, njit, register_jitable
from fwexp.problems.protocol import complete_scores, dot, loss, max_oracle, scores, set_direction


class StoringOracle(NamedTuple):
    """The labeling of the max-oracle, which is then stored; or a stored one if its gap is large enough.

    A stored labeling replaces an oracle call if its gap >= max(F G_i, nu times the mean gap when all G_i were last known)
    (Osokin et al., ICML 2016, section 3.3 and Algorithm 5).
    """

    serves: bool  # whether stored labelings may replace the oracle
    F: float
    nu: float
    size: int  # labelings that are stored per example
    sets: active_set.ActiveSets  # the stored labelings: the dual variables themselves if those are active sets
    skips_scores: bool = False  # whether only the oracle needs all part scores; stored labelings are then scored directly


@dispatched(fastmath=False)
def corner_gap(dual, problem, i, slot, y, iterate, work):
    """Return the gap of a stored labeling y: n times the decrease that moving the block towards it promises."""


@corner_gap.register(Parts)
def _(dual, problem, i, slot, y, iterate, work):
    # The gap is L_i(y) - n ell_i - <p(y) - p_i, theta>, and set_direction computes p(y) - p_i.
    set_direction(problem, i, y, dual.blocks, work.direction)
    return loss(problem, i, y) - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@corner_gap.register(active_set.ActiveSets)
def _(dual, problem, i, slot, y, iterate, work):
    return dual.score[slot] - active_set.mean_score(i, dual)


@find_corner.register(StoringOracle)
def _(corner, problem, i, iterate, work):
    score_stored(corner, problem, i, iterate, work)
    slot, met_local, met_global = find_serving(corner, problem, i, iterate, work)
    if slot != UNSTORED:
        iterate.counts[MET_LOCAL] += 1
        iterate.counts[MET_GLOBAL] += 1
        return slot, True
    if corner.skips_scores:
        complete_scores(problem, i, iterate.w, work)
    slot = call_and_store(problem, i, corner.size, corner.sets, work)
    if slot != NO_ROOM:  # Otherwise the step is taken again, with more room.
        iterate.counts[MET_LOCAL] += met_local
        iterate.counts[MET_GLOBAL] += met_global
        note_loss(corner.sets, i, slot, iterate)
    return slot, False


@inlined
def score_stored(corner, problem, i, iterate, work):
    """Score the stored labelings of example i at w, and set ``work.theta`` unless that can be left out."""
    if corner.skips_scores:
        active_set.score_at(problem, i, iterate.w, work, corner.sets)
    else:
        scores(problem, i, iterate.w, work.theta)
        active_set.score_all(problem, i, work.theta, corner.sets)


@inlined
def find_serving(corner, problem, i, iterate, work):
    """Return the slot of the scored labeling that replaces an oracle call, else ``UNSTORED``, and which criteria it met."""
    if not corner.serves:
        return UNSTORED, False, False
    sets = corner.sets
    slot, _ = best_and_worst(i, sets)
    y = active_set.labeling_at(sets, i, slot)
    gap = corner_gap(iterate.dual, problem, i, slot, y, iterate, work)
    # No labeling serves while G_i is unknown (infinite), and a gap of 0 would move nothing.
    met_local = gap > 0.0 and gap >= corner.F * iterate.gaps[i]
    met_global = gap > 0.0 and gap >= corner.nu * iterate.mean_gap[0]
    if not (met_local and met_global):
        return UNSTORED, met_local, met_global
    for t in range(len(y)):
        work.y[t] = y[t]
    return slot, True, True


@inlined
def note_loss(sets, i, slot, iterate):
    """Record the loss of a labeling that the oracle found, which is its gap at w = 0, until all gaps are known."""
    if iterate.counts[GAPS_KNOWN] == 0:
        iterate.mean_gap[0] = max(iterate.mean_gap[0], sets.loss[sets.first[i] + slot])


@register_jitable
def call_and_store(problem, i, size, sets, work):
    """Call the max-oracle and store its labeling; return its slot, or ``NO_ROOM``, without a call, if it might not fit."""
    if not active_set.has_room(i, size, sets):
        return NO_ROOM
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    return active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, size, sets, work)


@njit
def store_corners(problem, corner, iterate, work):
    """Store what the oracle finds at w, with one call for each example; there is room for a labeling of each."""
    for i in range(problem.n):
        score_stored(corner, problem, i, iterate, work)
        if corner.skips_scores:
            complete_scores(problem, i, iterate.w, work)
        call_and_store(problem, i, corner.size, corner.sets, work)


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
    """Return the lowest score with n gap_i(y) >= nu n max gap_i - error, and its slot (-1: the ``best`` score itself)."""
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
