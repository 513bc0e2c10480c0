"""The trace of a run and its best certificate so far."""

import math
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from fwexp.driver.iteration import Iteration, Point
from fwexp.driver.trace import OBJECTIVES, TRACE_COLUMNS, Status
from fwexp.driver.values import Objective, Value
from fwexp.errors import CertificateError, Stopped, see
from fwexp.options import plain

# Attributes that change while a log is written.
CHANGES = ("rows", "best", "dual", "dual_is_last", "calls_at_start", "_magnitude", "_dual_rounding", "_extra_calls")
CHANGES += ("_here", "_written")
ROUNDING = 1e-8  # of a gap, relative to the objective, at most; below -ROUNDING it is no certificate
STEP_ROUNDING = 2.0**-53  # of a sum that runs through the steps, for each of them
INNER = 2.0**10  # times the rounding error of one sum: that of what methods compute in steps, such as quadratic programs


def quiet():
    """Silence numpy about numbers that are not finite, because they end the run with a status of their own."""
    return np.errstate(over="ignore", invalid="ignore")


def _kept(point: Point) -> Point:
    """Return a point whose arrays the iteration does not change."""
    return point._replace(w=np.array(point.w))


class Log:
    """The rows of a run, one per logged point and iterate, and its best certificate.

    Parameters
    ----------
    iteration : Iteration
        Iteration whose points are logged.
    objective : Objective
        Objective that evaluates them.
    iterates : tuple of str
        The iterates to log.
    iterate : str
        The iterate to return: the ``best`` logged one, or the last one of this name.
    callback : callable, optional
        Function that receives every row; the run ends if it returns True.
    progress : Progress, optional
        Display while the run lasts; none by default.
    """

    def __init__(
        self, iteration: Iteration, objective: Objective, iterates=("last",), iterate="best", callback=None, progress=None
    ):
        self.iteration, self.objective, self.iterates, self.iterate = iteration, objective, iterates, iterate
        self.terms = iteration.terms
        self._callback, self._progress = callback, progress
        self.rows: list[dict] = []
        self.best: tuple[str, Point, Value] | None = None  # the iterate to return
        self.dual, self.dual_is_last = -math.inf, False
        self.stop: Callable[[], bool] | None = None  # whether only the iterate to return is still worth an evaluation
        self.told_to_end = False  # by the callback
        self._magnitude = 0.0  # of the objective
        self._dual_rounding: float | None = None  # where the highest dual was seen
        self._extra_calls = self.calls_at_start = 0
        self._here, self._written = None, []  # steps and calls of the latest row, and the iterates that were logged there

    @property
    def state(self) -> dict:
        """Everything that logging changes, including the state of the objective, as a record (`fwexp.record`)."""
        return {name: getattr(self, name) for name in CHANGES} | {"objective": self.objective.state}

    def restore(self, state: dict) -> None:
        """Continue from a state of an equal log, which is not copied."""
        self.objective.restore(state["objective"])
        for name in CHANGES:
            setattr(self, name, state[name])

    @property
    def primal(self) -> float:
        """Primal objective of the iterate to return."""
        return self.best[2].primal / self.objective.scale if self.best else math.inf

    @property
    def gap(self) -> float:
        """That primal minus the highest dual seen, not negative beyond rounding; NaN without a certificate."""
        return self.primal - self.dual if self.certifies else math.nan

    @property
    def certifies(self) -> bool:
        """True if the gap is a certificate."""
        return self.terms.certifies and (self.best is None or self.best[2].certifies)

    @property
    def calls(self) -> int:
        """Oracle calls made for the log so far."""
        return self.objective.calls + self._extra_calls

    @property
    def cost(self) -> int:
        """Oracle calls that the next row of every iterate takes."""
        return len(self._missing()) * (self.objective.cost() + self.terms.calls_for_extras)

    def _missing(self) -> list[str]:
        """Return the iterates that are not logged yet at the present step."""
        here = self.iteration.step, self.iteration.oracle_calls
        if here != self._here:
            self._here, self._written = here, []
        return [name for name in self.iterates if name not in self._written]

    def note_move(self) -> None:
        """Note that the iteration has moved within a step, so that its place can be logged again."""
        self._here = None

    def write(self, seconds: float) -> None:
        """Evaluate the iterates and append a row for each one that is not logged here yet."""
        at_start, names = not self.rows, self._missing()
        wanted = self.iterate if self.iterate in names else "".join(names[:1])
        for name in names:
            try:
                with quiet():
                    point = self.iteration.point(name)
                    point = point if name in self.iteration.made_anew else _kept(point)
                    value = self.objective(point, None if name == wanted else self.stop)
            except Stopped:  # out of time
                continue
            if value is not None:
                self._append(name, point, value, seconds)
            self._written.append(name)
            point = value = None  # Large weights are freed before those of the next iterate are computed.
        if at_start:
            self.calls_at_start = self.calls
        if names:
            self._show()

    def write_known(self, seconds: float) -> None:
        """Append a row for the last iterate if the iteration's own oracle calls have just shown its objective."""
        if "last" not in self._missing():
            return
        with quiet():
            point = self.iteration.point("last")
            value = self.objective.known(point)
        if value is not None:
            self._append("last", _kept(point), value, seconds)
            if value.complete:
                self._written.append("last")
            self._show()

    def _append(self, name: str, point: Point, value: Value, seconds: float) -> None:
        """Append a row and keep the certificate if it is the best; the iteration does not change the arrays of ``point``."""
        iteration, scale = self.iteration, self.objective.scale
        primal, dual = value.primal / scale, point.dual / scale
        extras = iteration.extras()
        if scale != 1.0:
            extras = {name: one / scale if name in OBJECTIVES else one for name, one in extras.items()}
        self._extra_calls += self.terms.calls_for_extras
        with quiet():
            gap = primal - dual if self.terms.certifies and value.certifies else math.nan
        row = {"iterate": name, "step": iteration.step, "oracle_calls": iteration.oracle_calls}
        row |= {"passes": iteration.oracle_calls / self.terms.size, "evaluation_calls": self.calls, "time": seconds}
        row |= {"primal": primal, "dual": dual, "gap": gap}
        row |= dict.fromkeys(TRACE_COLUMNS[len(row) :], math.nan) | extras | value.columns
        row = {name: plain(value) for name, value in row.items()}
        self.rows.append(row)
        self._keep_best(name, point, dual, value)
        if math.isfinite(primal):
            self._magnitude = max(self._magnitude, abs(primal), value.magnitude / scale)
            if self.terms.certifies:
                self.check(self.primal - self.dual)
        if self._callback is not None and plain(self._callback(dict(row))) is True:
            self.told_to_end = True

    def _show(self) -> None:
        """Show the latest row, with the objectives and errors of the iterate to return if there is a certificate."""
        if self._progress is not None and self.rows:
            _, _, value = self.best
            returned = value.columns | {"primal": self.primal, "dual": self.dual, "gap": self.gap}
            self._progress.row(self.rows[-1] | (returned if self.certifies else {}))

    def _keep_best(self, name: str, point: Point, dual: float, value: Value) -> None:
        """Keep the highest dual objective, and the point if it is the one to return so far."""
        if dual > self.dual:
            self.dual, self.dual_is_last, self._dual_rounding = dual, name == "last", value.rounding
        elif name == "last":
            self.dual_is_last = False
        wanted = value.primal / self.objective.scale < self.primal if self.iterate == "best" else name == self.iterate
        if wanted or self.best is None:
            self.best = name, point, value

    @property
    def rounding(self) -> float:
        """Bound of the rounding error of a gap without running sums."""
        if self.best is None or self.best[2].rounding is None or self._dual_rounding is None:
            return ROUNDING / INNER * self._magnitude
        return (self.best[2].rounding + self._dual_rounding) / self.objective.scale

    def check(self, gap: float) -> None:
        """Raise a `CertificateError` if a gap is negative beyond rounding, because an oracle does not maximise."""
        if gap < -INNER * self.rounding - min(ROUNDING, STEP_ROUNDING * self.iteration.step) * self._magnitude:
            reason = self.objective.explain_negative_gap(self.best[1].w, np.array(self.iteration.point("last").w))
            raise CertificateError(f"the primal objective is {-gap:.3g} below the dual one, which cannot be: {reason}{see('faq')}")

    def reason(self, status: Status) -> str:
        """Return how a run ended, as a sentence."""
        by_callback = status is Status.INTERRUPTED and self.told_to_end
        return "the run was stopped by the callback" if by_callback else status.sentence

    def finite(self) -> bool:
        """Return whether all objectives of the latest rows are finite."""
        return all(map(math.isfinite, map(itemgetter("primal"), self.rows[-len(self.iterates) :])))

    def drift(self, name: str, exact: float) -> str:
        """Return how the logged ``primal`` or ``dual`` differs from the recomputed one; an empty text if they agree."""
        logged = getattr(self, name)
        if not (math.isfinite(logged) and math.isfinite(exact)):
            return ""
        if abs(logged - exact) <= ROUNDING * max(1.0, abs(exact), self._magnitude):
            return ""
        return f"the {name} objective was logged as {logged:.9g}, and recomputed it is {exact:.9g}"

    def certificate(self) -> tuple[float, float]:
        """Return the primal of the iterate to return and the highest dual, NaN without one, recomputed as far as possible."""
        _, point, value = self.best
        primal = float(self.objective.exact(point, value)) / self.objective.scale
        if not self.terms.has_dual:
            return primal, math.nan
        # Only the dual value of the last iterate can be computed again, because earlier dual variables are gone.
        dual = float(self.iteration.exact_dual()) / self.objective.scale if self.dual_is_last else float(self.dual)
        if self.terms.certifies and math.isfinite(primal):
            self.check(primal - dual)
        return primal, dual
