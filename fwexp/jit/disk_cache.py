"""Machine code on disk: in the user's cache folder, in files that are verified before they are used.

A file begins with a checksum: one that was cut short or changed counts as absent, and what was in it is compiled anew. Where
nothing can be kept (no place, a full disk), nothing is, and kernels are compiled in every process.
"""

import contextlib
import hashlib
import os
import pickle
import stat
import sys
import time
from functools import cache
from pathlib import Path

import llvmlite
import numba

from fwexp.files import folders, locks
from fwexp.files.caches import temporary_folder, users_folder

__all__ = ["SUFFIX", "base", "directory", "prune", "read", "write"]

KEEP_DIRECTORIES = 200  # so many caches are kept, one for each module and version of its sources
KEEP_SECONDS = 7 * 24 * 3600.0  # and every one that was used within this time
SUFFIX = ".nbc"


# --- folders ----------------------------------------------------------------------------------------------------------


@cache
def base() -> tuple[Path | None, str]:
    """Return the folder of all caches, or None, and why it is not the first that was tried.

    First is ``fwexp/numba`` in the user's cache folder, then one of this user's in the folder for temporary files.
    """
    troubles = []
    for find in (lambda: users_folder("numba"), temporary_folder):
        try:
            return find(), "; ".join(troubles)
        except OSError as error:
            troubles.append(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return None, "; ".join(troubles)


def directory(name: str) -> Path | None:
    """Return the folder of one cache, None where nothing can be kept; a new one has old ones pruned."""
    parent, _ = base()
    if parent is None:
        return None
    folder = parent / name
    try:
        is_new = not folders.exists(folder)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)
        if is_new:
            prune(parent)
    except OSError:
        return None
    return folder


def prune(parent: Path) -> None:
    """Remove the caches below ``parent`` that are neither among the newest nor recently used; folders with other files stay."""
    with contextlib.suppress(OSError):  # another process may prune at the same time
        folders = [path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()]
        ages = sorted(((path.stat().st_mtime, path) for path in folders), reverse=True)
        for used, path in ages[KEEP_DIRECTORIES:]:
            inside = list(path.iterdir())
            if time.time() - used > KEEP_SECONDS and all(_is_kernel(file) or locks.NAME.fullmatch(file.name) for file in inside):
                for file in inside:
                    file.unlink()
                path.rmdir()


# --- files ------------------------------------------------------------------------------------------------------------


def _digest(content: bytes) -> bytes:
    """Return the checksum of a file for these versions: pickles of others are not read."""
    versions = f"numba {numba.__version__} llvmlite {llvmlite.__version__} python {sys.version} "
    return hashlib.sha256(versions.encode() + content).digest()


def read(path: Path):
    """Return the content of a file, None if it cannot be read or is not as it was written."""
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    start = hashlib.sha256().digest_size
    return pickle.loads(content[start:]) if content[:start] == _digest(content[start:]) else None


def write(path: Path, content: bytes) -> None:
    """Write a new file that others cannot write to. One that was cut short is known by its checksum: no other name is needed."""
    if _is_kernel(path):
        path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(_digest(content) + content)


def _is_kernel(path: Path) -> bool:
    """Return whether a file has the name and the kind of those that `write` writes: no link, pipe or folder."""
    return path.suffix == SUFFIX and os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode)
