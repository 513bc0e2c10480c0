"""Outer acceleration of block-coordinate ascent (ours; after Catalyst, Lin, Mairal, Harchaoui 2015, and accelerated
prox-SDCA, Shalev-Shwartz and Zhang 2014).

The inner method works on the problem centred at z, P(w) + (kap lam/2) ||w - z||^2. With lam' = lam (1 + kap),

    w = v + kap/(1 + kap) z,   v = A a/(1 + kap),

so block steps are what they were, with lam' in place of lam and scores under w. Every ``period`` passes

    z_new = w + beta (w - w_old),   beta = (1 - sqrt q)/(1 + sqrt q),   q = 1/(1 + kap);

a is kept and w is shifted by kap/(1 + kap) (z_new - z). The certificate is that of the original problem: the dual at a,
the primal at w. Block gaps under w sum to the gap of the centred problem; that of the original one at (w, a) is the sum
plus lam/2 ||w - A a||^2.

Safeguard: the period doubles when the certificate, as known from the block gaps, fell by less than a factor 0.7 over ten
new centres. It looks at numbers of the run only, never at the log.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fwexp.errors import ParameterError
from fwexp.solvers.base import check_fields

WATCH_CENTRES, WATCH_FACTOR = 10, 0.7
LATE_PASSES, LATE_KAP = 10, 2.0  # where `chosen_kap` is None: when acceleration begins after all, and with what weight


@dataclass(frozen=True)
class AccelerateOptions:
    """The weight of the centre, by default as `chosen_kap` has it, and the period in passes."""

    kap: float | None = None
    period: float = 3.0


def check_accelerate(value) -> bool | dict:
    """Return false, true, or a full mapping of ``AccelerateOptions``."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        raise ParameterError(f"solver.accelerate of bcfw must be true, false or a mapping of kap and period, got {value!r}")
    given = check_fields("solver.accelerate of bcfw", AccelerateOptions, value)
    for name, number in given.items():
        if name == "kap" and number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
            raise ParameterError(f"solver.accelerate.{name} of bcfw must be a positive number, got {number!r}")
    return {name: number if number is None else float(number) for name, number in given.items()}


def chosen_kap(radii_sq: np.ndarray, lam: float) -> float | None:
    """Return kap = min(sqrt(R^2/(2 lam n)), 10), or None (no acceleration) where that is below 1.

    R^2, the mean of the bounds ``radii_sq`` (n,) on ||psi_i(y)||^2, against lam n says how ill conditioned the problem is:
    a well conditioned one converges in a few passes, and centres would only hold it back; a run that has not ended after
    `LATE_PASSES` is accelerated with `LATE_KAP`, which pays at high accuracy. The square root and the bound 10
    are what measured best, or close to it, for lam n from 0.1 to 1000 on handwriting, digits and Gaussian classes.
    """
    kap = float(np.sqrt(np.mean(radii_sq) / (2.0 * lam * len(radii_sq))))
    return min(kap, 10.0) if kap >= 1.0 else None


class Centre:
    """The centre z of the current inner problem, and its schedule.

    Parameters
    ----------
    n : int
        Number of examples.
    lam : float
        Regularisation of the original problem.
    kap : float
        Weight of the centre.
    period : float
        Passes between new centres, at first.
    w : ndarray
        A a at the start, which becomes the first centre.
    watch : bool
        Whether the safeguard is on; without, the period stays.
    """

    def __init__(self, n: int, lam: float, kap: float, period: float, w: np.ndarray, watch: bool = True) -> None:
        self._watch = watch
        self.kap, self._lam = kap, lam
        self.lam = lam * (1.0 + self.kap)  # lam', for block steps
        root = np.sqrt(1.0 / (1.0 + self.kap))
        self._beta = (1.0 - root) / (1.0 + root)
        self._period = max(1, round(period * n))
        self.next_step = self._period
        self._z, self._w_old = w.copy(), w.copy()
        self._moves, self._watched = 0, np.inf

    def change_lam(self, lam: float) -> None:
        """Keep centre, momentum and w for another lam; the certificate is watched anew."""
        self._lam, self.lam = lam, lam * (1.0 + self.kap)
        self._moves, self._watched = 0, np.inf

    def image(self, w: np.ndarray) -> np.ndarray:
        """Return A a, given the shifted w."""
        return (1.0 + self.kap) * w - self.kap * self._z

    def shift(self) -> np.ndarray:
        """Return w - v."""
        return self.kap / (1.0 + self.kap) * self._z

    def move(self, w: np.ndarray, inner_gap: float) -> None:
        """Choose a new centre and shift w, in place; ``inner_gap`` is the known gap of the centred problem."""
        self._moves += 1
        if self._watch and self._moves % WATCH_CENTRES == 0:
            difference = w - self.image(w)
            gap = inner_gap + 0.5 * self._lam * (difference @ difference)
            if gap > WATCH_FACTOR * self._watched:
                self._period *= 2
            self._watched = gap
        z = w + self._beta * (w - self._w_old)
        self._w_old = w.copy()
        w += self.kap / (1.0 + self.kap) * (z - self._z)
        self._z = z
        self.next_step += self._period
