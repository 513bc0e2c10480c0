"""Events: changes of a run between two series of steps.

A run, such as one of `fwexp.solvers.bcfw`, calls its scheduled events one by one when they are due (`gap_refresh`, `acceleration`);
tasks apply others when they need them (`lam_changes`). An event finds what it changes in ``run.state``.
"""

from abc import ABC, abstractmethod

import numpy as np


class Event(ABC):
    """Base class of events."""

    calls = 0  # oracle calls that `apply` makes

    def due_step(self, run) -> float:
        """Return the step at which the event is due, inf if it is not scheduled by steps."""
        return np.inf

    def is_due(self, run) -> bool:
        """Return whether the event comes before the next step."""
        return False

    def calls_ahead(self, run) -> int:
        """Return how many oracle calls the event leads to, if it is due."""
        return self.calls

    @abstractmethod
    def apply(self, run) -> None:
        """Change the run."""
