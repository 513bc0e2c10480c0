"""Claims, the one kind of lock: the process that does or writes something has it alone, and claims of dead processes are free.

A process that makes a run holds a file next to it, ``.<key>.claim-<number>``. It creates the file as a hard link to a complete
file, which either succeeds or finds the name taken, also on NFS, and touches it every few seconds. If the process of a claim is
gone, or did not touch it while another process watched for long, the other process takes it over with the next number, which again
only one can get; the highest number counts. Only changes of the file's times matter, so clocks of hosts need not agree or be right.

The package filelock does not suffice. Its system locks fail on network file systems without a lock server, do not name the process
that holds one (sweeps print it, and count deaths of workers), and leave files in folders of results. Its file locks are not taken
over from dead processes. Kernels take claims as well, because home folders lie on such file systems.
"""

import contextlib
import os
import platform
import re
import stat
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

from fwexp.files.atomic import hidden, put
from fwexp.files.folders import none_left_empty
from fwexp.files.processes import is_gone, this_process

HEARTBEAT = 5.0  # seconds between two touches
STALE = 120.0  # seconds without one; clients of NFS may see a touch a minute late
POLL = 0.01  # seconds between two looks at a claim that is waited for
NAME = re.compile(r"\.(?P<key>.+)\.claim-(?P<number>\d+)")

_watched: dict[Path, tuple[object, float]] = {}  # claims: the mark of their last touch, and since when it has been the same


class Claim:
    """The right to do something alone, such as to run and store the run of a key; `release` gives it back."""

    def __init__(self, path: Path, content: str) -> None:
        self._path, self._content, self._done = path, content, threading.Event()
        threading.Thread(target=self._touch, daemon=True).start()

    def _touch(self) -> None:
        while not self._done.wait(HEARTBEAT):
            with contextlib.suppress(OSError):
                os.utime(self._path)

    def is_held(self) -> bool:
        """Return whether the claim still counts: after a pause another process may have taken it over, and have ended."""
        found = _claims(self._path)
        return bool(found) and found[-1] == self._path and self._is_ours()

    def _is_ours(self) -> bool:
        """Return whether the file is this claim, and not that of a successor, whose numbers began anew."""
        return _content(self._path) == self._content

    def release(self) -> None:
        """Release the claim, if it is there."""
        self._done.set()
        if self._is_ours():
            _unlink(self._path)


def acquire_claim(final: Path) -> Claim | None:
    """Return the claim on the run whose folder is ``final``, or None while another process has it."""
    final.parent.mkdir(parents=True, exist_ok=True)
    found, is_held = _look(final)
    if is_held:
        return None
    path = _path(final, _number(found[-1]) + 1 if found else 0)
    complete, content = hidden(path), f"{this_process()} {platform.node()}\t{uuid.uuid4().hex}"
    try:
        complete.write_text(content, encoding="utf-8")
        put(complete, path)
    except (FileExistsError, FileNotFoundError):  # another process was faster, or removed the empty folder
        return None
    except OSError as error:  # the error of a full disk does not name the file
        raise OSError(error.errno, error.strerror, str(final.parent)) from error
    finally:
        complete.unlink(missing_ok=True)
    others = [other for other in _claims(path) if other != path]
    if any(_number(other) > _number(path) or not _is_stale(other) for other in others):  # made since we looked: one has to give up
        path.unlink(missing_ok=True)
        return None
    for other in others:  # taken over, so that they never count again, and do not pile up where process after process is killed
        _unlink(other)
    return Claim(path, content)


@contextlib.contextmanager
def claimed(final: Path, patience: float = 0.0) -> Iterator[Claim | None]:
    """Hold the claim on something, and yield it; yield None if another process still holds it after so many seconds."""
    end = monotonic() + patience
    with none_left_empty(final.parent):
        while (claim := acquire_claim(final)) is None and monotonic() < end:
            sleep(POLL)
        try:
            yield claim
        finally:
            if claim is not None:
                claim.release()


def is_claimed(final: Path) -> bool:
    """Return whether a process holds the claim on a run."""
    return _look(final)[1]


def drop(final: Path) -> None:
    """Remove the claim of a process that has died, or seems so: another process would have to watch it as long again."""
    if claim := acquire_claim(final):
        claim.release()


def described(final: Path) -> str:
    """Return the holder of a run for a message, as host and file; empty if there is none."""
    held = _claims(_path(final, 0))
    return f"{_read(held[-1])[1] or 'an unknown host'} ({held[-1]})" if held else ""


def clean(folder: Path) -> None:
    """Remove the claims in the folder of a data set and solver that no process holds any more."""
    for key in {match["key"] for match in map(NAME.fullmatch, _names(folder)) if match}:
        drop(folder / key)


def _look(final: Path) -> tuple[list[Path], bool]:
    """Return the claims on a run, all of which are watched from now on, and whether a process holds the last one."""
    found = _claims(_path(final, 0))
    stale = [_is_stale(path) for path in found]
    return found, bool(found) and not stale[-1]


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode):  # Others wrote links, folders and pipes.
            path.unlink()


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _path(final: Path, number: int) -> Path:
    return final.with_name(f".{final.name}.claim-{number}")


def _number(path: Path) -> int:
    return int(NAME.fullmatch(path.name)["number"])


def _claims(path: Path) -> list[Path]:
    """Return the claims on the same run as ``path``, the one that counts last."""
    prefix = path.name.rpartition("-")[0]
    found = [path.with_name(name) for name in _names(path.parent) if name.startswith(f"{prefix}-") and NAME.fullmatch(name)]
    return sorted(found, key=_number)


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read(path: Path) -> tuple[str, str]:
    """Return the process and the host of a claim, empty if the claim has neither."""
    process, _, host = _content(path).partition("\t")[0].partition(" ")
    return process, "".join(filter(str.isprintable, host))[:100]


def _is_stale(path: Path) -> bool:
    if is_gone(_read(path)[0]):
        return True
    try:
        found = path.lstat()
    except OSError:  # released just now
        return False
    touch, now = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns), monotonic()
    before, since = _watched.get(path, (None, now))
    if touch != before:
        _watched[path] = touch, now
        return False
    return now - since > STALE
