"""The maximum of the dual over a whole block, where blocks are small or have structure."""

from fwexp.problems.protocol import derived, required
from fwexp.problems.protocol.degrees import degree


@degree(0)
def has_best_block(problem):
    """Return whether ``best_block`` is exact for this problem of the family (plain Python)."""


@degree(0)
def costly_block(problem):
    """Return whether ``best_block`` costs much more than the oracle (plain Python)."""


@costly_block.register(object)
def _(problem):
    return False


def _best_with_weight(function):
    def of_weighted(problem, i, theta, c, blocks, direction, scratch):
        return problem.c[i] * function(problem.unweighted, i, theta, c * problem.c[i], blocks, direction, scratch)

    return of_weighted


@degree(by=_best_with_weight, fastmath=False)
def best_block(problem, i, theta, c, blocks, direction, scratch):
    """Set ``direction`` to the way from block i to where the dual is highest while all other blocks stay, and return n ell_i there.

    The part scores are those at the weights that the blocks make; c is 1/(lam n).
    """


def _maximum_with_weight(function):
    def of_weighted(problem, i, theta, c, mean_loss, blocks, work):
        weight = problem.c[i]
        if weight == 0.0:
            return 0.0, mean_loss
        gap, best = function(problem.unweighted, i, theta, c * weight, mean_loss / weight, blocks, work)
        return weight * gap, weight * best

    return of_weighted


@degree(by=_maximum_with_weight)
def maximise_block(problem, i, theta, c, mean_loss, blocks, work):
    """Move block i to the maximum of the dual over this block; ``mean_loss`` is n ell_i before the move.

    Returns n times the Frank-Wolfe gap before the move, 0 if the block stays, and n ell_i after it; sets ``work.direction`` to the
    change of the block.
    """


@maximise_block.register(object)
def _(problem, i, theta, c, mean_loss, blocks, work):
    required.max_oracle(problem, i, theta, work.y, work.scratch)
    derived.set_direction(problem, i, work.y, blocks, work.direction)
    gap = required.loss(problem, i, work.y) - mean_loss - derived.dot(problem, i, work.direction, theta)
    if gap <= 0.0:
        return 0.0, mean_loss
    best = best_block(problem, i, theta, c, blocks, work.direction, work.scratch)
    derived.add_to_block(problem, i, work.direction, 1.0, blocks)
    return gap, best
