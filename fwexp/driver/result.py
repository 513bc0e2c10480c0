"""What a run returns."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

TRACE_COLUMNS = (
    "iterate",
    "step",
    "oracle_calls",
    "passes",
    "evaluation_calls",
    "time",
    "primal",
    "dual",
    "gap",
    "train_error",
    "test_error",
    "gap_estimate",
    "cache_hits",
    "atoms",
)


class Status(StrEnum):
    """How a run ended; ``sentence`` says it in words."""

    CONVERGED = "converged"
    MAX_PASSES = "max_passes"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    @property
    def sentence(self) -> str:
        """One sentence that says what the status means."""
        return {
            Status.CONVERGED: "the certified gap reached gap_tol",
            Status.MAX_PASSES: "max_passes was reached",
            Status.TIME_LIMIT: "the time limit was reached",
            Status.INTERRUPTED: "the run was interrupted",
            Status.DIVERGED: "the objective is not finite any more",
        }[self]


@dataclass
class Result:
    """The outcome of ``fwexp.solve``.

    Attributes
    ----------
    w : ndarray (d,)
        Weights, in the order that the problem family documents; kernel solvers have coefficients instead, in the same
        order with the training inputs in place of features.
    primal, dual, gap : float
        P(w), the highest dual objective seen, and their difference: P(w) is at most ``gap`` above the optimum. NaN for
        methods without a dual point.
    status, reason : str
        How the run ended, and the same as a sentence.
    trace : DataFrame
        One row per logged point and iterate. ``oracle_calls`` are those of the solver; ``evaluation_calls`` are those made
        for the log besides, of oracles and of predictions.
    iterate : str
        Which iterate ``w`` is.
    solver : str
        Name of the solver, ``auto`` resolved.
    options : dict
        The solver's options.
    lam : float
    seed : int
    """

    w: np.ndarray
    primal: float
    dual: float
    gap: float
    status: str
    reason: str
    trace: "pd.DataFrame"
    iterate: str
    solver: str
    options: dict[str, Any]
    lam: float
    seed: int
    state: Any = field(default=None, repr=False)  # the solver at its last iterate, for warm starts

    def predict(self, problem) -> list:
        """Return the predicted labeling of every example of ``problem``."""
        from fwexp.api import predict

        return predict(problem if self.state is None else self.state.view(problem), self.w)

    def __repr__(self) -> str:
        last = self.trace.iloc[-1]
        return (
            f"Result({self.solver}, lam={self.lam:.6g}: primal={self.primal:.6g}, dual={self.dual:.6g}, "
            f"gap={self.gap:.3g}, {self.status} after {last['passes']:g} passes in {last['time']:.3g} s)"
        )
