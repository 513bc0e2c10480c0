"""Eight numbers at once: sums over rows of weights that stay in registers, and are added in the order in which they are written.

What a compiler makes of a loop over a row of any width reads and writes the sums again and again. On processors whose registers
are shorter, eight numbers are several of them; in plain Python they are numpy arrays.
"""

import operator

import numba.extending
import numpy as np
from numba import types

from fwexp.jit.addresses import ir
from fwexp.jit.compilation import in_kernels

EIGHT = 8
_DOUBLES = ir.VectorType(ir.DoubleType(), EIGHT)
_INDEX, _FUSED = ir.IntType(32), ("contract",)  # a product and the sum that it goes into may be rounded once


class _Eight(types.Type):
    """The type of eight float64."""

    def __init__(self) -> None:
        super().__init__("eight")


_eight = _Eight()


@numba.extending.register_model(_Eight)
class _EightModel(numba.extending.models.PrimitiveModel):
    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _DOUBLES)


# --- compiled ---------------------------------------------------------------------------------------------------------


def _address(context, builder, kind, array, start):
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [start])
    return builder.bitcast(first, _DOUBLES.as_pointer())


@numba.extending.intrinsic
def _load(_, array, start):
    def generate(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args), align=8)

    return _eight(array, types.intp), generate


@numba.extending.intrinsic
def _store(_, array, start, u):
    def generate(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, u), generate


@numba.extending.intrinsic
def _full(_, value):
    def generate(context, builder, signature, args):
        nothing = ir.Constant(_DOUBLES, ir.Undefined)
        one = builder.insert_element(nothing, args[0], _INDEX(0))
        return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INDEX, EIGHT), [0] * EIGHT))

    return _eight(types.float64), generate


@numba.extending.intrinsic
def _larger(_, u, v):
    def generate(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return _eight(u, v), generate


@numba.extending.intrinsic
def _any(_, u):
    def generate(context, builder, signature, args):
        others = builder.fcmp_unordered("!=", args[0], ir.Constant(_DOUBLES, [0.0] * EIGHT))
        bits = builder.bitcast(others, ir.IntType(EIGHT))
        return builder.icmp_unsigned("!=", bits, ir.IntType(EIGHT)(0))

    return types.boolean(u), generate


@numba.extending.intrinsic
def _sum(_, u):
    def generate(context, builder, signature, args):
        total, size = args[0], EIGHT
        while size > 1:
            size //= 2
            halves = [ir.Constant(ir.VectorType(_INDEX, size), list(range(start, start + size))) for start in (0, size)]
            total = builder.fadd(*(builder.shuffle_vector(total, total, half) for half in halves))
        return builder.extract_element(total, _INDEX(0))

    return types.float64(u), generate


@numba.extending.type_callable(operator.add)
@numba.extending.type_callable(operator.mul)
def _(context):
    def result(u, v):
        return _eight if u is _eight and v is _eight else None

    return result


@numba.extending.lower_builtin(operator.add, _Eight, _Eight)
def _(context, builder, signature, args):
    return builder.fadd(*args, flags=_FUSED)


@numba.extending.lower_builtin(operator.mul, _Eight, _Eight)
def _(context, builder, signature, args):
    return builder.fmul(*args, flags=_FUSED)


# --- in plain Python ------------------------------------------------------------------------------------------------


@in_kernels(_load)
def load8(array, start: int):
    """Return the eight entries of a float64 array from ``start`` >= 0 on."""
    return array[start : start + EIGHT].copy()


@in_kernels(_store)
def store8(array, start: int, u) -> None:
    """Set the eight entries from ``start`` >= 0 on."""
    array[start : start + EIGHT] = u


@in_kernels(_full)
def full8(value: float):
    """Return eight times ``value``."""
    return np.full(EIGHT, value)


@in_kernels(_larger)
def larger8(u, v):
    """Return the larger entries of two."""
    return np.where(u > v, u, v)


@in_kernels(_any)
def any8(u) -> bool:
    """Return whether any entry is not 0."""
    return bool(u.any())


@in_kernels(_sum)
def sum8(u) -> float:
    """Return the sum of the entries, half of them added to the other half again and again."""
    four = u[:4] + u[4:]
    return (four[0] + four[2]) + (four[1] + four[3])
