"""One block step: which example, which corner, which direction - the three independent choices of block Frank-Wolfe.

The loop over steps is written once, for every method that changes one block at a time. What varies is handed in: the
``SamplingRule`` that picks examples, the ``corners`` rule that finds the labeling to go to (``corners``), the dual variables that
take the step (``duals``), and the map from them to w (``projections``). Block gaps are kept times n: G_i = n gap_i.

Sources: plain steps, Lacoste-Julien et al., ICML 2013, Algorithm 4; gap sampling, pairwise and away steps, and the cache,
Osokin et al., ICML 2016, sections 3.1 to 3.3 (Algorithms 2 to 5); corrective steps after Shah, Kolmogorov and Lampert,
CVPR 2015 (multi-plane BCFW).
"""

from typing import NamedTuple

import numpy as np

from fwexp.jit.kernels import dispatched, njit, register_jitable
from fwexp.problems.protocol import dot, loss, max_oracle, prefetch_example, scores
from fwexp.solvers import gap_tree
from fwexp.solvers.averaging import update_averages
from fwexp.solvers.corners import NO_ROOM, find_corner
from fwexp.solvers.counts import CACHE_HITS, DRAWS_USED, GAPS_KNOWN, ORACLE_CALLS, STEPS_TAKEN
from fwexp.solvers.duals import (
    block_gap,
    block_has_room,
    furthest,
    jump_to,
    shrink_block_towards_truth,
    step_again,
    step_towards,
)
from fwexp.solvers.projections import Nonnegative, Unconstrained, add_change, stretch

# Kinds of rules, as numbers for kernels.
IN_ORDER, BY_GAP, LARGEST_GAP = 0, 1, 2

# How a stretch of steps ended.
DONE, SET_FULL, BLOCKS_FULL, GAPS_SPENT = 0, 1, 2, 3


class SamplingRule(NamedTuple):
    """Which example comes next."""

    kind: int
    order: np.ndarray  # int64, IN_ORDER: the examples to visit; else those of a pass that looks at no gaps, from step ``since`` on
    since: int  # of no meaning where IN_ORDER
    uniforms: np.ndarray  # float64, draws for BY_GAP
    tree: gap_tree.Tree  # over what each example is worth
    curvature: np.ndarray  # float64 (n,), C_i up to a factor where an example is worth G_i^2/C_i; empty where it is worth G_i
    refreshed: int  # step at which all gaps were last computed, -1 if they were not
    spent: float  # share of the sum of all gaps below which nothing is left to choose by; 0 to go on whatever is left


class Iterate(NamedTuple):
    """Where the method is: w (shifted if accelerated), ell and what is known of the gaps."""

    w: np.ndarray  # internal weights
    losses: np.ndarray  # float64 (n,), n ell_i
    ell: np.ndarray  # float64 (1,), the sum of ell_i
    w_sq: np.ndarray  # float64 (1,), ||w||^2, kept up to date by Frank-Wolfe steps on active sets
    gaps: np.ndarray  # float64 (n,), the last known G_i
    exact_gap: np.ndarray  # float64 (1,), mean known G_i when all were last computed or visited; before, the largest loss met
    counts: np.ndarray  # int64 (7,), see `fwexp.solvers.counts`


@njit
def run_steps(problem, iterate, dual, projection, corners, step_rule, rule, averages, work, lam, max_calls, max_steps):
    """Take steps until the next would exceed ``max_calls`` or ``max_steps``; modifies all that is mutable.

    Returns ``SET_FULL`` before a step whose labeling might find no room in its active set, ``BLOCKS_FULL`` before one that
    might find none in the blocks, ``GAPS_SPENT`` after one that leaves nothing to choose by, else ``DONE``.
    """
    n, counts = problem.n, iterate.counts
    lam_n = lam * n
    counts[DRAWS_USED] = 0
    while counts[ORACLE_CALLS] < max_calls and counts[STEPS_TAKEN] < max_steps:
        k = counts[STEPS_TAKEN]
        i = next_example(rule, k, counts[DRAWS_USED])
        if not block_has_room(dual, problem, i):
            return BLOCKS_FULL
        scores(problem, i, iterate.w, work.theta)
        following = example_after(rule, k, counts[DRAWS_USED])
        if following >= 0:  # its data are on their way while the oracle works
            prefetch_example(problem, following)
        slot, hit = find_corner(corners, dual, problem, i, k, iterate, work)
        if slot == NO_ROOM:
            return SET_FULL
        gap, gamma, loss_change, length_sq = step_towards(dual, problem, i, slot, step_rule, k, lam_n, iterate, work)
        if hit:
            counts[CACHE_HITS] += 1
        else:
            counts[ORACLE_CALLS] += 1
            iterate.gaps[i] = max(gap, 0.0)
            if rule.kind != IN_ORDER:
                gap_tree.update(rule.tree, i, worth(rule.curvature, i, iterate.gaps[i]))
        add_change(projection, problem, i, work.direction, gamma / lam_n, iterate.w)
        times = search(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, work)
        if times != 1.0:
            step_again(dual, problem, i, step_rule, gamma, times - 1.0, work)
            add_change(projection, problem, i, work.direction, (times - 1.0) * gamma / lam_n, iterate.w)
            gamma, loss_change = times * gamma, times * loss_change
        iterate.losses[i] += loss_change
        iterate.ell[0] += loss_change / n
        counts[STEPS_TAKEN] = k + 1
        counts[DRAWS_USED] += 1
        update_averages(problem, averages, i, work.direction, gamma / lam_n, loss_change / n, k + 1)
        if rule.spent > 0.0 and k + 1 == rule.since + n:
            iterate.exact_gap[0], counts[GAPS_KNOWN] = rule.tree.nodes[1, gap_tree.TOTAL] / n, 1
        if gaps_are_spent(rule, k + 1, n, iterate):
            return GAPS_SPENT
    return DONE


