"""Algorithm 4 of Lacoste-Julien, Jaggi, Schmidt and Pletscher (ICML 2013), complete: block-coordinate Frank-Wolfe for SVMs.

    1  w = w_i = 0, ell = ell_i = 0
    2  for k = 0, 1, ...
    3      pick i at random
    4      y* = argmax_y H_i(y; w)
    5      w_s = psi_i(y*)/(lam n),  ell_s = L_i(y*)/n
    6      gamma = clip[0,1] (lam (w_i - w_s)'w - ell_i + ell_s) / (lam ||w_i - w_s||^2)   or   2n/(k + 2n)
    7      w_i <- (1 - gamma) w_i + gamma w_s,  ell_i alike
    8      w = sum_i w_i,  ell = sum_i ell_i
    9      (optionally: averages of w)

`run_steps` is the loop. Four values define the method that it runs. Each is a named tuple, and numba chooses the functions below by
the class of the tuple when it compiles the loop:

=========  ==================================================================  ==================================================
value      functions                                                           class of the first paper
=========  ==================================================================  ==================================================
iterate    `block_has_room`, `prefetch_block` by its blocks;                   `Iterate` with `Parts` and `Unconstrained`
           `change_weights` by its constraint
order      `next_block`; if needed `following_block`, `note_step`,             `InOrder`, line 3
           `has_ended`
corner     `find_corner`                                                       `Oracle`, line 4
step       `take_step`                                                         `FrankWolfe`, lines 5 to 8
=========  ==================================================================  ==================================================

Later methods add classes in other files, which this file does not import:

* orders that use block gaps (`orders`) or skip examples (`shrinking`);
* corners from stored labelings or from a degraded oracle (`corners`);
* steps between stored labelings, or to the best point of a block (`block_steps`);
* nonnegative weights (`projections`).
"""

from typing import Any, NamedTuple

import numpy as np

from fwexp.blocks.averaging import update_averages
from fwexp.jit.compilation import dispatched, njit, register_jitable
from fwexp.problems.protocol import add_to_block, approach, ask_oracle, has_room, new_weights, prefetch_example, scatter

UNSTORED, NO_ROOM = -1, -2  # Instead of a slot: the labeling is in the workspace only; the active set is full.
DONE, SET_FULL, BLOCKS_FULL, ORDER_ENDED = 0, 1, 2, 3  # Reasons why a series of steps ended.

# Places in the counts of an iterate.
STEPS_TAKEN, ORACLE_CALLS = 0, 1
CACHE_HITS = 2  # steps towards a stored labeling, without an oracle call
DRAWS_USED = 3  # random choices that this series of steps used
GAPS_KNOWN = 4  # 1 once all block gaps have been known
MET_LOCAL, MET_GLOBAL = 5, 6  # steps at which a stored labeling met the local criterion (F) of the cache, or the global one (nu)
NUM_COUNTS = 7


class Iterate(NamedTuple):
    """The point that a block method has reached."""

    w: np.ndarray  # internal weights; with acceleration, of the centred problem
    constraint: Any  # the map from v = A a to w: `Unconstrained`, or `projections.Nonnegative`
    dual: Any  # the dual variables: `Parts`, or `active_set.ActiveSets`
    losses: np.ndarray  # float64 (n,), n ell_i
    ell: np.ndarray  # float64 (1,), sum_i ell_i
    w_sq: np.ndarray  # float64 (1,), ||w||^2, maintained by Frank-Wolfe steps on active sets only
    gaps: np.ndarray  # float64 (n,), the last known block gaps, times n: G_i = n gap_i
    mean_gap: np.ndarray  # float64 (1,), mean of the G_i when all were last known; before that, the largest loss so far
    counts: np.ndarray  # int64 (NUM_COUNTS,), see above


@njit
def run_steps(problem, iterate, order, corner, step, averages, work, lam, max_calls, max_steps, max_hits):
    """Take steps until the next one would exceed a bound, ``max_hits`` on those without a call; modify all arrays in place.

    Returns ``SET_FULL`` or ``BLOCKS_FULL`` before a step that might not fit, ``ORDER_ENDED`` after the last of a series, or
    ``DONE``.
    """
    n, counts = problem.n, iterate.counts
    lam_n = lam * n
    counts[DRAWS_USED] = 0
    # 2: for k
    while counts[ORACLE_CALLS] < max_calls and counts[STEPS_TAKEN] < max_steps and counts[CACHE_HITS] < max_hits:
        # 3: the example i
        i = next_block(order, iterate)
        if not block_has_room(iterate.dual, problem, i):
            return BLOCKS_FULL
        following = following_block(order, iterate)
        if following >= 0:  # The data of the next example travel to the cache while this step is taken.
            prefetch_block(iterate.dual, problem, following)
        # 4: y* = argmax_y H_i(y; w)
        slot, hit = find_corner(corner, problem, i, iterate, work)
        if slot == NO_ROOM:
            return SET_FULL
        # 5 to 8: gamma, w_i and w, and the change of n ell_i
        gap, c, loss_change = take_step(step, problem, i, slot, lam_n, iterate, work)
        iterate.losses[i] += loss_change
        iterate.ell[0] += loss_change / n
        counts[CACHE_HITS if hit else ORACLE_CALLS] += 1
        counts[STEPS_TAKEN] += 1
        counts[DRAWS_USED] += 1
        if not hit:
            iterate.gaps[i] = max(gap, 0.0)
        note_step(order, i, gap, hit, iterate)
        # 9: averages
        update_averages(problem, averages, i, work.direction, c, loss_change / n, counts[STEPS_TAKEN])
        if has_ended(order, iterate):
            return ORDER_ENDED
    return DONE


