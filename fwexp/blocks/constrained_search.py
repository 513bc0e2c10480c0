"""Line search where weights must not be negative: on to the maximum of the dual, along the way of the step.

The step that is exact for the unclipped vectors is too short where coordinates are clipped (``projections``).
"""

from fwexp.blocks.duals import furthest, step_again
from fwexp.blocks.projections import Nonnegative, Unconstrained, add_change
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import dot

NEWTON_STEPS = 60
ROUNDING = 1e-14  # a derivative this small, relative to the one at the start, is 0


@dispatched(fastmath=False)
def extend_step(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, iterate, work):
    """Go on from the latest step to the maximum of the dual; return gamma and the change of n ell_i of all of it.

    ``work.theta`` is as it was before the step.
    """


@extend_step.register(Unconstrained)
def _(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, iterate, work):
    return gamma, loss_change


@extend_step.register(Nonnegative)
def _(projection, dual, problem, i, gamma, loss_change, length_sq, step_rule, lam_n, iterate, work):
    if not (step_rule.extends and gamma > 0.0):
        return gamma, loss_change
    slope = loss_change - gamma * dot(problem, i, work.direction, work.theta)
    limit = furthest(dual, i, step_rule, gamma)
    times = times_to_maximum(projection, slope, gamma * gamma * length_sq / lam_n, limit, lam_n)
    if times != 1.0:
        step_again(dual, problem, i, step_rule, gamma, times - 1.0, work)
        add_change(projection, problem, i, work.direction, (times - 1.0) * gamma / lam_n, iterate.w)
    return times * gamma, times * loss_change


@register_jitable
def times_to_maximum(projection, slope, curvature, limit, lam_n):
    """Return the t in [0, limit] that maximises D along the latest change.

    Parameters
    ----------
    projection : Nonnegative
        After `add_change`.
    slope : float
        n dD/dt before that change, t = 0.
    curvature : float
        lam n ||s||^2 of the change s of v, at t = 1.
    limit : float
        The largest t, at least 1.
    lam_n : float
        lam n.
    """
    if slope <= 0.0 or curvature <= 0.0:
        return 1.0
    free = curvature
    for k in range(len(projection.index)):
        change = projection.v[k] - projection.before[k]
        free -= lam_n * change * change
    free = max(free, 0.0)
    # Newton's method on the derivative, which never rises and is linear but for some corners, within a bracket.
    low, high, t = 0.0, limit, 1.0
    for _ in range(NEWTON_STEPS):
        value, fall = slope - t * free, free
        for k in range(len(projection.index)):
            change = projection.v[k] - projection.before[k]
            value -= lam_n * change * (max(projection.before[k] + t * change, 0.0) - max(projection.before[k], 0.0))
            if projection.before[k] + t * change > 0.0:
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
