"""The settings of a run that every solver shares: their accepted values, stated once."""

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real

from fwexp.errors import OptionError, ParameterError, unknown

TRAIN, PATH, HEURISTIC_PATH = "train", "path", "heuristic_path"
WARM_GRID, COLD_GRID, IMPROVEMENT = "warm_grid", "cold_grid", "improvement"
TASKS = (TRAIN, PATH, HEURISTIC_PATH, WARM_GRID, COLD_GRID, IMPROVEMENT)  # what `fwexp.tasks.perform` can do
ITERATES = ("last", "wavg", "tavg", "avg")
MAX_STEPS_PER_CALL = 100  # steps without an oracle call (cache hits) are capped at this multiple of max_passes * n


def _is_real(value) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_task(task, solver: str) -> str:
    """Return the name of a task, which ``solver`` must be able to do: all but training run bcfw.

    Raises
    ------
    ParameterError
        No such task.
    OptionError
        A solver that it does not run.
    """
    if task not in TASKS:
        raise ParameterError(unknown("task", task, TASKS))
    if task != TRAIN and solver not in ("bcfw", "auto"):
        raise OptionError(f"task {task} runs solver bcfw, got {solver}; accepted: auto, bcfw")
    return task


def check_lam(value, n: int | None = None) -> float | str:
    """Return lam as a float, or exactly ``"1/n"`` (with ``n`` given: its value)."""
    if isinstance(value, str) and value.replace(" ", "") == "1/n":
        return "1/n" if n is None else 1.0 / n
    if not _is_real(value) or not math.isfinite(value) or value <= 0:
        raise ParameterError(f'lam must be a positive finite number or "1/n", got {value!r}')
    return float(value)


def check_seed(value) -> int:
    """Return a nonnegative integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ParameterError(f"seed must be an integer >= 0, got {value!r}")
    return int(value)


def check_max_passes(value) -> float:
    """Return a positive finite number of passes."""
    if not _is_real(value) or not math.isfinite(value) or value <= 0:
        raise ParameterError(f"max_passes must be a positive finite number, got {value!r}")
    return float(value)


def max_calls(max_passes: float, n: int) -> int:
    """Return how many oracle calls so many passes allow; 0.29 passes of 100 are 29, although 0.29 * 100 < 29."""
    return math.floor(min(max_passes * n + 1e-9, 2.0**52))  # for kernels, counts are 64-bit integers


def check_gap_tol(value) -> float:
    """Return a nonnegative finite gap."""
    if not _is_real(value) or not math.isfinite(value) or value < 0:
        raise ParameterError(f"gap_tol must be a finite number >= 0, got {value!r}")
    return float(value)


def check_time_limit(value) -> float | None:
    """Return a positive number of solver seconds, or None."""
    if value is None:
        return None
    if not _is_real(value) or math.isnan(value) or value <= 0:
        raise ParameterError(f"time_limit must be a positive number of seconds or None (null), got {value!r}")
    return float(value)


def check_iterates(value) -> tuple[str, ...]:
    """Return the iterates to log, without repetition, ``last`` first."""
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, Sequence) else []
    if not names:
        raise ParameterError(f"iterates must be a list of {', '.join(ITERATES)}, got {value!r}")
    for name in names:
        if name not in ITERATES:
            raise ParameterError(unknown("iterate", name, ITERATES))
    return tuple(name for name in ITERATES if name in names)


def check_schedule(value) -> str | float | tuple[float, ...]:
    """Return ``"default"``, a period in passes, or increasing pass counts."""
    message = f'schedule must be "default", a positive number of passes or an increasing list of them, got {value!r}'
    if isinstance(value, str):
        if value != "default":
            raise ParameterError(message)
        return value
    if _is_real(value):
        if not math.isfinite(value) or value <= 0:
            raise ParameterError(message)
        return float(value)
    if not isinstance(value, Sequence) or not all(_is_real(v) and math.isfinite(v) and v >= 0 for v in value):
        raise ParameterError(message)
    if any(b <= a for a, b in pairwise(value)):
        raise ParameterError(message)
    return tuple(float(v) for v in value)
