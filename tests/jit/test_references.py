"""Kernels borrow the arrays that they are given, and nothing is freed too early or too late for it."""

import ast
import gc
import itertools
import re
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numba.core.runtime import _nrt_python, rtsys

import fwexp
from fwexp.jit import compilation as kernels
from fwexp.jit import references


@kernels.register_jitable
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


@kernels.register_jitable
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


class Pair(NamedTuple):
    """Arrays in tuples, as problems are."""

    inner: tuple
    values: np.ndarray


@kernels.register_jitable
def _look_in(pair, k):
    return _part(pair.inner[0], k).sum() + _part(pair.values, k)[0]


def looks_in_tuples(pair, k):
    return _look_in(pair, k) + pair.values[0]


def makes(values, k):
    return (_part(values, k) * np.ones(1)).sum() + _part(values, 1)[0]


def returns(values, k):
    return _part(values, k)


def returns_two(values, k):
    return k, (values, _part(values, k))


def returns_new(values, k):
    return _part(values, k) + 1.0


def returns_a_list(values, k):
    return [_part(values, j) for j in range(k)]


def returns_perhaps(values, k):
    return _part(values, k) if k > 1 else None


def yields(values, k):
    for j in range(k):
        yield _part(values, j)


def keeps_in_a_list(values, k):
    found = [_part(values, j) for j in range(k)]
    found.append(values.copy())
    return found[-1].sum() + len(found)


def raises(values, k):
    part = _part(values, k)
    if part[0] > 0.0:
        raise ValueError("too large")
    return part[0]


BORROWING = [looks, looks_in_tuples, makes, keeps_in_a_list]
COUNTING = [returns, returns_two, returns_new, returns_a_list, returns_perhaps, yields]


def flat(result):
    """Return the numbers of a result of any kind."""
    if isinstance(result, float | int | np.ndarray):
        return np.array(result, dtype=float).ravel()
    return np.concatenate([np.zeros(0), *map(flat, result or ())])


def call(function, values, k):
    """Return what a function or its kernel makes of an array."""
    return function(Pair((values,), values) if function.__name__ == "looks_in_tuples" else values, k)


def new_kernel(function):
    """Return a kernel that is compiled now; from the disk it has no code to look at."""
    return kernels._uncached.__wrapped__(kernels.njit(function))


def counts_of(kernel):
    """Return how often the body of a kernel takes a reference, and gives one back."""
    ((signature, compiled),) = kernel.overloads.items()
    name = re.escape(compiled.fndesc.mangled_name)
    body = re.search(rf'^define[^@]*@"?{name}"?\(.*?^}}', kernel.inspect_llvm(signature), re.DOTALL | re.MULTILINE)[0]
    return [body.count(f"call void @NRT_{name}(") for name in ("incref", "decref")]


@pytest.mark.slow
def test_kernels_count_only_what_they_make_or_may_leave_behind():
    for function in [*BORROWING, returns, returns_two, returns_new]:
        kernel, plain = new_kernel(function), numba.njit(function)
        np.testing.assert_array_equal(flat(call(kernel, np.arange(9.0), 3)), flat(call(plain, np.arange(9.0), 3)))
        if function not in BORROWING:  # what is lent is not counted there either
            assert all(a <= b for a, b in zip(counts_of(kernel), counts_of(plain), strict=True))
        else:
            assert sum(counts_of(kernel)) < sum(counts_of(plain))
        if function in (looks, looks_in_tuples):
            assert counts_of(kernel)[0] == 0 < counts_of(plain)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (looks, makes),
        (makes, looks),
        (looks, returns),
        (returns_two, looks),
        (yields, looks_in_tuples),
        (returns_a_list, keeps_in_a_list),
        (returns_perhaps, returns_new),
    ],
)
def test_arrays_live_as_long_as_they_are_needed(first, second):
    """Both have a part of the same name that LLVM does not copy to where it is called; nothing that is returned is borrowed."""
    kernels = new_kernel(first), new_kernel(second)
    for kernel in itertools.islice(itertools.cycle(kernels), 40):
        values = np.arange(9.0)
        expected = [flat(call(kernel.py_func, values, k)) for k in range(1, 5)]  # copies
        count, known = sys.getrefcount(values), weakref.ref(values)
        results = [call(kernel, values, k) for k in range(1, 5)]
        if kernel.py_func in BORROWING:
            assert sys.getrefcount(values) == count
        del values
        others = [np.full(9, 7.0) for _ in range(5)]  # what would be written where it was if it were freed
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(flat(result), wanted)
        del others, results, result
        assert known() is None


