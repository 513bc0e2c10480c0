"""The workers of a sweep, and the folder below the results that they share with their parent, on any host.

The parent writes the runs into the folder; it, or a worker, renames that file to stop the sweep. A worker is launched with the key
of a run. It creates a note when the run begins; when the run has ended, it renames the note, with a line that the parent prints.
A note that stays is of a run in work or of a worker that died. Whether a run is done is read from the store, not from here.

A terminal sends Ctrl-C to the parent and all workers, ``kill`` to the parent alone, and neither to other hosts. So workers that are
started here never hear of the signal: the parent stops the sweep in its folder, where they all look, and waits for them.
"""

import contextlib
import faulthandler
import functools
import json
import multiprocessing.resource_tracker
import os
import platform
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fwexp import plugin_files
from fwexp.driver.clock import interrupted_by
from fwexp.driver.progress import PROGRESS, print_line, without_summaries
from fwexp.errors import ParameterError
from fwexp.files.atomic import HIDDEN, hidden, put, write
from fwexp.files.folders import exists, none_left_empty
from fwexp.files.processes import is_gone
from fwexp.run import runner

SECONDS = 0.5  # between two looks of a worker at the folder of the sweep, or whether the parent is there
LOOKS = 0.2  # seconds between two looks of the parent at its workers
GRACE = 20.0  # seconds that a run has to be kept as a partial run
SWEEP, OVERRUN = "sweep.json", "Timeout"  # the file of a sweep, and how the traceback of a run begins that took too long

_busy = threading.Event()  # this worker is in a run


@functools.lru_cache(maxsize=4)
def read(folder: Path) -> dict:
    """Return what the parent of the sweep with this folder wrote, read once per process."""
    return json.loads((folder / SWEEP).read_text(encoding="utf-8"))


def stop(folder: Path, why: str) -> None:
    """End a sweep before all is done; ``why`` is the name of a file from then on, which needs no room on a full disk."""
    with contextlib.suppress(FileNotFoundError):  # it is over
        put(folder / SWEEP, folder / why, over=True)


def is_over(folder: Path) -> bool:
    """Return whether a sweep was stopped or has ended in any other way."""
    named = HIDDEN.fullmatch(folder.name)
    try:
        return (named is not None and is_gone(named["process"])) or not exists(folder / SWEEP)
    except OSError:  # of a network
        return False


@functools.lru_cache(maxsize=1)
def _is_over(folder: Path, _moment: float) -> bool:
    """Look once in a moment, because runs ask before every step."""
    return is_over(folder)


def end(folder: Path, key: str, outcome: runner.Outcome) -> str:
    """Return the line about a run; stop its sweep if nothing more can be stored, or at a failure with ``fail_fast``."""
    sweep = read(folder)
    if outcome.status == "full" or (outcome.status == "failed" and sweep["fail_fast"]):
        stop(folder, outcome.status)
    return f"{sweep['jobs'][key][0]}: {outcome.message}" * (outcome.status != "claimed")


def perform(folder: Path, key: str, *, verbose: bool = False) -> tuple[str, str]:
    """Run one of a sweep in this process; return its status, and the line about it, empty if another process has the run."""
    (_, config), where = read(folder)["jobs"][key], read(folder)["where"]
    try:
        with without_summaries():
            outcome = runner.run(config, **where, verbose=verbose)
    except Exception as error:
        full = runner.Outcome("full", None, f"failed: {error}") if runner.is_full(error) else None
        outcome = full or runner.fail(error, config, where["results_dir"])
    return outcome.status, end(folder, key, outcome)


