"""Words, numbers and arrays at addresses, and calls of C functions: what linked code has instead of named tuples.

Entries of arrays, `larger` and `smaller` are here because numba has many ways to read an entry or to compare numbers, and tries
most of them before it finds the one that applies: this took a seventh of the time to compile.
"""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

BYTE, WORD, DOUBLE = ir.IntType(8), ir.IntType(64), ir.DoubleType()
INDEX = types.int64
C_TYPES = {"int64": WORD, "float64": DOUBLE, "none": ir.VoidType()}


def _load(builder, row, place, kind):
    """Load a word of a row, which does not change while kernels run."""
    address = builder.inttoptr(builder.add(row, builder.mul(place, WORD(8))), kind.as_pointer())
    value = builder.load(address)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@intrinsic
def word(_, row, place):
    """Return the integer at a place of a row."""
    return INDEX(INDEX, INDEX), lambda context, builder, signature, args: _load(builder, *args, WORD)


@intrinsic
def real(_, row, place):
    """Return the float at a place of a row."""
    return types.float64(INDEX, INDEX), lambda context, builder, signature, args: _load(builder, *args, DOUBLE)


def _array_of(context, builder, kind, data, shape):
    """Return an array of numba's that has no owner, so that nothing is counted."""
    out, size = context.make_array(kind)(context, builder), context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides, items = [WORD(size)], shape[-1]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    for extent in shape[:-1]:
        items = builder.mul(items, extent)
    out.data = builder.inttoptr(data, out.data.type)
    out.shape, out.strides = (_packed(builder, numbers) for numbers in (shape, strides))
    out.nitems, out.itemsize = items, WORD(size)
    out.meminfo, out.parent = out.meminfo.type(None), out.parent.type(None)
    return out._getvalue()


def _packed(builder, values):
    out = ir.Constant(ir.ArrayType(WORD, len(values)), ir.Undefined)
    for k, value in enumerate(values):
        out = builder.insert_value(out, value, k)
    return out


def array_type(dtype: str, ndim: int) -> types.Array:
    """Return numba's type of a contiguous array."""
    return types.Array(numba.from_dtype(np.dtype(dtype)), ndim, "C")


@cache
def array_in(dtype: str, ndim: int) -> Callable:
    """Return a function of compiled code, from a row and a place to the array that is described there."""
    kind = array_type(dtype, ndim)

    @intrinsic
    def read(_, row, place):
        def generate(context, builder, signature, args):
            data, *shape = (_load(builder, args[0], builder.add(args[1], WORD(k)), WORD) for k in range(1 + ndim))
            return _array_of(context, builder, kind, data, shape)

        return kind(INDEX, INDEX), generate

    return read


@cache
def array_at(dtype: str, ndim: int) -> Callable:
    """Return a function of compiled code, from an address and a shape to the array there."""
    kind = array_type(dtype, ndim)

    @intrinsic
    def make(_, data, shape):
        def generate(context, builder, signature, args):
            return _array_of(context, builder, kind, args[0], [builder.extract_value(args[1], k) for k in range(ndim)])

        return kind(INDEX, types.UniTuple(INDEX, ndim)), generate

    return make


@intrinsic
def cut(_, array, start, stop):
    """Return ``array[start:stop]`` of a contiguous array of one dimension: numba takes ten times as long to compile its own."""

    def generate(context, builder, signature, args):
        view = context.make_array(array)(context, builder, args[0])
        size, zero = view.nitems, WORD(0)

        def within(index):
            index = builder.select(builder.icmp_signed("<", index, zero), builder.add(index, size), index)
            index = builder.select(builder.icmp_signed("<", index, zero), zero, index)
            return builder.select(builder.icmp_signed(">", index, size), size, index)

        first, end = within(args[1]), within(args[2])
        length = builder.select(builder.icmp_signed("<", end, first), zero, builder.sub(end, first))
        out = context.make_array(array)(context, builder)
        out.data, out.itemsize, out.nitems = builder.gep(view.data, [first]), view.itemsize, length
        out.shape, out.strides = _packed(builder, [length]), view.strides
        out.meminfo, out.parent = out.meminfo.type(None), out.parent.type(None)
        return out._getvalue()

    if isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C":
        return array(array, INDEX, INDEX), generate
    return None


def _intrinsic(resolve: Callable, count: int) -> Callable:
    """Return what numba compiles calls with a number of arguments to; it looks at the parameters of the function that it gets."""
    names, scope = ", ".join(f"a{k}" for k in range(count)), {"resolve": resolve}
    exec(f"def call(_, {names}): return resolve(({names},))", scope)
    return intrinsic(scope["call"])


