"""The folders that users name, on the command line and in Python, read in one way."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from fwexp.errors import ParameterError

FOLDER_KEYS = ("results_dir", "data_dir")


def check_folder(key: str, value) -> Path:
    """Return the folder that ``value`` of ``key`` names, with the home directory for ``~``.

    Raises
    ------
    ParameterError
        No file system could have a folder of that name, it is the address of something else, or there is a file of that name;
        or what ``fwexp publish`` wrote, which is no store: commands would write over what is published.
    """
    try:
        if not (isinstance(value, str | Path) and str(value)):
            raise ValueError
        os.fsencode(value)
        path = Path(value).expanduser()
        is_file = path.exists() and not path.is_dir()
        published = key == "results_dir" and (path / "provenance.json").exists()
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "" if isinstance(error, ValueError) else str(error)
        raise ParameterError(f"{key} must be the name of a folder, got {value!r}" + (f" ({reason})" if reason else "")) from error
    if is_file or re.match(r"(file|ftp|https?):|[\w+.-]+://", str(value), re.IGNORECASE):
        raise ParameterError(f"{key} must be a folder, got {str(value)!r}, which is {'no folder' if is_file else 'an address'}")
    if published:
        raise ParameterError(f"{key} must be a folder of runs, got {str(value)!r}, which fwexp publish wrote: see its README.md")
    return path


@contextlib.contextmanager
def none_left_empty(folder: Path) -> Iterator[None]:
    """Remove a folder and its parents, as far as this context creates them and they are empty at its end."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
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
