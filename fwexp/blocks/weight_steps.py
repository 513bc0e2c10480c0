"""Steps between the stored labelings of an example (``active_set``): which are best and worst, and how steps move weight.

Sources: pairwise and away steps, Osokin et al., ICML 2016, section 3.2 (Algorithms 3 and 4); corrective steps after Shah,
Kolmogorov and Lampert, CVPR 2015 (multi-plane BCFW).
"""

import numpy as np

from fwexp.blocks.active_set import distance_sq, gram_entry, gram_place
from fwexp.blocks.block_loop import clipped_step
from fwexp.jit.compilation import register_jitable

# An exact step between two labelings leaves their scores equal. Ties go to the labeling that was stored first, for any
# rounding says; scores are equal if they differ by less than this, relative to their size and to the largest loss of the
# example, from which they come.
TIE = 1e-12


@register_jitable
def exceeds(score, other, scale):
    """Return whether a score is higher than another by more than rounding; ``scale`` is the largest loss."""
    return score - other > TIE * max(scale, abs(score), abs(other))


@register_jitable
def best_stored(i, sets):
    """Return the slot of the highest score."""
    score, highest = sets.score[: sets.count[i]], -np.inf
    for a in range(len(score)):
        highest = max(highest, score[a])
    best = 0
    while best < len(score) - 1 and exceeds(highest, score[best], sets.scale[0]):
        best += 1
    return best


@register_jitable
def worst_active(i, sets):
    """Return the slot of the lowest score among those with weight: the away corner."""
    score, lowest = sets.score[: sets.count[i]], np.inf
    weight = sets.weight[sets.first[i] : sets.first[i] + sets.count[i]]
    for a in range(len(score)):
        lowest = min(lowest, score[a] if weight[a] > 0.0 else np.inf)
    worst = 0
    while worst < len(score) - 1 and (weight[worst] <= 0.0 or exceeds(score[worst], lowest, sets.scale[0])):
        worst += 1
    return worst


@register_jitable
def move_weight(i, a, b, amount, lam_n, sets):
    """Move weight from slot a to slot b, and update the scores for the w that results."""
    first = sets.first[i]
    sets.weight[first + b] += amount
    sets.change[b] += amount
    # A drop step empties a slot exactly.
    sets.weight[first + a] = 0.0 if amount == sets.weight[first + a] else sets.weight[first + a] - amount
    sets.change[a] -= amount
    row_a, row_b, factor = gram_place(i, a, 0, sets), gram_place(i, b, 0, sets), amount / lam_n
    both = min(a, b) + 1  # scores whose inner products follow each other in both rows
    for c in range(both):
        sets.score[c] -= factor * (sets.gram[row_b + c] - sets.gram[row_a + c])
    row = gram_place(i, both, 0, sets)
    for c in range(both, sets.count[i]):
        of_a = sets.gram[row_a + c] if c <= a else sets.gram[row + a]
        of_b = sets.gram[row_b + c] if c <= b else sets.gram[row + b]
        sets.score[c] -= factor * (of_b - of_a)
        row += c + 1


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
def curvature_towards(i, slot, lam_n, sets):
    """Return the curvature of the dual, times n, along the way of all weights of example i to the corner ``slot``."""
    first, count, total = sets.first[i], sets.count[i], 0.0
    for a in range(count):
        for b in range(count):
            da = (1.0 if a == slot else 0.0) - sets.weight[first + a]
            db = (1.0 if b == slot else 0.0) - sets.weight[first + b]
            total += da * db * gram_entry(i, a, b, sets)
    return total / lam_n


@register_jitable
def increase(gap, curvature, limit):
    """Return the increase of the dual, times n, by a line search with gamma <= limit: gamma gap - gamma^2 curvature/2."""
    gamma = limit * clipped_step(gap, limit * curvature)
    return gamma * (gap - 0.5 * gamma * curvature)


@register_jitable
def scale_step(i, slot, gap, curvature, limit, sets):
    """Move all weights by gamma towards ``slot`` (limit > 0) or away from it, with |gamma| <= |limit|."""
    first, count = sets.first[i], sets.count[i]
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