class Job:
    """Does a run of a sweep by its key, in a worker; submitit submits it again where Slurm ends a job before its time."""

    def __call__(self, folder: Path, key: str) -> Exception | None:
        """Return an error that the store cannot hold."""
        try:
            _work(folder, key)
        except Exception as error:
            return error
        return None

    def checkpoint(self, folder: Path, key: str):
        """Return what is submitted instead of a job that was ended."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, folder, key)


def _work(folder: Path, key: str) -> None:
    if not exists(folder):  # Nothing would be stored in the right place.
        where = f"{folder.parent} is another one on {platform.node()}"
        raise ParameterError(f"results_dir must be a folder that all workers see; {where}")
    if is_over(folder):
        return
    sweep, note, line = read(folder), folder / f"{key}.begun", None
    plugin_files.use(sweep["plugins"])  # as they are there, on any host
    try:
        with note.open("w", encoding="utf-8", errors="replace") as file:
            _busy.set()
            if limit := sweep["wall_limit"]:  # A step that hangs may hold the interpreter, so this ends the process.
                faulthandler.dump_traceback_later(limit, exit=True, file=file)
            try:
                with interrupted_by(lambda: _is_over(folder, time.monotonic() // SECONDS)):
                    _, line = perform(folder, key)
            finally:
                faulthandler.cancel_dump_traceback_later()
                _busy.clear()
    finally:  # also if submitit ends it, to continue it in another job; Windows renames only files that are closed
        with contextlib.suppress(OSError):  # The parent is gone.
            if line is None:
                note.unlink()
            else:
                note.write_text(line, encoding="utf-8", errors="replace")
                put(note, note.with_suffix(".ended"), over=True)


def follow(parent: str) -> None:
    """End this process when the process of a token has ended for any reason: to be called in a worker before it waits for work."""

    def wait() -> None:
        while not is_gone(parent):
            time.sleep(SECONDS)
        patience = time.monotonic() + GRACE
        while _busy.is_set() and time.monotonic() < patience:  # the run is kept as a partial run if it can be
            time.sleep(0.05)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=wait, daemon=True).start()


# -- in the parent


class Watch:
    """The parent's view of its sweep: prints the lines of workers, and counts runs done, running and left."""

    # ``told`` has the keys of the runs about which a line was printed, ``ended`` those of jobs that ended in an orderly way.

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.told, self.ended, self._count = folder, set(), set(), count
        self._said, self._when, self._lock = "", time.monotonic(), threading.Lock()

    def tell(self, key: str, line: str) -> None:
        """Print a line about a run, if there is one."""
        if line:
            print_line(line)
            self.told.add(key)

    def look(self) -> None:
        """Print the news of a sweep."""
        with self._lock:
            ended = sorted(self.folder.glob("*.ended"), key=lambda path: path.stat().st_mtime)
            for path in ended:
                self.tell(path.stem, path.read_text(encoding="utf-8"))
                self.ended.add(path.stem)
                path.unlink()
            running, done = len([*self.folder.glob("*.begun")]), len(self.told)
            left = max(self._count - done - running, 0)
            says = f"{done} done, {running} running, {left} left" if running else ""
            on_terminal = sys.stderr.isatty()
            if (says != self._said or ended) and (on_terminal or (says and time.monotonic() - self._when > PROGRESS)):
                self._said, self._when = says, time.monotonic()
                print_line(says, keep_below=on_terminal)

    def do(self, key: str) -> None:
        """Execute a run in this process, unless the sweep is over."""
        if not is_over(self.folder):
            status, line = perform(self.folder, key, verbose=sys.stderr.isatty())
            self.tell(key, line)
            self.ended.add(key)
            if status == "interrupted":
                raise KeyboardInterrupt

    def bury(self) -> None:
        """Remove the notes of workers that died; a run whose worker was ended because it took too long is a failure."""
        self.look()
        sweep = read(self.folder)
        for note in self.folder.glob("*.begun"):
            took_too_long = note.read_text(encoding="utf-8", errors="replace").startswith(OVERRUN)
            note.unlink(missing_ok=True)
            if took_too_long:
                error = runner.WallTimeExceeded(f"it took longer than its wall time limit of {sweep['wall_limit']:g} s")
                outcome = runner.fail(error, sweep["jobs"][note.stem][1], sweep["where"]["results_dir"])
                self.tell(note.stem, end(self.folder, note.stem, outcome))


@contextlib.contextmanager
def sweeping(results_dir: str | Path, sweep: dict) -> Iterator[Watch]:
    """Create the folder of a sweep, which no other sweep uses, watch it, and remove it."""
    folder, done = hidden(Path(results_dir) / "sweep"), threading.Event()
    watch = Watch(folder, len(sweep["jobs"]))

    def look() -> None:
        while not done.wait(LOOKS):
            watch.look()

    watcher = threading.Thread(target=look, daemon=True)
    with none_left_empty(folder.parent):
        folder.mkdir(parents=True)
        watcher.start()
        try:
            write({folder / SWEEP: json.dumps(sweep).encode()})
            read(folder)  # while it is there
            yield watch
        finally:
            done.set()
            watcher.join()
            watch.look()
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def stopped_by_interrupt(folder: Path) -> Iterator[None]:
    """Stop a sweep at Ctrl-C, and raise KeyboardInterrupt when its workers are done; at once for a second Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears of signals in its main thread only
        return
    heard = []

    def handle(*_) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(True)
        print_line("interrupted: keeping the current runs as partial runs (again: give them up)")
        stop(folder, "interrupted")

    previous = signal.signal(signal.SIGINT, handle)
    can_block = hasattr(signal, "pthread_sigmask")  # not on Windows, where workers ignore the signal once they follow
    if can_block:
        multiprocessing.resource_tracker.ensure_running()  # it would unblock the signal when it starts
        # Workers inherit from this thread that the signal is blocked. The thread that watches them takes it for us.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        if can_block:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.signal(signal.SIGINT, previous)
        if heard:
            raise KeyboardInterrupt
