"""Outer acceleration of block-coordinate ascent (ours; after Catalyst, Lin, Mairal, Harchaoui 2015, and accelerated
prox-SDCA, Shalev-Shwartz and Zhang 2014).

The inner method works on the problem centred at z, P(w) + (kap lam/2) ||w - z||^2. With lam' = lam (1 + kap),

    w = v + kap/(1 + kap) z,   v = A a/(1 + kap),

so block steps stay as they are, with lam' instead of lam and scores under w. Every ``period`` passes

    z_new = w + beta (w - w_old),   beta = (1 - sqrt q)/(1 + sqrt q),   q = 1/(1 + kap);

a is kept and w is shifted by kap/(1 + kap) (z_new - z). The certificate is the one of the original problem: the dual at a,
the primal at w. Block gaps under w sum to the gap of the centred problem; the gap of the original one at (w, a) is that sum
plus lam/2 ||w - A a||^2.

Safeguard: the period doubles if the certificate, computed from the known block gaps, fell by less than a factor 0.7 over ten
new centres. The safeguard uses numbers of the run only, never of the log.

If ||A a|| stops growing in the first part of a pass (`stopped_growing`), few blocks determine w, and without a centre w jumps from
example to example. Matchings with few weights are such problems. Acceleration can then begin early (`EarlyBegin`), with z = 0,
`EARLY_FACTOR` times the strength, and `EARLY_PERIOD`, because w follows a centre sooner.

A new centre makes the known block gaps stale. Either all gaps are computed anew, which costs one more pass of oracle calls for
each centre, or (``refresh`` false) they stay until a step or the next regular refresh corrects them: fewer calls to the same gap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fwexp.blocks import active_set, projections, shrinking
from fwexp.blocks.block_loop import steps_of
from fwexp.blocks.centres import new_centre
from fwexp.blocks.events import Event
from fwexp.blocks.orders import BY_GAPS
from fwexp.errors import OptionError
from fwexp.jit.compilation import specialise
from fwexp.options import check_flag, check_number, option
from fwexp.problems.protocol import product, radii_sq

POSITIVE = "a positive number"
OBSERVED = "observed"
LARGEST = 10.0  # kap that the strengths below choose at most
EARLY_FACTOR, EARLY_PERIOD = 3.0, 2.0  # of kap at an early begin, and passes between its centres
GROWTH = 1.2  # factor by which ||A a||^2 grows at least in twice the steps if it has not stopped
FEWEST_STEPS = 8  # before the first look at it
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
        The weight of the distance to the centre, in multiples of lam: by default the value of `acceleration_strength`, with
        ``observed`` the value of `observed_strength`.
    period : float, optional
        Passes between new centres; null takes `period_for` of kap.
    start : float
        Passes before the first centre, which is A a.
    early : float
        Passes after which acceleration begins already if ||A a|| stops growing; 0 for never.
    refresh : bool
        Whether a new centre refreshes all known gaps.
    """

    kap: float | str | None = option(None, _check_strength, optional=True)
    period: float | None = option(3.0, check_number, POSITIVE, above=0.0, optional=True)
    start: float = option(0.0, check_number, "a number >= 0", least=0.0, added_later=True)
    early: float = option(0.0, check_number, "a number >= 0", least=0.0, added_later=True)
    refresh: bool = option(True, check_flag, added_later=True)


def without_effect(sampling: str, cache) -> dict[str, str]:
    """Return the fields of `AccelerateOptions` that have no effect with these options of a method, and the options they need."""
    if sampling == "shrinking":  # Acceleration begins once rounds bring little.
        return dict.fromkeys(("start", "early"), "other orders than sampling=shrinking")
    return {} if sampling in BY_GAPS or cache else {"refresh": f"sampling={' or '.join(BY_GAPS)} or a cache"}


def check_effects(owner: str, options, cache=False) -> None:
    """Reject fields of ``options.accelerate`` that have no effect with the other options."""
    if isinstance(options.accelerate, Mapping):
        for name, needed in without_effect(options.sampling, cache).items():
            if getattr(AccelerateOptions(**options.accelerate), name) != getattr(AccelerateOptions, name):
                raise OptionError(f"{owner}: accelerate.{name} goes with {needed} only, got sampling={options.sampling}")


