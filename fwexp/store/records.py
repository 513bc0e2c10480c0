"""The JSON records of a store: written with a checksum of themselves, and not believed if that does not fit."""

import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path

from fwexp.files import atomic
from fwexp.files.checksums import sha256
from fwexp.options import plain
from fwexp.store import schema

FORMAT, CHECKSUM = "format", "checksum"
END = b'"\n}\n'  # of a record, after the checksum
LARGEST = 2**22  # bytes of a record: a thousand times what one has


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


def read(path: Path, largest: int = LARGEST) -> dict:
    """Return a record of at most so many bytes.

    Raises
    ------
    Damaged
        It cannot be read, is no record, has been changed, or holds what no record does (`schema.check_plain`).
    """
    return parsed(read_bytes(path, largest), path.name)


def parsed(content: bytes, name: str) -> dict:
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
    try:
        schema.check_plain(record)
    except schema.Misfit as error:
        raise Damaged(f"{name} {error}") from error
    return record


def read_bytes(path: Path, largest: int) -> bytes:
    """Return what a file holds; `Damaged` if there is none of at most so many bytes (to open a pipe would wait for ever)."""
    if (size := size_of(path)) > largest:
        raise Damaged(f"{path.name} has {size} bytes, expected at most {largest}")
    try:
        return path.read_bytes()
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from error


def size_of(path: Path) -> int:
    """Return the size of a file; `Damaged` if there is none."""
    try:
        status = path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and not path.is_symlink()
        reason = "is missing" if missing else f"cannot be read ({error.strerror})"
        raise Damaged(f"{path.name} {reason}") from error
    if not stat.S_ISREG(status.st_mode):
        raise Damaged(f"{path.name} is no file")
    return status.st_size


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
