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
def best_and_worst(i, sets):
    """Return the slot of the highest score, and that of the lowest one among those with weight: the away corner."""
    first, count = sets.first[i], sets.count[i]
    score, weight = sets.score[:count], sets.weight[first : first + count]
    highest, lowest = -np.inf, np.inf
    for a in range(count):
        highest = max(highest, score[a])
        lowest = min(lowest, score[a] if weight[a] > 0.0 else np.inf)
    return slots_at(i, highest, lowest, sets)


@register_jitable
def slots_at(i, highest, lowest, sets):
    """Return the slot of the highest score, and that of the lowest one among those with weight, given these scores."""
    first, last, scale = sets.first[i], sets.count[i] - 1, sets.scale[0]
    score, weight = sets.score[: last + 1], sets.weight[first : first + last + 1]
    best = worst = 0
    while best < last and exceeds(highest, score[best], scale):
        best += 1
    while worst < last and (weight[worst] <= 0.0 or exceeds(score[worst], lowest, scale)):
        worst += 1
    return best, worst


@register_jitable
def move_weight(i, a, b, amount, lam_n, sets):
    """Move weight from slot a to slot b, and update the scores for the w that results.

    Returns the highest score, and the lowest one among those with weight, which a loop of their own would take longer to find.
    """
    first, count = sets.first[i], sets.count[i]
    score, weight = sets.score[:count], sets.weight[first : first + count]
    weight[b] += amount
    sets.change[b] += amount
    weight[a] = 0.0 if amount == weight[a] else weight[a] - amount  # A drop step empties a slot exactly.
    sets.change[a] -= amount
    row_a, row_b, row, factor = gram_place(i, a, 0, sets), gram_place(i, b, 0, sets), sets.gram_first[i], amount / lam_n
    highest, lowest = -np.inf, np.inf
    for c in range(count):
        of_a = sets.gram[row_a + c if c <= a else row + a]
        of_b = sets.gram[row_b + c if c <= b else row + b]
        value = score[c] - factor * (of_b - of_a)
        score[c] = value
        highest = max(highest, value)
        lowest = min(lowest, value if weight[c] > 0.0 else np.inf)
        row += c + 1
    return highest, lowest


@register_jitable
def pairwise_step(i, a, b, lam_n, sets):
    """Move the weight from a to b that maximises the dual, at most all there is; return whether any was, and as `move_weight`."""
    gap = sets.score[b] - sets.score[a]
    available = sets.weight[sets.first[i] + a]
    if a == b or gap <= 0.0:
        return False, 0.0, 0.0
    curvature = distance_sq(i, a, b, sets) / lam_n
    highest, lowest = move_weight(i, a, b, available if gap >= available * curvature else gap / curvature, lam_n, sets)
    return True, highest, lowest


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
