"""The JSON records of a store: a dataclass for each kind, whose fields say what a record has, and of which kind.

A record has a checksum of itself, which finds damage; what another version or program wrote is found by its kind. Readers rely on
both and make no checks of their own.
"""

import contextlib
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fwexp.driver.trace import Status
from fwexp.errors import shown
from fwexp.files import atomic
from fwexp.files.checksums import sha256
from fwexp.options import OBJECTIVES, plain

KEY = re.compile(r"[0-9a-f]{64}")
FORMAT, CHECKSUM = "format", "checksum"
END = b'"\n}\n'  # of a record, after the checksum
Number, Text = float | None, str | None


class Damaged(Exception):
    """The content of a store is not as it was stored; the message names the file and the fault."""


@dataclass
class Git:
    commit: str
    dirty: bool


@dataclass
class Provenance:
    git: Git | None
    cpu: Text = None
    python: Text = None
    system: Text = None
    versions: dict[str, Text] | None = None
    plugins: dict[str, dict] | None = None


@dataclass
class Sources:
    modules: list[str]
    sha256: str


@dataclass
class Choice:
    """A data set, solver or task; its options are more."""

    name: str


@dataclass
class Config:
    """A canonical configuration."""

    dataset: Choice
    solver: Choice
    seed: Annotated[int, lambda value: 0 <= value < 2**63]
    task: str | Choice | None = None  # text in runs that were stored when tasks had no options
    lam: str | Number = None
    max_passes: Number = None
    gap_tol: Number = None
    temperature: Number = None
    objective: Annotated[str, OBJECTIVES.__contains__] = OBJECTIVES[0]


@dataclass
class File:
    """A file of a run; without a name, it is called as its role."""

    size: int
    sha256: str
    name: str = ""


@dataclass
class Files:
    """All that a commit reads of the record that it replaces."""

    files: dict[str, File]
    replaced: dict[str, str] | None = None


@dataclass
class Run:
    """A run, or its failure, which has an ``error`` and no ``files``."""

    key: str
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
    lam: Number = None
    step: Number = None
    oracle_calls: Number = None
    passes: Number = None
    time: Number = None
    paused: Number = None
    data: dict[str, str] | None = None
    published: bool | None = None
    lost: dict[str, float] | None = None
    errors: dict[str, Number] | None = None
    sources: Sources | None = None


@dataclass
class Axes:
    """A panel of a figure: the scale of each axis, and its ends."""

    title: str
    x: list
    y: list


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
    versions: dict[str, Text] | None = None
    axes: dict[str, Axes] | None = None
    runs: dict[str, Drawn] | None = None


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
    """Return the function that says whether a value from JSON is of a kind, which may have a test in an ``Annotated``."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fits, test = _fits(inner[0]), inner[1]
        return lambda value: fits(value) and test(value)
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


def write(path: Path, record: Mapping) -> None:
    """Write a record, as `content_of` has it, completely or not at all."""
    atomic.write({path: content_of(record)})


def content_of(record: Mapping) -> bytes:
    """Return the JSON of a record; numbers of NumPy become Python's, and NaN and infinities null, since JSON does not have them."""
    text = json.dumps(_jsonable({FORMAT: 2, **record, CHECKSUM: ""}), indent=1, allow_nan=False)
    head = f"{text}\n".encode().removesuffix(END)
    return head + sha256(head).encode() + END


def _jsonable(value):
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items()}
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read(path: Path, kind: type = Run) -> dict:
    """Return a record; `Damaged` unless it is as it was written, and of the kind, a dataclass of this module."""
    return parsed(read_bytes(path), path.name, kind)


def parsed(content: bytes, name: str, kind: type = Run) -> dict:
    """Return the record that the file of this name holds, as `read` does."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{name} is no JSON") from error
    if not isinstance(record, dict):
        raise Damaged(f"{name} is no record")
    checksum = str(record.pop(CHECKSUM, "")).encode(errors="replace")
    head = content.removesuffix(checksum + END)
    if head == content or checksum != sha256(head).encode():
        raise Damaged(f"{name} is not as it was stored")
    if fault := misfit(kind, record):
        raise Damaged(f"{name} {fault}")
    return record


def read_bytes(path: Path) -> bytes:
    """Return what a file holds; `Damaged` if there is none."""
    with readable(path):
        return path.read_bytes()


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `Damaged` for errors of reading a file."""
    try:
        yield
    except FileNotFoundError as error:
        raise Damaged(f"{path.name} is missing") from error
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from error
