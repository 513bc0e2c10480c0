"""Objectives, which evaluate the points of iterations for the log."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fwexp.driver.iteration import Point


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
    rounding : float, optional
        Bound of the rounding errors of primal and dual at the point, without those of running sums; by default a share of the
        largest magnitude of the run.
    complete : bool
        Whether the row is complete. Otherwise the point may be evaluated again.
    certifies : bool
        Whether ``primal`` is plausible, so that primal - dual is a certificate.
    rest : Any
        State that `Objective.exact` needs later.
    """

    primal: float
    columns: dict[str, float] = field(default_factory=dict)
    magnitude: float = 0.0
    complete: bool = True
    certifies: bool = True
    rest: Any = None
    rounding: float | None = None


class Objective(ABC):
    """Base class of functions that evaluate points for the log."""

    #: Number by which primal, dual and gap are divided wherever a run shows or tests them.
    scale: float = 1.0
    #: Oracle calls made for the log so far.
    calls: int = 0

    @property
    def state(self):
        """Everything that evaluations change, as a record (`fwexp.record`)."""
        return self.calls

    def restore(self, state) -> None:
        """Continue from a ``state`` of an equal objective."""
        self.calls = state

    @abstractmethod
    def __call__(self, point: Point, stop: Callable[[], bool] | None = None) -> Value | None:
        """Return the value of a ``point`` of the iteration, whose arrays stay as they are; None if nothing is to be logged.

        If oracles are costly, call ``stop``, where it is given, from time to time, and raise `fwexp.errors.Stopped` if it returns
        True.
        """

    def cost(self) -> int:
        """Return how many oracle calls the evaluation of a point takes."""
        return 0

    def known(self, point: Point) -> Value | None:
        """Return the value of the last iterate, ``point``, if the iteration's own oracle calls have just shown it, else None."""
        return None

    def exact(self, point: Point, value: Value) -> float:
        """Return the primal objective of a ``point`` with the logged ``value``, without running sums."""
        return value.primal

    def explain_negative_gap(self, best: np.ndarray, last: np.ndarray) -> str:
        """Return why a primal objective may lie below a dual one, which theory excludes, as the end of a message.

        ``best`` and ``last`` are the iterate of that primal objective, and the last one.
        """
        return "one of the two is wrong"
