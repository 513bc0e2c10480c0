"""How far to go: the step sizes of Frank-Wolfe methods along a direction d from x, at most ``most``.

* ``line_search``: the minimiser along d, -<g, d> / d'f''d, of a quadratic function;
* ``adaptive``: the largest step whose decrease a quadratic model with Lipschitz constant M promises, M estimated as the run goes
  (Pedregosa, Negiar, Askari & Jaggi 2020, algorithm 2, tau = 2, eta = 0.9);
* ``open_loop``: 2/(t+2), of FW and block methods alone (2n/(t+2n) for n blocks).
"""

import numpy as np

from fwexp.convex.objectives import Function

TAU, ETA = 2.0, 0.9
TRIALS = 100  # more doublings than there are between the smallest and the largest number that matter
STEPS = ("auto", "line_search", "adaptive", "open_loop")


def exact(slope: float, curvature: float, most: float) -> float:
    """Return the step in [0, most] that minimises a quadratic with the derivative ``-slope`` at 0."""
    if slope <= 0.0:
        return 0.0
    return most if slope >= most * curvature else slope / curvature


def adaptive(
    f: Function, x: np.ndarray, z: np.ndarray, value: float, d: np.ndarray, dz: np.ndarray, slope: float, most: float, M: float
) -> tuple[float, float]:
    """Return a step and the estimate of the Lipschitz constant that goes with it.

    Parameters
    ----------
    f : Function
    x, z : ndarray
        The point and its image.
    value : float
        f(x).
    d, dz : ndarray
        The direction and its image.
    slope : float
        -<f'(x), d>.
    most : float
        The largest step.
    M : float
        The estimate so far; 0 if there is none.

    Returns
    -------
    gamma, M : float
        0 and M where no step keeps what the model promises: to rounding f has its minimum along d at x, unless the slope is
        not that of f, which `UserFunction.check_gradient` tells.
    """
    norm_sq = float(d @ d)
    if slope <= 0.0 or norm_sq == 0.0:
        return 0.0, M

    def value_at(gamma: float) -> float:
        return f.value(x + gamma * d if f.reads_point else x, z + gamma * dz)

    before = M
    if M == 0.0:
        eps = 1e-3 * most
        M = 2.0 * (value_at(eps) - value + eps * slope) / (eps * eps * norm_sq)
        M = max(M, 1e-3 * slope / (most * norm_sq))
    M *= ETA
    rounding = 4.0 * np.finfo(float).eps * abs(value)
    for _ in range(TRIALS):
        gamma = min(slope / (M * norm_sq), most)
        promised = value - gamma * slope + 0.5 * gamma * gamma * M * norm_sq
        if value_at(gamma) <= promised + rounding:
            return gamma, M
        M *= TAU
    return 0.0, before