def acceleration_strength(radii_sq: np.ndarray, lam: float) -> float | None:
    """Return kap = min(sqrt(R^2/(2 lam n)), 10), R^2 the mean of ``radii_sq``, or None (no acceleration) if that is below 1."""
    # R^2/(lam n) measures how ill conditioned the problem is; a well conditioned one converges in a few passes, and centres would
    # slow it down. A run that has not ended after `LATE_PASSES` gets `LATE_STRENGTH`, which pays at high accuracy. The root and
    # the bound 10 measured best, or close to it, for lam n from 0.1 to 1000 on handwriting, digits and Gaussian classes.
    kap = float(np.sqrt(np.mean(radii_sq) / (2.0 * lam * len(radii_sq))))
    return min(kap, LARGEST) if kap >= 1.0 else None


def observed_strength(norm_sq: float, n: int, lam: float) -> float:
    """Return kap = 1.5 sqrt(r^2/(lam n)) within 1 .. 10, given r^2, the mean of ||psi_i(y)||^2 of labelings met."""
    # The bounds of `acceleration_strength` are 5 times r^2 on handwriting, 35 times on text and 100 times on images.
    return float(np.clip(1.5 * np.sqrt(norm_sq / (lam * n)), 1.0, LARGEST))


def stopped_growing(norm_sq: float, earlier: float) -> bool:
    """Return whether ||A a||^2 has stopped growing, given its value after half of the steps."""
    # It doubles in twice the steps if the blocks share no weights, and still grows by a half on text, images and poses.
    return norm_sq < GROWTH * earlier


def period_for(kap: float) -> float:
    """Return the passes between new centres, 2 + 0.4 kap: a problem with a stronger centre takes longer to follow it."""
    return 2.0 + 0.4 * kap


class Acceleration(Event):
    """The event that chooses centres; ``options`` is None for a run without, and ``knows_gaps`` whether centres make gaps stale."""

    by_rounds = False  # whether the run counts rounds of `shrinking` instead of steps
    least_kap = 0.0

    def __init__(self, problem, options: AccelerateOptions | None, knows_gaps: bool) -> None:
        self.problem, self.options, self.pass_length = problem, options, problem.n
        self.refreshes = knows_gaps and options is not None and options.refresh  # whether a new centre has all gaps computed anew
        self._radii_sq = None

    def clock(self, run) -> int:
        """Return the time by which centres are chosen, in steps."""
        return run.step

    def next_centre(self, state) -> float:
        """Return the time on that clock at which the next centre is chosen."""
        return state.first_centre if state.centre is None else state.centre.next_step

    def due_step(self, run):
        return self.next_centre(run.state)

    def is_due(self, run):
        return self.clock(run) >= self.next_centre(run.state)

    def calls_ahead(self, run):
        return self.problem.n if self.refreshes and run.state.centre is not None else 0

    def schedule(self, run) -> None:
        """Set when acceleration begins, if options ask for it, or begin it anew if a far larger kap pays at the present lam."""
        if self.options is None:
            return
        state, kap = run.state, self.strength(run)
        if state.centre is not None:
            if kap is not None and kap >= 2.0 * state.centre.kap:
                self.begin(run)
            return
        passes = self.options.start if kap is not None else max(LATE_PASSES, self.options.start)
        state.first_centre = min(state.first_centre, run.step + steps_of(passes, self.problem.n))
        if run.step >= state.first_centre:
            self.begin(run)

    def apply(self, run):
        state = run.state
        if state.centre is None:
            self.begin(run)
            return
        v = projections.unclipped(state.iterate.constraint, state.iterate.w)
        state.centre.move(state.iterate.w, v, lambda: total_gap(run, state.iterate.gaps))
        projections.set_weights(state.iterate.constraint, v, state.iterate.w)
        run.note_new_centre()

    def begin(self, run, early: bool = False) -> None:
        """Make A a the first centre, or 0 if the run begins ``early``."""
        state, v = run.state, image(run.state)
        kap, period = max(self.strength(run) or LATE_STRENGTH, self.least_kap), self.options.period
        if early:
            kap, period = max(kap, min(EARLY_FACTOR * kap, LARGEST)), period or EARLY_PERIOD
            v = v / (1.0 + kap)
        period = max(1, steps_of(period_for(kap) if period is None else period, self.pass_length))
        projections.set_weights(state.iterate.constraint, v, state.iterate.w)
        z, w_old = (np.zeros_like(v),) * 2 if early else (v, state.iterate.w)
        state.centre = new_centre(kap, run.lam, period, self.clock(run), z, w_old)
        state.first_centre = np.inf

    def strength(self, run) -> float | None:
        """Return kap, or None if acceleration does not seem to pay at the present lam."""
        kap = self.options.kap
        if kap == OBSERVED:
            met = 0.0 if run.sets is None else specialise(active_set.mean_norm_sq, self.problem)(run.sets)
            return observed_strength(met, self.problem.n, run.lam)
        if kap is None:
            self._radii_sq = radii_sq(self.problem) if self._radii_sq is None else self._radii_sq
            kap = acceleration_strength(self._radii_sq, run.lam)
        return kap


