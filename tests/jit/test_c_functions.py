"""Functions of families behind a table: what they raise reaches the caller, and no argument of another type reaches them."""

import ctypes
import threading
from typing import NamedTuple

import numba
import numpy as np
import pytest

from fwexp.jit import c_functions
from fwexp.jit.c_functions import Signature
from fwexp.jit.compilation import array_kernel, dispatched, njit
from fwexp.problems import protocol


class Tiny(NamedTuple):
    """A family as small as can be."""

    n: int
    d: int
    num_weights: int
    part_ptr: np.ndarray
    label_ptr: np.ndarray
    labels: np.ndarray
    x: np.ndarray


assert protocol.workspace.find(Tiny)  # of which the types of labels are known


def make():
    ptr = np.arange(5)
    return Tiny(4, 1, 1, ptr, ptr, np.zeros(4, dtype=np.int32), np.arange(4.0))


@dispatched(entry=True)
def value(problem, i, y, theta) -> float:
    """Return a number."""


@dispatched(entry=True)
def split(problem, i, theta) -> tuple[float, float]:
    """Return two numbers."""


@dispatched(entry=True)
def wrong(problem, i) -> float:
    """Return what cannot be compiled."""


@value.register(Tiny)
def _(problem, i, y, theta):
    if y[0] < 0:
        raise ValueError("a negative label")
    return problem.x[i] * theta[0] + y[0]


@split.register(Tiny)
def _(problem, i, theta):
    return problem.x[i] + theta[0], problem.x[i] - theta[0]


@wrong.register(Tiny)
def _(problem, i):
    return problem.x[i] + "text"


@njit
def add_up(problem, y, theta):
    total = 0.0
    for i in range(problem.n):
        upper, lower = split(problem, i, theta)
        total += value(problem, i, y, theta) * (upper - lower)
    return total


@njit
def of_wrong(problem, i):
    return 2.0 * wrong(problem, i)


Y, THETA = np.ones(1, dtype=np.int32), np.array([3.0])


def test_the_form_of_a_function_is_that_of_its_parameters():
    assert value.signature == Signature(("problem", "i", "y", "theta"), "float64")
    assert value.signature.wanted == ("int64", "int64", (None, 1), ("float64", 1))
    assert split.signature.results == 2
    assert split.signature.wanted == ("int64", "int64", ("float64", 1), ("float64", 1))
    assert add_up(make(), Y, THETA) == add_up.py_func(make(), Y, THETA) == 6.0 * (18.0 + 4.0)


def test_what_a_function_raises_reaches_the_caller():
    """And the next call works."""
    for _ in range(2):
        with pytest.raises(ValueError, match="a negative label"):
            add_up(make(), -Y, THETA)
        assert add_up(make(), Y, THETA) == 132.0


def test_what_cannot_be_compiled_is_raised_at_every_call():
    messages = set()
    for _ in range(2):
        with pytest.raises(Exception, match=r"unicode|Literal|str") as caught:
            of_wrong(make(), 0)
        messages.add(str(caught.value))
        assert add_up(make(), Y, THETA) == 132.0
    assert len(messages) == 1


def test_what_is_raised_in_a_thread_stays_there():
    found, start = {}, threading.Barrier(4)

    def run(k):
        start.wait()
        for _ in range(50):
            try:
                found.setdefault(k, set()).add(add_up(make(), Y if k % 2 else -Y, THETA))
            except ValueError as error:
                found.setdefault(k, set()).add(str(error))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: {"a negative label"}, 1: {132.0}, 2: {"a negative label"}, 3: {132.0}}
    assert c_functions.run(int) == 0  # nothing is raised here


@pytest.mark.parametrize("y", [np.ones(1, dtype=np.int64), np.ones(1), np.ones((1, 1), dtype=np.int32), 1], ids=str)
def test_labels_of_another_type_are_refused(y):
    add_up(make(), Y, THETA)
    with pytest.raises((TypeError, numba.TypingError), match=r"y must be what Tiny has|a contiguous array of 1 dimensions"):
        add_up(make(), y, THETA)


@pytest.mark.parametrize("theta", [np.ones(1, dtype=np.float32), np.ones(1, dtype=np.int64), np.ones((1, 1)), 3.0], ids=str)
def test_arrays_of_another_type_are_refused(theta):
    with pytest.raises(numba.TypingError, match="a C function takes a"):
        add_up(make(), Y, theta)


def test_a_family_without_a_function_is_told():
    class Other(Tiny):
        __slots__ = ()

    bare = NamedTuple("Bare", Tiny.__annotations__.items())(*make())
    assert add_up(Other(*make()), Y, THETA) == 132.0
    with pytest.raises(TypeError, match="is not available for Bare"):
        add_up(bare, Y, THETA)


@array_kernel("float64(float64[::1], int64)")
def entry_of(values, k):
    if k >= len(values):
        raise IndexError("no such entry")
    return values[k]


def test_oracles_on_arrays():
    values = np.array([1.0, 2.0])
    for _ in range(2):
        assert entry_of(values, 1) == 2.0
        with pytest.raises(IndexError, match="no such entry"):
            entry_of(values, 2)
    for wrong_values in (np.arange(2), [1.0, 2.0], np.zeros((1, 2)), np.zeros(4)[::2], None, 2.0):
        with pytest.raises(TypeError, match="entry_of takes a contiguous array of float64, 1 dimensions"):
            entry_of(wrong_values, 0)
    with pytest.raises(ctypes.ArgumentError):
        entry_of(values, "text")
