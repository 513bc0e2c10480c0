"""Folders for files that are kept between commands."""

import os
import stat
import tempfile
from pathlib import Path


def users_folder(name: str) -> Path:
    """Return ``fwexp/<name>`` in the user's cache folder, as platformdirs finds it; an `OSError` if it cannot be written to."""
    from platformdirs import user_cache_path

    try:
        return _writable(user_cache_path("fwexp", appauthor=False) / name)
    except RuntimeError as error:  # the home is unknown
        raise OSError(str(error)) from error


def temporary_folder() -> Path:
    """Return a folder of this user alone among the temporary files, the same for all commands; errors as in `users_folder`."""
    parent = Path(tempfile.gettempdir()).absolute()
    if not hasattr(os, "geteuid"):  # Windows: each user has another one, and modes of files say nothing
        return _writable(parent / "fwexp-numba")
    folder = _writable(parent / f"fwexp-numba-{os.geteuid()}")
    found = folder.lstat()  # Machine code is a pickle, and any user can make a folder of this name.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(None, "is not this user's alone", str(folder))
    return folder


def _writable(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(None, "cannot be written to", str(folder))
    return folder
