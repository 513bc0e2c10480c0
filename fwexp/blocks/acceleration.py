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

A new centre makes block gaps that are kept stale. Either all are computed anew, which is one more pass of oracle calls for each
centre, or (``refresh`` false) they stay until a step or the next regular refresh corrects them: fewer calls to the same gap.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fwexp.blocks import active_set, projections, shrinking
from fwexp.blocks.counts import steps_of
from fwexp.jit.compilation import specialise
from fwexp.options import check_flag, check_number, option
from fwexp.problems.protocol import product, radii_sq

POSITIVE = "a positive number"
OBSERVED = "observed"
PIECE = 1 << 14  # of the weights, in entries
LATE_PASSES, LATE_STRENGTH = 10, 2.0  # where `acceleration_strength` is None: passes before acceleration begins, and its kap


def _check_strength(name: str, value) -> float | str:
    if isinstance(value, str) and value == OBSERVED:
        return value
    return check_number(name, value, f"{POSITIVE}, null or {OBSERVED}", above=0.0)


@dataclass(frozen=True)
class AccelerateOptions:
    """Strength and centres of the outer acceleration.

    Attributes
    ----------
    kap : float or str, optional
        The weight of the distance to the centre, in multiples of lam: by default as `acceleration_strength` has it, or
        ``observed``, as `observed_strength` has it.
    period : float, optional
        Passes between new centres; null is `period_for` that kap.
    start : float
        Passes before the first centre, which is A a.
    refresh : bool
        Whether a new centre refreshes all gaps that are kept.
    """

    kap: float | str | None = option(None, _check_strength, optional=True)
    period: float | None = option(3.0, check_number, POSITIVE, above=0.0, optional=True)
    start: float = option(0.0, check_number, "a number >= 0", least=0.0, added_later=True)
    refresh: bool = option(True, check_flag, added_later=True)


def acceleration_strength(radii_sq: np.ndarray, lam: float) -> float | None:
    """Return kap = min(sqrt(R^2/(2 lam n)), 10), or None (no acceleration) where that is below 1.

    R^2, the mean of the bounds ``radii_sq`` (n,) on ||psi_i(y)||^2, against lam n says how ill conditioned the problem is:
    a well conditioned one converges in a few passes, and centres would only hold it back; a run that has not ended after
    `LATE_PASSES` is accelerated with `LATE_STRENGTH`, which pays at high accuracy. The square root and the bound 10
    are what measured best, or close to it, for lam n from 0.1 to 1000 on handwriting, digits and Gaussian classes.
    """
    kap = float(np.sqrt(np.mean(radii_sq) / (2.0 * lam * len(radii_sq))))
    return min(kap, 10.0) if kap >= 1.0 else None


def observed_strength(norm_sq: float, n: int, lam: float) -> float:
    """Return kap = 1.5 sqrt(r^2/(lam n)), at least 1 and at most 10, given r^2, the mean of ||psi_i(y)||^2 of labelings met.

    The bounds of `acceleration_strength` are 5 times that on handwriting, 35 times on text and 100 times on images. At kap = 1
    little is lost where a problem is well conditioned.
    """
    return float(np.clip(1.5 * np.sqrt(norm_sq / (lam * n)), 1.0, 10.0))


def period_for(kap: float) -> float:
    """Return a number of passes between new centres, 2 + 0.4 kap: far from where it was, a problem takes longer to follow."""
    return 2.0 + 0.4 * kap


@dataclass
class ProximalCentre:
    """The centre z of the proximal term (kap lam/2) ||w - z||^2, and when it moves; belongs to a solver's state."""

    kap: float  # weight of the centre, in multiples of lam
    lam: float  # regularisation of the original problem
    times: np.ndarray  # int64 (3,): steps between new centres, step of the next one, moves so far, as `shrinking` has them
    z: np.ndarray  # internal weights
    w_old: np.ndarray  # w at the latest move
    watched: np.ndarray  # float64 (1,), the certificate ten centres ago
    watch: bool = True  # whether the safeguard is on; without, the period stays

    @property
    def next_step(self) -> int:
        """Step of the next centre."""
        return int(self.times[shrinking.NEXT])

    @next_step.setter
    def next_step(self, step: int) -> None:
        self.times[shrinking.NEXT] = step

    @property
    def inner_lam(self) -> float:
        """lam', for block steps."""
        return self.lam * (1.0 + self.kap)

    @property
    def for_kernels(self) -> shrinking.Centre:
        """The same, for kernels that move it; they watch."""
        return shrinking.Centre(self.z, self.w_old, self.times, self.watched, self.kap, self.lam)

    def change_lam(self, lam: float) -> None:
        """Keep centre, momentum and w for another lam; the certificate is watched anew."""
        self.lam, self.times[shrinking.MOVES], self.watched[0] = lam, 0, np.inf

    def image(self, v: np.ndarray) -> np.ndarray:
        """Return A a, given the shifted v."""
        return (1.0 + self.kap) * v - self.kap * self.z

    def shifted(self, image: np.ndarray) -> np.ndarray:
        """Return the shifted v, given A a."""
        return image / (1.0 + self.kap) + self.kap / (1.0 + self.kap) * self.z

    def move(self, w: np.ndarray, v: np.ndarray, known_gap: Callable[[], float]) -> None:
        """Choose a new centre and shift v, in place; ``known_gap()`` is that of the original problem."""
        watches = self.watch and (self.times[shrinking.MOVES] + 1) % shrinking.WATCH_CENTRES == 0
        shrinking.plan_next(self.times, self.watched, known_gap() if watches else 0.0)
        beta = shrinking.momentum(self.kap)
        for start in range(0, len(w), PIECE):  # which a cache holds: fresh memory for w as a whole takes longer than all of it
            piece = slice(start, start + PIECE)
            z = w[piece] + beta * (w[piece] - self.w_old[piece])
            self.w_old[piece] = w[piece]
            v[piece] += self.kap / (1.0 + self.kap) * (z - self.z[piece])
            self.z[piece] = z


