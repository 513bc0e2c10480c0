"""Scalars and options that people pass: one test of what is a number, an integer, a flag, a name, wherever one is asked for.

numpy's scalars count as Python's. A flag is no number, and no number is a flag. Options of solvers and of data sets are the
fields of a dataclass, whose metadata say what is accepted; `check_fields` checks them all.
"""

import dataclasses
import difflib
import math
import os
import sys
from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from pathlib import Path

from fwexp.errors import OptionError, ParameterError, shown, unknown


def plain(value):
    """Return the Python scalar of one of numpy's, and anything else as it is."""
    numpy = sys.modules.get("numpy")  # without it there are no scalars of it; commands that need none answer at once
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def is_integer(value) -> bool:
    """Whether ``value`` is an integer."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_real(value) -> float:
    """Return a real number as a float; NaN, which passes no comparison, for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of floats
        return math.nan


def check_number(
    name: str,
    value,
    accepted: str,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
) -> float:
    """Return a number > ``above``, >= ``least``, <= ``most`` and < ``below`` as a float.

    Parameters
    ----------
    name : str
        The parameter.
    value : object
        What was given.
    accepted : str
        What is accepted, in words.
    above, least, most, below : float
        The same in numbers; by default all finite ones.
    """
    number = as_real(value)
    if not (above < number < below and least <= number <= most):
        raise ParameterError(f"{name} must be {accepted}, got {shown(value)}")
    return number


def check_positive(name: str, value) -> float:
    """Return a positive finite number."""
    return check_number(name, value, "a positive finite number", above=0.0)


SMALLEST, LARGEST = 1e-50, 1e50  # (features losses / lam)^2 over many examples is no more than 1e308, and no less than 1e-308


def check_scale(name: str, size: float) -> float:
    """Return the size of something, of an array the largest of its numbers, if its squares, products and quotients are floats.

    Zero is of any scale.
    """
    if not (size == 0.0 or SMALLEST <= size <= LARGEST):
        raise ParameterError(f"{name} must be of a scale within {SMALLEST:g} .. {LARGEST:g}, got {size:g}: choose other units")
    return size


def check_positive_scale(name: str, value) -> float:
    """Return a positive number whose squares, products and quotients are floats."""
    return check_scale(name, check_positive(name, value))


def check_integer(name: str, value, least: int) -> int:
    """Return an integer >= ``least``."""
    if not is_integer(value) or value < least:
        raise ParameterError(f"{name} must be an integer >= {least}, got {shown(value)}")
    return int(value)


def check_flag(name: str, value) -> bool:
    """Return a bool."""
    flag = plain(value)
    if not isinstance(flag, bool):
        raise ParameterError(f"{name} must be true or false, got {shown(value)}")
    return flag


def check_choice(kind: str, value, accepted: Collection[str]) -> str:
    """Return one of the accepted names."""
    if not isinstance(value, str) or value not in accepted:
        raise ParameterError(unknown(kind, value, accepted))
    return str(value)


def number_option(name: str, accepted: str, *, optional: bool = False, **bounds: float) -> Callable:
    """Return the check of an option that is a number within the bounds of `check_number`, or None where it is optional."""

    def check(value) -> float | None:
        return None if optional and value is None else check_number(name, value, accepted, **bounds)

    return check


def integer_option(name: str, least: int, *, optional: bool = False) -> Callable:
    """Return the check of an option that is an integer >= ``least``, or None where it is optional."""

    def check(value) -> int | None:
        return None if optional and value is None else check_integer(name, value, least)

    return check


def fraction_option(name: str) -> Callable:
    """Return the check of an option that is a part of something, or a tolerance relative to it."""
    return number_option(name, "a number >= 0 and < 1", least=0.0, below=1.0)


def switch_option(name: str, options: type) -> Callable:
    """Return the check of an option that is false, true, or a mapping of fields of ``options``.

    That comes back complete, but for fields that were added later and have their default.
    """

    def check(value) -> bool | dict:
        if isinstance(value, bool):
            return value
        if not isinstance(value, Mapping):
            fields = ", ".join(field.name for field in dataclasses.fields(options))
            raise ParameterError(f"{name} must be true, false or a mapping of {fields}; got {shown(value)}")
        return without_later_defaults(check_fields(name, options, value), options)

    return check


