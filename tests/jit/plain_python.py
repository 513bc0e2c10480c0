"""The referee of the linker: its texts, run as plain Python, next to the kernels that they were linked from.

Linked code reads words and arrays at addresses and calls C functions. Here all of that is Python's: numpy arrays on the same
memory, and ctypes' functions around the texts.
"""

import ctypes
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from fwexp.driver import clock
from fwexp.jit import addresses, compilation, linked_calls, linker, texts, threads
from fwexp.jit.c_functions import C_TYPES, in_ctypes, keep

PYTHONS = {"none": lambda result: None, "int64": int, "float64": float}
_symbols: dict[str, int] = {}  # addresses of C functions by their names


def word(row, place):
    return ctypes.c_int64.from_address(row + 8 * place).value


def real(row, place):
    return ctypes.c_double.from_address(row + 8 * place).value


def cut(array, start, stop):
    return array[start:stop]


def array_at(dtype: str, ndim: int) -> Callable:
    def make(data, shape):
        assert len(shape) == ndim
        if 0 in shape:
            return np.empty(shape, dtype)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(data), dtype).reshape(shape)

    return make


def array_in(dtype: str, ndim: int) -> Callable:
    return lambda row, place: array_at(dtype, ndim)(word(row, place), tuple(word(row, place + 1 + k) for k in range(ndim)))


def item(ndim: int) -> Callable:
    return lambda array, *index: array[index]


def put(ndim: int) -> Callable:
    def set_entry(array, *args):
        array[args[:-1]] = args[-1]

    return set_entry


def caller(wanted: tuple, returned: str, name: str | None = None) -> Callable:
    def call(*args):
        if name is None:
            table, place, *args = args
        address = _symbols[name] if name else word(table, place)
        flat = []
        for form, value in zip(wanted, args, strict=True):
            if isinstance(form, str):
                flat.append(value)
            else:
                assert (value.ndim, form[0] or value.dtype) == (form[1], value.dtype)
                assert value.flags.c_contiguous
                flat += [value.ctypes.data, *value.shape]
        return in_ctypes(wanted, returned)(address)(*flat)

    return call


def function_of(text: texts.Text) -> Callable:
    """Return the function of a text."""
    assert text.can_be_kept, f"{text.name} would be compiled in every process"
    exec(compile(text.source, f"<{text.key}>", "exec"), text.scope)
    return text.scope[text.name]


class CFunction:
    """A text as a C function."""

    def __init__(self, text: texts.Text, signature) -> None:
        function, convert = function_of(text), PYTHONS[str(signature.return_type)]

        def call(*args):
            try:
                return convert(function(*args))
            except BaseException as error:
                keep(error)
                return convert(0)

        parts = (C_TYPES[str(kind)] for kind in (signature.return_type, *signature.args))
        self._function = ctypes.CFUNCTYPE(*parts)(call)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value


@contextmanager
def linked():
    """Run linked texts as plain Python; yield the functions that are linked."""
    functions, named = set(), {}
    bind = linker.Frame.bind

    def note(frame, *args):
        functions.add(frame.function)
        bind(frame, *args)

    def c_function(kernel):
        if kernel not in named:
            named[kernel] = build(kernel)
        return named[kernel]

    build = compilation.ArrayKernel.c_function.func
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "word": word,
            "real": real,
            "cut": cut,
            "array_in": array_in,
            "array_at": array_at,
            "item": item,
            "put": put,
            "larger": max,
            "smaller": min,
            "room": np.empty,
            "caller": caller,
        }.items():
            patch.setattr(addresses, name, value)
        patch.setattr(addresses, "name_code", _symbols.__setitem__)
        patch.setattr(texts, "compiled_kernel", lambda text, signature: function_of(text))
        patch.setattr(linked_calls, "compiled_part", function_of)
        patch.setattr(texts, "compiled_c_function", CFunction)
        patch.setattr(compilation.ArrayKernel, "c_function", property(c_function))
        patch.setattr(compilation.ArrayKernel, "__call__", lambda kernel, *args: kernel.py_func(*args))
        patch.setattr(linker.Frame, "bind", note)
        for function, part in list(linked_calls._parts.items()):
            if part.function is not function:  # in kernels: vectors of the processor
                patch.setitem(linked_calls._parts, function, part._replace(function=function))
        compilation._forget()
        try:
            yield functions
        finally:
            compilation._forget()


@contextmanager
def unlinked():
    """Run kernels as the plain Python that they are written in."""
    with pytest.MonkeyPatch.context() as patch:
        for cls in (compilation.Kernel, compilation.ArrayKernel):
            patch.setattr(cls, "__call__", lambda kernel, *args: kernel.py_func(*args))
        yield


def state_of(value) -> list:
    """Return all numbers in a value, to the bit."""
    if isinstance(value, np.ndarray):
        return [(value.dtype.name, value.shape, value.tobytes())]
    if isinstance(value, tuple):
        return [part for entry in value for part in state_of(entry)]
    return [] if value is None else [np.float64(value).tobytes()]


@contextmanager
def noted(kernels=compilation.Kernel):
    """Yield a list of what kernels that are called from Python return, and what is in their arguments afterwards."""
    found, call, depth = [], kernels.__call__, []

    def note(kernel, *args):
        depth.append(kernel)
        try:
            result = call(kernel, *args)
        finally:
            depth.pop()
        if not depth:
            found.append((kernel.__name__, state_of(result), state_of(args)))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "__call__", note)
        yield found


@contextmanager
def repeatable():
    """Let nothing but its numbers decide what a run does: no clock, no threads, and no array that is not written."""
    still = SimpleNamespace(perf_counter=float, monotonic=float, process_time=float, sleep=time.sleep)
    with pytest.MonkeyPatch.context() as patch, threads.jobs(1), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of runs that end early
        patch.setattr(clock, "time", still)
        patch.setattr(np, "empty", np.zeros)
        patch.setattr(np, "empty_like", np.zeros_like)
        yield


def outcomes(run: Callable[[], object]) -> tuple[list, list, set]:
    """Return what kernels do while something runs, as they are written and as they are linked; and all functions in the latter."""
    with repeatable(), unlinked(), noted() as expected:
        run()
    with repeatable(), linked() as functions, noted() as found:
        run()
    return expected, found, functions
