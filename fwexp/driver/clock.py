"""Time and interrupts: the only place that looks at a clock, but for what decides on threads, or at Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

_running: ContextVar["Clock | None"] = ContextVar("running", default=None)  # in this thread, and in those that help it
_notice: ContextVar[Callable[[], None] | None] = ContextVar("notice", default=None)  # likewise
_told: ContextVar[Callable[[], bool]] = ContextVar("told", default=lambda: False)  # likewise


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
        """Stand still up to the ``start`` that belongs to this; several threads may ask for that at once."""
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
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, read by the function that is yielded; the second one acts as always."""
    told = _told.get()
    if threading.current_thread() is not threading.main_thread():
        yield told
        return
    flag = threading.Event()
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: set by what is not Python
    as_always = before if callable(before) else signal.default_int_handler  # where the parent ignores the signal, too

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, as_always)

    signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: flag.is_set() or told()
    finally:
        signal.signal(signal.SIGINT, before)


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
