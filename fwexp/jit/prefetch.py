"""Prefetch data before they are needed: the data of the next example, while the processor works on this one."""

import numba
import numba.extending
from llvmlite import ir

from fwexp.jit.compilation import INLINE

BYTES = ir.IntType(8).as_pointer()
LINE = 64  # bytes that are fetched at once
READ, FIRST_LEVEL, DATA = 0, 3, 1  # as LLVM has it: not to write, into the cache of the first level, no code


def prefetch(array, start: int, end: int) -> None:
    """Ask for the entries start .. end of a contiguous array; in plain Python, do nothing."""


@numba.extending.intrinsic
def _ask(_, array, index):
    """Ask for the line with an entry of an array."""

    def generate(context, builder, signature, args):
        entries = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(entries, [args[1]]), BYTES)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [BYTES, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [BYTES], kind)
        builder.call(ask, [address, number(READ), number(FIRST_LEVEL), number(DATA)])
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.intp), generate


@numba.extending.overload(prefetch, jit_options=INLINE)
def _(array, start, end):
    def ask_for_all(array, start, end):
        for place in range(start, end, LINE // array.itemsize):
            _ask(array, place)
        if end > start:
            _ask(array, end - 1)  # in another line yet, where the first entry does not begin one

    return ask_for_all
