"""Files and folders that are there completely or not at all, whatever dies meanwhile: a process, a disk, the machine.

What is new is written under a hidden name beside its place, flushed, and moved there in one step; what others that have died left
beside it goes first. A folder takes the place of
an older one by an exchange of the two names where the system has that (Linux, on local disks); elsewhere the older one stands
aside for an instant, under a hidden name from which `restore` brings it back if the process dies, or hangs, just then. So while
processes live a folder that was moved away does not come back: readers that find another one know that theirs is old.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from fwexp.files.processes import TOKEN, is_gone, this_process

HIDDEN = re.compile(rf"\.(?P<process>{TOKEN.pattern})\.[0-9a-f]{{12}}")
OLD = ".old"
PATIENCE = 1.0  # seconds that a folder may stand aside while its process lives
EXCHANGE, CURRENT_FOLDER = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of renameat2


def hidden(path: Path) -> Path:
    """Return a name beside ``path`` that nobody else has, and that says whose it is."""
    return path.with_name(f".{path.name}.{this_process()}.{uuid.uuid4().hex[:12]}")


def is_left_over(path: Path) -> bool:
    """Say whether a name is that of something `hidden` by a process that has ended."""
    owner = HIDDEN.search(path.name)
    return bool(owner) and is_gone(owner["process"])


def clean(folder: Path) -> None:
    """Remove what processes that have ended left hidden in a folder; what stood aside comes back if nothing took its place."""
    for path in _inside(folder, "."):
        if is_left_over(path):
            if path.name.endswith(OLD) and not restore(*replaced([path])):
                continue  # it is all that is left
            _discard(path)


def _discard(path: Path) -> None:
    """Remove a file, a link, or a folder with all in it, as far as that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _inside(folder: Path, start: str) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            return [folder / entry.name for entry in found if entry.name.startswith(start)]
    except OSError:
        return []


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, reach the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a hidden path to write a file to, which takes the place of ``path`` at the end, and is removed on an exception."""
    clean(path.parent)
    temporary = hidden(path)
    try:
        yield temporary
        flush(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush(path.parent)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that belong together: none takes its place before all have reached the disk."""
    for folder in {path.parent for path in contents}:
        clean(folder)
    temporary = {path: hidden(path) for path in contents}
    path = None
    try:
        for path, data in contents.items():
            temporary[path].write_bytes(data)
            flush(temporary[path])
        for path in contents:
            temporary[path].replace(path)
    except BaseException as error:
        for left in temporary.values():
            left.unlink(missing_ok=True)
        if isinstance(error, OSError):  # of a full disk it does not say which file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    for folder in {path.parent for path in contents}:
        flush(folder)


@contextlib.contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder, which takes the place of ``path``, a folder or a link, at the end, and is removed on an exception."""
    clean(path.parent)
    temporary = hidden(path)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        for file in temporary.iterdir():
            flush(file)
        flush(temporary)
        _put(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    flush(path.parent)


def remove(folder: Path) -> None:
    """Remove a folder, of which others see all or nothing."""
    gone = hidden(folder)
    with contextlib.suppress(OSError):  # there is none
        folder.rename(gone)
        _discard(gone)


def _is_folder(path: Path) -> bool:
    """Say whether there is a folder, as far as one may know."""
    try:
        return path.is_dir()
    except OSError:
        return False


def restore(path: Path) -> bool:
    """Bring back the folder that stood aside from ``path`` when its process died; return whether there is a folder now.

    A process that lives is about to put the new one in its place: it gets `PATIENCE` for that.
    """
    end = time.monotonic() + PATIENCE
    while not (_is_folder(path) or _is_taken(path)):
        inside = _inside(path.parent, "")
        aside = [old for old in inside if old.name.endswith(OLD) and replaced([old]) == {path}]
        over = time.monotonic() > end
        if aside and (over or all(is_left_over(old) or _age(old) > PATIENCE for old in aside)):
            try:
                min(aside, key=_age).rename(path)
            except OSError as error:
                if over or error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                    break  # else the new one has come, or somebody else was faster
        elif over or (not aside and path not in inside):
            break
        else:
            time.sleep(0.001)
    return _is_folder(path)


def _is_taken(path: Path) -> bool:
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _age(path: Path) -> float:
    """Return for how many seconds a folder has stood where it is."""
    try:
        return time.time() - path.stat().st_ctime
    except OSError:  # it has just been taken away
        return 0.0


def replaced(inside: Iterable[Path]) -> set[Path]:
    """Return the paths, of what is in a folder, that somebody is replacing, or was when the process died."""
    return {path.with_name(path.name[1 : found.start()]) for path in inside if (found := HIDDEN.search(path.name))}


def _put(folder: Path, path: Path) -> None:
    older = folder.with_name(folder.name + OLD)
    while True:
        try:
            folder.rename(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        else:
            break
        if _exchanged(folder, path):
            older = folder
            break
        _discard(older)  # of a round before: there is a version in place
        with contextlib.suppress(FileNotFoundError):  # another writer has just taken it away
            path.rename(older)
    _discard(older)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names; return False where the system cannot do that."""
    rename = _renameat2()
    if rename is None:
        return False
    return rename(CURRENT_FOLDER, os.fsencode(one), CURRENT_FOLDER, os.fsencode(other), EXCHANGE) == 0


@cache
def _renameat2():
    try:
        return ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return None
