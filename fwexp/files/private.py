"""Folders for files that are kept between commands, which only this user can write to."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

OTHERS = stat.S_IWGRP | stat.S_IWOTH  # may write


def users_folder(name: str) -> Path:
    """Return ``fwexp/<name>`` in the user's cache folder: ``XDG_CACHE_HOME``, else ``~/.cache``.

    The package platformdirs would replace the first line only, and choose another folder than the documented one on macOS.

    Raises
    ------
    OSError
        It cannot be written to, or belongs to another user.
    """
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
    except RuntimeError as error:
        raise OSError(str(error)) from error
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.stat().st_uid not in (0, os.geteuid()):  # a link is the user's own choice here
        raise PermissionError(None, "belongs to another user", str(root))
    return _writable(own(own(root / "fwexp") / name))


def temporary_folder() -> Path:
    """Return a folder of this user among the temporary files, the same for all commands; errors as in `users_folder`."""
    return _writable(own(Path(tempfile.gettempdir()).absolute() / f"fwexp-numba-{os.geteuid()}"))


def own(folder: Path) -> Path:
    """Make a folder that only this user can write to, or check that one is; raise OSError with the reason if it cannot be used."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(None, "is no folder (links are not followed)", str(folder))
    if found.st_uid != os.geteuid():
        raise PermissionError(None, "belongs to another user", str(folder))
    if found.st_mode & OTHERS:  # A loose umask leaves it open.
        folder.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)
    return folder


def _writable(folder: Path) -> Path:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(None, "cannot be written to", str(folder))
    return folder
