"""Data files: where they are, and reading them so that damage becomes one clear line."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from fwexp._folders import check_folder
from fwexp.errors import DataError, ParameterError


def resolve_data_dir(data_dir: str | os.PathLike | None = None) -> Path:
    """Return the data folder: ``data_dir`` if given, else ``FWEXP_DATA`` if set, else ``~/.cache/fwexp``."""
    if data_dir is not None:
        return check_folder("data_dir", data_dir)
    if named := os.environ.get("FWEXP_DATA"):
        return check_folder("FWEXP_DATA", named)
    try:
        return Path("~/.cache/fwexp").expanduser()  # need not be there, nor to be read, for data in the package
    except RuntimeError as error:
        raise ParameterError("FWEXP_DATA must name the data folder where there is no home folder, got nothing") from error


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line with its end) of a text file, unpacked if the name ends in ``.gz``.

    Raises
    ------
    DataError
        The file cannot be read, or its gzip data are truncated or damaged.
    """
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = f"truncated or damaged after line {number}, expected a whole gzip file"
        raise DataError(f"{path}: {fault} ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def sha256(path: Path) -> str:
    """Return the checksum of the bytes of a file, as stored."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_text(path: Path, *, size: int, sha256: str) -> str:
    """Check the unpacked content of a text file against its size and checksum.

    The gzip container is not looked at: packing the same text again gives other bytes.

    Returns
    -------
    str
        What was found to be right, for the report of ``fwexp data verify``.

    Raises
    ------
    DataError
        The content is not the expected one.
    """
    digest, found = hashlib.sha256(), 0
    for _, line in read_lines(path):
        digest.update(line)
        found += len(line)
    if found != size:
        raise DataError(f"{path}: {found} bytes of text, expected {size}")
    if digest.hexdigest() != sha256:
        raise DataError(f"{path}: sha256 of the text is {digest.hexdigest()}, expected {sha256}")
    return f"{size} bytes of text, checksum as published"


def check_bytes(path: Path, *, size: int, sha256: str) -> str:
    """Check the bytes of a file against size and checksum; like `check_text`, but for binary files."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(f"{path}: {len(data)} bytes, not the expected {size} bytes with sha256 {sha256}")
    return f"{size} bytes, checksum as recorded"
