"""The trace of a run and its best certificate so far."""

import math
from collections.abc import Callable

import numpy as np

from fwexp.driver.iteration import Iteration, Objective, Point, Value
from fwexp.driver.trace import OBJECTIVES, TRACE_COLUMNS, Status
from fwexp.errors import CertificateError, Stopped
from fwexp.options import plain

EVALUATION_SHARE = 0.25  # of the iteration's oracle calls, by default and where these are costly: the most that the log may make
BRIEF_SHARE = 0.1  # where passes are brief, whose steps say when an evaluation is worth more
# What changes while a log is written.
CHANGES = ("rows", "best", "dual", "dual_is_last", "_magnitude", "_extra_calls", "_calls_at_start", "_place", "_written")
ROUNDING = 1e-8  # of a gap, relative to the objective; below -ROUNDING it is no certificate


def quiet():
    """Silence numpy's warnings about numbers that are not finite: these end a run, and its status says so."""
    return np.errstate(over="ignore", invalid="ignore")


class Log:
    """The rows of a run, one per logged point and iterate, and what is best among them.

    Parameters
    ----------
    iteration : Iteration
        Whose points are logged.
    objective : Objective
        That evaluates them.
    iterates : tuple of str
        The iterates to log.
    iterate : str
        Which one is wanted in the end: the ``best`` logged one, or the last of this name.
    callback : callable, optional
        Called with every row; True asks for the end of the run.
    progress : Progress, optional
        What people see while it runs; nothing by default.
    """

    def __init__(
        self, iteration: Iteration, objective: Objective, iterates=("last",), iterate="best", callback=None, progress=None
    ):
        self.iteration, self.objective, self.iterates, self.iterate = iteration, objective, iterates, iterate
        self._callback, self._progress = callback, progress
        self.rows: list[dict] = []
        self.best: tuple[str, Point, Value] | None = None  # what is wanted in the end
        self.dual, self.dual_is_last = -math.inf, False
        self.stop: Callable[[], bool] | None = None  # says when there is no time for more than the iterate that is wanted
        self.told_to_end = False  # by the callback
        self._magnitude = 0.0  # of the objective
        self._extra_calls = self._calls_at_start = 0
        self._place, self._written = None, []  # where the iteration was last, and the iterates that were logged there

    @property
    def state(self) -> dict:
        """All that logging changes, that of the objective included, as a record (`fwexp.record`)."""
        return {name: getattr(self, name) for name in CHANGES} | {"objective": self.objective.state}

    def restore(self, state: dict) -> None:
        """Continue from the state of an equal log.

        Parameters
        ----------
        state : dict
            Its ``state``, which is not copied.
        """
        self.objective.restore(state["objective"])
        for name in CHANGES:
            setattr(self, name, state[name])

    @property
    def primal(self) -> float:
        """Primal objective of the iterate to return."""
        return self.best[2].primal / self.objective.scale if self.best else math.inf

    @property
    def gap(self) -> float:
        """That primal minus the highest dual seen: never negative beyond rounding; NaN without a certificate."""
        return self.primal - self.dual if self.certifies else math.nan

    @property
    def certifies(self) -> bool:
        """True if the difference is a certificate."""
        return self.iteration.certifies and (self.best is None or self.best[2].certifies)

    @property
    def calls(self) -> int:
        """Oracle calls made for the log so far."""
        return self.objective.calls + self._extra_calls

    @property
    def cost(self) -> int:
        """Oracle calls that the next logged point takes."""
        return len(self._missing()) * (self.objective.cost() + self.iteration.calls_for_extras)

    @property
    def affordable(self) -> bool:
        """True if evaluation calls are within their share of the iteration's calls; the start is free."""
        spent = self.calls - self._calls_at_start
        return spent + self.cost <= (BRIEF_SHARE if self.iteration.brief else EVALUATION_SHARE) * self.iteration.oracle_calls

    def _missing(self) -> list[str]:
        """Return the iterates that are not logged where the iteration is."""
        here = self.iteration.step, self.iteration.oracle_calls
        if here != self._place:
            self._place, self._written = here, []
        return [name for name in self.iterates if name not in self._written]

    def write(self, seconds: float) -> None:
        """Evaluate the iterates and append one row for each that is not logged here already.

        Parameters
        ----------
        seconds : float
            Solver seconds so far.
        """
        at_start, names = not self.rows, self._missing()
        wanted = self.iterate if self.iterate in names else "".join(names[:1])
        for name in names:
            try:
                with quiet():
                    point = self.iteration.point(name)
                    value = self.objective(point, None if name == wanted else self.stop)
            except Stopped:  # out of time
                continue
            if value is not None:
                self._append(name, point, value, seconds)
            self._written.append(name)
        if at_start:
            self._calls_at_start = self.calls

    def write_known(self, seconds: float) -> None:
        """Append a row for the last iterate if the iteration's own oracle calls have just shown its objective.

        Parameters
        ----------
        seconds : float
            Solver seconds so far.
        """
        if "last" not in self._missing():
            return
        with quiet():
            point = self.iteration.point("last")
            value = self.objective.known(point)
        if value is not None:
            self._append("last", point, value, seconds)
            if value.complete:
                self._written.append("last")

    def _append(self, name: str, point: Point, value: Value, seconds: float) -> None:
        """Append a row and keep the certificate if it is the best."""
        iteration, scale = self.iteration, self.objective.scale
        primal, dual = value.primal / scale, point.dual / scale
        extras = {name: one / scale if name in OBJECTIVES else one for name, one in iteration.extras().items()}
        self._extra_calls += iteration.calls_for_extras
        with quiet():
            gap = primal - dual if iteration.certifies and value.certifies else math.nan
        row = {"iterate": name, "step": iteration.step, "oracle_calls": iteration.oracle_calls}
        row |= {"passes": iteration.oracle_calls / iteration.size, "evaluation_calls": self.calls, "time": seconds}
        row |= {"primal": primal, "dual": dual, "gap": gap}
        row |= dict.fromkeys(TRACE_COLUMNS[len(row) :], math.nan) | extras | value.columns
        row = {name: plain(value) for name, value in row.items()}
        self.rows.append(row)
        self._keep_best(name, point, dual, value)
        if math.isfinite(primal):
            self._magnitude = max(self._magnitude, abs(primal), value.magnitude / scale)
            if iteration.certifies:
                self.check(self.primal - self.dual)
        if self._callback is not None and plain(self._callback(dict(row))) is True:
            self.told_to_end = True
        if name == self.iterates[0] and self._progress is not None:
            self._progress.row(row | ({"gap": self.gap} if iteration.certifies else {}))

    def _keep_best(self, name: str, point: Point, dual: float, value: Value) -> None:
        """Keep the highest dual objective, and the point if it is the one to return so far."""
        if dual > self.dual:
            self.dual, self.dual_is_last = dual, name == "last"
        elif name == "last":
            self.dual_is_last = False
        wanted = value.primal / self.objective.scale < self.primal if self.iterate == "best" else name == self.iterate
        if wanted or self.best is None:
            self.best = name, point._replace(w=np.array(point.w)), value

    def check(self, gap: float) -> None:
        """Refuse a gap that is negative beyond rounding.

        Parameters
        ----------
        gap : float
            A primal minus a dual objective.

        Raises
        ------
        CertificateError
            An oracle did not do what it promises.
        """
        if gap < -ROUNDING * self._magnitude:
            reason = self.objective.explain_negative_gap(self.best[1].w, np.array(self.iteration.point("last").w))
            raise CertificateError(f"the primal objective is {-gap:.3g} below the dual one, which cannot be: {reason}")

    def reason(self, status: Status) -> str:
        """Return how a run ended, as a sentence.

        Parameters
        ----------
        status : Status

        Returns
        -------
        str
        """
        by_callback = status is Status.INTERRUPTED and self.told_to_end
        return "the run was stopped by the callback" if by_callback else status.sentence

    def finite(self) -> bool:
        """Return whether all objectives of the latest rows are finite.

        Returns
        -------
        bool
        """
        return all(math.isfinite(row["primal"]) for row in self.rows[-len(self.iterates) :])

    def drift(self, name: str, exact: float) -> str:
        """Return what is wrong with the logged ``primal`` or ``dual`` when recomputation gives ``exact``; nothing if they agree.

        Parameters
        ----------
        name : {"primal", "dual"}
        exact : float

        Returns
        -------
        str
        """
        logged = getattr(self, name)
        if not (math.isfinite(logged) and math.isfinite(exact)):
            return ""
        if abs(logged - exact) <= ROUNDING * max(1.0, abs(exact), self._magnitude):
            return ""
        return f"the {name} objective was logged as {logged:.9g}, and recomputed it is {exact:.9g}"

    def certificate(self) -> tuple[float, float]:
        """Return the certificate of what is wanted in the end, recomputed from scratch as far as that goes.

        Returns
        -------
        primal, dual : float
            Its primal and the highest dual objective; NaN without a dual.

        Raises
        ------
        CertificateError
            The primal lies below the dual one.
        """
        _, point, value = self.best
        primal = float(self.objective.exact(point, value)) / self.objective.scale
        if not self.iteration.has_dual:
            return primal, math.nan
        # A dual value from an earlier iterate or an average cannot be computed again; that of the last iterate can.
        dual = float(self.iteration.exact_dual()) / self.objective.scale if self.dual_is_last else float(self.dual)
        if self.iteration.certifies and math.isfinite(primal):
            self.check(primal - dual)
        return primal, dual
