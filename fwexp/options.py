"""Scalars and options that users pass: one test each for numbers, integers, flags and names, for all callers.

numpy's scalars count as Python's. A flag is no number, and no number is a flag. Options of solvers, tasks and data sets are the
fields of a dataclass, which `option` and `choice` declare with their accepted values; `make_options` checks them all.
"""

import dataclasses
import difflib
import math
import sys
from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from fwexp.errors import OptionError, ParameterError, shown, unknown

OBJECTIVES = ("hinge", "log", "softmax_margin")  # that a run can minimise

STRUCTURED, CONVEX, SADDLE = "structured", "convex", "saddle"  # kinds of problem: a data set gives one, solvers and tasks take some
KINDS = {STRUCTURED: "structured SVMs", CONVEX: "convex problems", SADDLE: "saddle points"}

T = TypeVar("T")

PLAIN = frozenset((bool, int, float, str, type(None)))


def plain(value: Any) -> Any:
    """Return the Python scalar of one of numpy's, and anything else as it is."""
    if type(value) in PLAIN:  # as nearly all are
        return value
    numpy = sys.modules.get("numpy")  # without it there are no scalars of it; commands that need none answer at once
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def is_integer(value: object) -> bool:
    """Return whether ``value`` is an integer."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_real(value: object) -> float:
    """Return a real number as a float; NaN, which passes no comparison, for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.nan


