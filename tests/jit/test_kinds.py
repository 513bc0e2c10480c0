"""Rows: what kernels get instead of named tuples, and that nothing else than contiguous arrays and numbers comes to them."""

import gc
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

from fwexp.jit import kinds
from fwexp.jit.compilation import njit


class Inner(NamedTuple):
    values: np.ndarray
    scale: float


class Outer(NamedTuple):
    compiled = ("size", "extra")

    count: int
    flag: bool
    inner: Inner
    nothing: Any
    size: int
    extra: np.ndarray
    table: np.ndarray


def make(values, *, flag=True, size=3, extra=0, scale=0.5):
    return Outer(7, flag, Inner(np.asarray(values, dtype=float), scale), None, size, np.zeros(extra), np.arange(6).reshape(2, 3))


@njit
def read(outer, x):
    total = outer.inner.values.sum() * outer.inner.scale + x * outer.count + outer.table[1, 2]
    if outer.flag and outer.nothing is None:
        total += outer.size
    if len(outer.extra) > 0:
        total += outer.extra[0] + 100.0
    outer.inner.values[0] = -total
    return total


def test_kernels_read_and_write_fields():
    for changed in ({}, {"flag": False}, {"size": 4}, {"extra": 2}, {"scale": -2.0}):
        ours, plain = make([1.0, 2.0], **changed), make([1.0, 2.0], **changed)
        assert read(ours, 2.5) == read.py_func(plain, 2.5)
        assert ours.inner.values.tolist() == plain.inner.values.tolist()


@njit
def entries(x, table, small, k, u):
    x[k] += 1.0
    x[np.uint64(0)] *= 2.0
    table[k, -1] = table[0, k] + small[k]
    table[-1, k + 1] -= int(x[-2])
    small[k] = 9
    return max(x[k], u) + min(u, table[k, k]) + max(k, 3) * min(k, small[k])


@pytest.mark.parametrize("k", [0, 1, -1, -2])
@pytest.mark.parametrize("u", [0.5, -3, 40])
def test_entries_and_extremes_are_those_of_python(k, u):
    """Negative numbers count from the end; numbers may be of any type."""
    ours, plain = ([np.array([1.0, 2.0, 7.5]), np.arange(9).reshape(3, 3), np.arange(3, dtype=np.int8)] for _ in range(2))
    assert entries(*ours, k, u) == entries.py_func(*plain, k, u)
    assert [array.tolist() for array in ours] == [array.tolist() for array in plain]


def test_what_is_known_when_a_kernel_is_compiled():
    """Equal kinds are one object: classes, booleans, types, and of a problem or where a class says so, integers and emptiness."""
    first = kinds.packed(make([1.0])).kind
    for same in ([2.0, 3.0], []):  # another length
        assert kinds.packed(make(same, scale=3.0)).kind is first
    for changed in ({"flag": False}, {"size": 4}, {"extra": 1}):
        assert kinds.packed(make([1.0], **changed)).kind is not first
    assert kinds.packed(make([1.0])._replace(table=np.zeros((2, 3)))).kind is not first


def test_a_row_is_used_again_only_for_the_same_tuple():
    """Another one may be at the place of a tuple that was freed, with arrays at the places of other arrays."""
    outer = make([1.0, 2.0])
    assert kinds.packed(outer) is kinds.packed(outer)
    seen, reused = set(), 0
    for k in range(300):
        outer = make(np.full(1 + k % 3, float(k)), scale=float(k % 5))
        reused += id(outer) in seen
        seen.add(id(outer))
        expected = outer.inner.values.sum() * outer.inner.scale + 7.0 + outer.table[1, 2] + 3
        assert read(outer, 1.0) == expected
    assert reused > 0
    assert len(kinds._packed) <= kinds.KEEP


def test_rows_keep_no_array_alive():
    outer = make([0.0])
    known = weakref.ref(outer.table)
    read(outer, 1.0)
    del outer
    gc.collect()
    assert known() is None


WRONG = {
    "none": None,
    "text": "text",
    "list": [1.0, 2.0],
    "objects": np.array([None, 1.0]),
    "complex": np.zeros(2, dtype=complex),
    "strided": np.zeros(4)[::2],
    "fortran": np.zeros((2, 2), order="F"),
    "swapped": np.zeros(2, dtype=np.dtype(float).newbyteorder()),
    "no dimension": np.array(1.0),
    "many dimensions": np.zeros((1, 1, 1, 1)),
    "number": 3.0,
}


@njit
def first_of(values, x):
    return values[0] + x


def test_arrays_need_not_be_aligned():
    """As those that Dask brings from other processes."""
    values = np.zeros(81, dtype=np.uint8)[1:].view(np.float64)
    values[:] = np.arange(10.0)
    assert not values.flags.aligned
    assert first_of(values, 2.0) == 2.0
    assert first_of(values[3:], 2.0) == 5.0


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_other_values_are_exceptions(wrong):
    """None of them is read as an array of numbers: numba refuses numbers, and sums that are no number."""
    good = np.ones(2)
    assert first_of(good, 1.0) == 2.0
    if np.shape(wrong) != (2, 2) or np.isfortran(wrong):
        with pytest.raises(Exception, match=r"."):
            first_of(wrong, 1.0)
    with pytest.raises(Exception, match=r"."):
        read(make([1.0])._replace(inner=wrong), 1.0)
    assert first_of(good, 1.0) == 2.0


def test_a_tuple_may_be_dropped_while_a_kernel_of_another_thread_runs():
    @njit
    def add_up(outer, turns):
        total = 0.0
        for _ in range(turns):
            for j in range(len(outer.inner.values)):
                total += outer.inner.values[j]
        return total

    assert add_up(make(np.ones(5)), 1) == 5.0
    found = []
    thread = threading.Thread(target=lambda: found.append(add_up(make(np.ones(1000)), 20000)))
    thread.start()
    while thread.is_alive():
        others = [make(np.full(1000, 7.0)) for _ in range(20)]
        assert add_up(others[0], 1) == 7000.0
        kinds._packed.clear()
    thread.join()
    assert found == [20_000_000.0]
