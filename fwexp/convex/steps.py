"""How far to go: the step sizes of Frank-Wolfe methods along a direction d from x, at most ``most``.

* ``line_search``: the minimiser along d, -<g, d> / d'f''d, of a quadratic function;
* ``adaptive``: the largest step whose decrease a quadratic model with Lipschitz constant M promises, M estimated as the run goes
  (Pedregosa, Negiar, Askari & Jaggi 2020, algorithm 2, tau = 2, eta = 0.9: their backtracking, which has no other name here);
* ``open_loop``: l/(t+l), l = ``ell``, of methods that go towards atoms alone (nl/(t+nl) for n blocks);
* ``monotonic``: 2/(t+2), of methods that go towards atoms alone; iterations whose step would leave the domain of f or increase f
  make none (Carderera, Besancon & Pokutta 2021, algorithm 1; ``adaptive`` is their backtracking);
* a function of a `Line`: a rule of your own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from fwexp.errors import ParameterError, shown
from fwexp.options import as_real, plain
from fwexp.types import FloatArray

TAU, ETA = 2.0, 0.9
ROUNDINGS = 4.0  # rounding errors of a sum, relative to its terms, by which it may be wrong
PATIENCE = 1000  # iterations that `monotonic` waits at least
TRIALS = 100  # more doublings than there are between the smallest and the largest number that matter
STEPS = ("auto", "line_search", "adaptive", "open_loop", "monotonic")


@dataclass(frozen=True)
class Line:
    """The function f along a direction, for step rules: ``step(line)`` returns gamma, and x becomes x + gamma d.

    Attributes
    ----------
    t : int
        Steps so far.
    x, d : ndarray (dim,)
        Where the step begins, and its direction; both belong to the method.
    slope : float
        -<f'(x), d>: how fast f falls at first.
    most : float
        The longest step that stays in the set.
    curvature : float or None
        d'f''d, of quadratic functions.
    value : callable
        ``value(gamma)`` returns f(x + gamma d).

    Examples
    --------
    Short steps, for gradients with Lipschitz constant 1:

    >>> from fwexp.convex import LeastSquares, Simplex, minimize
    >>> def short(line):
    ...     return line.slope / (line.d @ line.d)
    >>> f = LeastSquares([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    >>> round(minimize(f, Simplex(2), step=short).value, 6)
    0.25
    """

    t: int
    x: FloatArray
    d: FloatArray
    slope: float
    most: float
    curvature: float | None
    value: Callable[[float], float] = field(repr=False)


def asked(rule: Callable[[Line], float], line: Line) -> float:
    """Return the step of a user's rule, at most ``most``."""
    answer = plain(rule(line))
    if not as_real(answer) >= 0.0:
        raise ParameterError(f"what step(line) returns must be a number >= 0, got {shown(answer)}")
    return min(as_real(answer), line.most)


def inside(gamma: float, is_defined: Callable[[float], bool]) -> float:
    """Return a step halved until it ends in the domain; 0 if none does."""
    for _ in range(TRIALS):
        if is_defined(gamma):
            return gamma
        gamma /= 2.0
    return 0.0


def monotonic(t: int, value: float, value_at: Callable[[float], float]) -> tuple[float, int]:
    """Return the first step 2/(k+2), k >= t, that does not increase f, or 0 up to k = 2t + 1000, and the k - t idle iterations."""
    for k in range(t, 2 * t + PATIENCE):
        if value_at(gamma := 2.0 / (k + 2.0)) <= value:
            return gamma, k - t
    return 0.0, PATIENCE + t


def exact(slope: float, curvature: float, most: float) -> float:
    """Return the step in [0, most] that minimises a quadratic with the derivative ``-slope`` at 0."""
    if slope <= 0.0:
        return 0.0
    return most if slope >= most * curvature else slope / curvature


def adaptive(
    line: Line, value: float, M: float, slope_at: Callable[[float], float], noise: float, epsilon: float
) -> tuple[float, float, bool]:
    """Return a step, the estimate of the Lipschitz constant that goes with it, and whether the decrease is measurable."""
    # Outside of its domain f is infinite, which keeps no promise. A decrease below the rounding errors of the values cannot be
    # measured. Then, where a value misses the promise by at most ``noise``, the slope decides: if it is still at least slope -
    # gamma M ||d||^2 / 2 at the end of a step, a convex function has decreased as the model promises. A step of 0 keeps M.
    slope, most, norm_sq, before = line.slope, line.most, float(line.d @ line.d), M
    if slope <= 0.0 or norm_sq == 0.0:
        return 0.0, M, False
    if M == 0.0:
        eps = 1e-3 * most
        while (after := line.value(eps)) == math.inf:
            if (eps := eps / TAU) == 0.0:
                return 0.0, 0.0, False
        if (moved := eps * eps * norm_sq) == 0.0:  # which is so small that its square is 0
            return 0.0, 0.0, False
        M = 2.0 * (after - value + eps * slope) / moved
        M = max(M, 1e-3 * slope / (most * norm_sq))
    M *= ETA
    rounding = ROUNDINGS * epsilon * abs(value)
    for _ in range(TRIALS):
        gamma = min(slope / curvature, most) if (curvature := M * norm_sq) > 0.0 else most
        promised = value - gamma * slope + 0.5 * gamma * gamma * M * norm_sq
        after = line.value(gamma)
        if after == math.inf:
            M *= TAU
            continue
        if value - promised > rounding and after <= promised + rounding:
            return gamma, M, after < value - rounding
        if after - promised <= noise and slope_at(gamma) >= slope - 0.5 * gamma * M * norm_sq:
            return gamma, M, False
        M *= TAU
    return 0.0, before, False
