"""The dual variables of block methods, of two kinds behind one interface.

``Parts`` keeps every block as its expected parts, which is all that Frank-Wolfe steps need. ``ActiveSets`` (``active_set``)
keeps the labelings themselves with their weights, for steps between them and for methods that must know the dual variables.
Solvers and the block step call only the functions below; none of them asks which kind it has.
"""

from typing import Any, NamedTuple

import numpy as np

from fwexp.blocks import active_set, weight_steps
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.projections import add_change
from fwexp.blocks.weight_steps import clipped_step
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import (
    add_to_block,
    blocks_to_weights,
    climb,
    copy_blocks,
    dot,
    has_room,
    loss,
    new_blocks,
    norm_sq,
    prefetch_vector,
    set_direction,
    true_labeling,
)

# Kinds of steps, as numbers for kernels.
FW, PAIRWISE, AWAY, CORRECTIVE = 0, 1, 2, 3
STEP_KINDS = {"fw": FW, "pairwise": PAIRWISE, "away": AWAY, "corrective": CORRECTIVE}
EXACT = "exact"  # the one kind that has a rule of its own
STEPS = (*STEP_KINDS, EXACT)
OF_PARTS = ("fw", EXACT)  # steps that need no labelings


class Parts(NamedTuple):
    """The expected parts of every example, in the form that the problem family gives them."""

    blocks: Any


class StepRule(NamedTuple):
    """Kind and length of the step towards a corner."""

    kind: int
    line_search: bool
    corrections: int  # pairwise steps among stored labelings per corrective step
    nu: float  # predefined steps are 2n/(nu k + 2n)
    extends: bool  # whether the line search goes on to the maximum of the dual under constraints
    direct: bool  # whether the change goes from labelings to weights, and ``work.direction`` has nothing for anybody


class WholeBlock(NamedTuple):
    """The step to the maximum of the dual over the whole block, which needs no corner."""

    extends: bool = False
    direct: bool = False


# --- in plain Python ------------------------------------------------------------------------------------------------


def new_parts(problem) -> Parts:
    """Return all blocks at their true labelings, psi = 0."""
    return Parts(new_blocks(problem))


def copied(dual, problem):
    """Return a copy of dual variables of ``problem``."""
    if isinstance(dual, Parts):
        return Parts(copy_blocks(problem, dual.blocks))
    return active_set.copied(problem, dual)


