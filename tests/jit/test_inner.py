"""Parts of kernels: they have no machine code of their own, and do in kernels what they do in Python."""

import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import _nrt_python, rtsys

from fwexp.jit import compilation, inner


@compilation.register_jitable
def _rows(values, size):
    if size < 0:
        raise ValueError("a negative size")
    copy = np.empty((size, len(values)))
    for row in range(size):
        copy[row] = values
    return copy


@compilation.njit
def _total(values, size):
    rows = _rows(values, size)
    return rows.sum() if size % 2 else rows[:, ::-1].sum()


@compilation.njit
def _twice(values, size):
    return _total(values, size) + _rows(values, size).sum()


@pytest.mark.parametrize("kernel", [_total, _twice])
def test_a_kernel_with_parts_does_what_python_does(kernel):
    values = np.arange(5.0)
    for size in range(4):
        assert kernel(values, size) == kernel.py_func(values, size)


@compilation.register_jitable
def _checked(values, limit):
    print("limit", limit)  # noqa: T201
    for value in values:
        if value > limit:
            raise ValueError("too large", value)
    return values


@compilation.njit
def _sum_checked(values, limit):
    return _checked(values, limit).sum()


@compilation.njit
def _sum_through_a_kernel(values, limit):
    return _sum_checked(values, limit)


def test_what_a_part_prints_and_raises_may_be_known_at_run_time_only(capfd):
    # First what is never on disk, for code from there knows its environments in any case.
    for kernel in (compilation._uncached(_sum_checked), _sum_through_a_kernel, _sum_checked):
        assert kernel(np.arange(5.0), 4.0) == 10.0
        with pytest.raises(ValueError, match="too large") as error:
            kernel(np.arange(5.0), 2.5)
        assert error.value.args == ("too large", 3.0)
        assert capfd.readouterr().out == "limit 4.0\nlimit 2.5\n"


def test_parts_have_no_machine_code_of_their_own(monkeypatch):
    made = []
    end = JITCodeLibrary._finalize_specific
    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", lambda self: (made.append(self.name), end(self)))

    @compilation.register_jitable
    def new_part(values):
        return values.sum()

    @numba.njit  # not kept on disk
    def new_kernel(values):
        return 2 * new_part(values)

    assert new_kernel(np.arange(5.0)) == 20
    made = [name.rpartition(".")[2] for name in made]
    assert "new_kernel" in made
    assert "new_part" not in made


class Lent(NamedTuple):
    """What parts are given."""

    values: np.ndarray
    inner: tuple


@compilation.register_jitable
def _rearranged(lent, values, k):
    """Return an array of a tuple, one made here, or an argument that was replaced, as k says."""
    for _ in range(k):
        values, kept = lent.inner[0][1:], values
        if k == 2:
            values = kept
    held = lent.values if k == 1 else np.sqrt(lent.values)
    return values if k > 2 else held


@compilation.njit
def _sums(lent, values):
    total = 0.0
    for k in range(5):
        for _ in range(3):
            total += _rearranged(lent, values, k).sum()
    return total


def test_what_is_lent_is_neither_freed_nor_kept():
    values = np.arange(1.0, 6.0)
    lent = Lent(values, (values,))
    assert np.isclose(_sums(lent, values), _sums.py_func(lent, values))
    _nrt_python.memsys_enable_stats()
    before, made = sys.getrefcount(values), rtsys.get_allocation_stats()
    _sums(lent, values)
    after = rtsys.get_allocation_stats()
    assert sys.getrefcount(values) == before
    assert after.alloc - made.alloc == after.free - made.free > 0


class Named(NamedTuple):
    first: np.ndarray
    second: tuple
    nothing: tuple
    flag: bool


@compilation.register_jitable
def _of_all(named, scale, flag):
    return (named.first.sum() + named.second[1][0]) * scale if flag and named.flag else -1.0


@compilation.njit
def _pass_on(named, scale, flag):
    return _of_all(named, scale, flag) + _of_all(named, -scale, not flag)


def test_parts_take_tuples_and_arrays_whole(monkeypatch):
    numbers = []
    monkeypatch.setattr(inner._Whole, "as_arguments", lambda self, builder, values: numbers.append(len(values)) or values)
    for flag in (True, False):
        named = Named(np.arange(3.0), (1, np.arange(4.0)[2:]), (), flag)
        assert compilation._uncached(_pass_on)(named, 2.0, flag) == _pass_on.py_func(named, 2.0, flag)
    assert numbers == [3, 3]


@compilation.dispatched
def _of_class(first, scale):
    """Return a number that depends on the class."""


@_of_class.register(Named)
def _(named, scale):
    return named.first.sum() * scale


@compilation.register_jitable
def _exactly(named):
    return _of_class(named, 2.0)


@compilation.njit(fastmath=True)
def _from_both(named):
    return _of_class(named, 2.0) + _exactly(named)


@compilation.njit
def _from_another(named):
    return _exactly(named) + _of_class(named, 2.0)


def test_a_part_that_states_its_options_is_compiled_once_for_all_callers(monkeypatch):
    compiled = []
    monkeypatch.setattr(inner, "_compiled", {})
    run = inner._PartLowering.run_pass
    monkeypatch.setattr(
        inner._PartLowering, "run_pass", lambda self, state: compiled.append(state.func_id.func) or run(self, state)
    )
    named = Named(np.arange(3.0), (), (), True)
    assert compilation._uncached(_from_both)(named) == compilation._uncached(_from_another)(named) == 12.0
    assert (compiled.count(_of_class.find(Named)), compiled.count(_exactly)) == (1, 2)


@compilation.register_jitable
def _spread(first, *others):
    return first * len(others) + others[0]


@compilation.njit
def _spreads(k, x):
    return _spread(x, k) + _spread(x, k, k) + _spread(x, k, x) + _spread(x, k, x, x)


def test_parts_take_any_number_of_arguments():
    assert _spreads(3, 2.0) == _spreads.py_func(3, 2.0)
