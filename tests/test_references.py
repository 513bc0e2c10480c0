"""Kernels that make no arrays count no references, and nothing is freed too early or too late for it."""

import gc
import itertools
import re
import sys
import weakref

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from fwexp import _jit


@_jit.register_jitable
def _shift(values, bound):
    """Return 0, in more code than LLVM copies to where it is called."""
    total = 0.0
    for value in values:
        if value > bound:
            total += value * np.sqrt(value) / (1.0 + value)
        elif value < -bound:
            total -= np.exp(value) / (value * value + bound)
        else:
            total = np.sqrt(1.0 + total * total) - np.floor(value) / (bound + abs(total))
    for j in range(1, len(values)):
        if values[j] < values[j - 1]:
            total += np.log(values[j - 1] - values[j]) / bound
    return 0 if np.isfinite(total) else 1


@_jit.register_jitable
def _part(values, k):
    """Return a part of an array."""
    for j in range(k):
        if j % 3 == 0:
            values = values[1 + _shift(values, 2.0) :]
        elif j % 3 == 1:
            values = values[_shift(values, 3.0) : -1]
        else:
            values = values[1 + _shift(values, 4.0) :]
    return values[_shift(values, 5.0) :]


def looks(values, k):
    return _part(values, k).sum() + _part(values, 1)[0]


def makes(values, k):
    return (_part(values, k) * np.ones(1)).sum() + _part(values, 1)[0]


def returns(values, k):
    return _part(values, k)


def returns_two(values, k):
    return k, (values, _part(values, k))


def returns_new(values, k):
    return _part(values, k) + 1.0


def keeps_in_a_list(values, k):
    found = [_part(values, j) for j in range(k)]
    found.append(values.copy())
    return found[-1].sum() + len(found)


def raises(values, k):
    part = _part(values, k)
    if part[0] > 0.0:
        raise ValueError("too large")
    return part[0]


FUNCTIONS = [looks, makes, returns, returns_two, returns_new, keeps_in_a_list]


def flat(result):
    """Return the numbers of a result, of whatever kind."""
    return np.concatenate([flat(each) for each in result]) if isinstance(result, tuple) else np.ravel(result)


def new_kernel(function):
    """Return a kernel that is compiled now; from the disk it has no code to look at."""
    return _jit._uncached.__wrapped__(_jit.njit(function))


def count_of(kernel):
    """Return how often the code of a kernel counts references, but for what takes its arguments from Python."""
    (code,) = kernel.inspect_llvm().values()
    functions = re.findall(r"^define.*?^}", code, re.DOTALL | re.MULTILINE)
    return sum(
        len(re.findall(r"call void @NRT_(?:inc|dec)ref", each)) for each in functions if "NRT_adapt_ndarray_from" not in each
    )


def test_only_what_makes_no_arrays_and_returns_none_counts_no_references():
    counts = {}
    for function in FUNCTIONS:
        kernel = new_kernel(function)
        kernel(np.arange(9.0), 3)
        counts[function.__name__] = count_of(kernel)
        assert "_part" in "".join(re.findall("^define.*", *kernel.inspect_llvm().values(), re.MULTILINE))  # is not inlined
    assert counts.pop("looks") == 0
    assert min(counts.values()) > 0


@pytest.mark.parametrize(("first", "second"), [(looks, makes), (makes, looks), (looks, returns), (returns_two, looks)])
def test_arrays_live_as_long_as_they_are_needed(first, second):
    """Both have a part of the same name that LLVM does not copy to where it is called; only one counts in it."""
    kernels = new_kernel(first), new_kernel(second)
    for kernel in itertools.islice(itertools.cycle(kernels), 40):
        values = np.arange(9.0)
        count, known = sys.getrefcount(values), weakref.ref(values)
        results = [kernel(values, k) for k in range(1, 5)]
        expected = [kernel.py_func(values, k) for k in range(1, 5)]
        if kernel.py_func not in (returns, returns_two):  # those hold it
            assert sys.getrefcount(values) == count
        del values
        [np.arange(9.0) + 7.0 for _ in range(5)]  # what would be written where it was if it were freed
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(flat(result), flat(wanted))
        del results, expected, result, wanted
        gc.collect()
        assert known() is None


@numba.experimental.jitclass([("last", numba.float64[::1])])
class Box:
    """Where kernels can leave an array."""

    def __init__(self, last):
        self.last = last


@_jit.register_jitable
def _leave(box, values):
    box.last = values[2:]


@_jit.register_jitable
def _leave_in_list(found, values):
    found[0] = values[2:]


def leaves(boxes, values):
    _leave(boxes[0], values)


def leaves_in_list(found, values):
    _leave_in_list(found, values)


def test_arrays_that_are_left_somewhere_live_on():
    box, found = Box(np.zeros(1)), numba.typed.List([np.zeros(1)])
    for function, where, left in [(leaves, (box,), lambda: box.last), (leaves_in_list, found, lambda: found[0])]:
        kernel, values = new_kernel(function), np.arange(9.0)
        known = weakref.ref(values)
        kernel(where, values)
        assert count_of(kernel) > 0
        del values
        gc.collect()
        assert known() is not None
        np.testing.assert_array_equal(left(), np.arange(2.0, 9.0))


def test_all_that_is_taken_from_python_is_given_back():
    kernels = [new_kernel(function) for function in [*FUNCTIONS, raises]]
    values = np.arange(9.0)

    def call_all():
        for kernel in kernels:
            if kernel.py_func is raises:
                with pytest.raises(ValueError, match="too large"):
                    kernel(values, 3)
            else:
                kernel(values, 3)
        gc.collect()

    call_all()
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(10):
        call_all()
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0
    assert after.alloc - before.alloc == after.free - before.free > 0