def _place_of(context, builder, kinds, values):
    """Return the address of an entry of a contiguous array, by the array and its index; negative numbers count from the end."""
    view, place = context.make_array(kinds[0])(context, builder, values[0]), WORD(0)
    for axis, (kind, value) in enumerate(zip(kinds[1:], values[1:], strict=True)):
        at = context.cast(builder, value, kind, INDEX)
        extent = builder.extract_value(view.shape, axis)
        if getattr(kind, "signed", True):
            at = builder.select(builder.icmp_signed("<", at, WORD(0)), builder.add(at, extent), at)
        place = builder.add(builder.mul(place, extent), at) if axis else at
    return builder.gep(view.data, [place], inbounds=True)


@cache
def item(ndim: int) -> Callable:
    """Return a function of compiled code: an entry of a contiguous array."""

    def resolve(kinds: tuple):
        def generate(context, builder, signature, args):
            return context.unpack_value(builder, kinds[0].dtype, _place_of(context, builder, kinds, args))

        return kinds[0].dtype(*kinds), generate

    return _intrinsic(resolve, 1 + ndim)


@cache
def put(ndim: int) -> Callable:
    """Return a function of compiled code that sets an entry of a contiguous array."""

    def resolve(kinds: tuple):
        def generate(context, builder, signature, args):
            context.pack_value(builder, kinds[0].dtype, args[-1], _place_of(context, builder, kinds[:-1], args[:-1]))
            return context.get_dummy_value()

        return types.none(*kinds[:-1], kinds[0].dtype), generate

    return _intrinsic(resolve, 2 + ndim)


def _chosen(sign: str):
    """Return what makes the larger or the smaller of two numbers: the first, unless the second is really so."""

    def resolve(_, u, v):
        is_real = isinstance(u, types.Float) or isinstance(v, types.Float)
        kind = types.float64 if is_real else INDEX

        def generate(context, builder, signature, args):
            is_second = builder.fcmp_ordered(sign, args[1], args[0]) if is_real else builder.icmp_signed(sign, args[1], args[0])
            return builder.select(is_second, args[1], args[0])

        return kind(kind, kind), generate

    return intrinsic(resolve)


larger, smaller = _chosen(">"), _chosen("<")


@intrinsic
def room(_, size):
    """Return an array of some float64 that lasts as long as the function that makes it."""
    kind = array_type("float64", 1)

    def generate(context, builder, signature, args):
        return _array_of(context, builder, kind, builder.ptrtoint(builder.alloca(DOUBLE, args[0]), WORD), args)

    return kind(INDEX), generate


# --- calls ------------------------------------------------------------------------------------------------------------


def _flat(context, builder, kinds, values) -> list:
    """Return the arguments of a C function: numbers as they are, of an array the address and the shape."""
    out = []
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(kind, types.Array):
            view = context.make_array(kind)(context, builder, value)
            out += [builder.ptrtoint(view.data, WORD), *(builder.extract_value(view.shape, axis) for axis in range(kind.ndim))]
        else:
            out.append(value)
    return out


def _wanted(wanted: tuple, given: tuple) -> tuple:
    """Return the types with which a function is called, "int64", "float64", or dimensions and maybe the type of an array."""
    kinds = []
    for want, kind in zip(wanted, given, strict=True):
        if isinstance(want, str):
            kinds.append(getattr(types, want))
        elif isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim == want[1]:
            if want[0] is not None and numba.from_dtype(np.dtype(want[0])) != kind.dtype:
                raise numba.TypingError(f"a C function takes an array of {want[0]}, got {kind.dtype}")
            kinds.append(kind)
        else:
            raise numba.TypingError(f"a C function takes a contiguous array of {want[1]} dimensions, got {kind}")
    return tuple(kinds)


@cache
def caller(wanted: tuple, returned: str, name: str | None = None) -> Callable:
    """Return a function of compiled code that calls a C function: by its name, or in a table, given its address and the place."""
    own = 0 if name else 2

    def resolve(given: tuple):
        kinds = (*own * (INDEX,), *_wanted(wanted, given[own:]))

        def generate(context, builder, signature, args):
            flat = _flat(context, builder, kinds[own:], args[own:])
            function = ir.FunctionType(C_TYPES[returned], [value.type for value in flat])
            if name:
                found = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
            else:
                address = builder.add(args[0], builder.mul(args[1], WORD(8)))
                found = builder.load(builder.inttoptr(address, function.as_pointer().as_pointer()))
            result = builder.call(found, flat)
            return context.get_dummy_value() if returned == "none" else result

        return getattr(types, returned)(*kinds), generate

    return _intrinsic(resolve, own + len(wanted))


def this_processor() -> str:
    """Return the name and the features of the processor, for which numba compiles."""
    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def name_code(name: str, address: int) -> None:
    """Set the name by which compiled code calls what is at an address."""
    binding.add_symbol(name, address)
