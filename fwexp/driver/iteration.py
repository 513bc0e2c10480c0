"""Iterations, which the driver runs.

The driver knows nothing of structural SVMs. A solver is an iteration, and so are a regularisation path, a lasso or a matrix
game. Driver and iteration exchange three values: the `Terms`, which the iteration states once, the `Budget` of each call of
`advance`, and the `Stop` that `advance` returns.
"""

import math
import sys
from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import Any, NamedTuple

from fwexp.types import FloatArray

NO_TARGET = -1.0  # a gap that no estimate reaches


class Point(NamedTuple):
    """An iterate and its dual objective.

    Attributes
    ----------
    w : ndarray
        The iterate, in the form that the objective takes. Callers must not write to it.
    dual : float
        NaN if there is none.
    norm_sq : float, optional
        ||w||^2, if the iteration knows it.
    """

    w: FloatArray
    dual: float
    norm_sq: float | None = None


class Terms(NamedTuple):
    """Facts about an iteration that do not change during a run.

    Attributes
    ----------
    size : int
        Oracle calls in a pass.
    has_dual : bool, default True
        Whether points have a dual objective, a lower bound on the optimum.
    certifies : bool, default True
        Whether primal - dual is a certificate. It is not if the oracle is inexact.
    costly_oracle : bool, default False
        Whether oracle calls take most of the time, so that the log must make few of them.
    cheap_passes : bool, default False
        Whether a pass takes little longer than an evaluation, so that the log must evaluate rarely.
    estimates_gap : bool, default False
        Whether `Iteration.estimated_gap` follows the gap closely, so that the log evaluates rarely before it is small.
    first_target : float, default 2
        Estimate of the gap that is first worth an evaluation, in multiples of the gap asked for.
    has_cache : bool, default False
        Whether steps without an oracle call are possible.
    calls_for_extras : int, default 0
        Oracle calls that `Iteration.extras` makes for each row.
    shows_objective : bool, default False
        Whether the iteration's own oracle calls show its objective from the start on, so that the log needs none before the end.
    """

    size: int
    has_dual: bool = True
    certifies: bool = True
    costly_oracle: bool = False
    cheap_passes: bool = False
    estimates_gap: bool = False
    first_target: float = 2.0
    has_cache: bool = False
    calls_for_extras: int = 0
    shows_objective: bool = False


class Budget(NamedTuple):
    """Bounds on one call of `Iteration.advance`.

    Attributes
    ----------
    calls : int
        Bound on ``oracle_calls``, counted from the start of the run.
    steps : int
        Bound on ``step``, counted from the start of the run.
    hits : int, optional
        Bound on ``cache_hits``, counted from the start of the run, which an iteration without a cache ignores.
    until_known : bool, default False
        Whether to return as soon as the iteration's own oracle calls show its objective.
    target_gap : float, optional
        Estimate of the gap at which the iteration may return, because an evaluation is worth its time.
    gap_tol : float, default 0
        Certified gap at which the run ends, in the units of the iteration; 0 if there is none, or if it depends on the log.
    """

    calls: int
    steps: int
    hits: int = sys.maxsize
    until_known: bool = False
    target_gap: float = NO_TARGET
    gap_tol: float = 0.0


NO_BUDGET = Budget(0, 0)


class Reason(Enum):
    """Reason why `Iteration.advance` returned."""

    BUDGET = auto()  # The next step would exceed the budget.
    KNOWN = auto()  # The objective of the last iterate is known without an evaluation.
    ROW = auto()  # A row must be logged here.
    FINISHED = auto()  # Nothing is left to do.
    STALLED = auto()  # No step gains more than rounding errors.
    PAUSE = auto()  # A long step is not complete yet.


class Stop(NamedTuple):
    """Answer of `Iteration.advance`.

    Attributes
    ----------
    reason : Reason, default Reason.BUDGET
        Why it returned.
    calls_needed : int, default 1
        The fewest oracle calls with which the iteration can take its next step.
    """

    reason: Reason = Reason.BUDGET
    calls_needed: int = 1


class Iteration(ABC):
    """Base class of everything that advances in steps, each of which may call an oracle.

    A subclass has ``terms``, ``advance`` and ``point``; the other attributes have defaults. It reads no clock and
    decides about no end of a run, except that it may have nothing left to do.

    Examples
    --------
    Halving the distance to the optimum, 0, with one oracle call per step:

    >>> import numpy as np
    >>> from fwexp.driver.log import Log
    >>> from fwexp.driver.loop import Bounds, drive
    >>> from fwexp.driver.iteration import Iteration, Point, Stop, Terms
    >>> from fwexp.driver.values import Objective, Value
    >>> class Halving(Iteration):
    ...     terms, step, oracle_calls, x = Terms(size=1), 0, 0, 1.0
    ...     def advance(self, budget):
    ...         while self.oracle_calls < budget.calls and self.step < budget.steps:
    ...             self.x, self.step = self.x / 2, self.step + 1
    ...             self.oracle_calls += 1
    ...         return Stop()
    ...     def point(self, iterate):
    ...         return Point(np.array([self.x]), 0.0)
    >>> class Square(Objective):
    ...     def __call__(self, point, stop=None):
    ...         return Value(float(point.w @ point.w))
    >>> iteration = Halving()
    >>> log = Log(iteration, Square())
    >>> drive(iteration, log, Bounds(max_passes=50, gap_tol=1e-3)).name, log.gap
    ('CONVERGED', 0.0009765625)
    """

    #: Facts that do not change during a run.
    terms: Terms

    #: Everything that the iteration changes, as a record (`fwexp.record`); None if it cannot be saved.
    state: Any = None

    #: Steps without an oracle call so far.
    cache_hits: int = 0

    #: Iterates whose points have arrays that were made for them, so that a log need not copy these.
    made_anew: tuple[str, ...] = ()

    @property
    def step(self) -> int:
        """Steps so far, by default those of the ``state``."""
        return self.state.step

    @property
    def oracle_calls(self) -> int:
        """Oracle calls so far, by default those of the ``state``."""
        return self.state.oracle_calls

    @abstractmethod
    def advance(self, budget: Budget) -> Stop:
        """Take steps within ``budget``; return why it ended.

        None of ``oracle_calls``, ``step`` and ``cache_hits`` may exceed the budget; `NO_BUDGET` allows no step.
        """

    def compile(self) -> None:
        """Compile all kernels that the run needs, without taking a step."""
        self.advance(NO_BUDGET)

    def saved(self) -> Any:
        """Return the ``state`` to save, including copies of the state of other processes."""
        return self.state

    def restore(self, state: Any) -> None:
        """Continue from a ``state`` of an equal iteration, a record that is not copied (`fwexp.record.copy` does)."""
        self.state = state

    @abstractmethod
    def point(self, iterate: str) -> Point:
        """Return the iterate called ``last``, or another ``iterate`` that is kept."""

    def exact_dual(self) -> float:
        """Return the dual objective of the last iterate, recomputed from the dual variables if they are kept."""
        return self.point("last").dual

    def estimated_gap(self) -> float:
        """Return an estimate of the gap of the last iterate, which certifies nothing; NaN if the steps have shown nothing yet."""
        return math.nan

    def extras(self) -> dict[str, float]:
        """Return the iteration's own columns of the trace: numbers by name of the column."""
        return {}
