"""Steps of papers after 2016: short step chains, the away corner of the best improvement, and joint steps of several blocks.

Sources: Rinaldi and Zeffiro, "Avoiding bad steps in Frank-Wolfe variants" (Comput. Optim. Appl. 2023); Bomze, Rinaldi and
Zeffiro, "Projection free methods on product domains" (2024), for chains. Franc, "FASOLE" (2014), as Osokin et al. (ICML 2016,
section 3.2) describe it, for the away corner of SDA-WSS2. Zhang, Wang, Romero and Giannakis, "Randomized block Frank-Wolfe for
convergent large-scale learning" (2017), and Wang et al., "Parallel and distributed block-coordinate Frank-Wolfe algorithms"
(ICML 2016), for joint steps.

A chain takes steps y_0, y_1, ... of a block with the gradient g of its first point x, so that it needs one oracle call. Step j
goes along d_j until a weight vanishes, which continues the chain, or until it would leave the intersection of two balls, which
ends it:

    ||y - x||^2 <= <g, y - x>   and   ||y - x|| <= <g, d_j>/||d_j||.                                                         (SSC)

The papers take Euclidean balls and a bound L on the curvature. Here the norm is the one of the block's dual, ||A_i d||
sqrt(lam), for which L = 1 is exact: a chain whose first step drops no labeling is the step with line search.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set, weight_steps
from fwexp.blocks.block_loop import clipped_step, take_step
from fwexp.jit.compilation import register_jitable
from fwexp.problems.protocol import dot, scatter

CHAIN_PAIRWISE, CHAIN_AWAY, BEST_IMPROVEMENT = 1, 2, 3


class LaterStep(NamedTuple):
    """A step between stored labelings, one of which is the corner."""

    compiled = ("kind",)

    kind: int


@take_step.register(LaterStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    sets = iterate.dual
    gap = sets.score[slot] - active_set.mean_score(i, sets)
    if step.kind == BEST_IMPROVEMENT:
        weight_steps.pairwise_step(i, _best_away(i, slot, lam_n, sets), slot, lam_n, sets)
    else:
        _chain(i, slot, step.kind == CHAIN_PAIRWISE, lam_n, sets)
    weight_steps.normalise(i, sets)
    active_set.scatter_change(problem, i, sets, 1.0 / lam_n, work.direction, iterate.w)
    return gap, 1.0 / lam_n, active_set.loss_change(i, sets)


@register_jitable
def _best_away(i, slot, lam_n, sets):
    """Return the slot with weight from which a pairwise step to ``slot`` increases the dual most."""
    best, most = slot, 0.0
    for a in range(sets.count[i]):
        weight, gap = sets.weight[sets.first[i] + a], sets.score[slot] - sets.score[a]
        if a != slot and weight > 0.0 and gap > 0.0:
            found = weight_steps.increase(gap, active_set.distance_sq(i, a, slot, sets) / lam_n, weight)
            if found > most:
                best, most = a, found
    return best


@register_jitable
def _chain(i, slot, pairwise, lam_n, sets):
    """Take a chain of steps of example i with the scores of its first point; ``change`` holds y - x."""
    count, first = sets.count[i], sets.first[i]
    way = np.empty(count)
    for _ in range(2 * count):  # Every step but the last takes all weight from a labeling, or ends at the corner.
        away, limit = _set_way(i, slot, pairwise, way, sets)
        slope, moved = 0.0, 0.0
        for a in range(count):
            slope += way[a] * sets.score[a]
            moved += sets.change[a] * sets.score[a]
        if slope <= 0.0:
            break
        length = _longest(slope, moved, *_products(i, way, lam_n, sets))
        gamma = min(limit, length)
        for a in range(count):
            before = sets.weight[first + a]
            after = before + gamma * way[a]
            if gamma == limit and (a == away or (away < 0 and a != slot)):
                after = 0.0
            sets.weight[first + a] = max(after, 0.0)
            sets.change[a] += sets.weight[first + a] - before
        if length <= limit:
            break


@register_jitable
def _set_way(i, slot, pairwise, way, sets):
    """Set ``way`` to the direction of a step; return the labeling that it leaves (-1: all but the corner), and its limit."""
    first, (_, away) = sets.first[i], weight_steps.best_and_worst(i, sets)
    weight, mean = sets.weight[first + away], active_set.mean_score(i, sets)
    from_away = not pairwise and weight < 1.0 and mean - sets.score[away] > sets.score[slot] - mean
    for a in range(len(way)):
        towards, left = 1.0 if a == slot else 0.0, 1.0 if a == away else 0.0
        share = sets.weight[first + a]
        way[a] = towards - left if pairwise else share - left if from_away else towards - share
    if pairwise:
        return away, weight
    return (away, weight / (1.0 - weight)) if from_away else (-1, 1.0)


@register_jitable
def _products(i, way, lam_n, sets):
    """Return ||d||^2, <y - x, d> and ||y - x||^2 in the norm of the dual, times n, for the direction d of ``way``."""
    square, cross, so_far = 0.0, 0.0, 0.0
    for a in range(len(way)):
        for b in range(len(way)):
            product = active_set.gram_entry(i, a, b, sets) / lam_n
            square += way[a] * way[b] * product
            cross += sets.change[a] * way[b] * product
            so_far += sets.change[a] * sets.change[b] * product
    return square, cross, so_far


@register_jitable
def _longest(slope, moved, square, cross, so_far):
    """Return the largest step from y along d that stays in both balls of (SSC); 0 if y is outside."""
    if square <= 0.0:
        return np.inf
    within = _root(square, 2.0 * cross - slope, so_far - moved)
    return min(within, _root(square, 2.0 * cross, so_far - slope * slope / square))


@register_jitable
def _root(a, b, c):
    """Return the largest t with a t^2 + b t + c <= 0, given a > 0; 0 where that is negative or none is."""
    inside = b * b - 4.0 * a * c
    if inside < 0.0:
        return 0.0
    return max(0.0, (np.sqrt(inside) - b) / (2.0 * a))


# --- several blocks in one step ---------------------------------------------------------------------------------------


class JointStep(NamedTuple):
    """The step of several blocks towards their corners, all of which were found at one w, with one line search.

    The step is taken when the last block of a group has its corner; until then, w and the dual variables do not change.
    """

    members: np.ndarray  # int64 (blocks,), the examples of the group
    slots: np.ndarray  # int64 (blocks,), their corners
    found: np.ndarray  # int64 (1,), how many of them have their corner
    gaps: np.ndarray  # float64 (blocks,), their gaps, times n
    rises: np.ndarray  # float64 (blocks,), the changes of n ell_i that full steps of them make
    total: np.ndarray  # like w, the change of w that full steps of them make


@take_step.register(JointStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    sets, place = iterate.dual, step.found[0]
    weight_steps.set_change_towards(i, slot, sets)
    step.rises[place] = active_set.set_change(problem, i, sets, work.direction)
    step.gaps[place] = gap = step.rises[place] - dot(problem, i, work.direction, work.theta)
    step.members[place], step.slots[place] = i, slot
    scatter(problem, i, work.direction, 1.0 / lam_n, step.total)
    step.found[0] = (place + 1) % len(step.members)
    return gap, 0.0, _take_joint_step(step, problem.n, lam_n, iterate) if step.found[0] == 0 else 0.0


@register_jitable
def _take_joint_step(step, n, lam_n, iterate):
    """Move all blocks of the group; return the change of n ell_i of the last one, which the loop makes."""
    gap, square, last = 0.0, 0.0, len(step.members) - 1
    for k in range(last + 1):
        gap += step.gaps[k]
    for j in range(len(step.total)):
        square += step.total[j] * step.total[j]
    gamma = clipped_step(gap, lam_n * square)  # lam n ||total||^2 is n times the curvature
    for k in range(last + 1):
        weight_steps.move(step.members[k], step.slots[k], gamma, iterate.dual)
        if k < last:
            iterate.losses[step.members[k]] += gamma * step.rises[k]
            iterate.ell[0] += gamma * step.rises[k] / n
    for j in range(len(step.total)):
        iterate.w[j] += gamma * step.total[j]
        step.total[j] = 0.0
    return gamma * step.rises[last]
