"""The folders that users name, on the command line and in Python, read in one way."""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from fwexp.errors import ParameterError

FOLDER_KEYS = ("results_dir", "data_dir")
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)  # all other errors are of files that may exist


def exists(path: Path) -> bool:
    """Return whether a file or folder exists; an `OSError`, which Python 3.14 suppresses, if that cannot be found out."""
    return _mode(path) is not None


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; an `OSError` if that cannot be found out."""
    return stat.S_ISDIR(_mode(path) or 0)


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file; an `OSError` if that cannot be found out."""
    return stat.S_ISREG(_mode(path) or 0)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except ValueError:  # a name that no file can have
        return None
    except OSError as error:
        if error.errno not in ABSENT:
            raise
        return None


def check_folder(key: str, value) -> Path:
    """Return the folder that ``value`` of ``key`` names, with the home directory for ``~``; published results are no store."""
    try:
        if not (isinstance(value, str | Path) and str(value)):
            raise ValueError
        os.fsencode(value)
        path = Path(value).expanduser()
        is_other = exists(path) and not is_folder(path)
        published = key in ("results_dir", "out") and exists(path / "provenance.json")
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "" if isinstance(error, ValueError) else str(error)
        raise ParameterError(f"{key} must be the name of a folder, got {value!r}" + (f" ({reason})" if reason else "")) from error
    if is_other or re.match(r"(file|ftp|https?):|[\w+.-]{2,}://", str(value), re.IGNORECASE):
        raise ParameterError(f"{key} must be a folder, got {str(value)!r}, which is {'no folder' if is_other else 'an address'}")
    if published:
        raise ParameterError(f"{key} must be a folder of runs, got {str(value)!r}, which make publish wrote: see its README.md")
    return path


@contextlib.contextmanager
def none_left_empty(folder: Path) -> Iterator[None]:
    """Remove a folder and its parents, as far as this context creates them and they are empty at its end."""
    missing = [path for path in (folder, *folder.parents) if not exists(path)]
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # one has something in it
            for path in missing:
                path.rmdir()


def folder_argument(key: str, text: str) -> str | None:
    """Return the value of ``key=text`` on the command line: the text as it is; null is the default, which is None."""
    value = None if text == "null" else text
    if value is not None or key == "results_dir":
        check_folder(key, value)
    return value