def without_later_defaults(values: dict, options: type) -> dict:
    """Return the values of an options dataclass without those of fields that were added later and have their default.

    They are in no key of a run, so that the keys of runs that were stored before remain.
    """
    later = {field.name: field.default for field in dataclasses.fields(options) if field.metadata.get("added_later")}
    return {name: value for name, value in values.items() if name not in later or value != later[name]}


def check_function(name: str, value, *, optional: bool = False):
    """Return something that can be called."""
    if not callable(value) and not (optional and value is None):
        raise ParameterError(f"{name} must be a function{' or None' if optional else ''}, got {shown(value)}")
    return value


def check_path(name: str, value) -> Path:
    """Return the path of a file or folder, ``~`` written out."""
    if not isinstance(value, str | os.PathLike) or value == "" or "\0" in os.fsdecode(value):
        raise ParameterError(f"{name} must be a path, got {shown(value)}")
    path = Path(os.fsdecode(value))
    if any(len(part) > 255 for part in path.parts):
        raise ParameterError(f"{name} must be a path with names of at most 255 characters, got {shown(value)}")
    try:
        return path.expanduser()
    except RuntimeError:  # ~somebody who is not known
        raise ParameterError(f"{name} must be a path, got {shown(value)} of an unknown user") from None


# What people know from elsewhere, and what serves here: the first that the call takes, or advice.
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
    "n_jobs": ("the environment variable OMP_NUM_THREADS",),
    "num_threads": ("the environment variable OMP_NUM_THREADS",),
    "warm_start_from": ("warm_start",),
    "x0": ("warm_start",),
    "w0": ("warm_start",),
    "validation": ("test",),
    "method": ("solver",),
}


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a solver, a task or a data set that has none."""


def check_names(owner: str, given: Mapping, accepted: Collection[str], others: Collection[str] = ()) -> None:
    """Refuse options that ``owner`` does not have; suggest one of its own, or one of the ``others`` of the same call.

    Raises
    ------
    OptionError
        Says what serves here where the name is one that other software uses.
    """
    for key in given:
        if key not in accepted:
            serves = next((name for name in ELSEWHERE.get(key, ()) if name in accepted or name in others or " " in name), "")
            message = unknown("option", key, list(accepted) or ["none"], () if serves else others)
            raise OptionError(f"{owner}: {message}" + (f" (here it is {serves})" if serves else ""))


def check_fields(owner: str, options: type, given: Mapping, *, defaults: bool = True, others: Collection[str] = ()) -> dict:
    """Return a mapping of the fields of an options dataclass, with every value checked; numpy's scalars become Python's.

    A field's metadata may list the accepted values (``choices``) or hold a function that returns the checked value
    (``check``).

    Parameters
    ----------
    owner : str
        Whose options they are, as messages say it.
    options : type
        The dataclass.
    given : mapping
        Names and values.
    defaults : bool
        Whether fields that are not given come back with their defaults; else they are left out.
    others : collection of str
        Further names that the same call takes; suggested for misspelt ones.

    Returns
    -------
    dict

    Raises
    ------
    OptionError
        A name that is no field.
    ParameterError
        A value that the field does not accept.
    """
    known = {field.name: field for field in dataclasses.fields(options)}
    checked = {name: field.default for name, field in known.items()} if defaults else {}
    check_names(owner, given, known, others)
    for name, value in given.items():
        value, metadata = plain(value), known[name].metadata
        if "choices" in metadata:
            _check_listed(f"{owner}: {name}", value, metadata["choices"])
        checked[name] = metadata["check"](value) if "check" in metadata else value
    return checked


def _check_listed(name: str, value, choices: tuple) -> None:
    """Refuse what is not one of ``choices``, which are all texts or all flags."""
    if type(value) is type(choices[0]) and value in choices:
        return
    allowed = [str(choice).lower() if isinstance(choice, bool) else choice for choice in choices]
    close = difflib.get_close_matches(value, allowed, n=1) if isinstance(value, str) and len(value) <= 100 else ()
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ParameterError(f"{name} must be one of {', '.join(allowed)}; got {shown(value)}{hint}")
