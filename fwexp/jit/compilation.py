"""How kernels are compiled: the decorators of functions that numba compiles, and what is called in their place.

A kernel is called with numbers, arrays and named tuples. It is linked (`fwexp.jit.linker`) into one text for the kinds of its
arguments (`fwexp.jit.kinds`), which numba compiles and keeps (`fwexp.jit.texts`). A kernel that gets a problem is written without
knowledge of its family, if that can be: it is compiled once for all of them, and calls the functions of the family through a table,
where each is compiled when it is called first (`fwexp.jit.c_functions`). Only public names of numba are used.
"""

import pkgutil
from array import array
from collections.abc import Callable, Sequence
from functools import cache, cached_property, update_wrapper, wraps

import numba
import numpy as np
from numba import types

from fwexp.errors import warn
from fwexp.jit import c_functions, families, kinds, texts
from fwexp.jit.c_functions import Named, Signature
from fwexp.jit.families import Family, family_of
from fwexp.jit.linked_calls import Calls, array_function, forget_parts, mark
from fwexp.jit.linked_values import Value, constant
from fwexp.jit.linker import Frame, Linker
from fwexp.jit.syntax import NeedsFamilyError, assign, load, parsed, remembered, text_of
from fwexp.jit.texts import Text

__all__ = [
    "array_kernel",
    "dispatched",
    "in_kernels",
    "inlined",
    "named",
    "njit",
    "oracle_part",
    "register_jitable",
    "specialise",
    "warn_if_interpreted",
]

SIGNATURE = types.int64, types.int64  # of kernels: the address of their arguments, and that of a table


def register_jitable(function: Callable) -> Callable:
    """Mark a function that kernels call."""
    remembered(function)
    return function


inlined = register_jitable


def oracle_part(function: Callable) -> Callable:
    """Mark a part of oracles, whose sums may be reordered: no infinities."""
    mark(function, fastmath=True)
    return function


def in_kernels(compiled: Callable) -> Callable[[Callable], Callable]:
    """State what compiled code has instead of a function: another function, or one of numba's own (an intrinsic)."""

    def decorate(function: Callable) -> Callable:
        mark(function, compiled)
        return function

    return decorate


@cache
def warn_if_interpreted() -> None:
    """Warn, once in a process, if kernels are not compiled because of ``NUMBA_DISABLE_JIT``."""
    if numba.config.DISABLE_JIT:
        warn("NUMBA_DISABLE_JIT is set, so kernels run as plain Python, about 1000 times slower; unset it unless you debug")


# --- kernels ----------------------------------------------------------------------------------------------------------


def njit(function: Callable | None = None, *, fastmath: bool = False):
    """Compile ``function`` in nopython mode, once for all families of problems where that can be."""
    # Divisions follow numpy (no exception on zero): kernels guard them. ``fastmath`` is for oracles only. Kernels release the
    # interpreter lock; loops over examples are spread over threads by ``fwexp.jit.threads``.
    if function is None:
        return lambda function: njit(function, fastmath=fastmath)
    if numba.config.DISABLE_JIT:  # numba would return the function too; this setting is for debuggers
        function.py_func = function
        return function
    remembered(function)
    return Kernel(function, fastmath)


class Linked:
    """A kernel that is linked and compiled for kinds of arguments."""

    def __init__(self, function: Callable, fastmath: bool, given: tuple) -> None:
        self._calls = Calls()
        linker = Linker(self._calls, fastmath)
        frame, values = Frame(linker, function, True), []
        self._names = parsed(function).names
        for k, (name, kind) in enumerate(zip(self._names, given, strict=True)):
            if isinstance(kind, kinds.Constant):
                values.append(constant(kind.value))
                continue
            linker.top.append(assign(name, linker.read(load("_arguments"), kinds.WORDS * k, kind)))
            values.append(Value(load(name), kind))
            if isinstance(kind, (kinds.Row, kinds.Erased)):
                linker.roots.add(name)
        frame.bind(values, {})
        frame.run()
        source = text_of(function.__name__, ("_arguments", "_functions"), linker.finished(frame.out))
        self.text = Text(function.__name__, self._calls.headed(source), linker.scope, fastmath, self._calls.can_be_kept)
        self._functions, self._compiled = linker.table, None
        self._tables: dict[tuple, tuple[int, np.ndarray, Family]] = {}

    def __call__(self, arguments: int, problem: kinds.Packed | None, given: tuple):
        """Run the kernel on arguments of the kinds ``given``; what C functions raise meanwhile is raised after it."""
        if self._compiled is None:
            with texts.compilation():
                self._calls.load()
                self._compiled = texts.compiled_kernel(self.text, SIGNATURE)
        return c_functions.run(self._compiled, arguments, self._table(problem.family, given) if self._functions else 0)

    def _table(self, family: "Family", given: tuple) -> int:
        """Return the address of the table of the functions that are called, those of the family of a problem."""
        if (found := self._tables.get((id(family), given))) is None:
            family.check(zip(self._names, given, strict=True))
            table = np.zeros(len(self._functions), dtype=np.int64)
            for place, function in enumerate(self._functions):
                family.entry(function).write_to(table, place)
            found = self._tables[id(family), given] = table.ctypes.data, table, family  # code lives as long as the family
        return found[0]