def new_iterate(problem, dual, constraint, losses: np.ndarray | None = None) -> Iterate:
    """Return the iterate at given dual variables, with w = 0, which is right if no labeling but the true ones has weight."""
    n = problem.n
    losses = np.zeros(n) if losses is None else losses
    counts, ell, gaps = np.zeros(NUM_COUNTS, dtype=np.int64), np.array([losses.mean()]), np.full(n, np.inf)
    return Iterate(new_weights(problem), constraint, dual, losses, ell, np.zeros(1), gaps, np.zeros(1), counts)


# --- 3: orders --------------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def next_block(order, iterate):
    """Return the example of this step."""


@dispatched(fastmath=False, default=())
def following_block(order, iterate):
    """Return the example of the next step if it can be told, otherwise -1; only the time of a step depends on it."""
    return -1


@dispatched(fastmath=False, default=())
def note_step(order, i, gap, hit, iterate):
    """Record the gap that a step found, which is G_i unless ``hit``: then a stored labeling replaced the oracle."""


@dispatched(fastmath=False, default=())
def has_ended(order, iterate):
    """Return whether the order ends the series of steps here, to act in Python."""
    return False


class InOrder(NamedTuple):
    """Examples in an order that was drawn before."""

    examples: np.ndarray  # int64, one per step


@next_block.register(InOrder)
def _(order, iterate):
    return order.examples[iterate.counts[DRAWS_USED]]


@following_block.register(InOrder)
def _(order, iterate):
    position = iterate.counts[DRAWS_USED] + 1
    return order.examples[position] if position < len(order.examples) else -1


# --- 4: corners -------------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def find_corner(corner, problem, i, iterate, work):
    """Find the corner of the step; return its slot in the active set, and whether no oracle was called.

    Sets ``work.theta``, unless the step needs no part scores, and ``work.y`` if the dual variables are vectors of parts.
    """


class Oracle(NamedTuple):
    """The labeling that the max-oracle returns; it is not stored."""

    exact: bool = True


@find_corner.register(Oracle)
def _(corner, problem, i, iterate, work):
    ask_oracle(problem, i, iterate.w, work)
    return UNSTORED, False


# --- 5 to 8: steps ----------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def take_step(step, problem, i, slot, lam_n, iterate, work):
    """Take a step towards a corner, given as ``slot`` or in ``work.y``, with its part scores in ``work.theta``.

    Returns the gap G of the corner, the c by which v changed, c F_i' ``work.direction``, and the change of n ell_i.
    """


@dispatched(fastmath=False)
def change_weights(constraint, step, problem, i, gamma, loss_change, length_sq, lam_n, iterate, work):
    """Add gamma/(lam n) F_i' ``work.direction`` to v and update w; return gamma and ``loss_change``, maybe made longer."""


class FrankWolfe(NamedTuple):
    """The step towards the corner, for blocks that are vectors of parts."""

    line_search: bool = True
    nu: float = 1.0  # Predefined steps are 2n/(nu k + 2n).
    extends_search: bool = False  # whether the line search continues to the maximum of the dual under constraints


@take_step.register(FrankWolfe)
def _(step, problem, i, slot, lam_n, iterate, work):
    # 5: w_s - w_i, which is F_i' direction/(lam n), and n (ell_s - ell_i)
    loss_y, slope, length_sq = approach(problem, i, work.y, work.theta, iterate.dual.blocks, work.direction)
    loss_change = loss_y - iterate.losses[i]
    # 6: gamma
    gap, length_sq = loss_change - slope, length_sq if step.line_search else 0.0
    gamma = step_size(step, iterate.counts[STEPS_TAKEN], problem.n, gap, length_sq / lam_n)
    # 7: w_i; ell_i follows in the loop
    add_to_block(problem, i, work.direction, gamma, iterate.dual.blocks)
    # 8: w
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, gamma * loss_change, length_sq, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change


@register_jitable
def step_size(step, k, n, gap, curvature):
    """Return gamma: the exact line search, or the predefined step."""
    if step.line_search:
        return clipped_step(gap, curvature)
    return 2.0 * n / (step.nu * k + 2.0 * n)


@register_jitable
def clipped_step(gap, curvature):
    """Return the exact line-search step gap / curvature, clipped to [0, 1]; it is 1 where the dual is linear and rises."""
    if gap <= 0.0:
        return 0.0
    return 1.0 if gap >= curvature else gap / curvature


class Unconstrained(NamedTuple):
    """The constraint that is none: w = v, stored once."""

    constrained: bool = False


@change_weights.register(Unconstrained)
def _(constraint, step, problem, i, gamma, loss_change, length_sq, lam_n, iterate, work):
    if gamma != 0.0:
        scatter(problem, i, work.direction, gamma / lam_n, iterate.w)
    return gamma, loss_change


# --- blocks -----------------------------------------------------------------------------------------------------------


@dispatched(fastmath=False, default=())
def block_has_room(dual, problem, i):
    """Return whether a step of example i towards any corner fits; if not, a copy of the dual variables has more room."""
    return True


@dispatched(fastmath=False, default=())
def prefetch_block(dual, problem, i):
    """Ask the processor for the data and the dual variables of example i, which comes next: by default for the data alone."""
    prefetch_example(problem, i)


class Parts(NamedTuple):
    """The expected parts of every example, in the form that the problem family uses."""

    blocks: Any


@block_has_room.register(Parts)
def _(dual, problem, i):
    return has_room(problem, i, dual.blocks)


# --- in Python --------------------------------------------------------------------------------------------------------


def steps_of(passes: float, n: int) -> int:
    """Return the number of steps in so many passes, at most the largest exact integer."""
    return round(min(passes * n, 2.0**52))