@dispatched(fastmath=False)
def search(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, work):
    """Return how often to take the latest step to be at the maximum of the dual; ``work.theta`` is as it was before."""


@search.register(Unconstrained)
def _(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, work):
    return 1.0


@search.register(Nonnegative)
def _(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, work):
    if not (step_rule.stretches and gamma > 0.0):
        return 1.0
    slope = loss_change - gamma * dot(problem, i, work.direction, work.theta)
    return stretch(projection, slope, gamma * gamma * length_sq / lam_n, furthest(dual, i, step_rule, gamma), lam_n)


@register_jitable
def worth(curvature, i, gap):
    """Return what the example counts in a rule that looks at gaps."""
    return gap * gap / curvature[i] if len(curvature) > 0 else gap


@register_jitable
def gaps_are_spent(rule, k, n, iterate):
    """Return whether after k steps the known gaps leave nothing to choose by.

    It is asked only n steps after all gaps were computed or all examples visited in order: so that to visit all anew costs no
    more than the steps in between, where a few examples have nearly all of the gap as well.
    """
    if rule.spent == 0.0 or k < max(rule.since, rule.refreshed) + n:
        return False
    return rule.tree.nodes[1, gap_tree.TOTAL] < rule.spent * n * iterate.exact_gap[0]


@register_jitable
def next_example(rule, k, used):
    """Return the example of step k, the ``used``-th of this stretch."""
    if rule.kind == IN_ORDER:
        return rule.order[used]
    if k < rule.since + len(rule.order):
        return rule.order[k - rule.since]
    if rule.kind == LARGEST_GAP:
        return gap_tree.argmax(rule.tree)
    if rule.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.draw(rule.tree, rule.uniforms[used])
    return int(rule.uniforms[used] * len(rule.order))


@register_jitable
def example_after(rule, k, used):
    """Return the example of the step after step k where it is known already, else -1."""
    place = used + 1 if rule.kind == IN_ORDER else k + 1 - rule.since
    return rule.order[place] if place < len(rule.order) else -1


@njit
def exact_gaps(problem, start, end, iterate, dual, work):
    """Set G_i of the examples start .. end to their exact values at w, one oracle call each."""
    for i in range(start, end):
        scores(problem, i, iterate.w, work.theta)
        value = max_oracle(problem, i, work.theta, work.y, work.scratch)
        iterate.gaps[i] = max(block_gap(dual, problem, i, value, iterate, work), 0.0)


@njit
def full_step(problem, start, iterate, dual, work):
    """Move every dual block from ``start`` on to the corner that the oracle finds at w, with step size 1; w stays as it is.

    Returns the first example whose block has no room for that, n if there is none.
    """
    for i in range(start, problem.n):
        if not block_has_room(dual, problem, i):
            return i
        scores(problem, i, iterate.w, work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        iterate.losses[i] = loss(problem, i, work.y)
        jump_to(dual, problem, i, iterate.losses[i], work)
    return problem.n


@njit
def shrink_towards_truth(problem, iterate, dual, work, gamma):
    """Move every dual block to its true labeling, with step size gamma; w stays as it is.

    G_i grows by gamma sum_y a_i(y) H_i(y; w), for the true labeling has H_i = 0.
    """
    for i in range(problem.n):
        scores(problem, i, iterate.w, work.theta)
        score = shrink_block_towards_truth(dual, problem, i, gamma, iterate, work)
        iterate.losses[i] *= 1.0 - gamma
        iterate.gaps[i] = max(iterate.gaps[i] + gamma * score, 0.0)