class Imported:
    """An object of a module, which is pickled by its name."""

    def __init__(self, function: Callable) -> None:
        update_wrapper(self, function)
        self.py_func = function

    def __reduce__(self):
        return pkgutil.resolve_name, (f"{self.__module__}:{self.__qualname__}",)


class Kernel(Imported):
    """What `njit` makes of a function: called with values, it runs code that is compiled for their kinds."""

    def __init__(self, function: Callable, fastmath: bool) -> None:
        super().__init__(function)
        self.kernel_fastmath = fastmath
        self._names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._linked: dict[tuple, Linked | None] = {}
        _kernels.append(self)

    def __call__(self, *args):
        rows, of_method, of_family, places = [], [], [], []
        problem = None
        for name, value in zip(self._names, args, strict=True):
            if isinstance(value, tuple):
                row = kinds.packed(value)
                rows.append(row)  # alive until the kernel has ended
                kind, general = row.kind, row.kind_in_methods
                if name == "problem":
                    problem = row
                    if row.family is None or row.family.is_old:
                        row.family = family_of(value, row)
                elif name in kinds.ERASED:
                    general = kinds.erased(name)
                places += (row.address, 0, 0, 0)
            elif isinstance(value, np.ndarray):
                dtype, data = kinds.array_of(value, name)
                kind = kinds.array(dtype, value.ndim)
                general = kinds.erased(name) if name in kinds.ERASED else kind
                places += (data, *value.shape, *kinds.PADDING[value.ndim])
            else:
                kind = general = kinds.number(value)
                if kind is None:
                    raise TypeError(f"kernels take no {type(value).__name__}, which {name} is")
                places += (kinds.as_word(value) if isinstance(kind, kinds.Number) else 0, 0, 0, 0)
            of_family.append(kind)
            of_method.append(general)
        words, given = array("q", places), tuple(of_family)
        return self._link(tuple(of_method), given)(words.buffer_info()[0], problem, given)

    def _link(self, of_method: tuple, of_family: tuple) -> Linked:
        """Return what is linked for arguments: for all families, or for this one where it has to be known."""
        for given in (of_method, of_family):
            if given not in self._linked:
                with texts.compilation():
                    try:
                        self._linked[given] = Linked(self.py_func, self.kernel_fastmath, given)
                    except NeedsFamilyError:
                        self._linked[given] = None
            if (found := self._linked[given]) is not None:
                return found
        raise TypeError(f"{self.__name__} cannot be compiled for these arguments")

    def forget(self) -> None:
        """Forget what is linked."""
        self._linked.clear()


_kernels: list[Kernel] = []


def specialise(kernel, problem, *values) -> Callable:
    """Return the form of ``kernel`` that fits ``problem``: compiled for tuples of arrays, else plain Python."""
    return kernel.py_func if numba.config.DISABLE_JIT or not isinstance(problem, tuple) else kernel


def _forget() -> None:
    """Forget what is linked: a function that is registered late may take part in it."""
    for kernel in _kernels:
        kernel.forget()
    families.forget()
    forget_parts()


# --- oracles on arrays ------------------------------------------------------------------------------------------------


