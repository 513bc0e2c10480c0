"""One block step: which example, which corner, which direction - the three independent choices of block Frank-Wolfe.

The loop over steps is written once. What varies is data: the ``Rule`` that picks examples, the ``Cache`` that may answer
in place of the oracle, and the kind of step. Block gaps are kept times n: G_i = n gap_i.

Sources: plain steps, Lacoste-Julien et al., ICML 2013, Algorithm 4; gap sampling, pairwise and away steps, and the cache,
Osokin et al., ICML 2016, sections 3.1 to 3.3 (Algorithms 2 to 5); corrective steps after Shah, Kolmogorov and Lampert,
CVPR 2015 (multi-plane BCFW).
"""

from typing import NamedTuple

import numpy as np

from fwexp._jit import njit, register_jitable
from fwexp.problems.protocol import (
    add_to_block,
    dot,
    loss,
    max_oracle,
    norm_sq,
    scatter,
    scores,
    set_direction,
    true_labeling,
)
from fwexp.solvers import active_set, gap_tree
from fwexp.solvers.averaging import update_averages
from fwexp.solvers.base import clipped_step

clipped_step = register_jitable(clipped_step)

# Kinds of steps and rules, as numbers for kernels.
FW, PAIRWISE, AWAY, CORRECTIVE = 0, 1, 2, 3
STEPS = {"fw": FW, "pairwise": PAIRWISE, "away": AWAY, "corrective": CORRECTIVE}
IN_ORDER, BY_GAP, LARGEST_GAP = 0, 1, 2

# How a stretch of steps ended.
DONE, SET_FULL = 0, 1


class Rule(NamedTuple):
    """Which example comes next."""

    kind: int
    order: np.ndarray  # int64, IN_ORDER: the examples to visit; else those of the first pass
    uniforms: np.ndarray  # float64, draws for BY_GAP
    tree: gap_tree.Tree  # over G_i


class Cache(NamedTuple):
    """When a stored labeling serves instead of an oracle call: its gap >= max(F G_i, nu times the last exact gap)."""

    on: bool
    F: float
    nu: float
    size: int  # labelings that are stored per example


class State(NamedTuple):
    """The iterate: w = A a (shifted if accelerated) and the dual variables a, as blocks of parts or as active sets."""

    w: np.ndarray  # internal weights
    blocks: np.ndarray  # expected parts of every example; FW steps only
    losses: np.ndarray  # float64 (n,), n ell_i
    ell: np.ndarray  # float64 (1,), the sum of ell_i
    gaps: np.ndarray  # float64 (n,), the last known G_i
    exact_gap: np.ndarray  # float64 (1,), mean of all G_i when they were last computed exactly; before, the largest loss met
    counts: np.ndarray  # int64 (5,), see the names below


# Steps, oracle calls, cache hits, draws used up in this stretch, and whether ``exact_gap`` is one.
STEP, CALLS, HITS, USED, EXACT = 0, 1, 2, 3, 4


