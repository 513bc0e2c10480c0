"""The schema of records: kinds, ranges and sizes of all values that are read from a store.

Users copy stores, and a checksum finds damage, not foreign authors. Readers rely on these checks and make none of their own.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fwexp.driver.trace import Status
from fwexp.options import OBJECTIVES
from fwexp.plugins import NAME

DEPTH = 20  # of a record
VALUES = 100_000  # of a record: an item of a list or an entry of an object counts as one
LARGEST_INTEGER = 2**63 - 1
LARGEST_COUNT = 1e18  # of passes, calls, seconds
LONGEST_NAME = 100  # characters of a data set, solver, task or option
LONGEST_TEXT = 1000  # characters of an option: tables repeat it in every row of a trace
LARGEST_CONFIG = 2**14  # bytes of a configuration as JSON: ten times what one has
LOST = {"parts", "rounds", "messages"}  # that a cluster loses with its workers
MOST_MODULES = 1000  # that a record names
KEY = re.compile(r"[0-9a-f]{64}")
MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,20}", re.ASCII)

Check = Callable[[Any], bool]


class Misfit(ValueError):
    """A record is not as fwexp writes it; the message names the difference."""


def is_name(text) -> bool:
    """Return whether a text can be the name of a data set, solver or task."""
    return isinstance(text, str) and len(text) <= LONGEST_NAME and NAME.fullmatch(text) is not None


def check_plain(record: Mapping) -> None:
    """Check that a record is not nested too deeply or too large, and that other programs can hold its numbers and texts.

    Raises
    ------
    Misfit
        It is not so.
    """
    todo, count = [(record, 1)], 0
    while todo:
        value, depth = todo.pop()
        count += 1
        if depth > DEPTH:
            raise Misfit(f"is nested more than {DEPTH} times")
        if count > VALUES:
            raise Misfit(f"has more than {VALUES} values")
        if isinstance(value, Mapping):
            todo += [(item, depth + 1) for item in (*value.keys(), *value.values())]
        elif isinstance(value, list):
            todo += [(item, depth + 1) for item in value]
        elif isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
            raise Misfit("has text that is no Unicode")
        elif isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise Misfit("has an integer of more than 64 bits")


def check_run(record: Mapping, config: Mapping) -> None:
    """Check the record of a run, or of its failure, and its configuration.

    Raises
    ------
    Misfit
        A fact is missing, of another kind, or outside its range.
    """
    _check(record, RUN, ("status",))
    _check_config(config)


def check_config(config: Mapping) -> None:
    """Check a configuration before it is run: with another one, the record of the run could not be read.

    Raises
    ------
    Misfit
        As in `check_run`.
    """
    check_plain({"config": config})
    _check_config(config)


def _check_config(config: Mapping) -> None:
    _check(config, CONFIG, ("dataset", "solver", "seed"))
    if len(json.dumps(config)) > LARGEST_CONFIG:
        raise Misfit(f"has a configuration of more than {LARGEST_CONFIG} bytes")
    options = [config]
    while options:
        for name, value in options.pop().items():
            if len(name) > LONGEST_NAME or (isinstance(value, str) and len(value) > LONGEST_TEXT):
                raise Misfit(f"has an option of more than {LONGEST_NAME} characters in its name or {LONGEST_TEXT} in its value")
            options += [value] if isinstance(value, Mapping) else []


def check_figure(record: Mapping) -> None:
    """Check the record of a figure, table or comparison.

    Raises
    ------
    Misfit
        As in `check_run`.
    """
    _check(record, FIGURE, ("figure", "preset", "files"))


def _check(facts: Mapping, kinds: Mapping[str, Check], required: Collection[str]) -> None:
    if not isinstance(facts, Mapping):
        raise Misfit("has a configuration of another kind")
    for name, fits in kinds.items():
        if (name in facts or name in required) and not fits(facts.get(name)):
            raise Misfit(f"has a {name} of another kind or size")


def _is(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _has(**facts: Check) -> Check:
    return lambda value: isinstance(value, Mapping) and all(fits(value.get(name)) for name, fits in facts.items())


def _or_none(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _of(fits: Check) -> Check:
    """Return the check for a mapping whose values all pass a check."""
    return lambda value: isinstance(value, Mapping) and all(map(fits, value.values()))


def _text(longest: int = LONGEST_TEXT) -> Check:
    return lambda value: isinstance(value, str) and len(value) <= longest


def _count(value) -> bool:
    return _is(int, float)(value) and 0 <= value <= LARGEST_COUNT


def _number(value) -> bool:
    return _is(int, float)(value) and math.isfinite(value)


def _are_modules(value) -> bool:
    return isinstance(value, list) and len(value) <= MOST_MODULES and all(isinstance(m, str) and MODULE.fullmatch(m) for m in value)


def _is_axis(value) -> bool:
    """Return whether a value is the scale of an axis with its ends."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    return value[0] in ("linear", "log", "symlog", "logit") and all(map(_or_none(_number), value[1:]))


def _is_choice(value) -> bool:
    return isinstance(value, Mapping) and is_name(value.get("name"))


NUMBER, COUNT, TEXT = _or_none(_number), _or_none(_count), _or_none(_text())
GIT = _or_none(_has(commit=_text(), dirty=_is(bool)))
VERSIONS = _or_none(_of(TEXT))
PLUGINS = _or_none(_of(_has(version=TEXT, git=GIT)))
RUN = {
    **dict.fromkeys(("primal", "dual", "gap"), NUMBER),
    "lam": _or_none(_count),
    **dict.fromkeys(("step", "oracle_calls", "passes", "time"), COUNT),
    **dict.fromkeys(("iterate", "created"), TEXT),
    **dict.fromkeys(("reason", "error"), _or_none(_is(str))),
    "status": lambda value: isinstance(value, str) and value in {*Status, "failed"},
    "data": _or_none(_of(_text())),
    "published": _or_none(_is(bool)),
    "lost": _or_none(lambda lost: isinstance(lost, Mapping) and LOST.issuperset(lost) and all(map(_count, lost.values()))),
    "errors": _or_none(_of(NUMBER)),
    "paused": NUMBER,
    "sources": _or_none(_has(modules=_are_modules, sha256=_text())),
    "provenance": _has(git=GIT, cpu=TEXT, python=TEXT, system=TEXT, versions=VERSIONS, plugins=PLUGINS),
}
CONFIG = {
    "dataset": _is_choice,
    "solver": _is_choice,
    "task": lambda value: is_name(value) or _is_choice(value),
    "seed": lambda value: _is(int)(value) and value >= 0,
    "lam": _or_none(lambda value: _text(LONGEST_NAME)(value) or _count(value)),
    "max_passes": NUMBER,
    "gap_tol": NUMBER,
    "objective": lambda value: value in OBJECTIVES,
    "temperature": NUMBER,
}
FIGURE = {
    **dict.fromkeys(("figure", "preset"), _text()),
    **dict.fromkeys(("title", "description", "note", "commit"), _or_none(_is(str))),
    "versions": VERSIONS,
    "axes": _or_none(_of(_has(title=_text(), x=_is_axis, y=_is_axis))),
    "runs": _of(_has(created=TEXT, commit=TEXT)),
    "files": _of(_text()),
}
