"""Problems that count the processor's cycles in each of their functions: where the time of any solver's pass goes.

A solver runs on such a problem with the kernels that it has, compiled for it, so that what is timed is the run itself. A count
costs some ten nanoseconds a call.
"""

import platform
import time
from typing import Any, NamedTuple

import numba
import numba.extending
import numpy as np
from llvmlite import ir

from fwexp.jit.compilation import INLINE, njit
from fwexp.problems import protocol

# Cycles on x86; elsewhere ordinary users may not read them, but there is a counter of constant rate.
COUNTER = "llvm.readcyclecounter" if platform.machine() in ("x86_64", "AMD64") else "llvm.readsteadycounter"

FUNCTIONS = {name: value for name, value in vars(protocol).items() if hasattr(value, "implementations")}


class Timed(NamedTuple):
    """A problem made of arrays, its functions timed."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray | None
    label_ptr: np.ndarray
    labels: np.ndarray | None
    nonnegative: np.ndarray
    unweighted: Any  # the problem; its wrapper goes by the name of ``weighted``
    cycles: np.ndarray  # int64 (functions,), in the order of ``FUNCTIONS``


class TimedFunctions:
    """A problem given by Python functions, its functions timed."""

    def __init__(self, problem) -> None:
        self.unweighted, self.cycles = problem, np.zeros(len(FUNCTIONS), dtype=np.int64)

    def __getattr__(self, name: str):
        return getattr(self.unweighted, name)


def timed(problem):
    """Return a problem of any family without the ``cycles`` that it counts."""
    if not isinstance(problem, tuple):
        return TimedFunctions(problem)
    own = {name: getattr(problem, name, None) for name in Timed._fields[:6]}
    nonnegative = getattr(problem, "nonnegative", protocol.UNCONSTRAINED)
    return Timed(**own, nonnegative=nonnegative, unweighted=problem, cycles=np.zeros(len(FUNCTIONS), dtype=np.int64))


@numba.extending.intrinsic
def _counter(_):
    """Return the counter of the processor."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic(COUNTER, [], kind), [])

    return numba.types.int64(), generate


@njit
def _now():
    return _counter()


def now() -> int:
    """Return the cycles until now, of compiled code and of plain Python alike."""
    return _now()


@numba.extending.overload(now, jit_options=INLINE)
def _():
    return lambda: _counter()


def cycles_per_second(seconds: float = 0.01) -> float:
    """Measure the rate of the counter."""
    cycles, start = now(), time.perf_counter()
    while time.perf_counter() < start + seconds:
        pass
    return (now() - cycles) / (time.perf_counter() - start)


def _count(function, place: int):
    """Return the implementation that asks the problem itself, and adds up how long that takes."""

    def call_timed(problem, *args):
        start = now()
        result = function(problem.unweighted, *args)
        problem.cycles[place] += now() - start
        return result

    return call_timed


def _around(problem, cycles: np.ndarray):
    """Return a problem made of arrays whose functions are counted among the ``cycles`` of another one."""
    return timed(problem)._replace(cycles=cycles)


for _place, _function in enumerate(FUNCTIONS.values()):
    _function.register(Timed, TimedFunctions)(_count(_function, _place))


@protocol.with_inputs.register(Timed)
def _(problem, x, num_features):
    return _around(protocol.with_inputs(problem.unweighted, x, num_features), problem.cycles)


@protocol.kernel_view.register(Timed)
def _(problem):
    return protocol.KernelView(problem)


@protocol.kernel_view.register(TimedFunctions)
def _(problem):
    return protocol.ViewAround(protocol.kernel_view(problem.unweighted), lambda rows: _around(rows, problem.cycles))