def new_centre(
    kap: float, lam: float, period: int, step: int, image: np.ndarray, w: np.ndarray, watch: bool = True
) -> ProximalCentre:
    """Return the first centre, ``image`` = A a, chosen at ``step``, with ``period`` steps between new ones at first."""
    times = np.array([period, step + period, 0], dtype=np.int64)
    return ProximalCentre(kap, lam, times, image.copy(), w.copy(), np.full(1, np.inf), watch)


class Acceleration:
    """When centres are chosen, and what they change, of a solver with the state of ``bcfw``."""

    _radii_sq = None

    @property
    def _accelerate(self) -> AccelerateOptions:
        chosen = self.options.accelerate
        return AccelerateOptions(**chosen) if isinstance(chosen, dict) else AccelerateOptions()

    @property
    def inner_lam(self) -> float:
        """lam of block steps."""
        return self.lam if self.state.centre is None else self.state.centre.inner_lam

    def choose_centre(self) -> None:
        """Say when acceleration begins, if that was asked for, or begin it anew if a far larger kap pays at this lam."""
        if self.options.accelerate is False:
            return
        state, kap = self.state, self._strength()
        if self.watches:
            return
        if state.centre is None:
            passes = self._accelerate.start if kap is not None else max(LATE_PASSES, self._accelerate.start)
            state.first_centre = min(state.first_centre, self.step + steps_of(passes, self.problem.n))
            if self.step >= state.first_centre:
                self.begin_acceleration()
        elif kap is not None and kap >= 2.0 * state.centre.kap:
            self.begin_acceleration()

    def _strength(self) -> float | None:
        """Return kap, or None where acceleration seems not to pay at this lam."""
        kap = self._accelerate.kap
        if kap == OBSERVED:
            met = 0.0 if self.sets is None else specialise(active_set.mean_norm_sq, self.problem)(self.sets)
            return observed_strength(met, self.problem.n, self.lam)
        if kap is None:
            self._radii_sq = radii_sq(self.problem) if self._radii_sq is None else self._radii_sq
            kap = acceleration_strength(self._radii_sq, self.lam)
        return kap

    @property
    def centre_refreshes(self) -> bool:
        """Whether a new centre, which makes all that is known of the gaps stale, has them computed anew."""
        return self.options.needs_gaps and self._accelerate.refresh

    @property
    def kernels_move_centres(self) -> bool:
        """Whether they do so, between rounds; not where weights are clipped, or something else follows."""
        return self.shrinks and not self.centre_refreshes and isinstance(self.state.projection, projections.Unconstrained)

    @property
    def centre_is_due(self) -> bool:
        """Whether `move_centre` comes next."""
        centre = self.state.centre
        return centre is not None and self.ticks >= centre.next_step and not self.kernels_move_centres

    def begin_acceleration(self) -> None:
        """Make A a the centre."""
        state, image = self.state, self.image()
        kap, period = self._strength() or LATE_STRENGTH, self._accelerate.period
        if self.shrinks:
            kap = max(kap, LATE_STRENGTH)
        period = max(1, steps_of(period_for(kap) if period is None else period, 1 if self.shrinks else self.problem.n))
        projections.set_weights(state.projection, image, state.iterate.w)
        state.centre = new_centre(kap, self.lam, period, self.ticks, image, state.iterate.w)
        state.first_centre = np.inf

    @property
    def next_centre(self) -> float:
        """When the next centre is chosen, in ``ticks``."""
        return self.state.first_centre if self.state.centre is None else self.state.centre.next_step

    def image(self) -> np.ndarray:
        """Return A a."""
        v = projections.unclipped(self.state.projection, self.state.iterate.w)
        return v if self.state.centre is None else self.state.centre.image(v)

    def move_centre(self) -> None:
        """Choose a new centre, near w."""
        state = self.state
        v = projections.unclipped(state.projection, state.iterate.w)
        state.centre.move(state.iterate.w, v, lambda: self.total_gap(state.iterate.gaps))
        projections.set_weights(state.projection, v, state.iterate.w)
        if self.options.sampling == "gap_perm":
            self.begin_ordered_pass()
        if self.centre_refreshes:
            state.next_refresh = self.step

    def total_gap(self, gaps: np.ndarray) -> float:
        """Return P(w) - D(a), given the block gaps (times n) at w; with acceleration they sum to that of the centred problem."""
        gap = float(np.mean(gaps))
        if self.state.centre is not None:
            w, image = self.state.iterate.w, self.image()
            w_a = self.clip(image)  # the w that belongs to a
            difference = w - w_a
            gap += 0.5 * self.lam * product(difference, difference)
            if w_a is not image:
                gap += self.lam * product(w, w_a - image)
        return gap
