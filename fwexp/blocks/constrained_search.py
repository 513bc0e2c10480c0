"""Steps under the constraint that weights are nonnegative: w follows v, and the line search continues to the maximum of the dual.

The step that is exact for the unclipped v is too short where coordinates are clipped (`projections`). So the published step of
Osokin et al. (ICML 2016) falls short of the maximum of the dual; here the line search continues along the direction of the step.
"""

from fwexp.blocks.block_loop import FrankWolfe, change_weights
from fwexp.blocks.projections import Nonnegative, add_change
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import add_to_block, dot

NEWTON_STEPS = 60
ROUNDING = 1e-14  # A derivative this small, relative to the one at the start, counts as 0.


@dispatched(fastmath=False)
def longest_step(step, i, gamma, iterate):
    """Return the largest multiple of the latest step, whose share was gamma, that leaves all weights of labelings nonnegative."""


@dispatched(fastmath=False)
def repeat_step(step, problem, i, gamma, times, iterate, work):
    """Change the block by ``times`` the latest step, a number >= -1."""


@longest_step.register(FrankWolfe)
def _(step, i, gamma, iterate):
    return 1.0 / gamma


@repeat_step.register(FrankWolfe)
def _(step, problem, i, gamma, times, iterate, work):
    add_to_block(problem, i, work.direction, times * gamma, iterate.dual.blocks)


@change_weights.register(Nonnegative)
def _(constraint, step, problem, i, gamma, loss_change, length_sq, lam_n, iterate, work):
    add_change(constraint, problem, i, work.direction, gamma / lam_n, iterate.w)
    if not (step.extends_search and gamma > 0.0):
        return gamma, loss_change
    slope = loss_change - gamma * dot(problem, i, work.direction, work.theta)  # theta belongs to the w before the step
    limit = longest_step(step, i, gamma, iterate)
    times = times_to_maximum(constraint, slope, gamma * gamma * length_sq / lam_n, limit, lam_n)
    if times != 1.0:
        repeat_step(step, problem, i, gamma, times - 1.0, iterate, work)
        add_change(constraint, problem, i, work.direction, (times - 1.0) * gamma / lam_n, iterate.w)
    return times * gamma, times * loss_change


@register_jitable
def times_to_maximum(constraint, slope, curvature, limit, lam_n):
    """Return the t in [0, limit] that maximises D along the latest change, t = 1, for a constraint as `add_change` left it.

    ``slope`` is n dD/dt at t = 0, and ``curvature`` lam n ||s||^2 of the change s of v at t = 1.
    """
    if slope <= 0.0 or curvature <= 0.0:
        return 1.0
    free = curvature
    for k in range(len(constraint.index)):
        change = constraint.v[k] - constraint.before[k]
        free -= lam_n * change * change
    free = max(free, 0.0)
    # Newton's method with a bracket, on the derivative, which never rises and is piecewise linear.
    low, high, t = 0.0, limit, 1.0
    for _ in range(NEWTON_STEPS):
        value, fall = slope - t * free, free
        for k in range(len(constraint.index)):
            change = constraint.v[k] - constraint.before[k]
            value -= lam_n * change * (max(constraint.before[k] + t * change, 0.0) - max(constraint.before[k], 0.0))
            if constraint.before[k] + t * change > 0.0:
                fall += lam_n * change * change
        if abs(value) <= ROUNDING * slope or (t == limit and value > 0.0):
            break
        if value > 0.0:
            low = t
        else:
            high = t
        t = min(t + value / fall, limit) if fall > 0.0 else high
        if not low < t < high and t != limit:
            t = 0.5 * (low + high)
    return t
