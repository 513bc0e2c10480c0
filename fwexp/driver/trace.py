"""What is logged of a run, and how runs end."""

from enum import StrEnum

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
    "cache_local",
    "cache_global",
    "atoms",
)


class Status(StrEnum):
    """How a run ended; ``sentence`` says it in words."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_PASSES = "max_passes"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    @property
    def sentence(self) -> str:
        """One sentence that says what the status means."""
        return {
            Status.CONVERGED: "the certified gap reached gap_tol",
            Status.STALLED: "no step gains more than rounding errors",
            Status.MAX_PASSES: "max_passes was reached",
            Status.TIME_LIMIT: "the time limit was reached",
            Status.INTERRUPTED: "the run was interrupted",
            Status.DIVERGED: "the objective is not finite any more",
        }[self]
