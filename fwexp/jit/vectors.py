"""Eight numbers in a register, or in as many as the processor needs for them: sums that stay there from term to term.

numba leaves a sum over rows of a matrix in memory, where every term is loaded, added to and stored again: three times as slow.
"""

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils, datamodel

from fwexp.jit.kernels import PART

EIGHT = 8


class _Eight(numba.types.Type):
    def __init__(self) -> None:
        super().__init__("eight")


_eight, _vector = _Eight(), ir.VectorType(ir.DoubleType(), EIGHT)


@numba.extending.register_model(_Eight)
class _Model(datamodel.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _vector)


def zeros() -> np.ndarray:
    """Return eight zeros."""
    return np.zeros(EIGHT)


def add(v, c: float, array, start: int):
    """Return v plus c times the eight entries of a contiguous float64 array from ``start`` on."""
    return v + c * array[start : start + EIGHT]


def load(array, start: int):
    """Return the eight entries of a contiguous float64 array from ``start`` on."""
    return array[start : start + EIGHT].copy()


def plus(u, v):
    """Return u + v."""
    return u + v


def is_zero(v) -> bool:
    """Return whether all eight are 0."""
    return not np.any(v)


def add_to(array, start: int, c: float, v) -> None:
    """Add c v to the eight entries of a contiguous float64 array from ``start`` on."""
    array[start : start + EIGHT] += c * v


def store(array, start: int, v) -> None:
    """Set the eight entries of a contiguous float64 array from ``start`` on to v."""
    array[start : start + EIGHT] = v


def _place(context, builder, kind, array, start):
    entries = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(entries, [start]), _vector.as_pointer())


def _scaled_sum(builder, c, v, to):
    factor = builder.insert_element(ir.Constant(_vector, ir.Undefined), c, ir.Constant(ir.IntType(32), 0))
    factors = builder.shuffle_vector(factor, factor, ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT))
    kind = ir.FunctionType(_vector, [_vector] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f64"), [factors, v, to])


@numba.extending.intrinsic
def _zeros(_):
    return _eight(), lambda context, builder, signature, args: ir.Constant(_vector, [0.0] * EIGHT)


@numba.extending.intrinsic
def _load(_, array, start):
    def generate(context, builder, signature, args):
        return builder.load(_place(context, builder, signature.args[0], *args), align=8)

    return _eight(array, numba.types.intp), generate


@numba.extending.intrinsic
def _store(_, array, start, v):
    def generate(context, builder, signature, args):
        builder.store(args[2], _place(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.intp, v), generate


@numba.extending.intrinsic
def _scaled(_, to, c, v):
    def generate(context, builder, signature, args):
        return _scaled_sum(builder, args[1], args[2], args[0])

    return _eight(_eight, numba.types.float64, _eight), generate


@numba.extending.intrinsic
def _plus(_, u, v):
    return _eight(_eight, _eight), lambda context, builder, signature, args: builder.fadd(*args)


@numba.extending.intrinsic
def _is_zero(_, v):
    def generate(context, builder, signature, args):
        differs = builder.fcmp_unordered("!=", args[0], ir.Constant(_vector, [0.0] * EIGHT))
        bits = ir.IntType(EIGHT)
        return builder.icmp_unsigned("==", builder.bitcast(differs, bits), bits(0))

    return numba.types.boolean(_eight), generate


def _compiled(function):
    return numba.extending.overload(function, jit_options={**PART, "forceinline": True})


_compiled(zeros)(lambda: lambda: _zeros())
_compiled(load)(lambda array, start: lambda array, start: _load(array, start))
_compiled(plus)(lambda u, v: lambda u, v: _plus(u, v))
_compiled(is_zero)(lambda v: lambda v: _is_zero(v))
_compiled(add)(lambda v, c, array, start: lambda v, c, array, start: _scaled(v, c, _load(array, start)))
_compiled(store)(lambda array, start, v: lambda array, start, v: _store(array, start, v))
_compiled(add_to)(lambda array, start, c, v: lambda array, start, c, v: _store(array, start, _scaled(_load(array, start), c, v)))
