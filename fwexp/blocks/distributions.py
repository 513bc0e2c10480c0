"""Block steps for objectives with an entropy: dual blocks are distributions over all labelings, kept as their expected parts.

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

from fwexp.blocks.block_loop import (
    UNSTORED,
    block_has_room,
    change_weights,
    clipped_step,
    find_corner,
    prefetch_block,
    take_step,
)
from fwexp.blocks.constrained_search import longest_step, repeat_step
from fwexp.jit.compilation import inlined, njit, specialise
from fwexp.jit.prefetch import prefetch
from fwexp.problems.loss_terms import Softmax, expectations, tau_of
from fwexp.problems.protocol import distance, dot, expectation_oracle, new_weights, norm_sq, scatter, scores, set_dense, workspace

NO_CHANGE = 1e-15  # A smaller change of an expected part is not made: w then need not change either.


class Distributions(NamedTuple):
    """The expected parts of the distribution of every example."""

    means: np.ndarray  # float64, laid out by ``part_ptr``
    objective: Softmax


def new_distributions(problem, objective: Softmax) -> Distributions:
    """Return distributions that are at the true labelings, whose parts are 0."""
    return Distributions(np.zeros(problem.part_ptr[-1]), objective)


@njit
def _add_means(problem, means, c, direction, w):
    for i in range(problem.n):
        set_dense(problem, i, means[problem.part_ptr[i] : problem.part_ptr[i + 1]], direction)
        scatter(problem, i, direction, c, w)


def means_to_weights(problem, means: np.ndarray, c: float) -> np.ndarray:
    """Return c sum_i F_i' mu_i as internal weights."""
    w = new_weights(problem)
    specialise(_add_means, problem)(problem, means, c, workspace(problem).direction, w)
    return w


@block_has_room.register(Distributions)
def _(dual, problem, i):
    return True


@prefetch_block.register(Distributions)
def _(dual, problem, i):
    prefetch(dual.means, problem.part_ptr[i], problem.part_ptr[i + 1])


@inlined
def set_change(dual, problem, i, work):
    """Set ``work.mean`` from m to d = m - mu_i, without entries too small to matter, and ``work.direction`` to the same vector."""
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        change = work.mean[j] - dual.means[start + j]
        work.mean[j] = change if abs(change) >= NO_CHANGE else 0.0
    set_dense(problem, i, work.mean, work.direction)


class Scores(NamedTuple):
    """No corner: part scores only."""

    exact: bool = True


@find_corner.register(Scores)
def _(corner, problem, i, iterate, work):
    scores(problem, i, iterate.w, work.theta)
    return UNSTORED, False


class MarginalStep(NamedTuple):
    """The step towards the distribution at w."""

    extends_search: bool = False


@take_step.register(MarginalStep, requests=[expectation_oracle])
def _(step, problem, i, slot, lam_n, iterate, work):
    dual = iterate.dual
    h, _, _ = expectations(dual.objective, problem, i, work)
    set_change(dual, problem, i, work)
    loss_change = h - iterate.losses[i]
    gap, curvature = loss_change - dot(problem, i, work.direction, work.theta), norm_sq(problem, i, work.direction) / lam_n
    nu = tau_of(dual.objective, problem, i) * distance(problem, i, work.direction) ** 2
    gamma = clipped_step(gap + 0.5 * nu, curvature + nu)
    start = problem.part_ptr[i]
    for j in range(problem.part_ptr[i + 1] - start):
        dual.means[start + j] += gamma * work.mean[j]
    loss_change = gamma * loss_change + 0.5 * gamma * (1.0 - gamma) * nu
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, loss_change, curvature * lam_n, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change


@longest_step.register(MarginalStep)
def _(step, i, gamma, iterate):
    return 1.0 / gamma


@repeat_step.register(MarginalStep)
def _(step, problem, i, gamma, times, iterate, work):
    pass  # Never called, because the bound on the entropy does not allow longer steps, but compiled.
