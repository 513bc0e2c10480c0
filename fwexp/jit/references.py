"""How numba compiles kernels: arrays that a kernel is given are borrowed, so it counts no references to them.

The caller of a kernel holds its arrays, so they live until it ends. numba counts nevertheless, at every slice and at every call
that has arrays in its arguments: atomically, a fifth of a step on short chains. Here arrays have no owner within a kernel, as
those without memory of their own, and numba leaves out counts that are about nothing. Kernels that could leave an array
somewhere, in what they return or in a list or an object that they are given, count as usual. An exception must not hold one.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from numba import types
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import default_manager
from numba.core.typed_passes import NativeLowering

from fwexp.jit.inner import LendingLower, pipeline_with

__all__ = ["KernelCompiler", "leaves_arrays"]


def _leaves(kind: types.Type) -> Iterator[types.Type]:
    """Return the types of a value's parts, through tuples."""
    if isinstance(kind, types.BaseTuple):
        for part in kind.types:
            yield from _leaves(part)
    else:
        yield kind


def leaves_arrays(given: Iterable[types.Type], returned: types.Type) -> bool:
    """Return whether a kernel of these types can leave an array that it is given behind; if not, it borrows them."""
    if isinstance(returned, types.Generator):
        return True
    places = [returned, *(leaf for kind in given for leaf in _leaves(kind) if not isinstance(leaf, types.Array))]
    return any(default_manager[place].contains_nrt_meminfo() for place in places)


class _BorrowingLower(LendingLower):
    """numba's translation to LLVM, of a function that borrows its arrays."""

    def extract_function_arguments(self) -> list:
        """Return the arguments, without owners of arrays where no array can be left behind."""
        super().extract_function_arguments()
        kinds = self.fndesc.argtypes
        if not leaves_arrays(kinds, self.fndesc.restype):
            self.fnargs = [self._borrowed(kind, value) for kind, value in zip(kinds, self.fnargs, strict=True)]
        return self.fnargs

    def _borrowed(self, kind: types.Type, value):
        if isinstance(kind, types.BaseTuple):
            for place, part in enumerate(kind.types):
                borrowed = self._borrowed(part, self.builder.extract_value(value, place))
                value = self.builder.insert_value(value, borrowed, place)
        elif isinstance(kind, types.Array):
            array = self.context.make_array(kind)(self.context, self.builder, value)
            array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
            value = array._getvalue()
        return value


@register_pass(mutates_CFG=True, analysis_only=False)
class _BorrowingLowering(NativeLowering):
    _name = "borrowing_lowering"
    lowering_class = _BorrowingLower


COLLECT = (100_000, 20, 1000)  # objects before Python looks for garbage while numba compiles, and how much more rarely at old ones


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """Make Python collect garbage less often: compilers make many objects and drop few, which saves a tenth of the time."""
    before = gc.get_threshold()
    if 0 < before[0] < COLLECT[0]:
        gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class KernelCompiler(CompilerBase):
    """numba's pipeline for kernels."""

    def compile_extra(self, func):
        """Compile a function."""
        with _rarely_collecting():
            return super().compile_extra(func)

    def define_pipelines(self) -> list:
        """Return numba's own, except the translation."""
        return [pipeline_with(_BorrowingLowering, self.state)]
