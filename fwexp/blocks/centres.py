"""The centre z of the outer acceleration, for Python and for kernels; `acceleration` has the method."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fwexp.jit.compilation import register_jitable
from fwexp.problems.protocol import product

PERIOD, NEXT, MOVES = 0, 1, 2  # places in the times of a centre
WATCH_CENTRES, WATCH_FACTOR = 10, 0.7  # The period doubles if so many centres leave more than this share of the certificate.
PIECE = 1 << 14  # weights that are moved at once, in entries


class Centre(NamedTuple):
    """The centre, for kernels that move it."""

    z: np.ndarray  # internal weights; empty if there is no centre, or if kernels do not move it
    w_old: np.ndarray  # w at the latest move
    times: np.ndarray  # int64 (3,): steps or rounds between new centres, the step or round of the next one, moves so far
    watched: np.ndarray  # float64 (1,), the certificate `WATCH_CENTRES` centres ago
    kap: float  # weight of the centre, in multiples of lam
    lam: float  # regularisation of the original problem


NO_CENTRE = Centre(np.empty(0), np.empty(0), np.zeros(3, dtype=np.int64), np.zeros(1), 0.0, 0.0)


@dataclass
class ProximalCentre:
    """The centre z of the proximal term (kap lam/2) ||w - z||^2, and when it moves; part of a solver's state.

    Its fields are those of `Centre`. ``watch`` is whether the safeguard is on; without it the period stays.
    """

    kap: float
    lam: float
    times: np.ndarray
    z: np.ndarray
    w_old: np.ndarray
    watched: np.ndarray
    watch: bool = True

    @property
    def next_step(self) -> int:
        """Step or round of the next centre."""
        return int(self.times[NEXT])

    @next_step.setter
    def next_step(self, step: int) -> None:
        self.times[NEXT] = step

    @property
    def inner_lam(self) -> float:
        """lam' = lam (1 + kap), which block steps use."""
        return self.lam * (1.0 + self.kap)

    def change_lam(self, lam: float) -> None:
        """Keep centre, momentum and w for another lam; watch the certificate anew."""
        self.lam, self.times[MOVES], self.watched[0] = lam, 0, np.inf

    def image(self, v: np.ndarray) -> np.ndarray:
        """Return A a, given the shifted v."""
        return (1.0 + self.kap) * v - self.kap * self.z

    def image_norm_sq(self, v: np.ndarray) -> float:
        """Return ||A a||^2 without storing A a, given the shifted v."""
        return combination_norm_sq(1.0 + self.kap, v, self.kap, self.z)

    def distance_sq(self, v: np.ndarray) -> float:
        """Return ||v - A a||^2, given the shifted v: v - A a = kap (z - v)."""
        return combination_norm_sq(self.kap, v, self.kap, self.z)

    def shifted(self, image: np.ndarray) -> np.ndarray:
        """Return the shifted v, given A a."""
        v = np.empty_like(image)
        for start in range(0, len(v), PIECE):
            piece = slice(start, start + PIECE)
            v[piece] = image[piece] / (1.0 + self.kap) + self.kap / (1.0 + self.kap) * self.z[piece]
        return v

    def move(self, w: np.ndarray, v: np.ndarray, known_gap: Callable[[], float]) -> None:
        """Choose a new centre and shift v, in place; ``known_gap()`` is the gap of the original problem."""
        watches = self.watch and (self.times[MOVES] + 1) % WATCH_CENTRES == 0
        plan_next(self.times, self.watched, known_gap() if watches else 0.0)
        beta = momentum(self.kap)
        for start in range(0, len(w), PIECE):  # A piece stays in the cache; whole temporary arrays take longer than the sums.
            piece = slice(start, start + PIECE)
            z = w[piece] + beta * (w[piece] - self.w_old[piece])
            self.w_old[piece] = w[piece]
            v[piece] += self.kap / (1.0 + self.kap) * (z - self.z[piece])
            self.z[piece] = z


def combination_norm_sq(a: float, v: np.ndarray, b: float, z: np.ndarray) -> float:
    """Return ||a v - b z||^2, computed in pieces that stay in the cache."""
    total = 0.0
    for start in range(0, len(v), PIECE):
        part = a * v[start : start + PIECE] - b * z[start : start + PIECE]
        total += product(part, part)
    return total


def new_centre(
    kap: float, lam: float, period: int, step: int, image: np.ndarray, w: np.ndarray, watch: bool = True
) -> ProximalCentre:
    """Return the first centre, ``image`` = A a, chosen at ``step``, with ``period`` steps between new ones at first."""
    times = np.array([period, step + period, 0], dtype=np.int64)
    return ProximalCentre(kap, lam, times, image.copy(), w.copy(), np.full(1, np.inf), watch)


# --- in kernels -------------------------------------------------------------------------------------------------------


@register_jitable
def momentum(kap):
    """Return beta = (1 - sqrt q)/(1 + sqrt q), q = 1/(1 + kap)."""
    root = math.sqrt(1.0 / (1.0 + kap))
    return (1.0 - root) / (1.0 + root)


@register_jitable
def plan_next(times, watched, gap):
    """Set when the next centre is chosen; ``gap`` is the gap of the original problem, 0 if it is not watched."""
    times[MOVES] += 1
    if times[MOVES] % WATCH_CENTRES == 0:
        if gap > WATCH_FACTOR * watched[0]:
            times[PERIOD] *= 2
        watched[0] = gap
    times[NEXT] += times[PERIOD]


@register_jitable
def known_gap(centre, gaps, w):
    """Return the gap of the original problem that the last known block gaps give; a lower bound if Python moves the centre."""
    gap, away = 0.0, 0.0
    for i in range(len(gaps)):
        gap += gaps[i]
    for j in range(len(centre.z)):
        away += (w[j] - centre.z[j]) ** 2
    return gap / len(gaps) + 0.5 * centre.lam * centre.kap**2 * away


@register_jitable
def move_centre(centre, gaps, w):
    """Choose a new centre and shift w; the safeguard watches the known gap."""
    watches = (centre.times[MOVES] + 1) % WATCH_CENTRES == 0
    gap = known_gap(centre, gaps, w) if watches else 0.0
    beta, share = momentum(centre.kap), centre.kap / (1.0 + centre.kap)
    for j in range(len(w)):
        z = w[j] + beta * (w[j] - centre.w_old[j])
        centre.w_old[j] = w[j]
        w[j] += share * (z - centre.z[j])
        centre.z[j] = z
    plan_next(centre.times, centre.watched, gap)
