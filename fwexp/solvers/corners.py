"""Where a block step goes: the corner of the simplex, a labeling, that the oracle or what is stored of it answers.

Each rule is a NamedTuple that ``find_corner`` is dispatched on.
"""

from typing import NamedTuple

from fwexp._jit import dispatched, register_jitable
from fwexp.problems.protocol import loss, max_oracle
from fwexp.solvers import active_set
from fwexp.solvers.counts import GAPS_KNOWN
from fwexp.solvers.duals import corner_gap

UNSTORED, NO_ROOM = -1, -2  # in place of a slot: the labeling is in the workspace only; the active set is full


class Oracle(NamedTuple):
    """The labeling of the max-oracle, which is not stored."""

    exact: bool = True


class Cache(NamedTuple):
    """The labeling of the max-oracle, which is stored; or one that is stored already, if its gap is large enough.

    A stored labeling serves in place of an oracle call if its gap >= max(F G_i, nu times the last exact gap) (Osokin et
    al., ICML 2016, Algorithm 5).
    """

    on: bool  # whether stored labelings may serve
    F: float
    nu: float
    size: int  # labelings that are stored per example
    sets: active_set.ActiveSets  # where they are; the dual variables themselves where those are active sets


@dispatched(fastmath=False)
def find_corner(corners, dual, problem, i, k, iterate, work):
    """Find the corner of step k, given the part scores in ``work.theta``; return (slot, whether no oracle was called).

    The labeling is in ``work.y`` as well where the dual variables are vectors of parts.
    """


@find_corner.register(Oracle)
def _(corners, dual, problem, i, k, iterate, work):
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    return UNSTORED, False


@find_corner.register(Cache)
def _(corners, dual, problem, i, k, iterate, work):
    sets = corners.sets
    active_set.score_all(problem, i, work.theta, sets)
    if corners.on:
        slot = active_set.best_stored(i, sets)
        y = active_set.labeling_at(sets, i, slot)
        gap = corner_gap(dual, problem, i, slot, y, iterate, work)
        # Before the first exact gap nothing is known, and a gap of 0 moves nothing.
        if gap > 0.0 and gap >= max(corners.F * iterate.gaps[i], corners.nu * iterate.exact_gap[0]):
            for t in range(len(y)):
                work.y[t] = y[t]
            return slot, True
    slot = call_and_store(problem, i, corners.size, sets, work)
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
