"""The one loop that runs everything that iterates: clock, logging schedule, bounds and stopping.

The clock runs while the iteration advances, and only then: not during evaluation for the log, or output; nor while a kernel is
compiled, wherever in the run that is (`Clock`). Nothing that happens here changes the steps; the schedule can only stop them.

Where oracles are costly evaluation is what takes the time. There the default schedule keeps its calls below a share of the
iteration's unless these say that the gap may be small enough, what the iteration's own calls say of its objective is logged for
nothing, and the time limit is in wall time, evaluation included. Where passes are brief it does the first, and evaluates where the
steps promise the gap that is asked for. Elsewhere a time limit bounds the seconds of evaluation as well: rows of the schedule are
left out while evaluation is behind, so that the run takes about twice the limit at most.
"""

import math
import time
from dataclasses import dataclass

from fwexp.driver import settings
from fwexp.driver.checkpoint import Checkpoint
from fwexp.driver.clock import Clock, interruptible
from fwexp.driver.iteration import NO_AIM, Iteration
from fwexp.driver.log import BRIEF_SHARE, Log, quiet
from fwexp.driver.progress import Progress
from fwexp.driver.schedule import log_points
from fwexp.driver.settings import Bounds
from fwexp.driver.trace import Status
from fwexp.jit.compilation import warn_if_interpreted

PROMISE = 2.0  # times ``gap_tol``: the first estimate of the gap that is worth an evaluation
LESS = 0.9  # of an estimate that was worth one: what is worth the next
HEAD_START = 0.1  # of the time limit, by which evaluation may take longer than steps before rows are left out
CHUNK_SECONDS = 0.1  # about how often the loop looks at the clock and for Ctrl-C


class TimeLimit:
    """When a run has to end.

    Parameters
    ----------
    seconds : float or None
        None for never.
    clock : Clock
        That of the iteration.
    log : Log
        Whose last rows still have to be evaluated.
    spent : float
        Wall seconds before now.
    """

    def __init__(self, seconds: float | None, clock: Clock, log: Log, spent: float) -> None:
        self.seconds, self._clock, self._log = math.inf if seconds is None else seconds, clock, log
        self._wall, self._start = log.iteration.costly, time.perf_counter() - spent
        self.evaluation = Clock()

    @property
    def spent(self) -> float:
        """Wall seconds so far."""
        return time.perf_counter() - self._start

    def met(self) -> bool:
        """Return whether the time is over."""
        return (self.spent if self._wall else self._clock.seconds) >= self.seconds

    def is_logging_behind(self) -> bool:
        """Return whether evaluation has taken so much longer than steps that rows must be left out."""
        return not self._wall and self.evaluation.seconds > self._clock.seconds + HEAD_START * self.seconds

    def near(self) -> bool:
        """Return whether steps must end, to leave time for the last evaluation; steps get at least half the time."""
        if not self._wall or self.seconds == math.inf:
            return self.met()
        iteration, log, elapsed = self._log.iteration, self._log, self.spent
        ahead = (log.cost + iteration.calls_per_step) * elapsed / max(log.calls + iteration.oracle_calls, 1)
        return elapsed + min(ahead, 0.5 * self.seconds) >= self.seconds


@dataclass
class Place:
    """Where the loop is.

    Attributes
    ----------
    seconds, spent : float
        Those of the iteration's clock, and wall seconds.
    reached : int
        The point of the schedule that was logged last, in oracle calls.
    hits, row_hits : int
        Cache hits at that point, and those at which the next row is due.
    aim : float
        That of the iteration.
    """

    seconds: float = 0.0
    spent: float = 0.0
    reached: int = 0
    hits: int = 0
    row_hits: int = 0
    aim: float = NO_AIM