class RoundsAcceleration(Acceleration):
    """Acceleration of `shrinking`, by a clock of rounds: it begins once a round brings little."""

    by_rounds = True
    least_kap = LATE_STRENGTH

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.pass_length = 1

    def clock(self, run):
        return int(run.state.order.rounds.progress[shrinking.ENDED])

    def due_step(self, run):
        return np.inf  # The order ends the series after the round.

    def is_due(self, run):
        return super().is_due(run) and not self.kernels_move_centres(run.state)

    def waits_for_slow_round(self, state) -> bool:
        """Return whether acceleration begins with the next round that brings little."""
        return self.options is not None and state.centre is None

    def kernels_move_centres(self, state) -> bool:
        """Return whether kernels move the centre, between rounds; not if weights are clipped or a refresh follows."""
        return not (state.centre is None or self.refreshes or isinstance(state.iterate.constraint, projections.Nonnegative))

    def schedule(self, run):
        if not self.waits_for_slow_round(run.state):
            super().schedule(run)


class EarlyBegin(Event):
    """The event that looks whether ||A a|| has stopped growing, once and after twice the steps, and then begins acceleration."""

    def __init__(self, acceleration: Acceleration) -> None:
        self.acceleration = acceleration

    def first_look(self) -> float:
        """Return the step of the first look of a run from w = 0, inf if there is none."""
        options = self.acceleration.options
        if options is None or options.early == 0.0 or self.acceleration.by_rounds:
            return np.inf
        return max(steps_of(options.early / 2.0, self.acceleration.problem.n), FEWEST_STEPS)

    def due_step(self, run):
        return run.state.next_look

    def is_due(self, run):
        return run.step >= run.state.next_look

    def apply(self, run):
        state, v = run.state, image(run.state)
        norm_sq, earlier = product(v, v), state.norm_seen
        state.norm_seen, state.next_look = norm_sq, np.inf if earlier else 2 * state.next_look
        if earlier and state.centre is None and stopped_growing(norm_sq, earlier):
            self.acceleration.begin(run, early=True)


def image(state) -> np.ndarray:
    """Return A a."""
    v = projections.unclipped(state.iterate.constraint, state.iterate.w)
    return v if state.centre is None else state.centre.image(v)


def total_gap(run, gaps: np.ndarray) -> float:
    """Return P(w) - D(a), given the block gaps (times n) at w; with acceleration they sum to the gap of the centred problem."""
    gap, state = float(np.mean(gaps)), run.state
    if state.centre is not None:
        w = state.iterate.w
        if not isinstance(state.iterate.constraint, projections.Nonnegative):
            return gap + 0.5 * run.lam * state.centre.distance_sq(w)
        v = image(state)
        w_a = projections.clip(projections.constrained_indices(run.problem), v)  # the w that belongs to a
        difference = w - w_a
        gap += 0.5 * run.lam * product(difference, difference) + run.lam * product(w, w_a - v)
    return gap
