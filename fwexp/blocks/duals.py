"""Operations on dual variables beyond steps, for all forms that they have.

`Parts` stores the expected parts of every block, which suffice for Frank-Wolfe steps. `ActiveSets` (`active_set`) stores labelings
with their weights, for steps between labelings and for methods that need the dual variables themselves. `Distributions`
(`distributions`) stores expected parts of distributions over all labelings, for objectives with an entropy.
"""

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.block_loop import Parts
from fwexp.blocks.distributions import Distributions, means_to_weights, set_change
from fwexp.jit.compilation import dispatched
from fwexp.problems.loss_terms import expectations
from fwexp.problems.protocol import (
    add_to_block,
    blocks_to_weights,
    copy_blocks,
    dot,
    expectation_oracle,
    loss,
    max_oracle,
    new_blocks,
    set_dense,
    set_direction,
    true_labeling,
)

# --- in plain Python ------------------------------------------------------------------------------------------------


def new_parts(problem) -> Parts:
    """Return all blocks at their true labelings, psi = 0."""
    return Parts(new_blocks(problem))


def copied(dual, problem):
    """Return a copy of dual variables of ``problem``, with room for a step of every example."""
    if isinstance(dual, Parts):
        return Parts(copy_blocks(problem, dual.blocks))
    if isinstance(dual, Distributions):
        return dual._replace(means=dual.means.copy())
    return active_set.copied(problem, dual)


def from_scratch(dual, problem, losses: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return c sum_i F_i' (block i) as internal weights, and n ell_i, computed from the dual variables.

    ``losses`` are the n ell_i that the method maintains, because vectors of parts do not determine them.
    """
    if isinstance(dual, Parts):
        return blocks_to_weights(problem, dual.blocks, c), losses
    if isinstance(dual, Distributions):
        return means_to_weights(problem, dual.means, c), losses
    return active_set.from_scratch(problem, dual, c)


# --- in kernels -----------------------------------------------------------------------------------------------------


@dispatched(fastmath=False)
def block_gap(dual, problem, i, iterate, work):
    """Return G_i, given the part scores in ``work.theta``, by one oracle call."""


@dispatched(fastmath=False)
def jump_to_best(dual, problem, i, work):
    """Move block i to the point that the oracle finds for the part scores in ``work.theta``; return its n ell_i."""


@dispatched(fastmath=False)
def shrink_block_towards_truth(dual, problem, i, gamma, iterate, work):
    """Move block i by the share gamma towards the true labeling; return sum_y a_i(y) H_i(y; w) before the move."""


@block_gap.register(Parts)
def _(dual, problem, i, iterate, work):
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    set_direction(problem, i, work.y, dual.blocks, work.direction)
    return loss(problem, i, work.y) - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@block_gap.register(ActiveSets)
def _(dual, problem, i, iterate, work):
    gap = max_oracle(problem, i, work.theta, work.y, work.scratch)
    for a in range(1, dual.count[i]):
        weight = dual.weight[dual.first[i] + a]
        if weight > 0.0:
            y = active_set.labeling_at(dual, i, a)
            gap -= weight * (dual.loss[dual.first[i] + a] - active_set.psi_score(problem, i, y, work.theta))
    return gap


@jump_to_best.register(Parts)
def _(dual, problem, i, work):
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    set_direction(problem, i, work.y, dual.blocks, work.direction)
    add_to_block(problem, i, work.direction, 1.0, dual.blocks)
    return loss(problem, i, work.y)


@jump_to_best.register(ActiveSets)
def _(dual, problem, i, work):
    max_oracle(problem, i, work.theta, work.y, work.scratch)
    loss_y = loss(problem, i, work.y)
    active_set.score_all(problem, i, work.theta, dual)
    slot = active_set.store(problem, i, work.y, loss_y, work.theta, dual.first[i + 1] - dual.first[i], dual, work)
    for a in range(dual.count[i]):
        dual.weight[dual.first[i] + a] = 1.0 if a == slot else 0.0
    return loss_y


@shrink_block_towards_truth.register(Parts)
def _(dual, problem, i, gamma, iterate, work):
    true_labeling(problem, i, work.y)
    set_direction(problem, i, work.y, dual.blocks, work.direction)  # minus the block, because psi_i(y_i) = 0
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


@block_gap.register(Distributions, requests=[expectation_oracle])
def _(dual, problem, i, iterate, work):
    h, _, _ = expectations(dual.objective, problem, i, work)
    set_change(dual, problem, i, work)
    return h - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@jump_to_best.register(Distributions, requests=[expectation_oracle])
def _(dual, problem, i, work):
    h, _, _ = expectations(dual.objective, problem, i, work)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        dual.means[start + j] = work.mean[j]
    return h


@shrink_block_towards_truth.register(Distributions)
def _(dual, problem, i, gamma, iterate, work):
    means = dual.means[problem.part_ptr[i] : problem.part_ptr[i + 1]]
    set_dense(problem, i, means, work.direction)
    score = iterate.losses[i] - dot(problem, i, work.direction, work.theta)
    for j in range(len(means)):
        means[j] *= 1.0 - gamma
    return score  # The entropy of the new block is at least 1 - gamma times the entropy of the old one.
