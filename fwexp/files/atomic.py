"""Files and folders that are written completely or not at all, even if a process, a disk or the machine dies meanwhile.

This is the only module that gives names to files. New content is written under a hidden name next to its place, flushed, and gets
its name in one step. Before that, hidden files of dead processes are removed.
"""

import contextlib
import itertools
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from fwexp.files import folders
from fwexp.files.processes import TOKEN, is_gone, this_process

PATIENCE, POLL = 1.0, 0.01  # seconds for readers to close a file, and between two looks
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
    _patiently(lambda: folder.rename(gone))
    discard(gone)


def set_aside(path: Path) -> Path | None:
    """Rename an existing file to ``<name>.old``, or with a number if that exists; return the new path, or None without a file."""
    if not os.path.lexists(path):
        return None
    names = (path.with_name(f"{path.name}.old{number or ''}") for number in itertools.count())
    kept = next(name for name in names if not os.path.lexists(name))
    _patiently(lambda: path.rename(kept))
    return kept


def put(new: Path, path: Path, *, over: bool = False) -> None:
    """Name a complete file in one step; ``over`` replaces a file of that name, otherwise `FileExistsError` if the name is taken."""
    if not over:
        try:
            os.link(new, path)
            return
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:  # There are no hard links here: an empty file holds the name for an instant.
            path.open("xb").close()
    _patiently(lambda: new.replace(path))


def write(contents: Mapping[Path, bytes | Callable[[BinaryIO], None]]) -> None:
    """Write files that belong together: none takes its place before all have reached the disk, then they do so in this order."""
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
            put(new, path, over=True)
    except BaseException as error:
        for left in temporary.values():
            left.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno:  # the error of a full disk does not name the file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    for folder in {path.parent for path in contents}:
        flush(folder)


@contextlib.contextmanager
def replacing(folder: Path, check: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a hidden folder, which takes the place of ``folder`` at the end, after ``check(folder)``."""
    # If a process is killed just when the two trade places, `readable` finds the old one, and the next such process puts it back.
    before = _before(folder)
    clean(folder.parent)
    _put_back(before, folder, check)
    new = hidden(folder)
    new.mkdir()
    try:
        yield new
        for path in (*new.rglob("*"), new):
            flush(path)
        check(folder)
        if folders.is_folder(folder):
            _patiently(lambda: folder.rename(before))
        _patiently(lambda: new.rename(folder))
        flush(folder.parent)
    finally:
        _put_back(before, folder, check)
        discard(new)


def readable(folder: Path) -> Path:
    """Return where to read a folder that `replacing` writes: the old one, if a writer was killed just before the new one."""
    before = _before(Path(os.path.realpath(folder)))
    return before if folders.is_folder(before) and not folders.exists(folder) else folder


def _before(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.before")


def _put_back(before: Path, folder: Path, check: Callable[[Path], None]) -> None:
    """Move the old folder back to its place, or remove it if there is another one."""
    if os.path.lexists(before):
        check(before)
        if folders.exists(folder):
            remove(before)
        else:
            _patiently(lambda: before.rename(folder))


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk if its file system can do that."""
    is_folder = path.is_dir()
    try:
        # Windows flushes no folder, and files only for writers.
        descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        if not is_folder:
            raise


def _patiently(rename: Callable[[], object]) -> None:
    """Rename something again and again, for a while, if that is refused: Windows does so while another process reads it."""
    end = monotonic() + PATIENCE
    while True:
        try:
            rename()
            return
        except PermissionError:
            if monotonic() > end:
                raise
        sleep(POLL)
