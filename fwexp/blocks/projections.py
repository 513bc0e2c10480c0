"""The map from v = A a to w, which enters block methods here and nowhere else.

Without constraints w = v. Where some weights must not be negative, w = max(v, 0) there, and the dual objective is

    D(a) = b'a - lam/2 ||w||^2,    w = max(A a, 0) on the constrained coordinates,

for min_{w >= 0} lam/2 ||w||^2 - lam <w, v> is attained there. Block gaps are as before, <w, psi> with this w. Since
||max(v + s, 0)||^2 <= ||max(v, 0)||^2 + 2 <max(v, 0), s> + ||s||^2, a step that is exact for the unclipped vectors never
lowers the dual (the step of the published code of Osokin et al., ICML 2016). It is too short where coordinates are clipped:
D is piecewise quadratic along a line; `constrained_search` goes on to its maximum.

With acceleration v is shifted (``acceleration``); that does not matter here. A step costs O(constrained weights) more.
"""

from typing import NamedTuple

import numpy as np

from fwexp.blocks.block_loop import Unconstrained, clipped_step
from fwexp.jit.compilation import dispatched, register_jitable
from fwexp.problems.protocol import UNCONSTRAINED, product, scatter, scatter_psi


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
    """Return the step in [0, 1] that maximises D along a line.

    D'(t) = slope - t curvature - lam <max(u + t change, 0) - max(u, 0), change> never rises, and is linear between the t at which a
    constrained coordinate, u at t = 0, changes its sign.
    """
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


@dispatched(fastmath=False)
def add_psi_change(projection, problem, i, y, c, w):
    """Add c psi_i(y) to v, and let w follow."""


@add_psi_change.register(Unconstrained)
def _(projection, problem, i, y, c, w):
    scatter_psi(problem, i, y, c, w)


@add_psi_change.register(Nonnegative)
def _(projection, problem, i, y, c, w):
    unclip(projection, w)
    scatter_psi(problem, i, y, c, w)
    clip_again(projection, w)


@dispatched(fastmath=False)
def add_change(projection, problem, i, direction, c, w):
    """Add c F_i' direction to v, and let w follow."""


@add_change.register(Unconstrained)
def _(projection, problem, i, direction, c, w):
    if c != 0.0:
        scatter(problem, i, direction, c, w)


@add_change.register(Nonnegative)
def _(projection, problem, i, direction, c, w):
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