@njit
def run_steps(problem, state, sets, averages, work, rule, step, cache, lam, line_search, corrections, max_calls, max_steps):
    """Take steps until the next would exceed ``max_calls`` or ``max_steps``; modifies all that is mutable.

    Returns ``SET_FULL`` before a step whose labeling finds no room in its active set, else ``DONE``.
    """
    n, counts = problem.n, state.counts
    lam_n = lam * n
    stored = step != FW or cache.on
    counts[USED] = 0
    while counts[CALLS] < max_calls and counts[STEP] < max_steps:
        k = counts[STEP]
        i = next_example(rule, k, counts[USED])
        scores(problem, i, state.w, work.theta)
        if stored:
            active_set.score_all(problem, i, work.theta, sets)

        # The corner: a stored labeling if its gap is large enough, else the oracle's.
        slot = -1
        if cache.on:
            slot = cached_corner(problem, i, state, sets, work, step, cache)
        hit = slot >= 0
        if not hit:
            max_oracle(problem, i, work.theta, work.y, work.scratch)
            if stored:
                loss_y = loss(problem, i, work.y)
                slot = active_set.store(problem, i, work.y, loss_y, work.theta, cache.size, sets, work)
                if slot < 0:
                    return SET_FULL
                if counts[EXACT] == 0:  # the gap of the start, if all examples are alike
                    state.exact_gap[0] = max(state.exact_gap[0], loss_y)
            counts[CALLS] += 1
        else:
            counts[HITS] += 1

        # The direction, in parts, and the step along it.
        if step == FW:
            if hit:
                y = active_set.labeling_at(sets, i, slot)
                for t in range(len(y)):
                    work.y[t] = y[t]
            set_direction(problem, i, work.y, state.blocks, work.direction)
            loss_change = loss(problem, i, work.y) - state.losses[i]
            gap = loss_change - dot(problem, i, work.direction, work.theta)
            if line_search:
                gamma = clipped_step(gap, norm_sq(problem, i, work.direction) / lam_n)
            else:
                gamma = 2.0 * n / (k + 2.0 * n)
            add_to_block(problem, i, work.direction, gamma, state.blocks)
            loss_change *= gamma
        else:
            gap = sets.score[slot] - active_set.mean_score(i, sets)
            move_in_set(i, slot, gap, step, corrections, lam_n, sets)
            loss_change = active_set.set_change(problem, i, sets, work.direction)
            gamma = 1.0

        if not hit:
            state.gaps[i] = max(gap, 0.0)
            if rule.kind != IN_ORDER:
                gap_tree.update(rule.tree, i, state.gaps[i])
        state.losses[i] += loss_change
        state.ell[0] += loss_change / n
        scatter(problem, i, work.direction, gamma / lam_n, state.w)
        counts[STEP] = k + 1
        counts[USED] += 1
        update_averages(problem, averages, i, work.direction, gamma / lam_n, loss_change / n, k + 1)
    return DONE


@register_jitable
def next_example(rule, k, used):
    """Return the example of step k, the ``used``-th of this stretch."""
    if rule.kind == IN_ORDER:
        return rule.order[used]
    if k < len(rule.order):
        return rule.order[k]
    if rule.kind == LARGEST_GAP:
        return gap_tree.argmax(rule.tree)
    if rule.tree.nodes[1, gap_tree.TOTAL] > 0.0:
        return gap_tree.draw(rule.tree, rule.uniforms[used])
    return int(rule.uniforms[used] * len(rule.order))


@register_jitable
def cached_corner(problem, i, state, sets, work, step, cache):
    """Return the slot of the best stored labeling if it passes both criteria of the cache, else -1 (Algorithm 5)."""
    slot = active_set.best_stored(i, sets)
    if step == FW:
        # gap of the corner = g - (n ell_i - <p_i, theta>), and set_direction gives p(y) - p_i
        y = active_set.labeling_at(sets, i, slot)
        set_direction(problem, i, y, state.blocks, work.direction)
        gap = loss(problem, i, y) - state.losses[i] - dot(problem, i, work.direction, work.theta)
    else:
        gap = sets.score[slot] - active_set.mean_score(i, sets)
    # Before the first exact gap nothing is known, and a gap of 0 moves nothing.
    if gap > 0.0 and gap >= max(cache.F * state.gaps[i], cache.nu * state.exact_gap[0]):
        return slot
    return -1


