"""Derivatives against differences: whether the values of a function can be those of the gradient that comes with them."""

from collections.abc import Callable

import numpy as np

# Of steps over which derivatives are tested; what is near enough, relative to them; and what matters, relative to values.
BASE, AGREES, MATTERS = 8.0, 1e-3, 1e-6


def contradict(change: Callable[[float], float], slope: float, scale: float) -> bool:
    """Whether the changes of a function contradict its derivative at 0.

    Over a step h it changes by h times the derivative and O(h^2). So what is left when that is taken away falls with h^2 for the
    right derivative, and with h for another one, until all is rounding. How much that is the function shows by its size, its
    changes over the smallest steps, and its smallest change at all. The smallest two steps at which more is left decide.

    Parameters
    ----------
    change : callable
        ``change(h)`` is what the function changes by from 0 to h, 0 < h < 1; NaN where that is not known.
    slope : float
        What is said to be the derivative.
    scale : float
        The size of the function's values.
    """
    h = BASE**-7
    if abs(change(h) - h * slope) <= AGREES * h * abs(slope):  # nearly always
        return False
    noise, before, changed = np.finfo(float).eps * scale, 0.0, False
    for k in range(17, 0, -1):
        h = BASE**-k
        difference = change(h)
        rate = abs(difference / h - slope)
        if k > 14 or not changed:
            noise, changed = max(noise, abs(difference)), changed or difference != 0.0
        if changed and min(before / BASE, rate) * h >= 100.0 * noise:
            return before > 0.5 * rate and before > max(AGREES * abs(slope), AGREES * abs(difference) / h, MATTERS * scale)
        before = rate
    return not changed and before > MATTERS * scale