def drive(
    iteration: Iteration,
    log: Log,
    bounds: Bounds,
    schedule="default",
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Status:
    """Run ``iteration`` to one of its ends, writing to ``log``; return how it ended.

    Parameters
    ----------
    iteration : Iteration
        At its start, or wherever it was left.
    log : Log
        Of that iteration.
    bounds : Bounds
        Where to end.
    schedule : "default", float or tuple of float
        When to log, in passes (`log_points`); besides, rows are logged at the start, at the end, and at every ``event``.
    progress : Progress, optional
        What people see while it runs; nothing by default.
    checkpoint : Checkpoint, optional
        Where the run is saved at intervals and when it is interrupted, and from where it goes on.

    Returns
    -------
    Status

    Raises
    ------
    CertificateError
        A primal objective lies below a dual one: an oracle does not do what it promises.
    """
    warn_if_interpreted()
    n, clock, progress = iteration.size, Clock(), progress or Progress(None, False)
    max_calls = settings.max_calls(bounds.max_passes, n)
    max_steps = settings.MAX_STEPS_PER_CALL * max(max_calls, 1)
    chosen = isinstance(schedule, tuple)
    iteration.pauses = iteration.costly and schedule == "default"
    brief = iteration.brief and schedule == "default"
    rarely, aims = iteration.pauses or brief, brief and bounds.gap_tol > 0.0
    first, least = (min(round(n / BRIEF_SHARE), max_calls), n) if brief else (0, 0)  # nothing before is affordable
    if not iteration.costly:  # else there is nothing to compile, and iterations would call the oracle to do so
        iteration.advance(0, 0)
    saved = checkpoint.load() if checkpoint is not None else None
    place = saved["place"] if saved else Place(row_hits=n, aim=PROMISE * bounds.gap_tol * log.objective.scale if aims else NO_AIM)
    iteration.aim = place.aim
    limit = TimeLimit(bounds.time_limit, clock, log, place.spent)
    log.stop = limit.met
    if saved:
        clock.seconds = place.seconds
        iteration.restore(saved["process"])
        log.restore(saved["log"])
        progress.go_on(iteration.oracle_calls / n)
    else:
        log.write(0.0)

    def save() -> None:
        place.seconds, place.spent, place.aim = clock.seconds, limit.spent, iteration.aim
        checkpoint.save({"place": place, "process": iteration.saved(), "log": log.state})

    def ended() -> Status | None:
        if not log.finite():
            return Status.DIVERGED
        if iteration.finished or (bounds.gap_tol > 0 and log.gap <= bounds.gap_tol):
            return Status.CONVERGED
        return Status.STALLED if iteration.stalled else None

    def write() -> None:
        with limit.evaluation:
            log.write(clock.seconds)
        estimate = iteration.estimated_gap() if aims and log.gap > bounds.gap_tol else math.nan
        if math.isfinite(estimate):  # so much more than the gap is an estimate
            iteration.aim = min(bounds.gap_tol * estimate / log.gap, LESS * estimate)

    def affordable() -> bool:
        return (not rarely or log.affordable) and not limit.is_logging_behind()

    saves = checkpoint is not None and iteration.state is not None
    with interruptible(lambda: f"at pass {iteration.oracle_calls / n:.4g}") as interrupted:

        def stopped() -> Status | None:
            if interrupted() or log.told_to_end:
                if saves:
                    save()
                return Status.INTERRUPTED
            return Status.TIME_LIMIT if limit.near() else None

        rate = 0.0  # oracle calls per second
        for target in log_points(schedule, n, max_calls):
            if target <= place.reached or target < first:
                continue
            # Also what follows without a call, to its end: else it would depend on the portions where a row is logged.
            while ended() is None and (iteration.oracle_calls < target or iteration.has_cache):
                if (status := stopped()) is not None:
                    write()
                    return ended() or status
                before = (iteration.step, iteration.oracle_calls, clock.seconds)
                portion = max(int(rate * CHUNK_SECONDS), iteration.calls_per_step, least)
                # Steps without oracle calls are logged too, after n of them exactly: runs must not depend on the clock.
                steps = iteration.step + place.row_hits - iteration.cache_hits if iteration.has_cache else max_steps
                with clock, quiet():
                    iteration.advance(min(target, iteration.oracle_calls + portion), min(steps, max_steps))
                if iteration.event:
                    write()
                elif (iteration.step, iteration.oracle_calls) == before[:2]:
                    break
                rate = (iteration.oracle_calls - before[1]) / max(clock.seconds - before[2], 1e-9)
                progress.update(iteration.oracle_calls / n, log.gap, clock.seconds)
                if iteration.pauses:
                    log.write_known(clock.seconds)
                if iteration.cache_hits >= place.row_hits:
                    if affordable():
                        write()
                    # A row costs n oracle calls: between points that were given one by one it takes twice as many hits as before.
                    place.row_hits = iteration.cache_hits + (iteration.cache_hits - place.hits if chosen else n)
                if saves and checkpoint.due:
                    save()
            promising = iteration.pauses and iteration.estimated_gap() <= bounds.gap_tol * log.objective.scale
            if affordable() or promising or target == max_calls or ended() is not None:
                write()
            if (status := ended()) is not None:
                return status
            place.reached, place.hits, place.row_hits = target, iteration.cache_hits, iteration.cache_hits + n
        # A sweep must hear of an interrupt, also where the run was about to end.
        return stopped() or Status.MAX_PASSES
