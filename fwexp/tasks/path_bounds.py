"""Bounds on the optimum between the break points of a regularisation path.

P*(lam) = min_w lam/2 ||w||^2 + H(w) is concave. A break point bounds it at every lam (Giesen, Mueller, Laue, Swiercy, NIPS 2012):

    from above by its weights w:              lam/2 ||w||^2 + H(w),
    from below by its dual variables a:       ell - ||u||^2/(2 lam),   u = 1/n sum_i sum_y a_i(y) psi_i(y) = lam A a.

Between two break points, mixtures are better: H is convex in w, and both ell and u are linear in a (ell is concave for objectives
with an entropy). Mixtures with the true labelings, which have u = 0 and ell = 0, serve below the last break point.
"""

from typing import NamedTuple

import numpy as np

PLACES = 32  # at which a gap between two break points is computed; bounds hold between them
HALVINGS = 100


class BreakPoint(NamedTuple):
    """The norms, products and terms of the objective at a break point; bounds are made of them."""

    lam: float
    hinge: float  # H(w)
    norm_sq: float  # ||w||^2
    ell: float
    dual_norm_sq: float  # ||u||^2
    with_next: float = np.nan  # <w, w'> with the w' of the next break point
    dual_with_next: float = np.nan  # <u, u'>


def best_weights(lam, a: BreakPoint, b: BreakPoint):
    """Return the t at which w = (1 - t) w_a + t w_b has the lowest bound from above at lam, and ||w||^2 there."""
    curvature = a.norm_sq - 2.0 * a.with_next + b.norm_sq
    return _mixture(a.norm_sq - a.with_next - (b.hinge - a.hinge) / lam, curvature, a.norm_sq, a.with_next, b.norm_sq)


def upper_bound(lam, a: BreakPoint, b: BreakPoint):
    """Return the bound from above of the best mixture of the weights of two break points."""
    t, norm_sq = best_weights(lam, a, b)
    return 0.5 * lam * norm_sq + (1.0 - t) * a.hinge + t * b.hinge


def lower_bound(lam, a: BreakPoint, b: BreakPoint):
    """Return the bound from below of the best mixture of the dual variables of two break points; concave in lam."""
    curvature = a.dual_norm_sq - 2.0 * a.dual_with_next + b.dual_norm_sq
    slope = lam * (b.ell - a.ell) + a.dual_norm_sq - a.dual_with_next
    t, norm_sq = _mixture(slope, curvature, a.dual_norm_sq, a.dual_with_next, b.dual_norm_sq)
    return (1.0 - t) * a.ell + t * b.ell - norm_sq / (2.0 * lam)


def _mixture(slope, curvature, first_sq, product, second_sq):
    """Return slope/curvature within 0 .. 1, and the squared norm of the mixture with this share of the second vector."""
    t = np.where(np.asarray(slope) > 0.0, 1.0, 0.0) if curvature <= 0.0 else np.clip(slope / curvature, 0.0, 1.0)
    return t, (1.0 - t) ** 2 * first_sq + 2.0 * t * (1.0 - t) * product + t**2 * second_sq


def kept_mass(lam: float, a: BreakPoint) -> float:
    """Return the share of the dual variables whose bound is best at lam, if the rest moves to the true labelings."""
    return max(0.0, min(1.0, a.ell * lam / a.dual_norm_sq)) if a.dual_norm_sq > 0.0 else 1.0


def bounds_alone(lam: float, a: BreakPoint) -> tuple[float, float]:
    """Return the bounds at lam from above and below of one break point; their difference is convex in lam."""
    share = kept_mass(lam, a)
    lower = a.ell - a.dual_norm_sq / (2.0 * lam) if share == 1.0 else 0.5 * share * a.ell
    return a.hinge + 0.5 * lam * a.norm_sq, lower


def gap_alone(lam: float, a: BreakPoint) -> float:
    """Return the gap at lam of the weights of one break point, by its own dual variables."""
    upper, lower = bounds_alone(lam, a)
    return upper - lower


def reach(a: BreakPoint, gap: float) -> float:
    """Return a lam, about the smallest one, down to which `gap_alone` is at most ``gap``."""
    if a.hinge - (0.0 if a.dual_norm_sq > 0.0 else a.ell) <= gap:
        return 0.0
    low, high = 0.0, a.lam
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap_alone(middle, a) <= gap else (middle, high)
    return high


def largest_gap(a: BreakPoint, b: BreakPoint) -> float:
    """Return a bound on the gap of the best mixtures at every lam between two break points."""
    lam = np.geomspace(b.lam, a.lam, PLACES)
    gap = upper_bound(lam, a, b) - lower_bound(lam, a, b)
    # Both bounds are concave. From place to place, the upper one rises above its chord by a quarter of the fall of its slope,
    # which is ||w||^2/2, times the distance, at most; the lower one does not fall below its chord.
    rise = -np.diff(best_weights(lam, a, b)[1]) * np.diff(lam) / 8.0
    return float((np.maximum(gap[1:], gap[:-1]) + np.maximum(rise, 0.0)).max())
