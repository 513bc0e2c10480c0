"""The step to the maximum of the dual over a whole block (`step` exact), which needs no corner."""

from typing import NamedTuple

from fwexp.blocks.block_loop import UNSTORED, change_weights, find_corner, take_step
from fwexp.blocks.constrained_search import longest_step, repeat_step
from fwexp.problems.protocol import maximise_block, scores


class NoCorner(NamedTuple):
    """No labeling: the step finds the best point of the block by itself."""

    exact: bool = True


class ExactStep(NamedTuple):
    """The step to the best point of the block, for problems in which constraints concern no weights that examples use."""

    extends_search: bool = False


@find_corner.register(NoCorner)
def _(corner, problem, i, iterate, work):
    scores(problem, i, iterate.w, work.theta)
    return UNSTORED, False


@take_step.register(ExactStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    gap, best = maximise_block(problem, i, work.theta, 1.0 / lam_n, iterate.losses[i], iterate.dual.blocks, work)
    gamma = 1.0 if gap > 0.0 else 0.0
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, best - iterate.losses[i], 0.0, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change


@longest_step.register(ExactStep)
def _(step, i, gamma, iterate):
    return 1.0  # The step ends at the maximum of the dual.


@repeat_step.register(ExactStep)
def _(step, problem, i, gamma, times, iterate, work):
    pass  # Never called, but compiled for graphs without edges, whose constraints have no effect.
