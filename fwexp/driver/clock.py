"""Clocks and interrupts of runs."""

import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import CodeType

from fwexp.errors import warn
from fwexp.jit.listening import during, on_compilation, on_news

_asks_to_end: ContextVar[Callable[[], bool]] = ContextVar("asks_to_end", default=lambda: False)  # in this thread and its helpers
_on_interrupt: ContextVar[str] = ContextVar("on_interrupt", default="warn")  # in this thread
_interrupted: CodeType | None = None  # script or cell in which Ctrl-C has ended a run with a warning


def stopwatch() -> Callable[[], float]:
    """Return a function that returns the wall seconds since now."""
    start = time.perf_counter()
    return lambda: time.perf_counter() - start


def noticing(notice: Callable[[], None] | None) -> AbstractContextManager[None]:
    """Call ``notice`` once, when the first kernel that the disk cache does not have is compiled in this context."""
    if notice is None or on_news.get() is not None:
        return nullcontext()
    pending = [notice]
    return during(on_news, lambda: pending.pop()() if pending else None)


class Pauses:
    """The seconds in which this process did not run, as after Ctrl-Z: none of its threads did, and it used no processor."""

    # A thread looks at the time while clocks run. A step that keeps the interpreter to itself stops that thread, too, but uses a
    # processor; one that waits for other processes lets the thread go on.

    TICK, LEAST, BUSY = 0.1, 3.0, 0.1  # seconds between two looks, of the shortest pause, and the share of a processor in a pause
    LOOKS = 50  # after the last clock, until the thread ends

    def __init__(self) -> None:
        self.seconds, self._last = 0.0, (0.0, 0.0)
        self._lock, self._thread, self._wanted = threading.Lock(), None, False

    def look(self) -> float:
        """Return the seconds of all pauses so far."""
        self._wanted = True
        if self._thread is None or not self._thread.is_alive():  # no clock has run for long, or this is a fork
            self._last = time.monotonic(), time.process_time()
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self._look()

    def _look(self) -> float:
        with self._lock:
            now, used = time.monotonic(), time.process_time()
            gap = now - self._last[0]
            if gap > self.LEAST and used - self._last[1] < self.BUSY * gap:
                self.seconds += gap
            self._last = now, used
            return self.seconds

    def _watch(self) -> None:
        while self._wanted:
            self._wanted = False
            for _ in range(self.LOOKS):
                time.sleep(self.TICK)
                self._look()


_pauses = Pauses()


def running_seconds() -> float:
    """Return the time without the pauses of this process."""
    return time.perf_counter() - _pauses.look()


def paused_seconds() -> float:
    """Return the seconds that clocks of this process have left out, because it did not run."""
    return _pauses.seconds


class Clock:
    """Seconds inside ``with clock:``, without those in which numba compiles kernels or loads them, and without `Pauses`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._stops, self._lock = 1, threading.Lock()

    def __enter__(self) -> None:
        # Stops while kernels are compiled or loaded, or wait for that, in this thread or its helpers.
        self._outside = on_compilation.set(lambda begins: (self.stop if begins else self.start)())
        self.start()

    def __exit__(self, *_) -> None:
        self.stop()
        on_compilation.reset(self._outside)

    def stop(self) -> None:
        """Stop until the matching ``start``; several threads may stop the clock at the same time."""
        with self._lock:
            if self._stops == 0:
                self.seconds += running_seconds() - self._start
            self._stops += 1

    def start(self) -> None:
        """End one ``stop``."""
        with self._lock:
            self._stops -= 1
            if self._stops == 0:
                self._start = running_seconds()


def interrupted_by(asks_to_end: Callable[[], bool]) -> AbstractContextManager[None]:
    """Interrupt runs in this context, in any thread, when a function returns True."""
    return during(_asks_to_end, asks_to_end)


@contextmanager
def on_interrupt(how: str) -> Iterator[None]:
    """Choose how Ctrl-C acts on runs in a context: ``raise`` KeyboardInterrupt, ``keep`` the result so far, or ``warn`` as well."""
    # With ``warn``, the default, the next Ctrl-C raises KeyboardInterrupt, also in a later run of the same script or cell: loops
    # over runs can be left.
    with during(_on_interrupt, how):  # a generator of its own, so that functions that this decorates keep their types
        yield


@contextmanager
def interruptible(reached: Callable[[], str]) -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, unless `on_interrupt` differs; yield its reader. ``reached`` says how far the run is."""
    global _interrupted
    how, asks_to_end, flag = _on_interrupt.get(), _asks_to_end.get(), threading.Event()
    if how == "raise" or threading.current_thread() is not threading.main_thread():
        yield asks_to_end
        return
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None if C code has set it
    as_always = before if callable(before) else signal.default_int_handler  # also if the parent process ignores the signal

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, as_always)

    again = how == "warn" and _interrupted is _statement()
    signal.signal(signal.SIGINT, as_always if again else handler)
    try:
        yield lambda: flag.is_set() or asks_to_end()
    except KeyboardInterrupt:
        _interrupted = None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if how == "warn" and flag.is_set():
        _interrupted = _statement()
        warn(f"Ctrl-C ended the run {reached()}: the result is what was reached; the next Ctrl-C raises KeyboardInterrupt")


def _statement() -> CodeType:
    """Return the code of the running script, or of the running cell or line of an interactive session."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_flags & inspect.CO_NEWLOCALS:  # a function
        frame = frame.f_back
    return frame.f_code


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C to the end of this context, which must not be left halfway, such as C code that calls Python."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # It is ignored, or C code handles it.
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
