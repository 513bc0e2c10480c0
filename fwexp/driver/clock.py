"""Time and interrupts: the only place that looks at a clock, but for what decides on threads, or at Ctrl-C."""

import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import CodeType

from fwexp.errors import warn

_running: ContextVar["Clock | None"] = ContextVar("running", default=None)  # in this thread, and in those that help it
_notice: ContextVar[Callable[[], None] | None] = ContextVar("notice", default=None)  # likewise
_told: ContextVar[Callable[[], bool]] = ContextVar("told", default=lambda: False)  # likewise
_on_interrupt: ContextVar[str] = ContextVar("on_interrupt", default="warn")  # in this thread
_interrupted: CodeType | None = None  # the script, or the cell of a session, in which Ctrl-C has ended a run with a warning


def stopwatch() -> Callable[[], float]:
    """Return a function that returns the wall seconds since now."""
    start = time.perf_counter()
    return lambda: time.perf_counter() - start


@contextmanager
def noticing(notice: Callable[[], None] | None) -> Iterator[None]:
    """Call ``notice`` when the first kernel is compiled in here, one that the disk cache does not have, unless it was before."""
    if notice is None or _notice.get() is not None:
        yield
        return
    _listen()
    untold = [notice]
    before = _notice.set(lambda: untold.pop()() if untold else None)
    try:
        yield
    finally:
        _notice.reset(before)


class Clock:
    """Seconds spent inside ``with clock:``, but for those in which numba compiles, or loads what it has compiled before."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stops, self._lock = 1, threading.Lock()
        _listen()

    def __enter__(self) -> None:
        self._outside = _running.set(self)
        self.start()

    def __exit__(self, *_) -> None:
        self.stop()
        _running.reset(self._outside)

    def stop(self) -> None:
        """Stop until the ``start`` that belongs to this; several threads may call it at once."""
        with self._lock:
            if self._stops == 0:
                self.seconds += time.perf_counter() - self._start
            self._stops += 1

    def start(self) -> None:
        """End one ``stop``."""
        with self._lock:
            self._stops -= 1
            if self._stops == 0:
                self._start = time.perf_counter()


@cache
def _listen() -> None:
    """Have clocks stand still while numba's lock is held, or waited for: whoever compiles or loads a kernel takes it.

    Have notices called when one is compiled.
    """
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, _) -> None:
            if clock := _running.get():
                clock.stop()

        def on_end(self, _) -> None:
            if clock := _running.get():
                clock.start()

    class Notices(event.Listener):
        def on_start(self, _) -> None:
            if notice := _notice.get():
                notice()

        def on_end(self, _) -> None:
            pass

    event.register("numba:compiler_lock", Listener())
    event.register("numba:compile", Notices())


@contextmanager
def interrupted_by(told: Callable[[], bool]) -> Iterator[None]:
    """Interrupt what runs in here when a function returns True, in whatever thread that is."""
    before = _told.set(told)
    try:
        yield
    finally:
        _told.reset(before)


@contextmanager
def on_interrupt(how: str) -> Iterator[None]:
    """Choose how Ctrl-C acts on runs in here: ``raise`` as always, ``keep`` the result so far, or ``warn`` that it is kept.

    Runs warn by default. With a warning, Ctrl-C ends one run only: the next Ctrl-C raises KeyboardInterrupt, also in a later run
    of the same script or cell, so that loops over runs can be left.
    """
    before = _on_interrupt.set(how)
    try:
        yield
    finally:
        _on_interrupt.reset(before)


@contextmanager
def interruptible(reached: Callable[[], str]) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, as `on_interrupt` says; yield a function that reads it.

    ``reached`` returns how far the run is, for the warning.
    """
    global _interrupted
    how, told, flag = _on_interrupt.get(), _told.get(), threading.Event()
    if how == "raise" or threading.current_thread() is not threading.main_thread():
        yield told
        return
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: set by what is not Python
    as_always = before if callable(before) else signal.default_int_handler  # where the parent ignores the signal, too

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, as_always)

    again = how == "warn" and _interrupted is _statement()
    signal.signal(signal.SIGINT, as_always if again else handler)
    try:
        yield lambda: flag.is_set() or told()
    except KeyboardInterrupt:
        _interrupted = None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if how == "warn" and flag.is_set():
        _interrupted = _statement()
        warn(f"Ctrl-C ended the run {reached()}: the result is what was reached; the next Ctrl-C raises KeyboardInterrupt")


def _statement() -> CodeType:
    """Return the code of the script, or of the cell or line of an interactive session, that is running."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_flags & inspect.CO_NEWLOCALS:  # a function
        frame = frame.f_back
    return frame.f_code


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off to the end of what must not be left halfway, such as code in C that calls back into Python."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # where it is ignored, or is none of Python's
        yield
        return
    heard = []
    signal.signal(signal.SIGINT, lambda *signalled: heard.append(signalled))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            before(*heard[0])
