"""Steps between the stored labelings of an example (``active_set``): how pairwise, away and corrective steps move weight.

Sources: pairwise and away steps, Osokin et al., ICML 2016, section 3.2 (Algorithms 3 and 4); corrective steps after Shah,
Kolmogorov and Lampert, CVPR 2015 (multi-plane BCFW).
"""

import numpy as np

from fwexp.blocks.active_set import distance_sq, gram_entry, gram_place
from fwexp.blocks.block_loop import clipped_step
from fwexp.jit.compilation import register_jitable
from fwexp.jit.vectors import EIGHT, full8, load8, store8


@register_jitable
def move_weight(i, a, b, amount, lam_n, sets):
    """Move weight from slot a to slot b, and update the scores for the w that results."""
    first = sets.first[i]
    sets.weight[first + b] += amount
    sets.change[b] += amount
    # A drop step empties a slot exactly.
    sets.weight[first + a] = 0.0 if amount == sets.weight[first + a] else sets.weight[first + a] - amount
    sets.change[a] -= amount
    row_a, row_b, factor = gram_place(i, a, sets), gram_place(i, b, sets), full8(amount / lam_n)
    for c in range(0, sets.count[i], EIGHT):  # entries past the last one are never read
        products = load8(sets.gram, row_b + c) - load8(sets.gram, row_a + c)
        store8(sets.score, c, load8(sets.score, c) - factor * products)


@register_jitable
def pairwise_step(i, a, b, lam_n, sets):
    """Move the weight from a to b that maximises the dual, at most all there is; return whether any was moved."""
    gap = sets.score[b] - sets.score[a]
    available = sets.weight[sets.first[i] + a]
    if a == b or gap <= 0.0:
        return False
    curvature = distance_sq(i, a, b, sets) / lam_n
    move_weight(i, a, b, available if gap >= available * curvature else gap / curvature, lam_n, sets)
    return True


# By how much rounding may have moved the sum of the weights of an example away from 1 before they are scaled back: away
# steps magnify an error, and nothing else would stop its growth.
DRIFT = 1e-14
LEAST_MOVE = 1e-9  # of weight; less may be a step of rounding errors alone, whose sum is not 0
VANISHED = 4e-16  # rounding leaves this much of a weight that is all taken away


@register_jitable
def normalise(i, sets):
    """Scale the weights of example i to the sum 1 if rounding has moved it."""
    first, total = sets.first[i], 0.0
    for a in range(sets.count[i]):
        total += sets.weight[first + a]
    if abs(total - 1.0) > DRIFT:
        for a in range(sets.count[i]):
            before = sets.weight[first + a]
            sets.weight[first + a] = before / total
            sets.change[a] += sets.weight[first + a] - before


@register_jitable
def set_change_towards(i, slot, sets):
    """Set ``change`` to the way of all weights of example i to the corner ``slot``."""
    for a in range(sets.count[i]):
        sets.change[a] = (1.0 if a == slot else 0.0) - sets.weight[sets.first[i] + a]


@register_jitable
def move(i, slot, gamma, sets):
    """Move by the share ``gamma`` towards the corner ``slot``; a full step empties the others exactly."""
    first = sets.first[i]
    for a in range(sets.count[i]):
        sets.weight[first + a] += gamma * ((1.0 if a == slot else 0.0) - sets.weight[first + a])


@register_jitable
def furthest(i, sets):
    """Return how often ``change``, which the weights have been through once, could be made at once before one is negative."""
    times, moved = np.inf, 0.0
    for a in range(sets.count[i]):
        if sets.change[a] < 0.0:
            times = min(times, 1.0 - sets.weight[sets.first[i] + a] / sets.change[a])
            moved -= sets.change[a]
    return times if moved > LEAST_MOVE else 1.0


@register_jitable
def move_again(i, times, sets):
    """Make ``change`` so many times more; weights that vanish up to rounding are 0."""
    for a in range(sets.count[i]):
        if sets.change[a] != 0.0:
            weight = sets.weight[sets.first[i] + a] + times * sets.change[a]
            sets.weight[sets.first[i] + a] = weight if weight > VANISHED else 0.0


@register_jitable
def scale_step(i, slot, gap, limit, lam_n, sets):
    """Move all weights by gamma towards ``slot`` (limit > 0) or away from it, with |gamma| <= |limit|."""
    first, count = sets.first[i], sets.count[i]
    curvature = 0.0  # of the direction e_slot - weights, times n
    for a in range(count):
        for b in range(count):
            da = (1.0 if a == slot else 0.0) - sets.weight[first + a]
            db = (1.0 if b == slot else 0.0) - sets.weight[first + b]
            curvature += da * db * gram_entry(i, a, b, sets)
    curvature /= lam_n
    gamma = abs(limit) * clipped_step(gap, abs(limit) * curvature)
    drop = limit < 0.0 and gamma == abs(limit)
    if limit < 0.0:
        gamma = -gamma
    for a in range(count):
        before = sets.weight[first + a]
        after = before + gamma * ((1.0 if a == slot else 0.0) - before)
        if (drop and a == slot) or (gamma == 1.0 and a != slot):
            after = 0.0
        sets.weight[first + a] = after
        sets.change[a] += after - before