def check_number(
    name: str,
    value: object,
    accepted: str,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> float:
    """Return a number > ``above``, >= ``least``, <= ``most`` and < ``below`` as a float; ``accepted`` says the same in words."""
    number = as_real(value)
    if not (above < number < below and least <= number <= most):
        raise ParameterError(f"{name} must be {accepted}, got {shown(value)}")
    return number


def check_positive(name: str, value: object) -> float:
    """Return a positive finite number."""
    return check_number(name, value, "a positive finite number", above=0.0)


SMALLEST, LARGEST = 1e-50, 1e50  # (features losses / lam)^2 over many examples is no more than 1e308, and no less than 1e-308


def check_scale(name: str, size: float) -> float:
    """Return a size, of an array the largest of its numbers, if its squares, products and quotients are floats, or it is 0."""
    if not (size == 0.0 or SMALLEST <= size <= LARGEST):
        raise ParameterError(f"{name} must be of a scale within {SMALLEST:g} .. {LARGEST:g}, got {size:g}: choose other units")
    return size


def check_positive_scale(name: str, value: object) -> float:
    """Return a positive number whose squares, products and quotients are floats."""
    return check_scale(name, check_positive(name, value))


def check_integer(name: str, value: Any, least: int) -> int:
    """Return an integer >= ``least``."""
    if not is_integer(value) or value < least:
        raise ParameterError(f"{name} must be an integer >= {least}, got {shown(value)}")
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Return a bool."""
    flag = plain(value)
    if not isinstance(flag, bool):
        raise ParameterError(f"{name} must be true or false, got {shown(value)}")
    return flag


def check_choice(kind: str, value: object, accepted: Collection[str]) -> str:
    """Return one of the accepted names."""
    if not isinstance(value, str) or value not in accepted:
        raise ParameterError(unknown(kind, value, accepted))
    return str(value)


def check_fraction(name: str, value: object) -> float:
    """Return a part of something, or a tolerance relative to it."""
    return check_number(name, value, "a number >= 0 and < 1", least=0.0, below=1.0)


def check_switch(name: str, value: object, options: type) -> bool | dict[str, Any]:
    """Return false, true, or a complete mapping of fields of ``options``, without those that `without_later_defaults` drops."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        fields = ", ".join(field.name for field in dataclasses.fields(options))
        raise ParameterError(f"{name} must be true, false or a mapping of {fields}; got {shown(value)}")
    return without_later_defaults(vars(make_options(name, options, value, joint=".")), options)


def check_function(name: str, value: T, *, optional: bool = False) -> T:
    """Return something that can be called."""
    if not callable(value) and not (optional and value is None):
        raise ParameterError(f"{name} must be a function{' or None' if optional else ''}, got {shown(value)}")
    return value


def check_jobs(name: str, value: Any) -> int | None:
    """Return a number of threads or processes as scikit-learn counts them, -1 for one per processor, or None."""
    if value is not None and (not is_integer(value) or value == 0):
        raise ParameterError(f"{name} must be an integer other than 0, or None, got {shown(value)}")
    return value if value is None else int(value)


# Names of other software, with the name that serves here: the first one that the call accepts, or advice.
ELSEWHERE = {
    "C": ("lam = 1/(C n)",),
    "alpha": ("lam", "lam_min"),
    "reg": ("lam", "lam_min"),
    "tol": ("gap_tol", "eps"),
    "epsilon": ("gap_tol", "eps"),
    "max_iter": ("max_passes",),
    "n_iter": ("max_passes",),
    "num_iter": ("max_passes",),
    "epochs": ("max_passes",),
    "max_epochs": ("max_passes",),
    "max_time": ("time_limit",),
    "timeout": ("time_limit",),
    "random_state": ("seed",),
    "rng": ("seed",),
    "n_jobs": ("n_jobs", "the environment variable OMP_NUM_THREADS"),
    "num_threads": ("n_jobs", "the environment variable OMP_NUM_THREADS"),
    "warm_start_from": ("warm_start",),
    "x0": ("warm_start",),
    "w0": ("warm_start",),
    "method": ("solver",),
    "seed": ("random_state",),
    "gap_tol": ("tol",),
}


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a solver, a task or a data set that has none."""


def check_names(owner: str, given: Mapping[str, Any], accepted: Collection[str], others: Collection[str] = ()) -> None:
    """Refuse options that ``owner`` does not have; suggest one of its own, or one of the ``others`` of the same call."""
    for key in given:
        if key not in accepted:
            here = name_here(key, [*accepted, *others])
            raise OptionError(f"{owner}: {unknown('option', key, list(accepted) or ['none'], others, here)}")


def name_here(key: str, accepted: Collection[str]) -> str:
    """Return the accepted name, or the advice, for a name that serves elsewhere; "" if there is none."""
    plain = str(key).lstrip("-")
    names = plain, f"--{key}", *ELSEWHERE.get(plain, ())
    return next((name for name in names if name != key and (name in accepted or " " in name)), "")


def option(
    default: T,
    check: Callable[..., object],
    *accepted: Any,
    optional: bool = False,
    added_later: bool = False,
    needs: Mapping[str, Any] | None = None,
    **bounds: Any,
) -> T:
    """Return the field of an options dataclass whose values are checked.

    Parameters
    ----------
    default : object
    check : callable
        ``check(name, value, *accepted, **bounds)`` returns the checked value; the name is the one in messages.
    optional : bool
        Whether None is a value as well.
    added_later : bool
        Whether the field is in no key of a run while it has its default, so that the keys of runs stored before remain.
    needs : mapping, optional
        Values of other fields, by their names: with others the field has no effect, and only its default is accepted.
    """

    def checked(name: str, value: object) -> object:
        return None if optional and value is None else check(name, value, *accepted, **bounds)

    return dataclasses.field(default=default, metadata={"check": checked, "added_later": added_later, "needs": needs or {}})


def choice(*values: T, function: bool = False) -> T:
    """Return the field of an options dataclass that is one of the values, all texts or all flags; the first is its default.

    With ``function`` it may be a function as well, in Python.
    """
    return dataclasses.field(default=values[0], metadata={"choices": values, "function": function})


def left_open(field: Any) -> Any:
    """Return the field of an option that, unless it is given, is None: chosen later. It is `option`'s ``added_later``."""
    return dataclasses.field(default=None, metadata={**field.metadata, "left_open": True, "added_later": True})


def check_field(name: str, value: Any, field: dataclasses.Field[Any]) -> Any:
    """Return the checked value of a field, by the check or the choices in its ``metadata``, which `option` and `choice` set."""
    value = plain(value)
    if value is None and "left_open" in field.metadata:
        return None
    if "choices" in field.metadata and not (field.metadata.get("function") and callable(value)):
        _check_listed(name, value, field.metadata["choices"])
    return field.metadata["check"](name, value) if "check" in field.metadata else value


def make_options(owner: str, options: type, given: Mapping[str, Any], others: Collection[str] = (), joint: str = ": ") -> Any:
    """Return an options dataclass with the given values, each of them checked; numpy's scalars become Python's.

    Errors name the option after ``owner`` and ``joint``, and suggest ``others``, further names that the same call takes.
    """
    fields = {field.name: field for field in dataclasses.fields(options)}
    check_names(owner, given, fields, others)
    made = options(**{name: check_field(f"{owner}{joint}{name}", value, fields[name]) for name, value in given.items()})
    for name, field in fields.items():
        for other, values in field.metadata.get("needs", {}).items():
            if getattr(made, name) != field.default and getattr(made, other) not in values:
                needed = f"{other}={' or '.join(values)}"
                raise OptionError(f"{owner}{joint}{name} goes with {needed} only, got {other}={shown(getattr(made, other))}")
    return made


def without_later_defaults(values: dict[str, Any], options: type) -> dict[str, Any]:
    """Return the values of an options dataclass without fields that were added later and have their default."""
    later = {field.name: field.default for field in dataclasses.fields(options) if field.metadata.get("added_later")}
    return {name: value for name, value in values.items() if name not in later or value != later[name]}


def _check_listed(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse values other than ``choices``, which are all texts or all flags."""
    if type(value) is type(choices[0]) and value in choices:
        return
    allowed = [str(choice).lower() if isinstance(choice, bool) else choice for choice in choices]
    close = difflib.get_close_matches(value, allowed, n=1) if isinstance(value, str) and len(value) <= 100 else ()
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ParameterError(f"{name} must be one of {', '.join(allowed)}; got {shown(value)}{hint}")
