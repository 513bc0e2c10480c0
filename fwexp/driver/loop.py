"""The one loop that runs everything that iterates.

The clock runs only while the iteration advances: not during evaluation for the log or output, nor while a kernel is compiled,
wherever in the run that is (`Clock`). Nothing that happens here changes the steps.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fwexp.driver.clock import Clock, interruptible
from fwexp.driver.iteration import NO_BUDGET, Iteration, Reason, Stop
from fwexp.driver.log import Log, quiet
from fwexp.driver.logging_policy import LoggingPolicy
from fwexp.driver.progress import Progress, print_line
from fwexp.driver.settings import Bounds
from fwexp.driver.time_limit import TimeLimit
from fwexp.driver.trace import Status
from fwexp.jit.threads import for_steps

if TYPE_CHECKING:
    from fwexp.driver.checkpoint import Checkpoint

CHUNK_SECONDS = 0.1  # about how often the loop looks at the clock and for Ctrl-C
SHORT = 0.1 * CHUNK_SECONDS


def drive(
    iteration: Iteration,
    log: Log,
    bounds: Bounds,
    schedule="default",
    progress: Progress | None = None,
    checkpoint: "Checkpoint | None" = None,
) -> Status:
    """Run an iteration to the end of the run, writing to its log; return how the run ended.

    Parameters
    ----------
    iteration : Iteration
        The iteration, at its start or wherever it was left.
    log : Log
        Log of that iteration.
    bounds : Bounds
        Where to end.
    schedule : "default", "steps", float or tuple of float
        When to log, in passes (`log_points`), besides the start, the end and where the iteration stops for a row.
    progress : Progress, optional
        Display while the run lasts.
    checkpoint : Checkpoint, optional
        Where the run is saved at intervals and when it is interrupted, and from where it continues.

    Returns
    -------
    Status

    Raises
    ------
    CertificateError
        If a primal objective lies below a dual one, because an oracle does not maximise.
    """
    if not iteration.terms.costly_oracle:  # Otherwise nothing is compiled, and compiling would call the oracle.
        iteration.compile()
    run = Run(iteration, log, bounds, schedule, progress or Progress(None, False), checkpoint)
    policy = run.policy
    run.start()
    try:
        with interruptible(run.place) as interrupted:
            for point in policy.points():
                while run.status() is None and policy.has_room(point):
                    if (status := run.stopped_by(interrupted)) is not None:
                        policy.write()
                        return run.status() or status
                    if not run.advance(point):
                        break
                policy.write_at(point, has_ended=run.status)
                if (status := run.status()) is not None:
                    return status
                policy.leave(point)
            # A sweep must learn of an interrupt, even if the run was about to end.
            return run.stopped_by(interrupted) or Status.MAX_PASSES
    finally:
        log.stop = None  # a circle would keep all arrays of the run until the collector of garbage finds it


class Run:
    """One run of an iteration: its clock, its latest stop and its end. It takes the parameters of `drive`."""

    def __init__(self, iteration, log, bounds, schedule, progress, checkpoint) -> None:
        self._iteration, self._log, self._bounds, self._progress = iteration, log, bounds, progress
        self._n, self._clock, self._stop, self._calls_per_second = iteration.terms.size, Clock(), Stop(), 0.0
        self._limit = TimeLimit(bounds.time_limit, self._clock, log)
        self.policy = LoggingPolicy(iteration, log, bounds, schedule, self._limit)
        self._saver = RunSaver(checkpoint, iteration, {"log": log, "policy": self.policy, "limit": self._limit})
        log.stop = self._limit.is_over

    def place(self) -> str:
        """Return how far the run is, for a message."""
        return f"at pass {self._iteration.oracle_calls / self._n:.4g}"

    def start(self) -> None:
        """Continue from the checkpoint, or log the start."""
        if self._saver.restore():
            self._progress.go_on(self._iteration.oracle_calls / self._n)
        else:
            self.policy.write_start()
        self._stop = self._iteration.advance(NO_BUDGET)  # asks for the calls that the first step needs

    def advance(self, point: int) -> bool:
        """Take steps for about `CHUNK_SECONDS`, up to a point of the schedule; return whether there were any."""
        iteration, clock, policy = self._iteration, self._clock, self.policy
        step, calls, seconds = iteration.step, iteration.oracle_calls, clock.seconds
        chunk = max(int(self._calls_per_second * CHUNK_SECONDS), self._stop.calls_needed, policy.least_calls)
        budget = policy.budget(point, chunk)
        with for_steps(), clock, quiet():
            self._stop = iteration.advance(budget)
        if self._stop.reason is Reason.ROW:
            policy.write()
        elif self._stop.reason is Reason.PAUSE:
            self._log.note_move()
        elif (iteration.step, iteration.oracle_calls) == (step, calls):
            return False
        taken = max(clock.seconds - seconds, 1e-9)
        rate = (iteration.oracle_calls - calls) / taken
        # A short portion may happen to have few calls: it alone must not make the next ones short.
        self._calls_per_second = rate if taken > SHORT else max(rate, self._calls_per_second)
        self._progress.update(iteration.oracle_calls / self._n, self._log.gap, clock.seconds)
        policy.write_between_points()
        self._saver.save_if_due()
        return True

    def status(self) -> Status | None:
        """Return how the run has ended, None if it goes on."""
        reason, log = self._stop.reason, self._log
        if not log.finite():
            return Status.DIVERGED
        if reason is Reason.FINISHED or (self._bounds.gap_tol > 0 and log.gap <= self._bounds.wanted_gap(log.dual)):
            return Status.CONVERGED
        return Status.STALLED if reason is Reason.STALLED else None

    def stopped_by(self, interrupted) -> Status | None:
        """Return the status of a run that Ctrl-C, the callback or the time limit ends here; save the run if it can go on later."""
        if interrupted() or self._log.told_to_end:
            self._saver.save()
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if self._limit.is_near(self._stop.calls_needed) else None


class RunSaver:
    """Saves a run as a whole, if its iteration has a ``state``, and restores it; ``others`` have one, too."""

    def __init__(self, checkpoint: "Checkpoint | None", iteration: Iteration, others: Mapping) -> None:
        self._checkpoint, self._iteration, self._others = checkpoint, iteration, others
        self._saves = checkpoint is not None and iteration.state is not None
        self._kind = type(iteration).__name__  # A measured time can choose it, so that another process may choose another one.

    def restore(self) -> bool:
        """Restore the saved run; return whether there was one."""
        saved = self._checkpoint.load() if self._checkpoint is not None else None
        if saved is None:
            return False
        if saved["kind"] != self._kind:
            print_line(f"this run begins anew: it was saved as {saved['kind'].lower()}, and is now run as {self._kind.lower()}")
            return False
        self._iteration.restore(saved["iteration"])
        for name, part in self._others.items():
            part.restore(saved[name])
        return True

    def save(self) -> None:
        """Save the run, if that is possible."""
        if self._saves:
            states = {name: part.state for name, part in self._others.items()}
            self._checkpoint.save({"kind": self._kind, "iteration": self._iteration.saved(), **states})

    def save_if_due(self) -> None:
        """Save the run if it is time for that."""
        if self._saves and self._checkpoint.due:
            self.save()
