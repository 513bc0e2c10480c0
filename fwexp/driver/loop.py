"""The one loop that runs every solver: clock, logging schedule, stopping, and the certified result.

The clock runs while the solver takes steps, and only then: not during compilation, evaluation for the log, or output.
Nothing that happens here changes the steps; the schedule can only stop them.

Where oracles are costly (``costly_oracle``) evaluation is what takes the time. There the default schedule keeps its calls
below a share of the solver's, what the solver's own calls say of its objective is logged for nothing, and the time limit
is in wall time, evaluation included.
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
from fwexp.errors import CertificateError, ParameterError, shown
from fwexp.problems.evaluation import Evaluation, Evaluator, Stopped
from fwexp.problems.protocol import costly_oracle, inner, to_public
from fwexp.problems.structure import structure
from fwexp.solvers.base import Solver

CHUNK_SECONDS = 0.1  # about how often the loop looks at the clock and for Ctrl-C
EVALUATION_SHARE = 0.25  # of the solver's oracle calls, by default and where these are costly: the most that the log may make
ROUNDING = 1e-8  # of a gap, relative to the objective; below -ROUNDING it is no certificate


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
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: set by what is not Python
    as_always = before if callable(before) else signal.default_int_handler  # where the parent ignores the signal, too

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, as_always)

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
        self.w, self.w_iterate, self.hinge = None, iterate, math.inf
        self.primal, self.dual, self.dual_is_last = math.inf, -math.inf, False
        self.stop: Callable[[], bool] | None = None  # says when there is no time for more than the iterate of the result
        self._scale = 0.0  # of the objective
        self._calls_at_start = 0
        self._place, self._written = None, set()  # where the solver was last, and the iterates that were logged there
        self._latest: tuple[np.ndarray, Evaluation, float] | None = None  # what was evaluated last

    @property
    def gap(self) -> float:
        """Primal of the result minus the highest dual seen: never negative beyond rounding, NaN without a dual."""
        return self.primal - self.dual if self.solver.has_dual else math.nan

    @property
    def evaluation_calls(self) -> int:
        """Oracle calls made for the log so far."""
        return self.evaluate.calls + (0 if self.evaluate_test is None else self.evaluate_test.calls)

    @property
    def cost(self) -> int:
        """Oracle calls that the next logged point takes."""
        tests = 0 if self.evaluate_test is None else self.evaluate_test.problem.n
        return len(self._missing()) * (self.solver.problem.n * (1 + self.train_error) + tests)

    @property
    def affordable(self) -> bool:
        """Whether these are within the share of the solver's; the start is free."""
        spent = self.evaluation_calls - self._calls_at_start
        return spent + self.cost <= EVALUATION_SHARE * self.solver.oracle_calls

    def _missing(self) -> list[str]:
        """Return the iterates that are not logged where the solver is."""
        here = self.solver.step, self.solver.oracle_calls
        if here != self._place:
            self._place, self._written = here, set()
        return [name for name in self.iterates if name not in self._written]

    def write(self, seconds: float) -> None:
        """Evaluate the iterates and append one row for each that is not logged here already."""
        at_start, names = not self.rows, self._missing()
        wanted = self.iterate if self.iterate in names else "".join(names[:1])
        for name in names:
            with _quiet():
                point = self.solver.point(name)
            try:
                value, test_error, metrics = self._evaluated(point, None if name == wanted else self.stop)
            except Stopped:  # out of time
                continue
            self._append(name, point, value, seconds, test_error, metrics)
            self._written.add(name)
        if at_start:
            self._calls_at_start = self.evaluation_calls

    def write_known(self, seconds: float) -> None:
        """Append a row for the last iterate if the solver's own oracle calls have just shown its objective."""
        if "last" not in self._missing() or (hinge := self.solver.known_hinge) is None:
            return
        with _quiet():
            point = self.solver.point("last")
            value = Evaluation(hinge, inner(self.solver.problem, point.w, point.w), math.nan)
        self._append("last", point, value, seconds, math.nan, {})
        if not self.train_error and self.evaluate_test is None:
            self._written.add("last")

    @_quiet()
    def _evaluated(self, point, stop: Callable[[], bool] | None) -> tuple[Evaluation, float, dict]:
        """Return means, test error and metrics of an iterate; two in a row that are the same are evaluated once."""
        if self._latest is None or not np.array_equal(self._latest[0], point.w):
            value = self.evaluate(point.w, error=self.train_error, norm_sq=point.norm_sq, stop=stop)
            test_error = math.nan
            if self.evaluate_test is not None:
                test_error = self.evaluate_test(point.w, hinge=False, norm_sq=value.norm_sq, stop=stop).error
            self._latest = np.array(point.w), value, test_error
        _, value, test_error = self._latest
        if point.norm_sq is not None:
            value = value._replace(norm_sq=point.norm_sq)
        return value, test_error, {} if self.metrics is None else self._metrics()

    def _append(self, name: str, point, value: Evaluation, seconds: float, test_error: float, metrics: dict) -> None:
        """Append a row and keep the certificate if it is the best."""
        solver = self.solver
        with _quiet():
            primal = 0.5 * solver.lam * value.norm_sq + value.hinge
            gap = primal - point.dual
        row = {"iterate": name, "step": solver.step, "oracle_calls": solver.oracle_calls}
        row |= {"passes": solver.oracle_calls / solver.problem.n, "evaluation_calls": self.evaluation_calls, "time": seconds}
        row |= {"primal": primal, "dual": point.dual, "gap": gap, "train_error": value.error, "test_error": test_error}
        row |= {"gap_estimate": math.nan, "cache_hits": math.nan, "atoms": math.nan} | solver.extras() | metrics
        self.rows.append(row)
        self._keep_best(name, point, primal, value.hinge)
        if math.isfinite(primal):
            self._scale = max(self._scale, abs(primal), self.evaluate.mean_loss)
            self.check(self.gap)
        if self.callback is not None:
            self.callback(dict(row))
        if name == self.iterates[0]:
            self.progress.row(row | {"gap": self.gap})

    def check(self, gap: float) -> None:
        """Raise ``CertificateError`` for a gap that is negative beyond rounding: an oracle did not do what it promises."""
        if not gap < -ROUNDING * self._scale:
            return
        last = np.array(self.solver.point("last").w)
        found = self.evaluate.contradiction(self.w, [0.0 * last, last, 0.5 * self.w, 2.0 * self.w])
        reason = "max_oracle does not maximise, or losses or features change between calls"
        if found is not None:
            i, value, better = found
            reason = f"max_oracle of example {i} returned a labeling of value {value:.6g}, but knows one of {better:.6g}"
        raise CertificateError(f"the primal objective is {-gap:.3g} below the dual one, which cannot be: {reason}")

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

    def _keep_best(self, name: str, point, primal: float, hinge: float) -> None:
        if point.dual > self.dual:
            self.dual, self.dual_is_last = point.dual, name == "last"
        elif name == "last":
            self.dual_is_last = False
        wanted = primal < self.primal if self.iterate == "best" else name == self.iterate
        if wanted or self.w is None:
            self.w, self.w_iterate, self.primal, self.hinge = np.array(point.w), name, primal, hinge

    def finite(self) -> bool:
        """Whether all objectives of the latest rows are finite."""
        return all(math.isfinite(row["primal"]) for row in self.rows[-len(self.iterates) :])


