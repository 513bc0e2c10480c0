"""The map from v = A a to w, which enters block methods here and nowhere else.

Without constraints w = v. Where some weights must not be negative, w = max(v, 0) there, and the dual objective is

    D(a) = b'a - lam/2 ||w||^2,    w = max(A a, 0) on the constrained coordinates,

for min_{w >= 0} lam/2 ||w||^2 - lam <w, v> is attained there. Block gaps are as before, <w, psi> with this w. Since
||max(v + s, 0)||^2 <= ||max(v, 0)||^2 + 2 <max(v, 0), s> + ||s||^2, a step that is exact for the unclipped vectors never
lowers the dual (the step of the published code of Osokin et al., ICML 2016). It is too short where coordinates are clipped:
D is piecewise quadratic along a line, and the line searches here continue along the direction of the step to its maximum.

With acceleration v is shifted (``acceleration``); that does not matter here. A step costs O(constrained weights) more.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks.block_loop import FrankWolfe, Unconstrained, change_weights, clipped_step
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import UNCONSTRAINED, add_to_block, dot, product, scatter, scatter_psi


class Nonnegative(NamedTuple):
    """w = max(v, 0) at the indices ``index``, where v is kept next to w."""

    index: np.ndarray  # int64, indices of internal weights
    v: np.ndarray  # float64, as many as ``index``: v there
    before: np.ndarray  # the same, before the latest change


def new_projection(problem):
    """Return the projection of a problem at v = 0."""
    index = constrained_indices(problem)
    return Nonnegative(index, np.zeros(len(index)), np.zeros(len(index))) if len(index) else Unconstrained()


def constrained_indices(problem) -> np.ndarray:
    """Return the indices of the internal weights that must not be negative, int64."""
    return getattr(problem, "nonnegative", UNCONSTRAINED)


def unclipped(projection, w: np.ndarray) -> np.ndarray:
    """Return v: w itself where there is no constraint."""
    if not isinstance(projection, Nonnegative):
        return w
    v = w.copy()
    v[projection.index] = projection.v
    return v


def clip(index: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return max(v, 0) at the indices ``index``, v elsewhere: v itself where there is no constraint."""
    if len(index) == 0:
        return v
    w = v.copy()
    w[index] = np.maximum(w[index], 0.0)
    return w


def set_weights(projection, v: np.ndarray, w: np.ndarray) -> None:
    """Set w, in place, to what belongs to v, and keep v; v may be w where there is no constraint."""
    if v is not w:
        w[:] = v
    if isinstance(projection, Nonnegative):
        projection.v[:] = v[projection.index]
        w[projection.index] = np.maximum(projection.v, 0.0)


def line_search(index: np.ndarray, slope: float, v: np.ndarray, change: np.ndarray, lam: float) -> float:
    """Return the step in [0, 1] from v along ``change`` that maximises D, whose derivative there is ``slope`` at first."""
    if len(index) == 0:
        return clipped_step(slope, lam * product(change, change))
    free = np.delete(change, index)
    return exact_step(slope, lam * product(free, free), v[index], change[index], lam)


def exact_step(slope: float, curvature: float, u: np.ndarray, change: np.ndarray, lam: float) -> float:
    """Return the step in [0, 1] that maximises D along a line."""
    # D'(t) = slope - t curvature - lam <max(u + t change, 0) - max(u, 0), change> never rises, and is linear between the t at which
    # a constrained coordinate, u at t = 0, changes its sign.
    start = np.maximum(u, 0.0)

    def derivative(t: float) -> float:
        return slope - t * curvature - lam * float((np.maximum(u + t * change, 0.0) - start) @ change)

    if slope <= 0.0:
        return 0.0
    if derivative(1.0) >= 0.0:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turns = -u / change
    turns = np.concatenate(([0.0], np.sort(turns[(turns > 0.0) & (turns < 1.0)]), [1.0]))
    low, high = 0, len(turns) - 1  # the derivative is positive at one, not at the other
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if derivative(turns[middle]) > 0.0 else (low, middle)
    before, after = derivative(turns[low]), derivative(turns[high])
    return float(turns[low] + (turns[high] - turns[low]) * before / (before - after))


