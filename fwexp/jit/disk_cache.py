"""Where texts and machine code are kept: in the user's cache folder, in files that are verified before they are used."""

import contextlib
import hashlib
import json
import os
import time
from functools import cache
from pathlib import Path

from fwexp.files import atomic, folders, locks
from fwexp.files.caches import temporary_folder, users_folder

__all__ = ["SUFFIX", "Saved", "base", "directory", "prune"]

KEEP_DIRECTORIES = 20  # so many caches are kept, one for each version of this package, Python, numba and kind of processor
KEEP_SECONDS = 7 * 24 * 3600.0  # and every one that was used within this time
SUFFIX = ".sums"
CODE = "__pycache__"  # where numba keeps machine code, next to its text


# --- folders ----------------------------------------------------------------------------------------------------------


@cache
def base() -> tuple[Path | None, str]:
    """Return the folder of all caches, the user's or a temporary one, or None, and why it is not the first that was tried."""
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
        found = [path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()]
        ages = sorted(((path.stat().st_mtime, path) for path in found), reverse=True)
        for used, path in ages[KEEP_DIRECTORIES:]:
            inside = [*path.iterdir(), *(path / CODE).glob("*")]
            if time.time() - used > KEEP_SECONDS and all(map(_is_ours, inside)):
                for file in inside:
                    if file.name != CODE:
                        file.unlink()
                with contextlib.suppress(FileNotFoundError):
                    (path / CODE).rmdir()
                path.rmdir()


def _is_ours(path: Path) -> bool:
    """Return whether a file has the name and the kind of those that are kept: no link, pipe or folder."""
    if path.name == CODE or path.is_symlink():
        return path.name == CODE and path.is_dir() and not path.is_symlink()
    return folders.is_file(path) and (path.suffix in (".py", SUFFIX, ".nbi", ".nbc") or bool(locks.NAME.fullmatch(path.name)))


# --- files ------------------------------------------------------------------------------------------------------------


class Saved:
    """The machine code that numba keeps for a text, in files of which another one has checksums."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._sums = folder / f"{key}{SUFFIX}"

    def _files(self) -> dict[str, str]:
        """Return the checksums of what is there."""
        found = sorted(self._folder.glob(f"{self._key}.*.nb[ci]"))
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in found if folders.is_file(path)}

    def is_whole(self) -> bool:
        """Return whether the files are there as they were written: a damaged one would be run."""
        try:
            sums = folders.is_file(self._sums) and json.loads(self._sums.read_text(encoding="ascii"))
            return bool(sums) and sums == self._files()
        except (OSError, ValueError):
            return False

    def seal(self) -> None:
        """Write the checksums of the files."""
        with contextlib.suppress(OSError):
            content = json.dumps(self._files()).encode()
            atomic.write({self._sums: lambda file: file.write(content)})

    def remove(self) -> None:
        """Remove the files."""
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"{self._key}.*"):
                path.unlink(missing_ok=True)
