"""The JSON records of a store: written with a checksum of themselves, and not believed if that, or their kind, does not fit."""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from fwexp.files import atomic
from fwexp.files.checksums import sha256
from fwexp.files.reading import read_regular
from fwexp.options import plain
from fwexp.store import schema

FORMAT, CHECKSUM = "format", "checksum"
END = b'"\n}\n'  # of a record, after the checksum


class Damaged(Exception):
    """The content of a store is not as it was stored; the message names the file and the fault."""


def write(path: Path, record: Mapping) -> None:
    """Write a record, as `content_of` has it, completely or not at all."""
    atomic.write({path: content_of(record)})


def content_of(record: Mapping) -> bytes:
    """Return the JSON of a record; numbers of NumPy become Python's, and NaN and infinities null, since JSON does not have them."""
    text = json.dumps(_jsonable({FORMAT: 2, **record, CHECKSUM: ""}), indent=1, allow_nan=False)
    head = f"{text}\n".encode().removesuffix(END)
    return head + sha256(head).encode() + END


def read(path: Path, kind: type = schema.Run) -> dict:
    """Return a record; `Damaged` unless it is as it was written, and of the kind, a dataclass in `fwexp.store.schema`."""
    return parsed(read_bytes(path), path.name, kind)


def parsed(content: bytes, name: str, kind: type = schema.Run) -> dict:
    """Return the record that the file of this name holds, as `read` does."""
    try:
        record = json.loads(content, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except OverflowError as error:
        raise Damaged(f"{name} has a number that is not finite") from error
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{name} is no JSON") from error
    if not isinstance(record, dict):
        raise Damaged(f"{name} is no record")
    checksum = str(record.pop(CHECKSUM, "")).encode(errors="replace")
    head = content.removesuffix(checksum + END)
    if head == content or checksum != sha256(head).encode():
        raise Damaged(f"{name} is not as it was stored")
    if misfit := schema.misfit(kind, record):
        raise Damaged(f"{name} {misfit}")
    return record


def read_bytes(path: Path) -> bytes:
    """Return what a file holds; `Damaged` if there is none."""
    with readable(path):
        return read_regular(path)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `Damaged` for errors of reading a file."""
    try:
        yield
    except FileNotFoundError as error:
        raise Damaged(f"{path.name} is missing") from error
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise OverflowError(text)
    return value


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _jsonable(value):
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items()}
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
