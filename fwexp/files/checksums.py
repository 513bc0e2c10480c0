"""Checksums of files that are written and read: sha256, as hex digits."""

import hashlib
from pathlib import Path


def sha256(content: bytes) -> str:
    """Return the checksum of some bytes."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Return the checksum of a file, which is not read at once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
