"""The time limit of a run."""

import math

from fwexp.driver.clock import Clock, running_seconds
from fwexp.driver.log import Log

HEAD_START = 0.1  # of the time limit, by which evaluation may take longer than steps before rows are left out


class TimeLimit:
    """Decide when the time of a run is over; ``seconds`` is None for no limit."""

    # The limit is in solver seconds, or in wall seconds, evaluation included, if the oracle is costly. In the first case the log
    # leaves out rows while evaluation is behind, so that the run takes about twice the limit at most.

    def __init__(self, seconds: float | None, clock: Clock, log: Log) -> None:
        self._seconds, self._clock, self._log = math.inf if seconds is None else seconds, clock, log
        self._uses_wall, self._start = log.iteration.terms.costly_oracle, running_seconds()
        self.evaluation = Clock()

    @property
    def state(self) -> tuple[float, float]:
        """Solver seconds and wall seconds so far."""
        return self.solver_seconds, self.wall_seconds

    def restore(self, state: tuple[float, float]) -> None:
        """Continue from a state."""
        self._clock.seconds, wall = state
        self._start = running_seconds() - wall

    @property
    def solver_seconds(self) -> float:
        """Seconds that the iteration has taken so far."""
        return self._clock.seconds

    @property
    def wall_seconds(self) -> float:
        """Wall seconds so far, without pauses of the process."""
        return running_seconds() - self._start

    def is_over(self) -> bool:
        """Return whether the time is over."""
        return (self.wall_seconds if self._uses_wall else self.solver_seconds) >= self._seconds

    def is_logging_behind(self) -> bool:
        """Return whether evaluation has taken so much longer than steps that rows must be left out."""
        return not self._uses_wall and self.evaluation.seconds > self.solver_seconds + HEAD_START * self._seconds

    def is_near(self, calls_needed: int) -> bool:
        """Return whether only the last evaluation fits into the time left, of which steps have at least half."""
        if not self._uses_wall or self._seconds == math.inf:
            return self.is_over()
        log, elapsed = self._log, self.wall_seconds
        ahead = (log.cost + calls_needed) * elapsed / max(log.calls + log.iteration.oracle_calls, 1)
        return elapsed + min(ahead, 0.5 * self._seconds) >= self._seconds
