"""Prefetch data before they are needed: the data of the next example, while the processor works on this one."""

import numba
import numba.extending

from fwexp.jit.addresses import BYTE, WORD, ir
from fwexp.jit.compilation import array_kernel, in_kernels

LINE = 64  # bytes that are fetched at once
READ, FIRST_LEVEL, DATA = 0, 3, 1  # as LLVM has it: not to write, into the cache of the first level, no code


@numba.extending.intrinsic
def _ask(_, address):
    """Ask for the line at an address."""

    def generate(context, builder, signature, args):
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [BYTE.as_pointer()], kind)
        builder.call(ask, [builder.inttoptr(args[0], BYTE.as_pointer()), number(READ), number(FIRST_LEVEL), number(DATA)])
        return context.get_dummy_value()

    return numba.types.void(numba.types.int64), generate


@numba.extending.intrinsic
def _address(_, array):
    """Return where an array is."""

    def generate(context, builder, signature, args):
        return builder.ptrtoint(context.make_array(signature.args[0])(context, builder, args[0]).data, WORD)

    return numba.types.int64(array), generate


@array_kernel("none(i8, i8)")
def _ask_for_bytes(first, end):
    for address in range(first, end, LINE):
        _ask(address)
    if end > first:
        _ask(end - 1)  # in another line yet, where the first entry does not begin one


def _ask_for_entries(array, start, end):
    first = _address(array)
    _ask_for_bytes(first + start * array.itemsize, first + end * array.itemsize)


@in_kernels(_ask_for_entries)
def prefetch(array, start: int, end: int) -> None:
    """Ask for the entries start .. end of a contiguous array; in plain Python, do nothing."""
