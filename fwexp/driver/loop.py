"""The one loop that runs every solver: clock, logging schedule, stopping, and the certified result.

The clock runs while the solver takes steps, and only then: not during compilation, evaluation for the log, or output.
Nothing that happens here changes the steps; the schedule can only stop them.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real

import numpy as np

from fwexp.checks import plain
from fwexp.driver import settings
from fwexp.driver.result import TRACE_COLUMNS, Result, Status
from fwexp.errors import ParameterError, shown
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.protocol import to_public
from fwexp.problems.structure import structure
from fwexp.solvers.base import Solver

CHUNK_SECONDS = 0.1  # about how often the loop looks at the clock and for Ctrl-C


def log_points(schedule, n: int, max_calls: int) -> Iterator[int]:
    """Yield the increasing numbers of oracle calls (> 0) at which a run is logged; the last is ``max_calls``.

    ``"default"``: 2^-7 .. 2^-1 of a pass, every whole pass to 50, then every pass count growing by 1.1; a number: every
    so many passes; a sequence: at these pass counts.
    """
    before = 0
    for passes in _pass_counts(schedule, n):
        calls = math.ceil(min(passes * n - 1e-9, max_calls))
        if calls > before:
            yield calls
            before = calls
        if calls == max_calls:
            return
    if before < max_calls:
        yield max_calls


def _pass_counts(schedule, n: int) -> Iterator[float]:
    if isinstance(schedule, tuple):
        yield from schedule
        return
    if schedule != "default":
        count = 0
        while True:
            count += 1
            yield count * max(schedule, 1.0 / n)
    for exponent in range(-7, 0):
        yield 2.0**exponent
    passes = 1
    while True:
        yield passes
        passes = passes + 1 if passes < 50 else -(-11 * passes // 10)


class Clock:
    """Seconds spent inside ``with clock:``."""

    seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_) -> None:
        self.seconds += time.perf_counter() - self._start


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, read by the function that is yielded; the second one acts as always."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    flag = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, handler)
    try:
        yield flag.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _quiet():
    """Numbers that are not finite end a run, and its status says so: numpy need not warn."""
    return np.errstate(over="ignore", invalid="ignore")


class Log:
    """The trace of a run and the best certificate so far."""

    def __init__(self, solver: Solver, iterates, iterate: str, test, metrics, train_error: bool, callback, progress) -> None:
        self.solver, self.iterates, self.iterate = solver, iterates, iterate
        self.metrics, self.train_error, self.callback, self.progress = metrics, train_error, callback, progress
        self.evaluate = Evaluator(solver.problem)
        self.evaluate_test = None if test is None else Evaluator(solver.view(test))
        self.rows: list[dict] = []
        self.w, self.w_iterate = None, iterate
        self.primal, self.dual, self.dual_is_last = math.inf, -math.inf, False

    @property
    def gap(self) -> float:
        """Primal of the result minus the highest dual seen: never negative beyond rounding, NaN without a dual."""
        return self.primal - self.dual if self.solver.has_dual else math.nan

    def write(self, seconds: float) -> None:
        """Evaluate the iterates and append one row for each."""
        solver, n = self.solver, self.solver.problem.n
        common = {"step": solver.step, "oracle_calls": solver.oracle_calls, "passes": solver.oracle_calls / n}
        extras = {"gap_estimate": math.nan, "cache_hits": math.nan, "atoms": math.nan} | solver.extras()
        for name in self.iterates:
            with _quiet():
                point = solver.point(name)
                value = self.evaluate(point.w, error=self.train_error, norm_sq=point.norm_sq)
                primal = 0.5 * solver.lam * value.norm_sq + value.hinge
                test_error, metrics = math.nan, {}
                if self.evaluate_test is not None:
                    test_error = self.evaluate_test(point.w, hinge=False, norm_sq=value.norm_sq).error
                if self.metrics is not None:
                    metrics = self._metrics()
            row = {"iterate": name, **common, "time": seconds, "primal": primal, "dual": point.dual}
            row |= {"gap": primal - point.dual, "train_error": value.error, "test_error": test_error, **extras, **metrics}
            self.rows.append(row)
            self._keep_best(name, point, primal)
            if self.callback is not None:
                self.callback(dict(row))
            if name == self.iterates[0]:
                self.progress.row(row | {"gap": self.gap})

    def _metrics(self) -> dict[str, float]:
        """Return what ``metrics`` says of the latest predictions."""
        metrics = self.metrics(self.evaluate_test.public_labelings())
        if not isinstance(metrics, Mapping):
            raise ParameterError(f"metrics must return a dict of names and numbers, got {shown(metrics)}")
        for name, value in metrics.items():
            if not isinstance(name, str) or name in TRACE_COLUMNS:
                raise ParameterError(f"metrics must have names that are no column of the trace, got {shown(name)}")
            if not isinstance(plain(value), Real):
                raise ParameterError(f"metrics must return a dict of names and numbers, got {name} = {shown(value)}")
        return dict(metrics)

    def _keep_best(self, name: str, point, primal: float) -> None:
        if point.dual > self.dual:
            self.dual, self.dual_is_last = point.dual, name == "last"
        elif name == "last":
            self.dual_is_last = False
        wanted = primal < self.primal if self.iterate == "best" else name == self.iterate
        if wanted or self.w is None:
            self.w, self.w_iterate, self.primal = np.array(point.w), name, primal

    def finite(self) -> bool:
        """Whether all objectives of the latest rows are finite."""
        return all(math.isfinite(row["primal"]) for row in self.rows[-len(self.iterates) :])


def drive(
    solver: Solver, log: Log, *, max_passes: float, gap_tol: float, time_limit: float | None, schedule, progress
) -> tuple[Status, float]:
    """Run ``solver`` to one of its ends; return how it ended and the solver seconds."""
    n, clock = solver.problem.n, Clock()
    max_calls = settings.max_calls(max_passes, n)
    max_steps = settings.MAX_STEPS_PER_CALL * max(max_calls, 1)
    solver.advance(0, 0)  # compiles
    log.write(0.0)

    def ended() -> Status | None:
        if not log.finite():
            return Status.DIVERGED
        if solver.has_dual and gap_tol > 0 and log.gap <= gap_tol:
            return Status.CONVERGED
        return None

    with interruptible() as interrupted:
        rate = 0.0  # oracle calls per second
        for target in log_points(schedule, n, max_calls):
            logged, hits = (solver.step, solver.oracle_calls), solver.cache_hits
            while ended() is None and solver.oracle_calls < target:
                before = (solver.step, solver.oracle_calls, clock.seconds)
                portion = max(int(rate * CHUNK_SECONDS), solver.calls_per_step)
                # Steps without oracle calls are logged too, after n of them exactly: runs must not depend on the clock.
                steps = solver.step + n - (solver.cache_hits - hits) if solver.has_cache else max_steps
                with clock, _quiet():
                    solver.advance(min(target, solver.oracle_calls + portion), min(steps, max_steps))
                if (solver.step, solver.oracle_calls) == before[:2]:
                    break
                rate = (solver.oracle_calls - before[1]) / max(clock.seconds - before[2], 1e-9)
                progress.update(solver.oracle_calls / n, log.gap, clock.seconds)
                if interrupted() or (time_limit is not None and clock.seconds >= time_limit):
                    log.write(clock.seconds)
                    return ended() or (Status.INTERRUPTED if interrupted() else Status.TIME_LIMIT), clock.seconds
                if solver.cache_hits - hits >= n:
                    log.write(clock.seconds)
                    logged, hits = (solver.step, solver.oracle_calls), solver.cache_hits
            if (solver.step, solver.oracle_calls) != logged:
                log.write(clock.seconds)
            if (status := ended()) is not None:
                return status, clock.seconds
    return Status.MAX_PASSES, clock.seconds


def finish(solver: Solver, log: Log, status: Status, options: dict, seed: int) -> Result:
    """Recompute what the certificate rests on from scratch, and return the result."""
    import pandas as pd

    value = log.evaluate(log.w, error=False)
    primal = float(0.5 * solver.lam * value.norm_sq + value.hinge)
    # A dual value from an earlier iterate or an average cannot be computed again; that of the last iterate can.
    dual = float(solver.exact_dual() if log.dual_is_last else log.dual)
    has_dual = solver.has_dual
    return Result(
        w=to_public(solver.problem, log.w),
        primal=primal,
        dual=dual if has_dual else math.nan,
        gap=primal - dual if has_dual else math.nan,
        status=str(status),
        reason=status.sentence,
        trace=pd.DataFrame(log.rows, columns=list(dict.fromkeys([*TRACE_COLUMNS, *log.rows[-1]]))),
        iterate=log.w_iterate,
        solver=solver.name,
        options=options,
        lam=solver.lam,
        seed=seed,
        structure=structure(solver.given, inputs=solver.refers_to_inputs),
        state=solver,
    )
