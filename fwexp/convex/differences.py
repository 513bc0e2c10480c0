"""Values of a function against its gradients: whether these can be its derivatives, and whether it can be convex."""

import math
from collections.abc import Callable

import numpy as np

from fwexp.convex.functions import Function
from fwexp.errors import CertificateError

# Steps over which derivatives are tested; the tolerance, relative to them; and the least size that matters, relative to values.
BASE, SLOPE_TOLERANCE, LEAST_ERROR = 8.0, 1e-3, 1e-6
NOISE = 1e3  # rounding errors of the largest value that may be in a small one, which cancellation leaves
CONVEX = 1e-9  # by how much a value may lie below a tangent, relative to the terms


def contradict(change: Callable[[float], float], slope: float, scale: float, epsilon: float) -> bool:
    """Return whether the changes of a function over 0 < h < 1, NaN where unknown, contradict its derivative at 0."""
    # Over a step h it changes by h times the derivative and O(h^2). So what is left when that is taken away falls with h^2 for the
    # right derivative, and with h for another one, until all is rounding. How much that is the function shows by its size, its
    # changes over the smallest steps, and its smallest change at all. The smallest two steps at which more is left decide.
    h = BASE**-7
    if abs(change(h) - h * slope) <= SLOPE_TOLERANCE * h * abs(slope):  # nearly always
        return False
    noise, before, changed = epsilon * scale, 0.0, False
    for k in range(17, 0, -1):
        h = BASE**-k
        difference = change(h)
        rate = abs(difference / h - slope)
        if k > 14 or not changed:
            noise, changed = max(noise, abs(difference)), changed or difference != 0.0
        if changed and min(before / BASE, rate) * h >= 100.0 * noise:
            return before > 0.5 * rate and before > max(
                SLOPE_TOLERANCE * abs(slope), SLOPE_TOLERANCE * abs(difference) / h, LEAST_ERROR * scale
            )
        before = rate
    return not changed and before > LEAST_ERROR * scale


def is_kink(change: Callable[[float], float], slope: float, slope_at: Callable[[float], float], noise: float) -> bool:
    """Return whether a convex function can change like this at a kink, where a subgradient is as good as a gradient."""
    # It changes over h by at least h times its slope at 0, and at most h times its slope at h, so others' gradients do not fit.
    for k in range(1, 9):
        h = BASE**-k
        difference = change(h)
        if math.isnan(difference):
            continue
        least, most = h * slope, h * slope_at(h)
        slack = SLOPE_TOLERANCE * max(abs(least), abs(most)) + noise
        if not least - slack <= difference <= most + slack:
            return False
    return True


def check_gradient(f: Function, x: np.ndarray, others: list[np.ndarray]) -> None:
    """Refuse a gradient at x that values on the ways to other points of the set contradict."""
    value, g = _at_point(f, x)
    ends = [_value_or_nan(f, y) for y in others]
    scale = max(abs(end) for end in [value, *ends] if math.isfinite(end)) + float(np.abs(g) @ np.abs(x))  # x itself is rounded
    for y in others:
        d = y - x
        slope, noise = float(g @ d), 100.0 * f.epsilon * scale

        def change(h: float, y=y) -> float:
            return _value_or_nan(f, (1.0 - h) * x + h * y) - value

        def slope_at(h: float, y=y, d=d) -> float:
            return float(_at_point(f, (1.0 - h) * x + h * y)[1] @ d)

        if contradict(change, slope, scale, f.epsilon) and not is_kink(change, slope, slope_at, noise):
            where = "from an iterate towards another point of the set"
            raise CertificateError(
                f"fun(x) returns a gradient that is not that of its value: {where} f does not change at the rate {slope:.6g}"
            )


def check_convexity(f: Function, points: list[np.ndarray]) -> None:
    """Refuse a function one of whose values lies below its tangent at another point by more than rounding errors."""
    known = [(x, *_at_point(f, x)) for x in points if math.isfinite(_value_or_nan(f, x))]
    tolerance, noise = max(CONVEX, 64.0 * f.epsilon), max(LEAST_ERROR, NOISE * f.epsilon) * max(abs(value) for _, value, _ in known)
    for x, value, g in known:
        for y, other, _ in known:
            d = y - x
            missing = value + float(g @ d) - other
            terms = abs(value) + abs(other) + float(np.abs(g) @ (np.abs(x) + np.abs(y)))  # the points themselves are rounded
            if missing <= noise + tolerance * terms:
                continue
            changes = [_value_or_nan(f, x + h * d) - value - h * float(g @ d) for h in (4.0**-k for k in range(20, 26))]
            if missing > 100.0 * max(abs(change) for change in changes):
                raise CertificateError(
                    f"f must be convex on the set, got a point where its value {other:.6g} lies below {value + float(g @ d):.6g}, "
                    "the tangent at another point"
                )


def _at_point(f: Function, x: np.ndarray) -> tuple[float, np.ndarray]:
    z = f.image(x)
    return f.value(x, z), f.gradient(x, z)


def _value_or_nan(f: Function, x: np.ndarray) -> float:
    if not f.is_defined(x):
        return math.nan
    try:
        return f.value(x, f.image(x))
    except (ValueError, ArithmeticError):  # too large for a float there, for example
        return math.nan
