"""Compilation settings: the one place that decides how kernels are compiled and what their machine code is cached under.

numba's disk cache looks at the file that defines a kernel, not at the functions that the kernel calls: edit an oracle and the
cached solver keeps running the old one. So machine code is kept in a directory named after the digest of the sources that its
module depends on. Kernels also call functions that their module does not import, by dispatch on the class of an argument. These
functions lie in `PACKAGES`, which therefore count as a whole: problems and oracles for every kernel, the others if the module
of the kernel imports one of their files. Other sources do not count: after an edit of one solver, only that solver is compiled
anew. Kernels specialised for classes from elsewhere are not cached at all.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cache, wraps
from pathlib import Path

import numba
import numba.extending

from fwexp.errors import warn
from fwexp.files import code_digest
from fwexp.jit import disk_cache, numba_internals

__all__ = [
    "INLINE",
    "PART",
    "array_kernel",
    "dispatched",
    "inlined",
    "named",
    "njit",
    "oracle_part",
    "register_jitable",
    "specialise",
    "warn_if_interpreted",
]

KERNEL = {"error_model": "numpy", "nogil": True}
PART = {"parallel": False}  # Options of functions that only kernels call: the default, because register_jitable takes no empty set.
INLINE = {**PART}
if numba_internals.are_available():
    from fwexp.jit.inner import PartCompiler
    from fwexp.jit.kernel_cache import KernelCache
    from fwexp.jit.references import KernelCompiler

    KERNEL |= {"no_cfunc_wrapper": True, "pipeline_class": KernelCompiler}
    PART |= {"no_cfunc_wrapper": True, "pipeline_class": PartCompiler}
    INLINE |= {**PART, "forceinline": True}
REACHED = ("fwexp.jit.compilation", "fwexp.problems", "fwexp.oracles")  # Every kernel may call these.
PACKAGES = ("fwexp.problems", "fwexp.oracles", "fwexp.blocks")  # Dispatched functions of these lie anywhere in the package.

register_jitable = numba.extending.register_jitable(**PART)
inlined = numba.extending.register_jitable(**INLINE)
"""For parts of steps: a call that is not inlined copies every array in its arguments, which may take longer than a step."""
oracle_part = numba.extending.register_jitable(fastmath=True, **INLINE)
"""For parts of oracles, whose sums may be reordered: no infinities."""


@cache
def warn_if_interpreted() -> None:
    """Warn, once in a process, if kernels are not compiled because of ``NUMBA_DISABLE_JIT``, or compiled by other means."""
    if numba.config.DISABLE_JIT:
        warn("NUMBA_DISABLE_JIT is set, so kernels run as plain Python, about 1000 times slower; unset it unless you debug")
    elif lacking := numba_internals.missing():
        fault = "was not tested" if len(lacking) == len(numba_internals.USED) else f"lacks {lacking[0]}"
        below = ".".join(map(str, numba_internals.NEWER))
        warn(f"numba {numba.__version__} {fault}, so kernels compile more slowly and are not kept on disk; install numba<{below}")


@cache
def cache_directory(module: str) -> Path | None:
    """Return the directory of the machine code of a module as its sources are now; None where nothing can be kept."""
    return disk_cache.directory(code_digest.digest([module, *REACHED], whole=PACKAGES)[:16])


def njit(function: Callable | None = None, *, fastmath: bool = False, calls: Sequence[Callable] = ()):
    """Compile ``function`` in nopython mode, cached on disk under the digest of the sources that it depends on.

    Divisions follow numpy (no exception on zero): kernels guard them. ``fastmath`` is for oracles only. Kernels release
    the interpreter lock; loops over examples are spread over threads by ``fwexp.jit.threads``. Arrays are borrowed from the
    caller (``fwexp.jit.references``): what a kernel raises must not hold one. ``calls`` are the functions dispatched ``on_request``
    that the kernel calls.
    """
    if function is None:
        return lambda function: njit(function, fastmath=fastmath, calls=calls)
    _requested[function], _fastmath[function] = tuple(calls), fastmath
    if numba.config.DISABLE_JIT:  # numba would return the function too; this setting is for debuggers
        function.py_func = function
        return function
    dispatcher = _with_parts(numba.njit(fastmath=fastmath, **KERNEL)(function))
    directory = cache_directory(function.__module__)
    if directory is not None and numba_internals.are_available():
        dispatcher._cache = KernelCache(function, directory)
    return dispatcher


def _with_parts(dispatcher):
    """Return ``dispatcher``, whose kernels hold the environments of their parts from now on.

    From there parts have what they print, and raise, that is known at run time only; without, they end in a deadlock. numba
    sets what code that has just been compiled has of its own, and all of it in code from the disk only.
    """
    if not numba_internals.are_available():  # Then parts are kernels like others.
        return dispatcher
    add = dispatcher.add_overload

    def add_overload(compiled) -> None:
        for environment in compiled._find_referenced_environments():
            compiled.library.codegen.set_env(environment.env_name, environment)
        add(compiled)

    dispatcher.add_overload = add_overload
    return dispatcher


_requested: dict[Callable, tuple[Callable, ...]] = {}  # by the function of a kernel
_fastmath: dict[Callable, bool] = {}  # the same, for fastmath
_array_kernels: dict[Callable, str] = {}  # with their signatures; those that are not loaded yet


def array_kernel(signature: str, *, fastmath: bool = True) -> Callable[[Callable], Callable]:
    """Compile an oracle that takes arrays only: cached, with ``fastmath`` unless sums are compared with one another."""

    def decorate(function: Callable) -> Callable:
        kernel = njit(function, fastmath=fastmath)
        _array_kernels[kernel] = signature
        return kernel

    return decorate


def load_array_kernels(kernels: Collection[Callable]) -> None:
    """Load oracles on arrays, or compile them.

    Machine code of a caller holds a copy of its own, optimised along with the caller, and what runs is the copy that was
    loaded first. It must be the same one, whether callers come from the cache or are compiled now.
    """
    for kernel in kernels:
        if signature := _array_kernels.get(kernel):
            kernel.compile(eval(signature, {}, vars(numba.types)))  # A tuple, as in calls: another form would be cached twice.
            _array_kernels.pop(kernel, None)


@cache
def array_kernels_of(function: Callable, classes: frozenset[type]) -> tuple[Callable, ...]:
    """Return the oracles on arrays that a kernel may call for problems made of ``classes``, as registered functions state them."""
    requested = set(_requested.get(function, ()))
    requested.update(*(one.requests.get(one.find(cls), ()) for one in _dispatched for cls in classes))
    called = [one for one in _dispatched if not one.on_request or one in requested]
    found = (kernel for one in called for cls in classes for kernel in one.array_kernels.get(one.find(cls), ()))
    return tuple(dict.fromkeys(found))


@cache
def _uncached(dispatcher) -> Callable:
    return _with_parts(numba.njit(fastmath=_fastmath[dispatcher.py_func], **KERNEL)(dispatcher.py_func))


def specialise(kernel, problem, *values) -> Callable:
    """Return the form of ``kernel`` that fits ``problem`` and other values by whose class the kernel chooses functions.

    Families of this package run compiled and cached. Tuples of arrays from elsewhere run compiled, without a disk cache, because
    the digest does not cover their sources; so do kernels that are given such values. Anything else runs as plain Python.
    """
    if numba.config.DISABLE_JIT or not isinstance(problem, tuple):
        return kernel.py_func
    classes = frozenset().union(*map(_classes, (problem, *values)))
    load_array_kernels(array_kernels_of(kernel.py_func, classes))
    return kernel if _is_covered(kernel.py_func.__module__, classes) else _uncached(kernel)


@cache
def _is_covered(module: str, classes: frozenset[type]) -> bool:
    """Return whether the digest of the kernels of a module covers the sources of classes, which are of this package."""
    ours = all(cls.__module__.partition(".")[0] == __name__.partition(".")[0] for cls in classes)
    return ours and {cls.__module__ for cls in classes} <= code_digest.closure([module, *REACHED], whole=PACKAGES)


def _classes(value) -> set[type]:
    """Return the class of a named tuple, and of all named tuples that are its fields."""
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        return set()
    return {type(value)}.union(*map(_classes, value))


def named(function: Callable, name: str) -> Callable:
    """Set the name, which tracebacks and profiles show, of a function that is called ``_`` in the sources."""
    if function.__name__ == "_":
        function.__name__ = function.__qualname__ = name
        function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function


_dispatched: list[Callable] = []


def dispatched(
    stub: Callable | None = None, *, fastmath: bool = True, on_request: bool = False, default: Sequence[str] | None = None
) -> Callable:
    """Make ``stub``, a documented signature, a function that is dispatched on the class of its first argument.

    Classes register with ``function.register(cls)``; what is registered for a base class, ``object`` included, serves those
    that have nothing of their own. In compiled code the choice is made at compile time (numba's ``overload``), in plain
    Python at run time, so that the same solver loop serves both. ``fastmath`` is for oracles and sums over parts.
    ``on_request`` is for functions whose oracles on arrays take long to compile: a kernel that calls them requests this of `njit`.
    ``default`` states that the stub itself is what is registered for ``object``, and the fields that it reads of a problem.
    """
    if stub is None:
        return lambda stub: dispatched(stub, fastmath=fastmath, on_request=on_request, default=default)
    implementations: dict[type, Callable] = {}
    array_kernels: dict[Callable, tuple[Callable, ...]] = {}  # by implementation

    def find(cls: type | None) -> Callable | None:
        """Return the implementation for a class."""
        return next((implementations[base] for base in getattr(cls, "__mro__", ()) if base in implementations), None)

    @wraps(stub)
    def dispatch(first, *args):
        function = implementations.get(type(first)) or find(type(first))
        if function is not None:
            return function(first, *args)
        raise TypeError(f"{stub.__name__} is not available for {type(first).__name__}")

    # fastmath is inherited from the caller in neither direction: sums over parts may be reordered inside an oracle.
    # forceinline, for a call that is not inlined counts references of every array in its arguments: a quarter of a step.
    options = {"fastmath": fastmath, "error_model": "numpy", **INLINE}

    @numba.extending.overload(dispatch, strict=False, jit_options=options)
    def choose(first, *args):
        return find(getattr(first, "instance_class", None))

    def register(
        *classes: type, calls: Sequence[Callable] = (), requests: Sequence[Callable] = ()
    ) -> Callable[[Callable], Callable]:
        """Register a function for classes; it ``calls`` oracles on arrays, and ``requests`` functions dispatched ``on_request``."""

        def add(function: Callable) -> Callable:
            named(function, f"{stub.__name__}_{classes[0].__name__}" if len(classes) == 1 else stub.__name__)
            implementations.update(dict.fromkeys(classes, function))
            array_kernels[function], dispatch.requests[function] = tuple(calls), tuple(requests)
            array_kernels_of.cache_clear()  # modules that are imported late register, too
            return function

        return add

    dispatch.register, dispatch.find, dispatch.reads = register, find, tuple(default or ())
    dispatch.array_kernels, dispatch.requests, dispatch.on_request = array_kernels, {}, on_request
    dispatch.implementations = implementations
    _dispatched.append(dispatch)
    if default is not None:
        register(object)(stub)
    return dispatch
