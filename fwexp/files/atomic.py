"""Files that are written completely or not at all, even if a process, a disk or the machine dies meanwhile.

New content is written under a hidden name next to its place, flushed, and moved there in one step. Before that, hidden files of
dead processes are removed.
"""

import contextlib
import itertools
import os
import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from fwexp.files.processes import TOKEN, is_gone, this_process

HIDDEN = re.compile(rf"\..+\.(?P<process>{TOKEN.pattern})\.[0-9a-f]{{12}}")


def hidden(path: Path) -> Path:
    """Return a name next to ``path`` that no other process uses, and that names its process."""
    return path.with_name(f".{path.name}.{this_process()}.{uuid.uuid4().hex[:12]}")


def clean(folder: Path) -> None:
    """Remove hidden files that dead processes left in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as inside:
        for entry in inside:
            owner = HIDDEN.fullmatch(entry.name)
            if owner and is_gone(owner["process"]):
                discard(folder / entry.name)


def discard(path: Path) -> None:
    """Remove a file, a link, or a folder with all in it, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def remove(folder: Path) -> None:
    """Remove a folder, of which others see all or nothing, also if this process is killed meanwhile."""
    gone = hidden(folder)
    folder.rename(gone)
    discard(gone)


def set_aside(path: Path) -> Path | None:
    """Rename an existing file to ``<name>.old``, or with a number if that exists; return the new path, or None without a file."""
    if not os.path.lexists(path):
        return None
    names = (path.with_name(f"{path.name}.old{number or ''}") for number in itertools.count())
    kept = next(name for name in names if not os.path.lexists(name))
    path.rename(kept)
    return kept


def write(contents: Mapping[Path, bytes | Callable[[BinaryIO], None]]) -> None:
    """Write files that belong together: none takes its place before all have reached the disk, then they do so in this order.

    Parameters
    ----------
    contents : mapping
        Content of each file, or a function that writes it to an open file.

    Raises
    ------
    OSError
        On a full disk, for instance; all files are as they were, unless it came while they took their places.
    """
    for folder in {path.parent for path in contents}:
        clean(folder)
    temporary = {path: hidden(path) for path in contents}
    path = None
    try:
        for path, content in contents.items():
            if callable(content):
                with temporary[path].open("xb+") as file:
                    content(file)
            else:
                temporary[path].write_bytes(content)
            flush(temporary[path])
        for path, new in temporary.items():
            new.replace(path)
    except BaseException as error:
        for left in temporary.values():
            left.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:  # the error of a full disk does not name the file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    for folder in {path.parent for path in contents}:
        flush(folder)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk if its file system can do that."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(descriptor)
