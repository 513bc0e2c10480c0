"""Logging policy: where a run is logged, so that evaluation takes a small part of the time.

Nothing here changes the steps; a row can only end the run. `regime_of` says what a kind of run has beyond its schedule.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from fwexp.driver import settings
from fwexp.driver.iteration import NO_TARGET, Budget, Iteration, Terms
from fwexp.driver.log import Log
from fwexp.driver.schedule import log_points
from fwexp.driver.settings import Bounds
from fwexp.driver.time_limit import TimeLimit

EVALUATION_SHARE = 0.25  # most oracle calls that the log makes if the oracle is costly, as a share of the iteration's
CHEAP_PASS_SHARE = 0.1  # the same share if passes are cheap
WORTH_A_LOOK = 100  # examples; an evaluation of fewer takes no longer than an estimate of the gap
LOOK_PASSES = 2  # times n steps, after which the log looks at the estimated gap
EARLY_SHARE = 0.1  # of the primal objective, which stands for the optimum while the dual one is not positive
RETRY_FACTOR = 0.9  # times the estimate that was worth the latest evaluation: at most the next one


@dataclass
class LoggingState:
    """Everything that the policy changes, as a record."""

    reached: int = 0
    hits: int = 0
    next_hits: int = 0
    target_gap: float = NO_TARGET
    looked: int = 0


class Regime(NamedTuple):
    """Limits and looks that a run adds to its schedule. It leaves the schedule only if evaluation is behind a time limit."""

    share: float | None = None  # most oracle calls that the log makes, as a share of the iteration's
    period: int = 0  # steps after which a row, or a look at the estimated gap, is due; 0 for never
    least_calls: int = 0  # that the iteration makes before the loop looks at it again
    until_known: bool = False  # whether rows that the iteration's own calls give for nothing are logged, too
    only_known: bool = False  # whether no other rows are logged before the end
    looks: bool = False  # whether the log looks at the estimated gap
    target_gap: float = NO_TARGET  # first estimate of the gap that is worth an evaluation


def regime_of(terms: Terms, schedule, gap_tol: float, cost: int) -> Regime:
    """Return the regime of a run, given its tolerance in the units of the iteration and the oracle calls that a row costs."""
    # Rows for other sets than the training set are wanted along the whole run.
    n, target_gap = terms.size, terms.first_target * gap_tol if gap_tol > 0.0 else NO_TARGET
    if schedule == "steps":
        return Regime(period=n)
    if schedule != "default":
        return Regime()
    if terms.cheap_passes:
        return Regime(CHEAP_PASS_SHARE, least_calls=n, until_known=terms.costly_oracle, target_gap=target_gap)
    if terms.costly_oracle:
        return Regime(EVALUATION_SHARE, until_known=True, only_known=terms.shows_objective and cost == n)
    if terms.estimates_gap and gap_tol > 0.0 and cost == n and n >= WORTH_A_LOOK:
        return Regime(CHEAP_PASS_SHARE, period=LOOK_PASSES * n, looks=True, target_gap=target_gap)
    return Regime()


class LoggingPolicy:
    """Decide where the points of an iteration are logged, and log them."""

    def __init__(self, iteration: Iteration, log: Log, bounds: Bounds, schedule, limit: TimeLimit) -> None:
        self._iteration, self._log, self._schedule, self._limit, self._bounds = iteration, log, schedule, limit, bounds
        terms = iteration.terms
        self._n, self._has_cache = terms.size, terms.has_cache
        self._regime = regime_of(terms, schedule, bounds.gap_tol * log.objective.scale, log.objective.cost())
        self.least_calls = self._regime.least_calls
        self.max_calls = settings.max_calls(bounds.max_passes, terms.size)
        self._max_steps = settings.MAX_STEPS_PER_CALL * max(self.max_calls, 1)
        self.state = LoggingState(next_hits=terms.size, target_gap=self._regime.target_gap)

    @property
    def _own_gap_tol(self) -> float:
        """The tolerance in the units of the iteration."""
        return self._wanted_gap * self._log.objective.scale

    @property
    def _wanted_gap(self) -> float:
        """The gap at which the run ends; while the dual objective shows nothing of the optimum, a guess from the primal one."""
        dual = self._log.dual
        return self._bounds.wanted_gap(dual if dual > 0.0 else EARLY_SHARE * self._log.primal)

    def restore(self, state: LoggingState) -> None:
        """Continue from a state of an equal policy."""
        self.state = state

    def points(self) -> Iterator[int]:
        """Yield the points of the schedule that lie ahead, in oracle calls."""
        for point in log_points(self._schedule, self._n, self.max_calls):
            if point > self.state.reached and point >= self._next_affordable():
                yield point

    def has_room(self, point: int) -> bool:
        """Return whether steps are left before a point."""
        # Steps that need no oracle call belong to the calls before them: rows must not depend on how the run is cut into portions.
        return self._iteration.oracle_calls < point or self._has_cache

    def budget(self, point: int, calls: int) -> Budget:
        """Return a budget of so many more oracle calls, up to a point of the schedule."""
        iteration, steps, hits = self._iteration, self._max_steps, sys.maxsize
        if period := self._regime.period:  # Looks and rows come after a number of steps exactly: runs must not depend on the clock.
            steps = min((iteration.step // period + 1) * period, steps)
        elif self._has_cache:  # The same holds after n steps without oracle calls.
            hits = self.state.next_hits
        calls, known = min(point, iteration.oracle_calls + calls), self._regime.until_known
        # A relative tolerance follows from what was logged, which must not change steps.
        gap_tol = 0.0 if self._bounds.relative_gap else self._own_gap_tol
        return Budget(calls, steps, hits, known, self.state.target_gap, gap_tol)

    def write_start(self) -> None:
        """Log the start, unless the iteration's own calls will show its objective."""
        if not self._regime.only_known:
            self._log.write(0.0)

    def write(self) -> None:
        """Log the point where the iteration is, and set the next target if the gap is still too large."""
        with self._limit.evaluation:
            self._log.write(self._limit.solver_seconds)
        if self._regime.target_gap == NO_TARGET or not (gap := self._log.gap) > self._wanted_gap:
            return
        if math.isfinite(estimate := self._iteration.estimated_gap()):
            # The estimate differs from the gap by a factor, which should be about the same at the next evaluation.
            self.state.target_gap = min(self._wanted_gap * estimate / gap, RETRY_FACTOR * estimate)

    def write_between_points(self) -> None:
        """Log the rows that cost nothing, and those that follow many steps without oracle calls."""
        state, hits = self.state, self._iteration.cache_hits
        if self._regime.until_known:
            self._log.write_known(self._limit.solver_seconds)
        if period := self._regime.period:
            if (step := self._iteration.step) % period == 0 and step != state.looked:
                state.looked = step  # An event may follow at the same step: where portions end must not matter.
                if self._is_affordable() or self._is_promising():
                    self.write()
        elif hits >= state.next_hits:
            if self._is_affordable():
                self.write()
            # Such a row costs n oracle calls: between points that were given one by one, the number of hits doubles each time.
            state.next_hits = hits + (hits - state.hits if isinstance(self._schedule, tuple) else self._n)

    def write_at(self, point: int, has_ended: Callable[[], Any]) -> None:
        """Log a point of the schedule if that is affordable, worth it, or the end."""
        if self._is_affordable() or self._is_promising() or point == self.max_calls or has_ended():
            self.write()

    def leave(self, point: int) -> None:
        """Count cache hits from a point of the schedule on."""
        hits = self._iteration.cache_hits
        self.state.reached, self.state.hits, self.state.next_hits = point, hits, hits + self._n

    def _is_promising(self) -> bool:
        """Return whether the estimated gap is small enough; an iteration with cheap passes stops there by itself."""
        if self._regime.until_known:
            return self._iteration.estimated_gap() <= self._own_gap_tol
        return self._regime.looks and self._iteration.estimated_gap() <= self.state.target_gap

    def _next_affordable(self) -> int:
        """Return the first point of the schedule that can be affordable: to stop at others would cost calls of kernels."""
        if not self._iteration.terms.cheap_passes or self._regime.share is None:
            return 0
        log = self._log
        row = len(log.iterates) * (log.objective.cost() + log.terms.calls_for_extras)  # which no iterate has there yet
        return min(math.ceil((log.calls - log.calls_at_start + row) / self._regime.share), self.max_calls)

    def _is_affordable(self) -> bool:
        """Return whether an evaluation keeps to the share of oracle calls and to the time limit; the start is free."""
        log, share = self._log, self._regime.share
        if self._regime.only_known:
            return False
        if share is not None and log.calls - log.calls_at_start + log.cost > share * self._iteration.oracle_calls:
            return False
        return not self._limit.is_logging_behind()
