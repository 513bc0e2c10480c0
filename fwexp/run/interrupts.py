"""Ctrl-C in a sweep with workers: each keeps its current run as a partial run, and starts no other one.

A terminal signals the parent and all workers, ``kill`` the parent alone, and neither those on other hosts. So workers that are
started here never hear of the signal: the parent stops the sweep in its folder, where they all look, and waits for them.
"""

import contextlib
import math
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fwexp.driver.clock import interrupted_by
from fwexp.driver.progress import print_line
from fwexp.files.processes import is_gone
from fwexp.run import relay

SECONDS = 0.5  # between two looks at the folder of the sweep, or whether the parent is there
GRACE = 20.0  # seconds that a run has to be kept as a partial run

_busy = threading.Event()  # this worker is in a run


@contextlib.contextmanager
def passed_on(folder: Path) -> Iterator[None]:
    """Pass an interrupt on to the workers of a sweep, and raise KeyboardInterrupt when they are done; at once for a second one."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears of signals in its main thread only
        return
    interrupted, done = threading.Event(), threading.Event()

    def handle(*_) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        print_line("interrupted: keeping the current runs as partial runs (again: give them up)")
        relay.stop(folder)

    previous = signal.signal(signal.SIGINT, handle)
    # Workers inherit from this thread that the signal is blocked. Another thread takes it for us.
    threading.Thread(target=done.wait, daemon=True).start()
    multiprocessing.resource_tracker.ensure_running()  # it would unblock the signal when it starts
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    except Exception as error:
        if interrupted.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        done.set()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        signal.signal(signal.SIGINT, previous)
    if interrupted.is_set():
        raise KeyboardInterrupt


def follow(parent: str) -> None:
    """End this process when the process of a token has ended for any reason: to be called in a worker before it waits for work.

    A worker that has 300 MB more than after its first run is no leak, as loky takes it for: it keeps data sets and kernels for
    the runs to come, and a new one would read and load them again.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = math.inf
    threading.Thread(target=_follow, args=[parent], daemon=True).start()


def _follow(parent: str) -> None:
    """Wait for the end of the parent; a run in work is kept as a partial run if it can be."""
    while not is_gone(parent):
        time.sleep(SECONDS)
    patience = time.monotonic() + GRACE
    while _busy.is_set() and time.monotonic() < patience:
        time.sleep(0.05)
    os._exit(1)


@contextlib.contextmanager
def heard(folder: Path) -> Iterator[None]:
    """Interrupt the run in here, in a worker, when its sweep is over."""
    _busy.set()
    try:
        with interrupted_by(_at_times(lambda: relay.is_over(folder))):
            yield
    finally:
        _busy.clear()


def _at_times(ask: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that returns the result of ``ask``, called every few moments until that is True."""
    last, answer = time.monotonic(), False

    def answered() -> bool:
        nonlocal last, answer
        if not answer and time.monotonic() - last > SECONDS:
            last, answer = time.monotonic(), ask()
        return answer

    return answered
