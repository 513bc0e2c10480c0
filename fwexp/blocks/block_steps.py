"""Later steps: of blocks stored as labelings with weights (`weight_steps`), and to the best point of a block (`ExactStep`)."""

from typing import NamedTuple

from fwexp.blocks import active_set, weight_steps
from fwexp.blocks.active_set import ActiveSets
from fwexp.blocks.block_loop import STEPS_TAKEN, UNSTORED, Parts, change_weights, find_corner, prefetch_block, step_size, take_step
from fwexp.blocks.projections import longest_step, repeat_step
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import dot, maximise_block, norm_sq, prefetch_example, scores

PAIRWISE, AWAY, CORRECTIVE = 1, 2, 3
KINDS = {"pairwise": PAIRWISE, "away": AWAY, "corrective": CORRECTIVE}
CORRECTIONS = 5  # pairwise steps among stored labelings per corrective step


class LabelingFrankWolfe(NamedTuple):
    """The step towards the corner, in weights of labelings; it has the fields of `FrankWolfe`."""

    line_search: bool = True
    nu: float = 1.0
    extends_search: bool = False


class LabelingStep(NamedTuple):
    """A step between stored labelings, one of which is the corner."""

    compiled = ("kind",)

    kind: int
    corrections: int = CORRECTIONS
    extends_search: bool = False
    direct: bool = False  # whether the change goes from labelings to weights, without ``work.direction``


@prefetch_block.register(ActiveSets)
def _(dual, problem, i):
    prefetch_example(problem, i)
    active_set.prefetch_set(i, dual)


@take_step.register(LabelingFrankWolfe)
def _(step, problem, i, slot, lam_n, iterate, work):
    sets = iterate.dual
    weight_steps.set_change_towards(i, slot, sets)
    loss_change = active_set.set_change(problem, i, sets, work.direction)
    slope, length_sq = dot(problem, i, work.direction, work.theta), norm_sq(problem, i, work.direction)
    gap = loss_change - slope
    gamma = step_size(step, iterate.counts[STEPS_TAKEN], problem.n, gap, length_sq / lam_n)
    weight_steps.move(i, slot, gamma, sets)
    iterate.w_sq[0] += gamma / lam_n * (2.0 * slope + gamma / lam_n * length_sq)
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, gamma * loss_change, length_sq, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change


@take_step.register(LabelingStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    sets = iterate.dual
    gap = sets.score[slot] - active_set.mean_score(i, sets)
    _change_weights_of_labelings(i, slot, gap, step, lam_n, sets)
    if step.direct:
        active_set.scatter_change(problem, i, sets, 1.0 / lam_n, work.direction, iterate.w)
        return gap, 1.0 / lam_n, active_set.loss_change(i, sets)
    length_sq = active_set.change_norm_sq(i, sets) if step.extends_search else 0.0
    loss_change = active_set.set_change(problem, i, sets, work.direction)
    gamma, loss_change = change_weights(iterate.constraint, step, problem, i, 1.0, loss_change, length_sq, lam_n, iterate, work)
    return gap, gamma / lam_n, loss_change


@register_jitable
def _change_weights_of_labelings(i, slot, gap, step, lam_n, sets):
    """Change the weights of the labelings of example i towards ``slot``, whose gap is ``gap``."""
    _, away = weight_steps.best_and_worst(i, sets)
    if step.kind == PAIRWISE:
        weight_steps.pairwise_step(i, away, slot, lam_n, sets)
    elif step.kind == CORRECTIVE:
        # The corner comes first, then the pairs that violate optimality most.
        for _ in range(step.corrections):
            moved, highest, lowest = weight_steps.pairwise_step(i, away, slot, lam_n, sets)
            if not moved:
                break
            slot, away = weight_steps.slots_at(i, highest, lowest, sets)
    else:
        _fw_or_away_step(i, slot, away, gap, lam_n, sets)
    weight_steps.normalise(i, sets)


@register_jitable
def _fw_or_away_step(i, slot, away, gap, lam_n, sets):
    """Move towards ``slot``, whose gap is ``gap``, or away from ``away`` if the dual increases more by that.

    Both increases are those of unclipped weights, as are the line searches. Where two labelings have weight and the corner is one
    of them, both steps end at the same point; with these ties the step is towards the corner.
    """
    weight, curvature = sets.weight[sets.first[i] + away], weight_steps.curvature_towards(i, slot, lam_n, sets)
    if weight < 1.0:  # Otherwise no other labeling has weight.
        limit, gap_away = weight / (1.0 - weight), active_set.mean_score(i, sets) - sets.score[away]
        curvature_away = weight_steps.curvature_towards(i, away, lam_n, sets)
        increase = weight_steps.increase(gap, curvature, 1.0)
        if weight_steps.exceeds(weight_steps.increase(gap_away, curvature_away, limit), increase, 0.0):
            weight_steps.scale_step(i, away, gap_away, curvature_away, -limit, sets)
            return
    weight_steps.scale_step(i, slot, gap, curvature, 1.0, sets)


@repeat_step.register(LabelingFrankWolfe)
def _(step, problem, i, gamma, times, iterate, work):
    weight_steps.move_again(i, times * gamma, iterate.dual)


@longest_step.register(LabelingStep)
def _(step, i, gamma, iterate):
    return weight_steps.furthest(i, iterate.dual)


@repeat_step.register(LabelingStep)
def _(step, problem, i, gamma, times, iterate, work):
    weight_steps.move_again(i, times, iterate.dual)


# --- to the maximum of the dual over a block, which needs no corner ---------------------------------------------------


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


@dispatched(fastmath=False)
def best_of_block(dual, problem, i, c, mean_loss, work):
    """Move block i to the best point, or to about that of distributions; return what `maximise_block` returns."""


@best_of_block.register(Parts)
def _(dual, problem, i, c, mean_loss, work):
    return maximise_block(problem, i, work.theta, c, mean_loss, dual.blocks, work)


@take_step.register(ExactStep)
def _(step, problem, i, slot, lam_n, iterate, work):
    gap, best = best_of_block(iterate.dual, problem, i, 1.0 / lam_n, iterate.losses[i], work)
    gamma = 1.0 if gap > 0.0 else 0.0
    gamma, loss_change = change_weights(
        iterate.constraint, step, problem, i, gamma, best - iterate.losses[i], 0.0, lam_n, iterate, work
    )
    return gap, gamma / lam_n, loss_change