class ArrayKernel(Imported):
    """What `array_kernel` makes of a function: a C function."""

    def __init__(self, function: Callable, signature: str, fastmath: bool) -> None:
        super().__init__(function)
        self._fastmath = fastmath
        self._signature = eval(signature, {}, vars(types))
        self._called: Callable | None = None

    @cached_property
    def c_function(self) -> Named:
        """The C function."""
        wanted = tuple(
            (str(kind.dtype), kind.ndim) if isinstance(kind, types.Array) else str(kind) for kind in self._signature.args
        )
        return array_function(self.py_func, wanted, str(self._signature.return_type), self._fastmath)

    def __call__(self, *args):
        function = self.c_function
        if self._called is None:
            self._called = function.in_ctypes()(function.load())
        flat = []
        for wanted, value in zip(function.wanted, args, strict=True):
            if isinstance(wanted, tuple):
                known = isinstance(value, np.ndarray) and value.flags.c_contiguous
                if not known or (kinds.DTYPES.get(value.dtype), value.ndim) != wanted:
                    raise TypeError(f"{self.__name__} takes a contiguous array of {wanted[0]}, {wanted[1]} dimensions")
                flat += [kinds.address_of(value), *value.shape]
            else:
                flat.append(value)
        return c_functions.run(self._called, *flat)


def array_kernel(signature: str, *, fastmath: bool = True) -> Callable[[Callable], Callable]:
    """Compile an oracle that takes arrays only, as one C function, with ``fastmath`` unless sums are compared with one another."""

    def decorate(function: Callable) -> Callable:
        if numba.config.DISABLE_JIT:
            function.py_func = function
            return function
        return ArrayKernel(function, signature, fastmath)

    return decorate


# --- functions that are dispatched ------------------------------------------------------------------------------------


def named(function: Callable, name: str) -> Callable:
    """Set the name, which tracebacks and profiles show, of a function that has none in the sources."""
    if function.__name__ in ("_", "<lambda>"):
        function.__name__ = function.__qualname__ = name
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


class Implementations(dict[type, Callable]):
    """Functions by the classes that they are registered for; ``found`` keeps those of subclasses, too, for plain Python."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[type, Callable] = {}

    def __setitem__(self, cls: type, function: Callable) -> None:
        super().__setitem__(cls, function)
        self.found.clear()

    def __delitem__(self, cls: type) -> None:
        super().__delitem__(cls)
        self.found.clear()


def dispatched(
    stub: Callable | None = None,
    *,
    fastmath: bool = True,  # whether sums may be reordered, as in sums over parts; not where they are compared
    default: Sequence[str] | None = None,  # if given, the stub is registered for ``object``, and reads these fields of a problem
    entry: bool = False,  # whether methods call it of a problem of any family; its signature says the types (`c_functions`)
    fixed: bool = False,  # whether it returns an array of the problem, which methods get with the problem
    composed: bool = False,  # whether it only calls entries: several in one call
) -> Callable:
    """Make ``stub``, a documented signature, a function that is dispatched on the class of its first argument."""
    # Classes register with ``function.register(cls)``; what is registered for a base class, ``object`` included, serves those
    # that have nothing of their own. In compiled code the choice is made when it is linked, in plain Python at run time, so that
    # the same solver loop serves both.
    if stub is None:
        return lambda stub: dispatched(stub, fastmath=fastmath, default=default, entry=entry, fixed=fixed, composed=composed)
    implementations = Implementations()
    found = implementations.found

    def find(cls: type | None) -> Callable | None:
        """Return the implementation for a class."""
        for base in getattr(cls, "__mro__", ()):
            if base in implementations:
                return implementations[base]
        return None

    @wraps(stub)
    def dispatch(*args):
        cls = type(args[0])
        function = found.get(cls)
        if function is None:
            if (function := find(cls)) is None:
                raise TypeError(f"{stub.__name__} is not available for {cls.__name__}")
            found[cls] = function
        return function(*args)

    def register(*classes: type) -> Callable[[Callable], Callable]:
        """Register a function for classes."""

        def add(function: Callable) -> Callable:
            named(function, f"{stub.__name__}_{classes[0].__name__}" if len(classes) == 1 else stub.__name__)
            for cls in classes:
                implementations[cls] = function
            remembered(function)
            _forget()
            return function

        return add

    dispatch.register, dispatch.find, dispatch.reads = register, find, tuple(default or ())
    dispatch.implementations, dispatch.fastmath = implementations, fastmath
    dispatch.signature = Signature.of(stub) if entry and not fixed else None
    dispatch.composed = stub if composed else None
    if fixed:
        kinds.fixed[stub.__name__] = dispatch
    if default is not None:
        register(object)(stub)
    return dispatch