@register_jitable
def move_in_set(i, slot, gap, step, corrections, lam_n, sets):
    """Change the weights of example i towards ``slot``, whose block gap is ``gap``."""
    away = active_set.worst_active(i, sets)
    if step == PAIRWISE:
        active_set.pairwise_step(i, away, slot, lam_n, sets)
    elif step == CORRECTIVE:
        # The corner of the oracle first, then whichever pair violates optimality most.
        for _ in range(corrections):
            if not active_set.pairwise_step(i, away, slot, lam_n, sets):
                break
            slot, away = active_set.best_stored(i, sets), active_set.worst_active(i, sets)
    else:
        # gap of moving away from the worst labeling: only if another one remains
        weight = sets.weight[sets.first[i] + away]
        gap_away = active_set.mean_score(i, sets) - sets.score[away]
        if gap >= gap_away or weight >= 1.0:
            scale_step(i, slot, gap, 1.0, lam_n, sets)
        else:
            scale_step(i, away, gap_away, -weight / (1.0 - weight), lam_n, sets)
    active_set.normalise(i, sets)


@register_jitable
def scale_step(i, slot, gap, limit, lam_n, sets):
    """Move all weights by gamma towards ``slot`` (limit > 0) or away from it, with |gamma| <= |limit|."""
    first, count = sets.first[i], sets.count[i]
    curvature = 0.0  # of the direction e_slot - weights, times n
    for a in range(count):
        for b in range(count):
            da = (1.0 if a == slot else 0.0) - sets.weight[first + a]
            db = (1.0 if b == slot else 0.0) - sets.weight[first + b]
            curvature += da * db * active_set.gram_entry(i, a, b, sets)
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


@njit
def exact_gaps(problem, start, end, state, sets, work, step):
    """Set G_i of the examples start .. end to their exact values at w, one oracle call each."""
    for i in range(start, end):
        scores(problem, i, state.w, work.theta)
        value = max_oracle(problem, i, work.theta, work.y, work.scratch)
        if step == FW:
            set_direction(problem, i, work.y, state.blocks, work.direction)
            gap = loss(problem, i, work.y) - state.losses[i] - dot(problem, i, work.direction, work.theta)
        else:
            gap = value
            for a in range(1, sets.count[i]):
                weight = sets.weight[sets.first[i] + a]
                if weight > 0.0:
                    y = active_set.labeling_at(sets, i, a)
                    gap -= weight * (sets.loss[sets.first[i] + a] - active_set.psi_score(problem, i, y, work.theta))
        state.gaps[i] = max(gap, 0.0)


@njit
def full_step(problem, state, sets, work, step, size):
    """Move every dual block to the corner that the oracle finds at w, with step size 1; w stays as it is."""
    for i in range(problem.n):
        scores(problem, i, state.w, work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        state.losses[i] = loss(problem, i, work.y)
        if step == FW:
            set_direction(problem, i, work.y, state.blocks, work.direction)
            add_to_block(problem, i, work.direction, 1.0, state.blocks)
        else:
            active_set.score_all(problem, i, work.theta, sets)
            slot = active_set.store(problem, i, work.y, state.losses[i], work.theta, size, sets, work)
            for a in range(sets.count[i]):
                sets.weight[sets.first[i] + a] = 1.0 if a == slot else 0.0


@njit
def step_to_truth(problem, state, sets, work, step, gamma):
    """Move every dual block to its true labeling, with step size gamma; w stays as it is.

    G_i grows by gamma sum_y a_i(y) H_i(y; w), for the true labeling has H_i = 0.
    """
    for i in range(problem.n):
        scores(problem, i, state.w, work.theta)
        if step == FW:
            true_labeling(problem, i, work.y)
            set_direction(problem, i, work.y, state.blocks, work.direction)  # minus the block, for psi_i(y_i) = 0
            score = state.losses[i] + dot(problem, i, work.direction, work.theta)
            add_to_block(problem, i, work.direction, gamma, state.blocks)
        else:
            active_set.score_all(problem, i, work.theta, sets)
            score = active_set.mean_score(i, sets)
            for a in range(sets.count[i]):
                sets.weight[sets.first[i] + a] *= 1.0 - gamma
            sets.weight[sets.first[i]] += gamma
        state.losses[i] *= 1.0 - gamma
        state.gaps[i] = max(state.gaps[i] + gamma * score, 0.0)
