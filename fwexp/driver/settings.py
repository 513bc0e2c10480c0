"""The settings of a run that every iteration shares, and their accepted values."""

import contextlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.options import (
    OBJECTIVES,
    as_real,
    check_choice,
    check_flag,
    check_function,
    check_integer,
    check_jobs,
    check_number,
    check_positive,
    check_positive_scale,
    check_scale,
)

if TYPE_CHECKING:
    from fwexp.driver.checkpoint import Checkpoint

ITERATES = ("last", "wavg", "tavg", "avg")
LEAST_OBJECTIVE = 1e-9  # to which a gap can be relative: an objective can be 0
MAX_STEPS_PER_CALL = 100  # steps without an oracle call (cache hits) are capped at this multiple of max_passes * n


def check_lam(name: str, value, n: float | None = None) -> float | str:
    """Return lam as a float, or as a rule such as ``"1/n"``; its value if ``n`` is given: the sum of the weights of examples."""
    if (c := factor_of_rule(value)) is not None:
        return f"{repr(c).removesuffix('.0')}/n" if n is None else check_scale(name, c / min(n, sys.float_info.max))
    return check_scale(name, check_number(name, value, 'a positive finite number or "c/n", such as "1/n"', above=0.0))


def factor_of_rule(value) -> float | None:
    """Return the number c of a rule ``"c/n"`` for lam; None of other values."""
    if not isinstance(value, str) or not value.replace(" ", "").endswith("/n"):
        return None
    with contextlib.suppress(ValueError):
        c = float(value.rpartition("/")[0])
        return c if 0.0 < c < math.inf else None
    return None


def max_calls(max_passes: float, n: int) -> int:
    """Return the oracle calls in so many passes: 29 in 0.29 passes of 100, although 0.29 * 100 < 29."""
    return math.floor(min(max_passes * n + 1e-9, 2.0**52))  # Kernels count in 64-bit integers.


def check_gap_tol(name: str, value) -> float:
    """Return a nonnegative finite gap."""
    return check_number(name, value, "a finite number >= 0", least=0.0) + 0.0  # -0.0 is 0.0


def check_time_limit(name: str, value) -> float | None:
    """Return a positive number of solver seconds, or None for no limit."""
    if value is None:
        return None
    seconds = as_real(value)
    if not seconds > 0:
        raise ParameterError(f"{name} must be a positive number of seconds or None (null), got {shown(value)}")
    return None if seconds == math.inf else seconds


def check_iterates(name: str, value) -> tuple[str, ...] | None:
    """Return the iterates to log, without repetition and ``last`` first; None if they are not chosen yet."""
    if value is None:
        return None
    names = [value] if isinstance(value, str) else list(value) if _is_list(value) else []
    if not names:
        raise ParameterError(f"{name} must be a list of {', '.join(ITERATES)}, got {shown(value)}")
    for iterate in names:
        check_choice("iterate", iterate, ITERATES)
    return tuple(iterate for iterate in ITERATES if iterate in names)


def check_schedule(name: str, value) -> str | float | tuple[float, ...]:
    """Return ``"default"``, ``"steps"``, a period in passes, or increasing pass counts."""
    message = f'{name} must be "default", "steps", a positive number of passes or an increasing list of them, got {shown(value)}'
    if isinstance(value, str) and value in ("default", "steps"):
        return value
    if _is_list(value):
        passes = tuple(as_real(v) for v in value)
        if not all(0 <= v < math.inf for v in passes) or any(b <= a for a, b in pairwise(passes)):
            raise ParameterError(message)
        return passes
    period = as_real(value)
    if not 0 < period < math.inf:
        raise ParameterError(message)
    return period


# Arguments of `fwexp.solve` that are settings of a run, with the function of a name and a value that checks each.
CHECKS = {
    "lam": check_lam,
    "seed": partial(check_integer, least=0),
    "max_passes": check_positive,
    "gap_tol": check_gap_tol,
    "time_limit": check_time_limit,
    "iterates": check_iterates,
    "iterate": lambda name, value: check_choice(name, value, ("best", *ITERATES)),
    "schedule": check_schedule,
    "train_error": check_flag,
    "check": check_flag,
    "objective": lambda name, value: check_choice(name, value, OBJECTIVES),
    "temperature": check_positive_scale,
}


def check(name: str, value):
    """Return the checked value of a setting."""
    return CHECKS[name](name, value)


@dataclass(frozen=True)
class Bounds:
    """The bounds of a run.

    Attributes
    ----------
    max_passes : float
        Bound on oracle calls divided by the size of the iteration. Steps without an oracle call are capped at 100 times as many.
    gap_tol : float, default 0
        Certified gap at which the run ends; 0 for none.
    time_limit : float, optional
        Solver seconds, or wall seconds if the oracle is costly. Otherwise rows are left out while evaluation takes longer than
        the steps.
    relative_gap : bool, default False
        Whether ``gap_tol`` is a share of the dual objective, and so at most this share of the optimum.
    """

    max_passes: float
    gap_tol: float = 0.0
    time_limit: float | None = None
    relative_gap: bool = False

    def wanted_gap(self, dual: float) -> float:
        """Return the gap at which the run ends, given the highest dual objective so far."""
        return self.gap_tol * max(dual, LEAST_OBJECTIVE) if self.relative_gap else self.gap_tol


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSettings(Bounds):
    """Bounds of a run and how to watch it, checked when the object is constructed."""

    max_passes: float = 50
    gap_tol: float = 1e-3
    time_limit: float | None = None
    seed: int = 0
    schedule: Any = "default"  # see `fwexp.driver.schedule`
    callback: Callable | None = None  # receives every row, and ends the run if it returns True
    verbose: bool = False  # whether progress is shown on standard error
    checkpoint: "Checkpoint | None" = None
    n_jobs: int | None = None  # threads that call compiled oracles (`fwexp.jit.threads.jobs`)

    def __post_init__(self) -> None:
        for name in ("max_passes", "gap_tol", "time_limit", "seed", "schedule"):
            self._set(name, check(name, getattr(self, name)))
        check_function("callback", self.callback, optional=True)
        self._set("verbose", check_flag("verbose", self.verbose))
        self._set("n_jobs", check_jobs("n_jobs", self.n_jobs))
        if self.checkpoint is not None and not all(hasattr(self.checkpoint, name) for name in ("due", "load", "save")):
            raise ParameterError(f"checkpoint must be a fwexp.driver.checkpoint.Checkpoint, got {shown(self.checkpoint)}")

    def _set(self, name: str, value) -> None:
        """Replace a value while the object is constructed."""
        object.__setattr__(self, name, value)


def _is_list(value) -> bool:
    """Return whether ``value`` is a sequence or a vector, and no text."""
    return getattr(value, "ndim", 1) == 1 and isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
