"""Compiling a kernel, or loading one, is on no clock: wherever in a run that is, and whichever thread does it."""

import threading
import time
from itertools import count

import numpy as np
import pytest

from fwexp.driver.clock import Clock, noticing
from fwexp.driver.iteration import Iteration, Point, Stop, Terms
from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive
from fwexp.driver.progress import telling_of_compilation
from fwexp.driver.values import Objective, Value
from fwexp.jit import compilation, texts, threads

NUMBERS = count(int(time.time()) << 20)  # of kernels: none of them is on disk


@pytest.fixture
def now(monkeypatch):
    """Yield the time, which passes only while a kernel is compiled: an hour."""
    seconds, compiled = [0.0], texts.compiled_kernel
    monkeypatch.setattr(time, "perf_counter", lambda: seconds[0])

    def slowly(*args):
        seconds[0] += 3600.0
        return compiled(*args)

    monkeypatch.setattr(texts, "compiled_kernel", slowly)
    return seconds


def new_kernel():
    """Return a kernel that was never compiled."""
    number = next(NUMBERS)

    @compilation.njit
    def kernel(x):
        return 2.0 * (x + 1.0) + number

    return kernel


def test_what_numba_does_is_on_no_clock(now):
    kernel, clock = new_kernel(), Clock()
    with clock:
        now[0] += 2.0
        first = kernel(1.0)
        now[0] += 3.0
        assert kernel(1) == first  # for another type
    assert now[0] > 2 * 3600.0
    assert clock.seconds == 5.0
    kernel(True)
    with clock:
        now[0] += 7.0
    assert clock.seconds == 12.0


def test_nor_is_it_where_a_helping_thread_does_it(now, monkeypatch):
    monkeypatch.setattr(threads, "num_threads", lambda: 2)
    kernel, clock, compiled = new_kernel(), Clock(), threading.Event()

    def work(chunk, start, end):
        if threading.current_thread() is not threading.main_thread():
            kernel(1.0)
            compiled.set()
        assert compiled.wait(60)

    with clock:
        threads.parallel_for(work, 2, 2)
    assert now[0] >= 3600.0
    assert clock.seconds == 0.0


def test_a_clock_goes_on_while_somebody_else_compiles(now):
    other, clock = threading.Thread(target=new_kernel(), args=(1.0,)), Clock()
    with clock:
        other.start()
        other.join()
    assert clock.seconds == now[0] >= 3600.0


class Late(Iteration):
    """Needs a kernel that is not compiled yet, in its third pass."""

    terms, step, oracle_calls = Terms(size=1), 0, 0

    def __init__(self, kernel):
        self.kernel = kernel

    def advance(self, budget):
        while self.oracle_calls < budget.calls and self.step < budget.steps:
            self.step, self.oracle_calls = self.step + 1, self.oracle_calls + 1
            if self.step == 3:
                self.kernel(1.0)
        return Stop()

    def point(self, iterate):
        return Point(np.ones(1), 0.0)


class One(Objective):
    def __call__(self, point, stop=None):
        return Value(1.0)


def test_a_kernel_that_is_compiled_late_in_a_run_is_on_no_clock(now):
    iteration = Late(new_kernel())
    log = Log(iteration, One())
    assert drive(iteration, log, Bounds(max_passes=5, time_limit=1.0), 1.0) == "max_passes"
    assert [row["time"] for row in log.rows] == [0.0] * 6
    assert now[0] >= 3600.0


def test_what_is_compiled_is_noticed_once_wherever_that_is(now, capsys):
    said, kernel = [], new_kernel()
    with noticing(lambda: said.append("outer")), noticing(lambda: said.append("inner")):
        threads.parallel_for(lambda *_: kernel(1.0), 2, 2)
        kernel(1)
        assert said == ["outer"]
        kernel(2)
    new_kernel()(1.0)
    for enabled in (False, True):
        with telling_of_compilation(enabled):
            new_kernel()(1.0)
            new_kernel()(1.0)
    assert said == ["outer"]
    out, err = capsys.readouterr()
    assert (out, err.count("compiling, for some 10 to 30 s; "), err.count("\n")) == ("", 1, 1)
