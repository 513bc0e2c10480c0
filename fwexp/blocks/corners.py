"""Where a block step goes: the corner of the simplex, a labeling, that the oracle or what is stored of it answers.

Each rule is a NamedTuple that ``find_corner`` is dispatched on.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.counts import GAPS_KNOWN, MET_GLOBAL, MET_LOCAL
from fwexp.blocks.duals import corner_gap
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import loss, max_oracle, scores

UNSTORED, NO_ROOM = -1, -2  # in place of a slot: the labeling is in the workspace only; the active set is full


class Oracle(NamedTuple):
    """The labeling of the max-oracle, which is not stored."""

    exact: bool = True


class Unneeded(NamedTuple):
    """No labeling: the step finds out by itself where it goes."""

    exact: bool = True


class Cache(NamedTuple):
    """The labeling of the max-oracle, which is stored; or one that is stored already, if its gap is large enough.

    A stored labeling serves in place of an oracle call if its gap >= max(F G_i, nu times the gap when all G_i were last looked
    at) (Osokin et al., ICML 2016, Algorithm 5).
    """

    on: bool  # whether stored labelings may serve
    F: float
    nu: float
    size: int  # labelings that are stored per example
    sets: active_set.ActiveSets  # where they are; the dual variables themselves where those are active sets
    sparing: bool = False  # whether part scores are for the oracle alone: the step asks for none, and labelings have their own way


class Degraded(NamedTuple):
    """The worst labeling that (13) in ``fwexp.solvers.approximate`` allows; here, for the kernel of all steps calls it."""

    nu: float
    delta: float
    lam_n: float
    complete: bool  # whether all labelings are stored
    diameters: np.ndarray  # float64 (n,), max ||psi_i(y) - psi_i(y')||^2 over the stored labelings
    sets: active_set.ActiveSets  # the dual variables


@dispatched(fastmath=False)
def find_corner(corners, dual, problem, i, k, iterate, work):
    """Find the corner of step k; return (slot, whether no oracle was called).

    Sets ``work.theta`` to the part scores, unless the step needs none. The labeling is in ``work.y`` as well where the dual
    variables are vectors of parts.
    """


@find_corner.register(Oracle)
def _(corners, dual, problem, i, k, iterate, work):
    scores(problem, i, iterate.w, work.theta)
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    return UNSTORED, False


@find_corner.register(Unneeded)
def _(corners, dual, problem, i, k, iterate, work):
    scores(problem, i, iterate.w, work.theta)
    return UNSTORED, False


@find_corner.register(Cache)
def _(corners, dual, problem, i, k, iterate, work):
    sets = corners.sets
    if corners.sparing:
        active_set.score_at(problem, i, iterate.w, work, sets)
    else:
        scores(problem, i, iterate.w, work.theta)
        active_set.score_all(problem, i, work.theta, sets)
    met_local = met_global = False
    if corners.on:
        slot = active_set.best_stored(i, sets)
        y = active_set.labeling_at(sets, i, slot)
        gap = corner_gap(dual, problem, i, slot, y, iterate, work)
        # Before its G_i is known nothing serves, and a gap of 0 moves nothing.
        met_local = gap > 0.0 and gap >= corners.F * iterate.gaps[i]
        met_global = gap > 0.0 and gap >= corners.nu * iterate.exact_gap[0]
        if met_local and met_global:
            iterate.counts[MET_LOCAL] += 1
            iterate.counts[MET_GLOBAL] += 1
            for t in range(len(y)):
                work.y[t] = y[t]
            return slot, True
    if corners.sparing:
        scores(problem, i, iterate.w, work.theta)
    slot = call_and_store(problem, i, corners.size, sets, work)
    if slot != NO_ROOM:  # else the step is taken again
        iterate.counts[MET_LOCAL] += met_local
        iterate.counts[MET_GLOBAL] += met_global
    if slot >= 0 and iterate.counts[GAPS_KNOWN] == 0:  # the gap of the start, if all examples are alike
        iterate.exact_gap[0] = max(iterate.exact_gap[0], sets.loss[sets.first[i] + slot])
    return slot, False


@register_jitable
def call_and_store(problem, i, size, sets, work):
    """Call the max-oracle and store its labeling; return its slot, or ``NO_ROOM`` before the call if there might be none."""
    if not active_set.has_room(i, size, sets):
        return NO_ROOM
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    return active_set.store(problem, i, work.y, loss(problem, i, work.y), work.theta, size, sets, work)


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


@register_jitable
def allowed_error(corners, i, k, n):
    """Return the additive error of (13), times n."""
    gamma = 2.0 * n / (corners.nu * k + 2.0 * n)
    return gamma * 0.5 * corners.delta * corners.diameters[i] / corners.lam_n


@find_corner.register(Degraded)
def _(corners, dual, problem, i, k, iterate, work):
    sets = corners.sets
    scores(problem, i, iterate.w, work.theta)
    active_set.score_all(problem, i, work.theta, sets)
    if corners.complete:
        best = best_slot(i, sets)
    else:
        known = sets.count[i]
        best = call_and_store(problem, i, active_set.UNLIMITED, sets, work)
        if best < 0:
            return best, False
        if best == known:
            for a in range(known):
                corners.diameters[i] = max(corners.diameters[i], active_set.distance_sq(i, a, best, sets))
    slot = worst_allowed(i, sets.score[best], corners.nu, allowed_error(corners, i, k, problem.n), sets)[1]
    return (best if slot < 0 else slot), False
