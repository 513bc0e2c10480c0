"""Iterations, which the driver runs: something that advances, and an objective that says how good its points are.

The driver knows nothing of structural SVMs. A solver is an iteration, and so are a regularisation path, a lasso or a matrix
game; an objective evaluates their points for the log. Both are protocols: any object that has these attributes will do, and
`Iteration` has defaults for all that a simple one does not need.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

NO_AIM = -1.0  # no gap is as small


class Point(NamedTuple):
    """An iterate, and the dual objective that goes with it.

    Attributes
    ----------
    w : ndarray
        The iterate, in the form that the objective takes; nobody writes to it.
    dual : float
        NaN where there is none.
    norm_sq : float, optional
        ||w||^2, where the iteration knows it.
    """

    w: np.ndarray
    dual: float
    norm_sq: float | None = None


@dataclass(frozen=True)
class Value:
    """Value of an objective at a point.

    Attributes
    ----------
    primal : float
        The objective, which is minimised.
    columns : dict
        More columns of the row.
    magnitude : float
        Size of the terms that ``primal`` is a sum of, to which rounding errors are relative.
    complete : bool
        Whether this is all that there is to say; else the point may be evaluated again.
    certifies : bool
        Whether ``primal`` is to be believed, so that primal - dual is a certificate.
    rest : Any
        What `Objective.exact` wants to know again.
    """

    primal: float
    columns: dict[str, float] = field(default_factory=dict)
    magnitude: float = 0.0
    complete: bool = True
    certifies: bool = True
    rest: Any = None


class Iteration(ABC):
    """Something that advances in steps, each of which may call an oracle; it reads no clock and never stops by itself.

    A subclass has ``size``, ``step``, ``oracle_calls``, ``advance`` and ``point``; the other attributes have defaults.

    Examples
    --------
    Halving the distance to the optimum, 0, with one oracle call per step:

    >>> import numpy as np
    >>> from fwexp.driver.log import Log
    >>> from fwexp.driver.loop import Bounds, drive
    >>> from fwexp.driver.iteration import Objective, Point, Iteration, Value
    >>> class Halving(Iteration):
    ...     size, step, oracle_calls, x = 1, 0, 0, 1.0
    ...     def advance(self, calls, max_steps):
    ...         while self.oracle_calls < calls and self.step < max_steps:
    ...             self.x, self.step, self.oracle_calls = self.x / 2, self.step + 1, self.oracle_calls + 1
    ...     def point(self, iterate):
    ...         return Point(np.array([self.x]), 0.0)
    >>> class Square(Objective):
    ...     def __call__(self, point, stop=None):
    ...         return Value(float(point.w @ point.w))
    >>> iteration = Halving()
    >>> log = Log(iteration, Square())
    >>> drive(iteration, log, Bounds(max_passes=50, gap_tol=1e-3)).name, log.gap <= 1e-3
    ('CONVERGED', True)
    """

    has_dual: bool = True  # whether points have a dual objective, a lower bound on the optimum
    certifies: bool = True  # whether primal - dual is a certificate; not with an oracle that is not exact
    costly: bool = False  # whether oracle calls cost so much that the log must go easy on them
    brief: bool = False  # whether a pass takes little longer than an evaluation, so that the log must go easy on these
    has_cache: bool = False  # whether there may be steps that need no oracle call
    cache_hits: int = 0  # such steps so far
    calls_per_step: int = 1  # the fewest oracle calls by which the iteration can advance
    calls_for_extras: int = 0  # oracle calls that ``extras`` makes each time, which are for the log
    pauses: bool = False  # whether ``advance`` is to return wherever the objective is known without an evaluation
    aim: float = NO_AIM  # an estimate of the gap that is worth an evaluation: there, ``advance`` makes an event if it is ``brief``
    event: bool = False  # whether ``advance`` has come to where a row must be logged
    finished: bool = False  # whether there is nothing left to do
    stalled: bool = False  # whether steps lead nowhere, for what they might gain is lost in rounding errors

    #: Oracle calls that make a pass.
    size: int

    #: All that the iteration changes, as a record (`fwexp.record`); None where it cannot be saved.
    state: Any = None

    @property
    @abstractmethod
    def step(self) -> int:
        """Steps so far."""

    @property
    @abstractmethod
    def oracle_calls(self) -> int:
        """Oracle calls so far."""

    @abstractmethod
    def advance(self, calls: int, max_steps: int) -> None:
        """Take steps while neither ``oracle_calls > calls`` nor ``step > max_steps`` would result; 0, 0 only compiles.

        Parameters
        ----------
        calls : int
            Bound on ``oracle_calls``, counted from the start of the run.
        max_steps : int
            Bound on ``step``, likewise.
        """

    def saved(self) -> Any:
        """Return the ``state`` to save; of what is elsewhere, it fetches a copy first.

        Returns
        -------
        record
        """
        return self.state

    def restore(self, state) -> None:
        """Continue from a state of an equal iteration.

        Parameters
        ----------
        state : record
            Its ``state``, which is not copied (`fwexp.record.copy` does).
        """
        self.state = state

    @abstractmethod
    def point(self, iterate: str) -> Point:
        """Return an iterate.

        Parameters
        ----------
        iterate : str
            Which one: ``last``, or another that the iteration has.

        Returns
        -------
        Point
        """

    def exact_dual(self) -> float:
        """Return the dual objective of the last iterate, recomputed from the dual variables where they are kept.

        Returns
        -------
        float
        """
        return self.point("last").dual

    def estimated_gap(self) -> float:
        """Return what the steps have shown of the gap of the last iterate, which certifies nothing.

        Returns
        -------
        float
            NaN where they have shown nothing.
        """
        return math.nan

    def extras(self) -> dict[str, float]:
        """Return the iteration's own columns of the trace.

        Returns
        -------
        dict
            Numbers, by name of the column.
        """
        return {}


class Objective(ABC):
    """Evaluate points for the log."""

    #: Number by which primal, dual and gap are divided wherever a run shows or tests them.
    scale: float = 1.0
    #: Oracle calls made for the log so far.
    calls: int = 0

    @property
    def state(self):
        """All that evaluations change, as a record (`fwexp.record`)."""
        return self.calls

    def restore(self, state) -> None:
        """Continue from a state of an equal objective.

        Parameters
        ----------
        state : record
            Its ``state``.
        """
        self.calls = state

    @abstractmethod
    def __call__(self, point: Point, stop: Callable[[], bool] | None = None) -> Value | None:
        """Return what is to be logged of a point.

        Parameters
        ----------
        point : Point
            Of the iteration.
        stop : callable, optional
            Where oracles are costly, ``stop()`` is asked now and then whether to give up.

        Returns
        -------
        Value or None
            None where nothing is to be logged.

        Raises
        ------
        Stopped
            ``stop()`` was true.
        """

    def cost(self) -> int:
        """Return how many oracle calls the evaluation of a point takes.

        Returns
        -------
        int
        """
        return 0

    def known(self, point: Point) -> Value | None:
        """Return what the iteration's own oracle calls have just shown of its last iterate.

        Parameters
        ----------
        point : Point
            The last iterate.

        Returns
        -------
        Value or None
            None if they have shown nothing.
        """
        return None

    def exact(self, point: Point, value: Value) -> float:
        """Return the primal objective of a point that was evaluated before, without running sums.

        Parameters
        ----------
        point : Point
            The point.
        value : Value
            What was logged of it.

        Returns
        -------
        float
        """
        return value.primal

    def explain_negative_gap(self, best: np.ndarray, last: np.ndarray) -> str:
        """Return why a primal objective may be below a dual one, which cannot be.

        Parameters
        ----------
        best, last : ndarray
            The iterate of that primal objective, and the last one.

        Returns
        -------
        str
            The end of a message.
        """
        return "one of the two is wrong"