@dispatched(fastmath=False, default=())
def add_psi_change(projection, problem, i, y, c, w):
    """Add c psi_i(y) to v, and let w follow."""
    scatter_psi(problem, i, y, c, w)


@add_psi_change.register(Nonnegative)
def _(projection, problem, i, y, c, w):
    unclip(projection, w)
    scatter_psi(problem, i, y, c, w)
    clip_again(projection, w)


@register_jitable
def add_change(projection, problem, i, direction, c, w):
    """Add c F_i' direction to v, and let w follow."""
    unclip(projection, w)
    scatter(problem, i, direction, c, w)
    clip_again(projection, w)


@register_jitable
def unclip(projection, w):
    """Turn w into v, and note it as what it was before a change."""
    for k in range(len(projection.index)):
        w[projection.index[k]] = projection.before[k] = projection.v[k]


@register_jitable
def clip_again(projection, w):
    """Turn a v that was changed into w."""
    for k in range(len(projection.index)):
        projection.v[k] = w[projection.index[k]]
        w[projection.index[k]] = max(projection.v[k], 0.0)


# --- steps whose line search continues to the maximum of the dual -----------------------------------------------------

NEWTON_STEPS = 60
ROUNDING = 1e-14  # A derivative this small, relative to the one at the start, counts as 0.


@dispatched(fastmath=False, default=())
def longest_step(step, i, gamma, iterate):
    """Return the largest multiple of the latest step, whose share was gamma, that leaves all weights of labelings nonnegative."""
    return 1.0 / gamma


@dispatched(fastmath=False, default=())
def repeat_step(step, problem, i, gamma, times, iterate, work):
    """Change the block by ``times`` the latest step, a number >= -1; for steps with ``extends_search`` only."""


@repeat_step.register(FrankWolfe)
def _(step, problem, i, gamma, times, iterate, work):
    add_to_block(problem, i, work.direction, times * gamma, iterate.dual.blocks)


@change_weights.register(Nonnegative)
def _(constraint, step, problem, i, gamma, loss_change, length_sq, lam_n, iterate, work):
    slope = slope_of(step, problem, i, gamma, loss_change, work)
    add_change(constraint, problem, i, work.direction, gamma / lam_n, iterate.w)
    times = extend_step(constraint, step, problem, i, gamma, slope, length_sq, lam_n, iterate, work)
    if times != 1.0:
        add_change(constraint, problem, i, work.direction, (times - 1.0) * gamma / lam_n, iterate.w)
    return times * gamma, times * loss_change


@register_jitable
def slope_of(step, problem, i, gamma, loss_change, work):
    """Return the slope of a step that extends its search, taken before w changes, which may be theta itself."""
    return loss_change - gamma * dot(problem, i, work.direction, work.theta) if step.extends_search else 0.0


@register_jitable
def extend_step(constraint, step, problem, i, gamma, slope, length_sq, lam_n, iterate, work):
    """Repeat the latest change of the block up to the maximum of D, if the step extends its search; return how often it is made."""
    if not (step.extends_search and gamma > 0.0):
        return 1.0
    times = times_to_maximum(constraint, slope, gamma * gamma * length_sq / lam_n, longest_step(step, i, gamma, iterate), lam_n)
    if times != 1.0:
        repeat_step(step, problem, i, gamma, times - 1.0, iterate, work)
    return times


@register_jitable
def times_to_maximum(constraint, slope, curvature, limit, lam_n):
    """Return the t in [0, limit] that maximises D along the latest change, t = 1, for a constraint as `add_change` left it."""
    # ``slope`` is n dD/dt at t = 0, and ``curvature`` lam n ||s||^2 of the change s of v at t = 1.
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
