"""The folder of a sweep below the results while it runs: the one thing that its processes share, on any host.

The parent writes the runs to make into it. A worker, launched with the key of a run, reads that, makes a note when the run starts,
and replaces it by a line when the run has ended, which the parent prints. A note that stays belongs to a worker that is at work or
has died. The parent stops its workers by removing the runs to make; workers on its host also stop when the parent has died.
"""

import contextlib
import faulthandler
import functools
import json
import platform
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fwexp.driver.progress import PROGRESS, print_line
from fwexp.errors import ParameterError
from fwexp.files.atomic import HIDDEN, hidden, write
from fwexp.files.folders import exists, none_left_empty
from fwexp.files.processes import is_gone

SECONDS = 0.2  # between two readings
SWEEP = "sweep.json"


@functools.lru_cache(maxsize=1)
def read(folder: Path) -> dict:
    """Return what the parent of the sweep with this folder wrote, read once per process."""
    return json.loads((folder / SWEEP).read_text(encoding="utf-8"))


def check_seen(folder: Path) -> None:
    """Refuse to work for a sweep whose folder is not here: on another host, where nothing would be stored in the right place."""
    if not exists(folder):
        raise ParameterError(
            f"results_dir must be a folder that all workers see; {folder.parent} is another one on {platform.node()}"
        )


def stop(folder: Path) -> None:
    """End a sweep before all is done."""
    (folder / SWEEP).unlink(missing_ok=True)


def is_over(folder: Path) -> bool:
    """Return whether a sweep was stopped or has ended in any other way."""
    named = HIDDEN.fullmatch(folder.name)
    try:
        return (named is not None and is_gone(named["process"])) or not exists(folder / SWEEP)
    except OSError:  # of a network
        return False


def begin(folder: Path, key: str) -> int:
    """Note that a run begins here and now; return how often it has done so in this sweep."""
    with _note(folder, key).open("ab") as note:
        note.write(b".")
        return note.tell()


def has_begun(folder: Path, key: str) -> bool:
    """Return whether a run has started and not ended, which includes runs whose worker died."""
    return exists(_note(folder, key))


def end(folder: Path, key: str, line: str = "") -> None:
    """Note that a run has ended, and leave a line for the parent; in vain if that is gone."""
    with contextlib.suppress(OSError):
        if line:
            write({folder / f"{key}.line": line.encode(errors="replace")})
        _note(folder, key).unlink(missing_ok=True)


@contextlib.contextmanager
def limited(folder: Path, key: str) -> Iterator[None]:
    """End this process if the run in here takes longer than the sweep allows: a step that hangs may hold the interpreter."""
    seconds = read(folder).get("wall_limit")
    if seconds is None:
        yield
        return
    with _overrun(folder, key).open("w", encoding="utf-8") as file:
        faulthandler.dump_traceback_later(seconds, exit=True, file=file)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def has_overrun(folder: Path, key: str) -> bool:
    """Return whether the process of a run was ended because it took too long: its traceback is there."""
    try:
        return _overrun(folder, key).stat().st_size > 0
    except OSError:
        return False


def _overrun(folder: Path, key: str) -> Path:
    return folder / f"{key}.overrun"


def _note(folder: Path, key: str) -> Path:
    return folder / f"{key}.begun"


@contextlib.contextmanager
def sweeping(results_dir, sweep: dict) -> Iterator[Path]:
    """Make the folder of a sweep, which no other sweep uses, report the progress of its workers, and remove it."""
    folder = hidden(Path(results_dir) / "sweep")
    done, watched = threading.Event(), _Watched(folder, len(sweep["jobs"]))

    def watch() -> None:
        while not done.wait(SECONDS):
            watched.look()

    watcher = threading.Thread(target=watch, daemon=True)
    with none_left_empty(folder.parent):
        folder.mkdir(parents=True)
        watcher.start()
        try:
            write({folder / SWEEP: json.dumps(sweep).encode()})
            yield folder
        finally:
            done.set()
            watcher.join()
            watched.look()
            shutil.rmtree(folder, ignore_errors=True)


class _Watched:
    """The parent's view of its workers: prints their lines, and counts runs done, running and left."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count, self._done = folder, count, 0
        self._said, self._when = "", time.monotonic()

    def look(self) -> None:
        """Print the news of a sweep."""
        lines = sorted(self._folder.glob("[!.]*.line"), key=lambda path: path.stat().st_mtime)
        for path in lines:
            print_line(path.read_text(encoding="utf-8"))
            path.unlink()
        self._done += len(lines)
        running = len(list(self._folder.glob("*.begun")))
        left = max(self._count - self._done - running, 0)
        says = f"{self._done} done, {running} running, {left} left" if running else ""
        on_terminal = sys.stderr.isatty()
        if (says != self._said or lines) and (on_terminal or (says and time.monotonic() - self._when > PROGRESS)):
            self._said, self._when = says, time.monotonic()
            print_line(says, keep_below=on_terminal)
