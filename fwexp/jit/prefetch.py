"""Prefetch data before they are needed: the data of the next example, while the processor works on this one."""

from numba import types
from numba.extending import intrinsic

from fwexp.jit.addresses import BYTE, INDEX, WORD, ir
from fwexp.jit.compilation import in_kernels

LINE = 64  # bytes that are fetched at once
READ, FIRST_LEVEL, DATA = 0, 3, 1  # as LLVM has it: not to write, into the cache of the first level, no code


@intrinsic
def _ask(_, array, start, end):
    """Ask for the lines of the entries start .. end."""

    def generate(context, builder, signature, args):
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [BYTE.as_pointer()], kind)
        data = context.make_array(array)(context, builder, args[0]).data
        first, last = (builder.ptrtoint(builder.gep(data, [place]), WORD) for place in args[1:])
        first = builder.and_(first, WORD(-LINE))  # lines begin there
        before, line, done = builder.block, builder.append_basic_block("line"), builder.append_basic_block("done")
        builder.cbranch(builder.icmp_signed("<", first, last), line, done)
        builder.position_at_end(line)
        address = builder.phi(WORD)
        builder.call(ask, [builder.inttoptr(address, BYTE.as_pointer()), number(READ), number(FIRST_LEVEL), number(DATA)])
        following = builder.add(address, WORD(LINE))
        address.add_incoming(first, before)
        address.add_incoming(following, line)
        builder.cbranch(builder.icmp_signed("<", following, last), line, done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.none(array, INDEX, INDEX), generate


@in_kernels(_ask)
def prefetch(array, start: int, end: int) -> None:
    """Ask for the entries start .. end of a contiguous array; in plain Python, do nothing."""
