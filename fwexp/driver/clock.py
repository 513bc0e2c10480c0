"""Time and interrupts: the only place that looks at a clock or at Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds spent inside ``with clock:``."""

    seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_) -> None:
        self.seconds += time.perf_counter() - self._start


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, read by the function that is yielded; the second one acts as always."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    flag = threading.Event()
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL  # None: set by what is not Python
    as_always = before if callable(before) else signal.default_int_handler  # where the parent ignores the signal, too

    def handler(number, frame) -> None:
        flag.set()
        signal.signal(signal.SIGINT, as_always)

    signal.signal(signal.SIGINT, handler)
    try:
        yield flag.is_set
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
