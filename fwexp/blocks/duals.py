"""Operations on dual variables beyond steps, for all forms that they have.

`Parts` stores the expected parts of every block, which suffice for Frank-Wolfe steps. `ActiveSets` (`active_set`) stores labelings
with their weights, for steps between labelings and for methods that need the dual variables themselves. `Distributions`
stores expected parts of distributions over all labelings, for objectives with an entropy.

Block steps for objectives with an entropy: dual blocks are distributions over all labelings, kept as their expected parts.

For example i, at w = A a, the oracle finds the distribution p_i(w) in proportion to exp(s/tau) (`fwexp.problems.loss_terms`), its
expected parts m, and n ell of it, h = cost <p_i, L_i> + tau Ent(p_i). The block a_i has expected parts mu_i, and ell_i is a lower
bound on its n ell. With

    d = m - mu_i,   g = h - ell_i - <w, F_i' d> (the block gap),   q = ||F_i' d||^2 / (lam n),   nu = tau |p_i - a_i|_1^2,

the step of size gamma towards p_i raises n D by at least gamma g + gamma (1 - gamma) nu/2 - gamma^2 q/2, because the entropy is
1-strongly concave in the 1-norm:

    gamma = clip[0,1] (g + nu/2) / (q + nu)
    mu_i += gamma d;   ell_i += gamma (h - ell_i) + gamma (1 - gamma) nu/2;   w += gamma F_i' d / (lam n).

The 1-norm of the difference of any marginals is a lower bound on |p_i - a_i|_1, which takes its place (`distance`). So ell_i stays
a lower bound, exact after a full step, and D is valid at all times: a block needs neither marginals of pairs nor logarithms.

Block steps towards marginals go back to Collins, Globerson, Koo, Carreras and Bartlett (JMLR 2008). SDCA for CRFs (Le Priol,
Piche and Lacoste-Julien, UAI 2018) takes the same direction with marginals of all cliques and a line search on the exact
entropy. The bound, the step that follows from it, and the smaller state are ours.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks import active_set
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.block_loop import Parts, change_weights, clipped_step, take_step
from fwexp.blocks.block_steps import best_of_block
from fwexp.jit.compilation import dispatched, inlined, njit, specialise
from fwexp.problems.loss_terms import Softmax, expectations, soft_workspace, tau_of
from fwexp.problems.protocol import (
    add_to_block,
    blocks_to_weights,
    copy_blocks,
    distance,
    dot,
    loss,
    max_oracle,
    new_weights,
    norm_sq,
    psi_score,
    raise_distribution,
    scatter,
    set_dense,
    set_direction,
    true_labeling,
)

STEPS_ROUNDED = 4.0  # Steps of mean size 1/8 keep so many times the spacing of numbers, of which rounding is one half.
NO_CHANGE = 1e-15  # A smaller change of an expected part is not made: w then need not change either.


class Distributions(NamedTuple):
    """The expected parts of the distribution of every example."""

    means: np.ndarray  # float64 or float32, laid out by ``part_ptr``
    objective: Softmax
    rounding: float  # of ``means``, relative, of several steps together; 0 if it counts with that of other sums


def new_distributions(problem, objective: Softmax, dtype=np.float64) -> Distributions:
    """Return distributions that are at the true labelings, whose parts are 0."""
    rounding = 0.0 if dtype is np.float64 else STEPS_ROUNDED * float(np.finfo(dtype).eps)
    return Distributions(np.zeros(problem.part_ptr[-1], dtype), objective, rounding)


@inlined
def _rounding(dual, problem, i, work):
    """Return how far rounding moves the score of the block if it is about at ``work.mean``, for steps of size 1/8 or more."""
    total = 0.0
    if dual.rounding > 0.0:
        for j in range(problem.part_ptr[i + 1] - problem.part_ptr[i]):
            total += abs(work.theta[j] * work.mean[j])
    return dual.rounding * total


@inlined
def _set_direction_to_mean(problem, i, means, mean, direction):
    """Set ``mean`` and ``direction`` to mu_i."""
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        mean[j] = means[start + j]
    set_dense(problem, i, mean, direction)


@njit
def _add_means(problem, means, c, mean, direction, w):
    for i in range(problem.n):
        _set_direction_to_mean(problem, i, means, mean, direction)
        scatter(problem, i, direction, c, w)


def means_to_weights(problem, means: np.ndarray, c: float) -> np.ndarray:
    """Return c sum_i F_i' mu_i as internal weights."""
    w = new_weights(problem)
    work = soft_workspace(problem)
    specialise(_add_means, problem)(problem, means, c, work.mean, work.direction, w)
    return w


