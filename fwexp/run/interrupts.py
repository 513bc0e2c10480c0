"""Ctrl-C in a sweep with workers: each keeps its current run as a partial run, and starts no other one.

A terminal signals the parent and all workers, ``kill`` the parent alone. So that every worker hears of it exactly once, workers
leave the terminal's process group, and the parent passes the signal on and waits for them.
"""

import contextlib
import multiprocessing.resource_tracker
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from fwexp.driver.progress import print_line
from fwexp.files.processes import is_gone
from fwexp.run import relay

SECONDS = 1.0  # between two looks whether the parent is there
GRACE = 20.0  # seconds that a run has to be kept as a partial run


@contextlib.contextmanager
def passed_on() -> Iterator[None]:
    """Pass an interrupt on to the worker processes, and raise KeyboardInterrupt when they are done; at once for a second one."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears of signals in its main thread only
        return
    interrupted, done = threading.Event(), threading.Event()

    def handle(*_) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        print_line("interrupted: keeping the current runs as partial runs (again: give them up)")
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGINT)

    previous = signal.signal(signal.SIGINT, handle)
    # Workers inherit from this thread that the signal is blocked: it waits until they listen. Another thread takes it for us.
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


class _Worker:
    """What a worker process knows of interrupts."""

    sweep_id = ""
    parent = ""  # the process that watches over it, and that it does not outlive
    stopping = False  # no further runs of this sweep
    busy = False  # in a run, which may be ended early

    def on_interrupt(self, *_) -> None:
        self.stopping = True
        if self.busy:
            raise KeyboardInterrupt


_worker = _Worker()


def follow(parent: str) -> None:
    """End this worker when the process of a token has ended, whatever ended that: to be called before it waits for work."""
    if parent != _worker.parent:
        _worker.parent = parent
        threading.Thread(target=_follow, args=[parent], daemon=True).start()


def _follow(parent: str) -> None:
    """Wait for the end of the parent; a run in work is kept as a partial run if it can be."""
    while not is_gone(parent):
        time.sleep(SECONDS)
    os.kill(os.getpid(), signal.SIGINT)
    patience = time.monotonic() + GRACE
    while _worker.busy and time.monotonic() < patience:
        time.sleep(0.05)
    os._exit(1)


def run_in_worker(sweep_id: str, run: Callable):
    """Return ``run()``, or None if the sweep was interrupted before it had begun; called in a worker process."""
    if parent := relay.parent(sweep_id):
        follow(parent)
    if sweep_id != _worker.sweep_id:  # workers outlive a sweep
        _worker.sweep_id, _worker.stopping = sweep_id, False
        if os.getpgrp() != os.getpid():
            os.setpgid(0, 0)
        signal.signal(signal.SIGINT, _worker.on_interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if _worker.stopping:
        return None
    try:
        _worker.busy = True
        outcome = run()
    except KeyboardInterrupt:
        return None
    finally:
        _worker.busy = False
    if outcome.status == "interrupted":
        _worker.stopping = True
    return outcome
