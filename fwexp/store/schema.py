"""The kinds of records: a dataclass for each, whose fields say what a record has, and of which kind.

A checksum finds damage; what another version or program wrote is found here. Readers rely on that and make no checks of their own.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fwexp.driver.trace import Status
from fwexp.errors import shown
from fwexp.options import OBJECTIVES
from fwexp.plugins import NAME

KEY = re.compile(r"[0-9a-f]{64}")
FILE = re.compile(r"(config|trace|model)(-[0-9a-f]{12})?\.(yaml|parquet|npz)")


def misfit(kind: type, record) -> str:
    """Return what does not fit in a record of a dataclass, such as ``has gap='0.1'``; empty if it fits. It may have more."""
    for name, (fits, is_needed) in _fields(kind).items():
        if name not in record:
            if is_needed:
                return f"has no {name}"
        elif not fits(record[name]):
            return f"has {name}={shown(record[name])}"
    return ""


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Callable[[Any], bool], bool]]:
    kinds = get_type_hints(kind, include_extras=True)
    return {field.name: (_fits(kinds[field.name]), field.default is MISSING) for field in fields(kind)}


def _fits(kind) -> Callable[[Any], bool]:
    """Return the function that says whether a value from JSON is of a kind, which may have tests in an ``Annotated``."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fits, *tests = (_fits(inner[0]), *inner[1:])
        return lambda value: fits(value) and all(test(value) for test in tests)
    if origin in (Union, UnionType):
        kinds = [*map(_fits, inner)]
        return lambda value: any(fits(value) for fits in kinds)
    if origin in (list, dict):
        fits = _fits(inner[-1])
        return lambda value: isinstance(value, origin) and all(map(fits, value.values() if origin is dict else value))
    if is_dataclass(kind):
        return lambda value: isinstance(value, dict) and not misfit(kind, value)
    types = (int, float) if kind is float else kind
    return lambda value: isinstance(value, types) and (kind is bool or not isinstance(value, bool))


Number, Count, Text = float | None, Annotated[float, lambda value: value >= 0] | None, str | None
Key, Name = Annotated[str, KEY.fullmatch], Annotated[str, NAME.fullmatch]
Texts, Versions = dict[str, str] | None, dict[str, Text] | None


@dataclass
class Git:
    commit: str
    dirty: bool


@dataclass
class Plugin:
    version: Text
    git: Git | None


@dataclass
class Provenance:
    git: Git | None
    cpu: Text = None
    python: Text = None
    system: Text = None
    versions: Versions = None
    plugins: dict[str, Plugin] | None = None


@dataclass
class Sources:
    modules: list[str]
    sha256: str


@dataclass
class Choice:
    """A data set, solver or task; its options are more."""

    name: Name


@dataclass
class Config:
    """A canonical configuration."""

    dataset: Choice
    solver: Choice
    seed: Annotated[int, lambda value: 0 <= value < 2**63]
    task: str | Choice | None = None  # text in runs that were stored when tasks had no options
    lam: str | Count = None
    max_passes: Number = None
    gap_tol: Number = None
    temperature: Number = None
    objective: Annotated[str, OBJECTIVES.__contains__] = OBJECTIVES[0]


@dataclass
class File:
    """A file of a run; without a name, it is called as its role."""

    size: int
    sha256: Key
    name: Annotated[str, FILE.fullmatch] = ""


@dataclass
class Files:
    """All that a commit reads of the record that it replaces."""

    files: dict[str, File]
    replaced: Texts = None


@dataclass
class Run:
    """A run, or its failure, which has an ``error`` and no ``files``."""

    key: Key
    status: Annotated[str, {*Status, "failed"}.__contains__]
    config: Config
    provenance: Provenance
    files: dict[str, File] | None = None
    error: Text = None
    reason: Text = None
    created: Text = None
    iterate: Text = None
    primal: Number = None
    dual: Number = None
    gap: Number = None
    lam: Count = None
    step: Count = None
    oracle_calls: Count = None
    passes: Count = None
    time: Count = None
    paused: Count = None
    data: Texts = None
    published: bool | None = None
    lost: Annotated[dict[str, float], {"parts", "rounds", "messages"}.issuperset] | None = None
    errors: dict[str, Number] | None = None
    sources: Sources | None = None


Axis = Annotated[list, lambda value: len(value) == 3 and value[0] in ("linear", "log", "symlog", "logit")]


@dataclass
class Axes:
    """A panel of a figure: the scale of each axis, and its ends."""

    title: str
    x: Axis
    y: Axis


@dataclass
class Drawn:
    created: Text = None
    commit: Text = None


@dataclass
class Figure:
    """A figure, table or comparison."""

    figure: str
    preset: str
    files: dict[str, str]
    title: Text = None
    description: Text = None
    note: Text = None
    commit: Text = None
    versions: Versions = None
    axes: dict[str, Axes] | None = None
    runs: dict[str, Drawn] | None = None
