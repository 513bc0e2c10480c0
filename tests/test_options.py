"""Options of solvers and of data sets are checked in one place, and numpy's scalars count as Python's in all of them."""

import dataclasses
import typing

import numpy as np
import pytest

from fwexp.data import DATASETS
from fwexp.data import check_options as check_dataset_options
from fwexp.errors import OptionError, ParameterError
from fwexp.options import check_fraction, check_integer, check_number, check_switch, choice, make_options, option
from fwexp.solvers import SOLVERS, check_options
from fwexp.solvers.acceleration import AccelerateOptions
from fwexp.solvers.bcfw_options import CacheOptions, Options

# Of options that may be None, as all of ``auto``: a value, since their default says nothing of the kind.
VALUES = {field.name: field.default for field in dataclasses.fields(Options)}
VALUES |= {"refresh": 2.0, "gamma": 0.5, "kap": 2.0, "n": 3, "eta": 0.5, "beta": 1.0, "delta": 2.0}
MAPPINGS = {"cache": CacheOptions, "accelerate": AccelerateOptions}


def numpy_scalars(value) -> list:
    """Return a value in all of numpy's types that can hold it."""
    if isinstance(value, bool):
        return [np.bool_(value)]
    if isinstance(value, str):
        return [np.str_(value)]
    kinds = (np.int16, np.int64, np.uint16) if isinstance(value, int) else (np.float32, np.float64)
    whole = (np.int64, np.uint8) if isinstance(value, float) and value.is_integer() and value >= 0 else ()
    return [kind(value) for kind in (*kinds, *whole)]


def exact(value):
    """Return a float that single precision holds as well."""
    return float(np.float32(value)) if isinstance(value, float) else value


def options_of(options: type):
    """Yield (name, Python value) of every field of an options dataclass, all its choices among them."""
    for field in dataclasses.fields(options):
        default = VALUES[field.name] if field.default is None else field.default
        yield from ((field.name, exact(value)) for value in field.metadata.get("choices", (default,)))


TABLE = [
    *((f"solver {name}", name, check_options, *option) for name in SOLVERS for option in options_of(SOLVERS[name].Options)),
    *(
        (f"dataset {name}", name, check_dataset_options, *option)
        for name in DATASETS
        for option in options_of(DATASETS[name].Options)
    ),
]


@pytest.mark.parametrize(
    ("owner", "name", "check", "option", "value"), TABLE, ids=lambda part: str(part) if isinstance(part, str) else ""
)
def test_numpy_scalars_are_options_like_pythons(owner, name, check, option, value):
    subject = name if owner.startswith("dataset") else SOLVERS[name]
    plain = getattr(check(subject, {option: value}), option)
    for scalar in numpy_scalars(value):
        taken = getattr(check(subject, {option: scalar}), option)
        assert taken == plain
        assert type(taken) is type(plain)


@pytest.mark.parametrize("option", MAPPINGS)
def test_numpy_scalars_are_fields_of_mappings_like_pythons(option):
    for name, value in options_of(MAPPINGS[option]):
        plain = getattr(check_options(SOLVERS["bcfw"], {option: {name: value}}), option)
        for scalar in numpy_scalars(value):
            taken = getattr(check_options(SOLVERS["bcfw"], {option: {name: scalar}}), option)
            assert taken == plain
            assert {type(item) for item in taken.values()} <= {int, float, type(None)}


def test_every_option_says_what_it_accepts():
    """Choices or a check: nothing is stored as people passed it."""
    classes = [*(SOLVERS[name].Options for name in SOLVERS), *(DATASETS[name].Options for name in DATASETS), *MAPPINGS.values()]
    fields = [(cls.__module__, field) for cls in classes for field in dataclasses.fields(cls)]
    assert [(module, field.name) for module, field in fields if not {"choices", "check"} & set(field.metadata)] == []


@dataclasses.dataclass(frozen=True)
class Some:
    kind: str = choice("plain", "fancy")
    count: int = option(1, check_integer, 1)
    size: float | None = option(None, check_number, "a number > 0", above=0, optional=True)
    part: float = option(0.5, check_fraction)
    cache: typing.Any = option(False, check_switch, CacheOptions)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "fancier"}, "here: kind must be one of plain, fancy; got 'fancier' (did you mean 'fancy'?)"),
        ({"kind": 1}, "here: kind must be one of plain, fancy; got 1"),
        ({"count": True}, "here: count must be an integer >= 1, got True"),
        ({"count": np.float64(1)}, "here: count must be an integer >= 1, got 1.0"),
        ({"count": np.int64(0)}, "here: count must be an integer >= 1, got 0"),
        ({"size": np.bool_(True)}, "here: size must be a number > 0, got True"),
        ({"size": np.nan}, "here: size must be a number > 0, got nan"),
        ({"part": 1}, "here: part must be a number >= 0 and < 1, got 1"),
        ({"cache": 3}, "here: cache must be true, false or a mapping of F, nu, size; got 3"),
        ({"cache": {"size": 1.5}}, "here: cache.size must be an integer >= 2, got 1.5"),
    ],
)
def test_what_is_no_value_is_named(options, message):
    with pytest.raises(ParameterError) as caught:
        make_options("here", Some, options)
    assert str(caught.value) == message


def test_names_and_defaults():
    assert make_options("here", Some, {"size": None, "cache": np.True_}) == Some(size=None, cache=True)
    assert make_options("here", Some, {"count": np.int8(2)}) == Some(count=2)
    with pytest.raises(OptionError, match=r"^here: unknown option 'cuont'; accepted: .*did you mean 'count'"):
        make_options("here", Some, {"cuont": 2})
    with pytest.raises(OptionError, match=r"^here: cache: unknown option 'siz'; accepted: F, nu, size .*'size'"):
        make_options("here", Some, {"cache": {"siz": 2}})
