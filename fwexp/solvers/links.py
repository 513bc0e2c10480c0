"""The map from v = A a to w, which enters block methods here and nowhere else.

Without constraints w = v. Where some weights must not be negative, w = max(v, 0) there, and the dual objective is

    D(a) = b'a - lam/2 ||w||^2,    w = max(A a, 0) on the constrained coordinates,

for min_{w >= 0} lam/2 ||w||^2 - lam <w, v> is attained there. Block gaps are as before, <w, psi> with this w. Since
||max(v + s, 0)||^2 <= ||max(v, 0)||^2 + 2 <max(v, 0), s> + ||s||^2, a step that is exact for the unclipped vectors never
lowers the dual (the step of the published code of Osokin et al., ICML 2016).

With acceleration v is shifted (``acceleration``); that does not matter here.
"""

from typing import NamedTuple

import numpy as np

from fwexp._jit import dispatched
from fwexp.problems.protocol import scatter


class Free(NamedTuple):
    """w = v: kept once, as w."""

    constrained: bool = False


class Nonnegative(NamedTuple):
    """w = max(v, 0) at the places ``index``; v is kept beside w."""

    index: np.ndarray  # int64, places of internal weights
    v: np.ndarray  # internal weights


def new_link(problem):
    """Return the link of a problem at v = 0."""
    index = constrained_places(problem)
    return Nonnegative(index, np.zeros(problem.num_weights)) if len(index) else Free()


def constrained_places(problem) -> np.ndarray:
    """Return the places of the internal weights that must not be negative, int64."""
    return getattr(problem, "nonnegative", np.empty(0, dtype=np.int64))


def unclipped(link, w: np.ndarray) -> np.ndarray:
    """Return v, not a copy."""
    return link.v if isinstance(link, Nonnegative) else w


def clip(index: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return max(v, 0) at the places ``index``, v elsewhere: v itself where there is no constraint."""
    if len(index) == 0:
        return v
    w = v.copy()
    w[index] = np.maximum(w[index], 0.0)
    return w


def set_weights(link, v: np.ndarray, w: np.ndarray) -> None:
    """Set w, in place, to what belongs to v, and keep v."""
    w[:] = v
    if isinstance(link, Nonnegative):
        link.v[:] = v
        w[link.index] = np.maximum(v[link.index], 0.0)


@dispatched(fastmath=False)
def add_change(link, problem, i, direction, c, w):
    """Add c F_i' direction to v, and let w follow."""


@add_change.register(Free)
def _(link, problem, i, direction, c, w):
    scatter(problem, i, direction, c, w)


@add_change.register(Nonnegative)
def _(link, problem, i, direction, c, w):
    scatter(problem, i, direction, c, link.v)
    scatter(problem, i, direction, c, w)  # the same sums where nothing is constrained
    for j in link.index:
        w[j] = max(link.v[j], 0.0)