def from_scratch(dual, problem, losses: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return c sum_i F_i' (block i) as internal weights, and n ell_i, computed from the dual variables.

    ``losses`` are the n ell_i as the method knows them: vectors of parts do not determine them.
    """
    if isinstance(dual, Parts):
        return blocks_to_weights(problem, dual.blocks, c), losses
    return active_set.from_scratch(problem, dual, c)


# --- in kernels -----------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def block_has_room(dual, problem, i):
    """Whether a step of example i towards any corner fits; if not, go on with a `copied` dual."""


@dispatched(fastmath=False)
def prefetch_block(dual, problem, i):
    """Ask the processor for the dual variables of example i, which comes next."""


@dispatched(fastmath=False)
def step_towards(dual, problem, i, slot, step_rule, k, lam_n, iterate, work):
    """Take step k towards a corner, given as ``slot`` or in ``work.y``, and the part scores in ``work.theta``.

    Returns the gap G of the corner, the share gamma, the change of n ell_i, and ||F_i' direction||^2, for rules that extend it
    only; the block changes by gamma times ``work.direction``.
    """


@dispatched(fastmath=False)
def step_of_parts(step_rule, dual, problem, i, k, lam_n, iterate, work):
    """The same, for blocks of parts."""


@dispatched(fastmath=False)
def change_weights(dual, projection, problem, i, step_rule, c, work, w):
    """Add c times what the latest step changed, as a vector of weights, to v, and let w follow."""


@dispatched(fastmath=False)
def furthest(dual, i, step_rule, gamma):
    """Return how often the latest step, whose share was gamma, could be taken at once before a weight is negative."""


@dispatched(fastmath=False)
def step_again(dual, problem, i, step_rule, gamma, times, work):
    """Take the latest step ``times`` more, a number >= -1."""


@dispatched(fastmath=False)
def corner_gap(dual, problem, i, slot, y, iterate, work):
    """Return the gap of a stored labeling y: n times what moving the block towards it promises."""


@dispatched(fastmath=False)
def block_gap(dual, problem, i, value, iterate, work):
    """Return G_i, given the labeling of the oracle in ``work.y`` and its value H_i(w)."""


@dispatched(fastmath=False)
def jump_to(dual, problem, i, loss_y, work):
    """Move block i to the corner ``work.y``."""


@dispatched(fastmath=False)
def shrink_block_towards_truth(dual, problem, i, gamma, iterate, work):
    """Go the share gamma of the way to the true labeling; return sum_y a_i(y) H_i(y; w) as it was before."""


@register_jitable
def step_size(step_rule, k, n, gap, curvature):
    """Return gamma: the exact line search clipped to [0, 1], or the predefined step."""
    if step_rule.line_search:
        return clipped_step(gap, curvature)
    return 2.0 * n / (step_rule.nu * k + 2.0 * n)


@block_has_room.register(Parts)
def _(dual, problem, i):
    return has_room(problem, i, dual.blocks)


@block_has_room.register(ActiveSets)
def _(dual, problem, i):
    return True


@prefetch_block.register(Parts)
def _(dual, problem, i):
    prefetch_vector(problem, i, dual.blocks)


@prefetch_block.register(ActiveSets)
def _(dual, problem, i):
    active_set.prefetch_set(i, dual)


@step_towards.register(Parts)
def _(dual, problem, i, slot, step_rule, k, lam_n, iterate, work):
    return step_of_parts(step_rule, dual, problem, i, k, lam_n, iterate, work)


@step_of_parts.register(StepRule)
def _(step_rule, dual, problem, i, k, lam_n, iterate, work):
    # 5: w_s - w_i, which lam n times is F_i' direction, and n (ell_s - ell_i)
    set_direction(problem, i, work.y, dual.blocks, work.direction)
    loss_change = loss(problem, i, work.y) - iterate.losses[i]
    # 6: gamma
    gap = loss_change - dot(problem, i, work.direction, work.theta)
    length_sq = norm_sq(problem, i, work.direction) if step_rule.line_search else 0.0
    gamma = step_size(step_rule, k, problem.n, gap, length_sq / lam_n)
    # 7: w_i; ell_i follows with ell
    add_to_block(problem, i, work.direction, gamma, dual.blocks)
    return gap, gamma, gamma * loss_change, length_sq


@step_of_parts.register(WholeBlock)
def _(step_rule, dual, problem, i, k, lam_n, iterate, work):
    gap, best = climb(problem, i, work.theta, 1.0 / lam_n, iterate.losses[i], dual.blocks, work)
    return gap, 1.0 if gap > 0.0 else 0.0, best - iterate.losses[i], 0.0


@step_towards.register(ActiveSets)
def _(dual, problem, i, slot, step_rule, k, lam_n, iterate, work):
    if step_rule.kind == FW:
        weight_steps.set_change_towards(i, slot, dual)
        loss_change = active_set.set_change(problem, i, dual, work.direction)
        slope, length_sq = dot(problem, i, work.direction, work.theta), norm_sq(problem, i, work.direction)
        gap = loss_change - slope
        gamma = step_size(step_rule, k, problem.n, gap, length_sq / lam_n)
        weight_steps.move(i, slot, gamma, dual)
        iterate.w_sq[0] += gamma / lam_n * (2.0 * slope + gamma / lam_n * length_sq)
        return gap, gamma, gamma * loss_change, length_sq
    gap = dual.score[slot] - active_set.mean_score(i, dual)
    move_in_set(i, slot, gap, step_rule, lam_n, dual)
    if step_rule.direct:
        return gap, 1.0, active_set.loss_change(i, dual), 0.0
    length_sq = active_set.change_norm_sq(i, dual) if step_rule.extends else 0.0
    return gap, 1.0, active_set.set_change(problem, i, dual, work.direction), length_sq


@change_weights.register(Parts)
def _(dual, projection, problem, i, step_rule, c, work, w):
    add_change(projection, problem, i, work.direction, c, w)


@change_weights.register(ActiveSets)
def _(dual, projection, problem, i, step_rule, c, work, w):
    if step_rule.direct:
        active_set.scatter_change(problem, i, dual, c, work.direction, w)
    else:
        add_change(projection, problem, i, work.direction, c, w)


@furthest.register(Parts)
def _(dual, i, step_rule, gamma):
    return 1.0 / gamma


@furthest.register(ActiveSets)
def _(dual, i, step_rule, gamma):
    return 1.0 / gamma if step_rule.kind == FW else weight_steps.furthest(i, dual)


@step_again.register(Parts)
def _(dual, problem, i, step_rule, gamma, times, work):
    add_to_block(problem, i, work.direction, times * gamma, dual.blocks)


@step_again.register(ActiveSets)
def _(dual, problem, i, step_rule, gamma, times, work):
    weight_steps.move_again(i, times * gamma, dual)


@corner_gap.register(Parts)
def _(dual, problem, i, slot, y, iterate, work):
    # gap of the corner = g - (n ell_i - <p_i, theta>), and set_direction gives p(y) - p_i
    set_direction(problem, i, y, dual.blocks, work.direction)
    return loss(problem, i, y) - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@corner_gap.register(ActiveSets)
def _(dual, problem, i, slot, y, iterate, work):
    return dual.score[slot] - active_set.mean_score(i, dual)


@block_gap.register(Parts)
def _(dual, problem, i, value, iterate, work):
    set_direction(problem, i, work.y, dual.blocks, work.direction)
    return loss(problem, i, work.y) - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@block_gap.register(ActiveSets)
def _(dual, problem, i, value, iterate, work):
    gap = value
    for a in range(1, dual.count[i]):
        weight = dual.weight[dual.first[i] + a]
        if weight > 0.0:
            y = active_set.labeling_at(dual, i, a)
            gap -= weight * (dual.loss[dual.first[i] + a] - active_set.psi_score(problem, i, y, work.theta))
    return gap


@jump_to.register(Parts)
def _(dual, problem, i, loss_y, work):
    set_direction(problem, i, work.y, dual.blocks, work.direction)
    add_to_block(problem, i, work.direction, 1.0, dual.blocks)


@jump_to.register(ActiveSets)
def _(dual, problem, i, loss_y, work):
    active_set.score_all(problem, i, work.theta, dual)
    slot = active_set.store(problem, i, work.y, loss_y, work.theta, dual.first[i + 1] - dual.first[i], dual, work)
    for a in range(dual.count[i]):
        dual.weight[dual.first[i] + a] = 1.0 if a == slot else 0.0


@shrink_block_towards_truth.register(Parts)
def _(dual, problem, i, gamma, iterate, work):
    true_labeling(problem, i, work.y)
    set_direction(problem, i, work.y, dual.blocks, work.direction)  # minus the block, for psi_i(y_i) = 0
    score = iterate.losses[i] + dot(problem, i, work.direction, work.theta)
    add_to_block(problem, i, work.direction, gamma, dual.blocks)
    return score


@shrink_block_towards_truth.register(ActiveSets)
def _(dual, problem, i, gamma, iterate, work):
    active_set.score_all(problem, i, work.theta, dual)
    score = active_set.mean_score(i, dual)
    for a in range(dual.count[i]):
        dual.weight[dual.first[i] + a] *= 1.0 - gamma
    dual.weight[dual.first[i]] += gamma
    return score


@register_jitable
def move_in_set(i, slot, gap, step_rule, lam_n, sets):
    """Change the weights of example i towards ``slot``, whose block gap is ``gap``."""
    away = active_set.worst_active(i, sets)
    if step_rule.kind == PAIRWISE:
        weight_steps.pairwise_step(i, away, slot, lam_n, sets)
    elif step_rule.kind == CORRECTIVE:
        # The corner of the oracle first, then whichever pair violates optimality most.
        for _ in range(step_rule.corrections):
            if not weight_steps.pairwise_step(i, away, slot, lam_n, sets):
                break
            slot, away = active_set.best_stored(i, sets), active_set.worst_active(i, sets)
    else:
        # gap of moving away from the worst labeling: only if another one remains
        weight = sets.weight[sets.first[i] + away]
        gap_away = active_set.mean_score(i, sets) - sets.score[away]
        if gap >= gap_away or weight >= 1.0:
            weight_steps.scale_step(i, slot, gap, 1.0, lam_n, sets)
        else:
            weight_steps.scale_step(i, away, gap_away, -weight / (1.0 - weight), lam_n, sets)
    weight_steps.normalise(i, sets)
