"""Columns of the trace, and the ways in which runs end."""

from collections.abc import Mapping
from enum import StrEnum

ERRORS = ("train_error", "validation_error", "test_error")
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
    *ERRORS,
    "gap_estimate",
    "cache_hits",
    "cache_local",
    "cache_global",
    "atoms",
)
OBJECTIVES = ("primal", "dual", "gap", "gap_estimate")  # columns in units of the objective


class Status(StrEnum):
    """The ending of a run. ``sentence`` explains it, and `ending` returns a short line."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_PASSES = "max_passes"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"

    @property
    def sentence(self) -> str:
        """Meaning of the status, as a sentence."""
        return WORDS[self][1]


# Words before the number of passes in a line about a run, and the sentence.
WORDS = {
    Status.CONVERGED: ("converged after", "the certified gap reached gap_tol"),
    Status.STALLED: ("as near as rounding allows after", "no step gains more than rounding errors"),
    Status.MAX_PASSES: ("stopped at", "max_passes was reached"),
    Status.TIME_LIMIT: ("out of time after", "the time limit was reached"),
    Status.INTERRUPTED: ("interrupted after", "the run was interrupted"),
    Status.DIVERGED: ("diverged after", "the objective is not finite any more"),
}


def lost_words(lost: Mapping[str, int]) -> str:
    """Return the work that was lost with workers, such as ``1 part, 3 rounds``."""
    return ", ".join(f"{count} {what.removesuffix('s') if count == 1 else what}" for what, count in lost.items())


def ending(status: str, passes: float, gap: float | None = None, seconds: float | None = None) -> str:
    """Return a line on how a run ended, such as "stopped at 50 passes, gap 0.0047, 1.30 s", without unknown values."""
    line = f"{WORDS[Status(status)][0]} {passes:g} passes"
    line += f", gap {gap:.3g}" if is_known(gap) else ""
    return line + (f", {seconds:.2f} s" if is_known(seconds) else "")


def is_known(value: float | None) -> bool:
    """Return whether a number of a row is neither missing nor NaN."""
    return value is not None and value == value
