"""The settings of a run that every solver shares: their accepted values, stated once."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fwexp.errors import ParameterError, shown, unknown
from fwexp.options import as_real, check_choice, check_flag, check_integer, check_number, check_positive, check_scale

ITERATES = ("last", "wavg", "tavg", "avg")
MAX_STEPS_PER_CALL = 100  # steps without an oracle call (cache hits) are capped at this multiple of max_passes * n


def check_lam(value, n: int | None = None) -> float | str:
    """Return lam as a float, or exactly ``"1/n"`` (with ``n`` given: its value)."""
    if isinstance(value, str) and value.replace(" ", "") == "1/n":
        return "1/n" if n is None else 1.0 / n
    return check_scale("lam", check_number("lam", value, 'a positive finite number or "1/n"', above=0.0))


def check_seed(value) -> int:
    """Return a nonnegative integer."""
    return check_integer("seed", value, 0)


def check_max_passes(value) -> float:
    """Return a positive finite number of passes."""
    return check_positive("max_passes", value)


def max_calls(max_passes: float, n: int) -> int:
    """Return how many oracle calls so many passes allow; 0.29 passes of 100 are 29, although 0.29 * 100 < 29."""
    return math.floor(min(max_passes * n + 1e-9, 2.0**52))  # for kernels, counts are 64-bit integers


def check_gap_tol(value) -> float:
    """Return a nonnegative finite gap."""
    return check_number("gap_tol", value, "a finite number >= 0", least=0.0) + 0.0  # -0.0 is 0.0


def check_time_limit(value) -> float | None:
    """Return a positive number of solver seconds, or None where there is no limit."""
    if value is None:
        return None
    seconds = as_real(value)
    if not seconds > 0:
        raise ParameterError(f"time_limit must be a positive number of seconds or None (null), got {shown(value)}")
    return None if seconds == math.inf else seconds


def check_iterate(value) -> str:
    """Return the name of the iterate to end with."""
    return check_choice("iterate", value, ("best", *ITERATES))


def check_iterates(value) -> tuple[str, ...]:
    """Return the iterates to log, without repetition, ``last`` first."""
    names = [value] if isinstance(value, str) else list(value) if _is_list(value) else []
    if not names:
        raise ParameterError(f"iterates must be a list of {', '.join(ITERATES)}, got {shown(value)}")
    for name in names:
        if not isinstance(name, str) or name not in ITERATES:
            raise ParameterError(unknown("iterate", name, ITERATES))
    return tuple(name for name in ITERATES if name in names)


def check_schedule(value) -> str | float | tuple[float, ...]:
    """Return ``"default"``, a period in passes, or increasing pass counts."""
    message = f'schedule must be "default", a positive number of passes or an increasing list of them, got {shown(value)}'
    if isinstance(value, str) and value == "default":
        return "default"
    if _is_list(value):
        passes = tuple(as_real(v) for v in value)
        if not all(0 <= v < math.inf for v in passes) or any(b <= a for a, b in pairwise(passes)):
            raise ParameterError(message)
        return passes
    period = as_real(value)
    if not 0 < period < math.inf:
        raise ParameterError(message)
    return period


# The settings of a run, all of them arguments of `fwexp.solve`, by the function that checks a value.
CHECKS = {
    "lam": check_lam,
    "seed": check_seed,
    "max_passes": check_max_passes,
    "gap_tol": check_gap_tol,
    "time_limit": check_time_limit,
    "iterates": lambda value: None if value is None else check_iterates(value),
    "iterate": check_iterate,
    "schedule": check_schedule,
    "train_error": lambda value: check_flag("train_error", value),
    "check": lambda value: check_flag("check", value),
}


def _is_list(value) -> bool:
    """Whether ``value`` is a list of something: a sequence or a vector, but no text."""
    return getattr(value, "ndim", 1) == 1 and isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