@numba.experimental.jitclass([("last", numba.float64[::1])])
class Box:
    """Where kernels can leave an array."""

    def __init__(self, last):
        self.last = last


@kernels.register_jitable
def _leave(box, values):
    box.last = values[2:]


@kernels.register_jitable
def _leave_in_list(found, values):
    found[0] = values[2:]


def leaves(boxes, values):
    _leave(boxes[0], values)


def leaves_in_list(found, values):
    _leave_in_list(found, values)


@pytest.mark.slow
def test_arrays_that_are_left_somewhere_live_on():
    box, found = Box(np.zeros(1)), numba.typed.List([np.zeros(1)])
    for function, where, left in [(leaves, (box,), lambda: box.last), (leaves_in_list, found, lambda: found[0])]:
        kernel, values = new_kernel(function), np.arange(9.0)
        known = weakref.ref(values)
        kernel(where, values)
        assert min(counts_of(kernel)) > 0
        del values
        assert known() is not None
        np.testing.assert_array_equal(left(), np.arange(2.0, 9.0))


ARRAY = numba.float64[::1]
HOLDERS = [ARRAY, types.Optional(ARRAY), types.List(ARRAY), Box.class_type.instance_type]


def test_by_its_types_a_kernel_is_known_to_leave_an_array_behind():
    """In its result, or in an argument other than arrays, through tuples."""
    pair = types.Tuple((types.intp, ARRAY))
    for kind in HOLDERS:
        assert references.leaves_arrays([ARRAY], kind)
        assert references.leaves_arrays([], types.Tuple((types.intp, kind)))
        assert references.leaves_arrays([types.Tuple((ARRAY, kind))], types.none) == (kind is not ARRAY)
    for kind in (types.none, types.float64, types.boolean, types.Tuple((types.float64, types.intp))):
        assert not references.leaves_arrays([ARRAY, pair, types.Tuple((pair, types.float64))], kind)


def compiled_functions():
    """Return the functions of the package that numba compiles, as they are written: kernels, and what these call."""
    found = {}  # by the words of a decorator
    for path in Path(fwexp.__file__).parent.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for decorator in getattr(function, "decorator_list", ()):
                words = tuple(re.findall(r"\w+", ast.unparse(decorator).partition("(")[0]))
                found.setdefault(words, []).append(function)
    stubs = found[("dispatched",)]
    dispatched = {stub.name for stub in stubs if "(plain Python" not in ast.get_docstring(stub)}
    kernels = [found[(name,)] for name in ("njit", "array_kernel", "register_jitable")]
    parts = [functions for words, functions in found.items() if words[-1] == "register" and words[0] in dispatched]
    return [function for functions in (*kernels, *parts) for function in functions]


def test_what_kernels_of_ours_raise_holds_no_array():
    """It would be one that its kernel has borrowed, and live on."""
    functions = compiled_functions()
    raised = [node.exc for function in functions for node in ast.walk(function) if isinstance(node, ast.Raise)]
    assert len(functions) > 200
    assert raised
    for error in raised:
        assert all(isinstance(argument, ast.Constant) for argument in error.args), ast.unparse(error)


@pytest.mark.slow
def test_all_that_is_taken_from_python_is_given_back():
    kernels = [new_kernel(function) for function in [*BORROWING, *COUNTING, raises]]
    values = np.arange(9.0)

    def call_all():
        for kernel in kernels:
            if kernel.py_func is raises:
                with pytest.raises(ValueError, match="too large"):
                    kernel(values, 3)
            else:
                flat(call(kernel, values, 3))

    call_all()
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(10):
        call_all()
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free > 0
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_garbage_is_looked_for_rarely_while_a_kernel_is_compiled_and_as_before_later():
    seen, before = [], gc.get_threshold()

    def double(x):
        return 2 * x

    @numba.extending.overload(double)
    def _(x):
        seen.append(gc.get_threshold())
        return lambda x: 2 * x

    @numba.njit(**kernels.KERNEL)  # which no disk keeps
    def kernel(x):
        return double(x)

    assert kernel(3) == 6
    assert references.COLLECT in seen
    assert gc.get_threshold() == before
