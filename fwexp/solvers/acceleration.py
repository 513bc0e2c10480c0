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

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fwexp.checks import check_number
from fwexp.errors import ParameterError, shown
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
        raise ParameterError(f"solver.accelerate of bcfw must be true, false or a mapping of kap and period, got {shown(value)}")
    given = check_fields("solver.accelerate of bcfw", AccelerateOptions, value)
    for name, number in given.items():
        if name == "kap" and number is None:
            continue
        given[name] = check_number(f"solver.accelerate.{name} of bcfw", number, "a positive number", above=0.0)
    return given


def chosen_kap(radii_sq: np.ndarray, lam: float) -> float | None:
    """Return kap = min(sqrt(R^2/(2 lam n)), 10), or None (no acceleration) where that is below 1.

    R^2, the mean of the bounds ``radii_sq`` (n,) on ||psi_i(y)||^2, against lam n says how ill conditioned the problem is:
    a well conditioned one converges in a few passes, and centres would only hold it back; a run that has not ended after
    `LATE_PASSES` is accelerated with `LATE_KAP`, which pays at high accuracy. The square root and the bound 10
    are what measured best, or close to it, for lam n from 0.1 to 1000 on handwriting, digits and Gaussian classes.
    """
    kap = float(np.sqrt(np.mean(radii_sq) / (2.0 * lam * len(radii_sq))))
    return min(kap, 10.0) if kap >= 1.0 else None


@dataclass
class Centre:
    """The centre z of the current inner problem, and its schedule; a part of a solver's state."""

    kap: float  # weight of the centre
    lam: float  # regularisation of the original problem
    period: int  # steps between new centres
    next_step: int  # step of the next one
    z: np.ndarray  # internal weights
    w_old: np.ndarray  # w at the latest move
    watch: bool = True  # whether the safeguard is on; without, the period stays
    moves: int = 0
    watched: float = np.inf  # the certificate ten centres ago

    @property
    def inner_lam(self) -> float:
        """lam', for block steps."""
        return self.lam * (1.0 + self.kap)

    def change_lam(self, lam: float) -> None:
        """Keep centre, momentum and w for another lam; the certificate is watched anew."""
        self.lam, self.moves, self.watched = lam, 0, np.inf

    def image(self, v: np.ndarray) -> np.ndarray:
        """Return A a, given the shifted v."""
        return (1.0 + self.kap) * v - self.kap * self.z

    def shifted(self, image: np.ndarray) -> np.ndarray:
        """Return the shifted v, given A a."""
        return image / (1.0 + self.kap) + self.kap / (1.0 + self.kap) * self.z

    def move(self, w: np.ndarray, v: np.ndarray, known_gap: Callable[[], float]) -> None:
        """Choose a new centre and shift v, in place; ``known_gap()`` is that of the original problem."""
        self.moves += 1
        if self.watch and self.moves % WATCH_CENTRES == 0:
            gap = known_gap()
            if gap > WATCH_FACTOR * self.watched:
                self.period *= 2
            self.watched = gap
        root = np.sqrt(1.0 / (1.0 + self.kap))
        beta = (1.0 - root) / (1.0 + root)
        z = w + beta * (w - self.w_old)
        self.w_old = w.copy()
        v += self.kap / (1.0 + self.kap) * (z - self.z)
        self.z = z
        self.next_step += self.period


def new_centre(kap: float, lam: float, period: int, step: int, image: np.ndarray, w: np.ndarray, watch: bool = True) -> Centre:
    """Return the first centre, ``image`` = A a, chosen at ``step``, with ``period`` steps between new ones at first."""
    return Centre(kap, lam, period, step + period, image.copy(), w.copy(), watch)
