"""The JSON records of a store: written with a checksum of themselves, and not believed if that does not fit.

Records of fwexp 0.1 as it first was have neither ``format`` nor ``checksum``; these are read as they are.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

FORMAT, CHECKSUM = "format", "checksum"
END = b'"\n}\n'  # of a record, after the checksum


class Damaged(Exception):
    """What a store holds is not what was stored; the text says which file and why."""


def write(path: Path, record: Mapping) -> None:
    """Write a record, as `content_of` has it."""
    path.write_bytes(content_of(record))


def content_of(record: Mapping) -> bytes:
    """Return the JSON of a record; numbers of NumPy become Python's, and NaN and infinities null, since JSON does not have them."""
    text = json.dumps(_jsonable({FORMAT: 2, **record, CHECKSUM: ""}), indent=1, allow_nan=False)
    head = f"{text}\n".encode().removesuffix(END)
    return head + _sha256(head) + END


def read(path: Path) -> dict:
    """Return a record.

    Raises
    ------
    Damaged
        It cannot be read, is no record, or has been changed.
    """
    content = read_bytes(path)
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path.name} is no JSON") from error
    if not isinstance(record, dict):
        raise Damaged(f"{path.name} is no record")
    if FORMAT in record or CHECKSUM in record:
        checksum = str(record.pop(CHECKSUM, "")).encode(errors="replace")
        head = content.removesuffix(checksum + END)
        if head == content or checksum != _sha256(head):
            raise Damaged(f"{path.name} is not as it was stored")
    return record


def read_bytes(path: Path) -> bytes:
    """Return what a file holds; `Damaged` if there is none (to open a pipe would wait for ever)."""
    size_of(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read ({error.strerror})") from error


def size_of(path: Path) -> int:
    """Return the size of a file; `Damaged` if there is none."""
    try:
        if path.is_file():
            return path.stat().st_size
        reason = "is no file" if path.exists() or path.is_symlink() else "is missing"
    except OSError as error:
        reason = f"cannot be read ({error.strerror})"
    raise Damaged(f"{path.name} {reason}")


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _jsonable(value):
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items()}
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