@inlined
def set_change(dual, problem, i, work):
    """Set ``work.mean`` from m to d = m - mu_i, without entries too small to matter, and ``work.direction`` to the same vector."""
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        change = work.mean[j] - dual.means[start + j]
        work.mean[j] = change if abs(change) >= NO_CHANGE else 0.0
    set_dense(problem, i, work.mean, work.direction)


class MarginalStep(NamedTuple):
    """The step towards the distribution at w; the bound on the entropy does not allow longer steps."""

    extends_search: bool = False


@take_step.register(MarginalStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    dual = iterate.dual
    h, _, _ = expectations(dual.objective, problem, i, work)
    h -= _rounding(dual, problem, i, work)
    set_change(dual, problem, i, work)
    loss_change = h - iterate.losses[i]
    gap, curvature = loss_change - dot(problem, i, work.direction, work.theta), norm_sq(problem, i, work.direction) / lam_n
    nu = tau_of(dual.objective, problem, i) * distance(problem, i, work.direction) ** 2
    gamma = clipped_step(gap + 0.5 * nu, curvature + nu)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        before = dual.means[start + j]
        dual.means[start + j] = before + gamma * work.mean[j]
        if dual.rounding > 0.0 and gamma > 0.0:
            work.mean[j] = (np.float64(dual.means[start + j]) - before) / gamma
    if dual.rounding > 0.0:  # w changes as the block does.
        set_dense(problem, i, work.mean, work.direction)
    loss_change = gamma * loss_change + 0.5 * gamma * (1.0 - gamma) * nu
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, loss_change, curvature * lam_n, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change


@best_of_block.register(Distributions)
def _(dual, problem, i, c, mean_loss, work):
    objective = dual.objective
    return raise_distribution(problem, i, work.theta, c, mean_loss, objective.cost, objective.temperature, dual.means, work)


# --- in plain Python ------------------------------------------------------------------------------------------------


def copied(dual, problem):
    """Return a copy of dual variables of ``problem``, with room for a step of every example."""
    if isinstance(dual, Parts):
        return Parts(copy_blocks(problem, dual.blocks))
    if isinstance(dual, Distributions):
        return dual._replace(means=dual.means.copy())
    return active_set.copied(problem, dual)


def from_scratch(dual, problem, losses: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return c sum_i F_i' (block i) and n ell_i from the dual variables; vectors of parts do not determine these: ``losses`` do."""
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
            gap -= weight * (dual.loss[dual.first[i] + a] - psi_score(problem, i, y, work.theta))
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


@block_gap.register(Distributions)
def _(dual, problem, i, iterate, work):
    h, _, _ = expectations(dual.objective, problem, i, work)
    set_change(dual, problem, i, work)
    return h - iterate.losses[i] - dot(problem, i, work.direction, work.theta)


@jump_to_best.register(Distributions)
def _(dual, problem, i, work):
    h, _, _ = expectations(dual.objective, problem, i, work)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        dual.means[start + j] = work.mean[j]
    return h - _rounding(dual, problem, i, work)


@shrink_block_towards_truth.register(Distributions)
def _(dual, problem, i, gamma, iterate, work):
    means = dual.means[problem.part_ptr[i] : problem.part_ptr[i + 1]]
    set_dense(problem, i, means, work.direction)
    score = iterate.losses[i] - dot(problem, i, work.direction, work.theta)
    for j in range(len(means)):
        means[j] *= 1.0 - gamma
    return score  # The entropy of the new block is at least 1 - gamma times the entropy of the old one.