class TimeLimit:
    """When a run has to end: after so many solver seconds or, where oracles are costly, wall seconds, evaluation included.

    Parameters
    ----------
    seconds : float or None
        None for never.
    clock : Clock
        That of the solver.
    log : Log
        Whose last rows still have to be evaluated.
    """

    def __init__(self, seconds: float | None, clock: Clock, log: Log) -> None:
        self.seconds, self._clock, self._log = math.inf if seconds is None else seconds, clock, log
        self._wall, self._start = costly_oracle(log.solver.problem), time.perf_counter()

    def _elapsed(self) -> float:
        return time.perf_counter() - self._start

    def met(self) -> bool:
        """Whether the time is over."""
        return (self._elapsed() if self._wall else self._clock.seconds) >= self.seconds

    def near(self) -> bool:
        """Whether to take no more steps: there is only time left for the last evaluation, but half the time for steps at least."""
        if not self._wall or self.seconds == math.inf:
            return self.met()
        solver, log, elapsed = self._log.solver, self._log, self._elapsed()
        ahead = (log.cost + solver.calls_per_step) * elapsed / max(log.evaluation_calls + solver.oracle_calls, 1)
        return elapsed + min(ahead, 0.5 * self.seconds) >= self.seconds


def drive(
    solver: Solver, log: Log, *, max_passes: float, gap_tol: float, time_limit: float | None, schedule, progress
) -> tuple[Status, float]:
    """Run ``solver`` to one of its ends; return how it ended and the solver seconds."""
    n, clock = solver.problem.n, Clock()
    max_calls = settings.max_calls(max_passes, n)
    max_steps = settings.MAX_STEPS_PER_CALL * max(max_calls, 1)
    costly = costly_oracle(solver.problem)
    rarely = solver.pauses = costly and schedule == "default"
    if not costly:  # else there is nothing to compile, and solvers would call the oracle to do so
        solver.advance(0, 0)
    limit = TimeLimit(time_limit, clock, log)
    log.stop = limit.met
    log.write(0.0)

    def ended() -> Status | None:
        if not log.finite():
            return Status.DIVERGED
        if solver.has_dual and gap_tol > 0 and log.gap <= gap_tol:
            return Status.CONVERGED
        return None

    with interruptible() as interrupted:

        def stopped() -> Status | None:
            return Status.INTERRUPTED if interrupted() else Status.TIME_LIMIT if limit.near() else None

        rate = 0.0  # oracle calls per second
        for target in log_points(schedule, n, max_calls):
            hits = solver.cache_hits
            while ended() is None and solver.oracle_calls < target:
                status = stopped()
                if status is None:
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
                    if rarely:
                        log.write_known(clock.seconds)
                    status = stopped()
                if status is not None:
                    log.write(clock.seconds)
                    return ended() or status, clock.seconds
                if solver.cache_hits - hits >= n:
                    if not rarely or log.affordable:
                        log.write(clock.seconds)
                    hits = solver.cache_hits
            if not rarely or log.affordable or target == max_calls or ended() is not None:
                log.write(clock.seconds)
            if (status := ended()) is not None:
                return status, clock.seconds
    return Status.MAX_PASSES, clock.seconds


def finish(solver: Solver, log: Log, status: Status, options: dict, seed: int) -> Result:
    """Recompute what the certificate rests on from scratch, and return the result."""
    import pandas as pd

    # The loss term rests on w alone, no running sum, so it need not be evaluated again.
    primal = float(0.5 * solver.lam * inner(solver.problem, log.w, log.w) + log.hinge)
    # A dual value from an earlier iterate or an average cannot be computed again; that of the last iterate can.
    dual = float(solver.exact_dual() if log.dual_is_last else log.dual)
    has_dual = solver.has_dual
    if has_dual and math.isfinite(primal):
        log.check(primal - dual)
    return Result(
        w=to_public(solver.problem, log.w),
        primal=primal,
        dual=dual if has_dual else math.nan,
        gap=primal - dual if has_dual else math.nan,
        status=str(status),
        reason=status.sentence,
        trace=pd.DataFrame(log.rows, columns=list(dict.fromkeys([*TRACE_COLUMNS, *(name for row in log.rows for name in row)]))),
        iterate=log.w_iterate,
        solver=solver.name,
        options=options,
        lam=solver.lam,
        seed=seed,
        structure=structure(solver.given, inputs=solver.refers_to_inputs),
        state=solver,
    )
