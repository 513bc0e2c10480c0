"""Logging policy: where a run is logged, so that evaluation takes a small part of the time.

Nothing here changes the steps; a row can only end the run. Three cases:

* A *costly oracle* with the default schedule: evaluation may make a share of the iteration's own oracle calls. Rows that these
  calls give for nothing are logged as well, and so are points at which the estimated gap is small enough.
* *Cheap passes* with the default schedule: a smaller share, and an evaluation as soon as the estimated gap reaches a target.
  The same holds for an iteration that *estimates its gap*, if no other sets are evaluated: the log looks at the estimate at the
  points of the schedule and every `LOOK_PASSES` n steps.
* Otherwise the schedule is kept, unless there is a time limit and evaluation is behind (`TimeLimit`).
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fwexp.driver import settings
from fwexp.driver.iteration import NO_TARGET, Budget, Iteration
from fwexp.driver.log import Log
from fwexp.driver.schedule import log_points
from fwexp.driver.settings import Bounds
from fwexp.driver.time_limit import TimeLimit

EVALUATION_SHARE = 0.25  # most oracle calls that the log makes if the oracle is costly, as a share of the iteration's
CHEAP_PASS_SHARE = 0.1  # the same share if passes are cheap
FIRST_TARGET = 2.0  # times ``gap_tol``: the first estimate of the gap that is worth an evaluation
WORTH_A_LOOK = 100  # examples; an evaluation of fewer takes no longer than an estimate of the gap
LOOK_PASSES = 2  # times n steps, after which the log looks at the estimated gap
RETRY_FACTOR = 0.9  # times the estimate that was worth the latest evaluation: at most the next one


@dataclass
class LoggingState:
    """Everything that the policy changes, as a record.

    Attributes
    ----------
    reached : int
        Latest point of the schedule, in oracle calls.
    hits, next_hits : int
        Cache hits at that point, and the number of them at which the next row is due.
    target_gap : float
        Estimate of the gap that is worth an evaluation.
    looked : int
        Step of the latest look at the estimated gap, or row after so many steps, between points.
    """

    reached: int = 0
    hits: int = 0
    next_hits: int = 0
    target_gap: float = NO_TARGET
    looked: int = 0


class LoggingPolicy:
    """Decide where the points of an iteration are logged, and log them.

    Parameters
    ----------
    iteration : Iteration
    log : Log
    bounds : Bounds
    schedule : "default", "steps", float or tuple of float
        See `log_points`.
    limit : TimeLimit
    """

    def __init__(self, iteration: Iteration, log: Log, bounds: Bounds, schedule, limit: TimeLimit) -> None:
        self._iteration, self._log, self._schedule, self._limit, self._gap_tol = iteration, log, schedule, limit, bounds.gap_tol
        terms, is_default = iteration.terms, schedule == "default"
        self._n, self._has_cache, self._until_known = terms.size, terms.has_cache, terms.costly_oracle and is_default
        self.max_calls = settings.max_calls(bounds.max_passes, terms.size)
        self._max_steps = settings.MAX_STEPS_PER_CALL * max(self.max_calls, 1)
        self._is_cheap = terms.cheap_passes and is_default
        # The estimate decides if rows show the training objective alone; rows for other sets are wanted along the run.
        estimates = terms.estimates_gap and is_default and bounds.gap_tol > 0.0 and log.objective.cost() == terms.size
        self._looks = estimates and terms.size >= WORTH_A_LOOK and not (self._is_cheap or terms.costly_oracle)
        # Steps after which a row or a look at the estimated gap is due, 0 for none.
        self._period = terms.size if schedule == "steps" else LOOK_PASSES * terms.size if self._looks else 0
        rarely = self._is_cheap or self._looks
        self._share = CHEAP_PASS_SHARE if rarely else EVALUATION_SHARE if self._until_known else None
        self.least_calls = terms.size if self._is_cheap else 0
        self._has_target = rarely and bounds.gap_tol > 0.0
        target_gap = FIRST_TARGET * self._own_gap_tol if self._has_target else NO_TARGET
        self.state = LoggingState(next_hits=terms.size, target_gap=target_gap)

    @property
    def _own_gap_tol(self) -> float:
        """The tolerance in the units of the iteration."""
        return self._gap_tol * self._log.objective.scale

    def restore(self, state: LoggingState) -> None:
        """Continue from a state of an equal policy."""
        self.state = state

    def points(self) -> Iterator[int]:
        """Yield the points of the schedule that lie ahead, in oracle calls."""
        for point in log_points(self._schedule, self._n, self.max_calls):
            if point > self.state.reached and point >= self._next_affordable():
                yield point

    def has_room(self, point: int) -> bool:
        """Return whether steps are left before a point.

        Steps that need no oracle call belong to the calls before them. Otherwise the place of a row would depend on how the run is
        cut into portions.
        """
        return self._iteration.oracle_calls < point or self._has_cache

    def budget(self, point: int, calls: int) -> Budget:
        """Return a budget of so many more oracle calls, up to a point of the schedule."""
        iteration, steps, hits = self._iteration, self._max_steps, sys.maxsize
        if self._period:  # Looks and rows come after a number of steps exactly: runs must not depend on the clock.
            steps = min((iteration.step // self._period + 1) * self._period, steps)
        elif self._has_cache:  # The same holds after n steps without oracle calls.
            hits = self.state.next_hits
        return Budget(min(point, iteration.oracle_calls + calls), steps, hits, self._until_known, self.state.target_gap)

    def write(self) -> None:
        """Log the point where the iteration is, and set the next target if the gap is still too large."""
        with self._limit.evaluation:
            self._log.write(self._limit.solver_seconds)
        if not self._has_target or not (gap := self._log.gap) > self._gap_tol:
            return
        if math.isfinite(estimate := self._iteration.estimated_gap()):
            # The estimate differs from the gap by a factor, which should be about the same at the next evaluation.
            self.state.target_gap = min(self._gap_tol * estimate / gap, RETRY_FACTOR * estimate)

    def write_between_points(self) -> None:
        """Log the rows that cost nothing, and those that follow many steps without oracle calls."""
        state, hits = self.state, self._iteration.cache_hits
        if self._until_known:
            self._log.write_known(self._limit.solver_seconds)
        if self._period:
            if (step := self._iteration.step) % self._period == 0 and step != state.looked:
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
        if self._until_known:
            return self._iteration.estimated_gap() <= self._own_gap_tol
        return self._looks and self._iteration.estimated_gap() <= self.state.target_gap

    def _next_affordable(self) -> int:
        """Return the first point of the schedule that can be affordable: to stop at others would cost calls of kernels."""
        if not self._is_cheap:
            return 0
        log = self._log
        return min(math.ceil((log.calls - log.calls_at_start + log.cost) / self._share), self.max_calls)

    def _is_affordable(self) -> bool:
        """Return whether an evaluation keeps to the share of oracle calls and to the time limit; the start is free."""
        log = self._log
        if self._share is not None and log.calls - log.calls_at_start + log.cost > self._share * self._iteration.oracle_calls:
            return False
        return not self._limit.is_logging_behind()
