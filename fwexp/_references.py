"""How numba compiles kernels: without counts of references, where a kernel makes no arrays and keeps none.

Whoever calls a kernel holds its arrays, so what it does not make itself lives until it ends. numba counts nevertheless, at every
slice and at every call that has arrays in its arguments: atomically, a fifth of a step on short chains. Kernels of lists or of
jitclass objects, where an array might be left, go on counting.
"""

import re
from collections.abc import Collection

import llvmlite.binding as llvm
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from fwexp._parts import pipeline_with

__all__ = ["KernelCompiler", "shared"]

COUNTING = re.compile(r"\bcall void @NRT_(inc|dec)ref\(")
WRAPPER = "@NRT_adapt_ndarray_from_python"  # what takes arrays from Python, with a reference to each that it has to give back
# Whatever else of numba's memory management a kernel calls makes arrays, or hands them over. NRT_Free is for errors.
HARMLESS = {"NRT_incref", "NRT_decref", "NRT_adapt_ndarray_from_python", "NRT_Free", "NRT_MemInfo_call_dtor"}

shared: list = []  # kernels that others call: their machine code, and no copy of it, is to run wherever they are called


def _uncounted(code: str, keep: Collection[str]) -> str | None:
    """Return LLVM code that counts references where it takes arrays from Python only; None where it must elsewhere.

    Functions called ``keep`` stay as they are. All others are the module's own from then on, for there may be code of the same
    name elsewhere that does count.
    """
    if set(re.findall(r"\bcall\b[^@\n]*@(NRT_\w+)", code)) - HARMLESS:
        return None
    lines, counts = code.splitlines(), False
    kept = []
    for at, line in enumerate(lines):
        if line.startswith("define"):
            name = re.search(r'@"?([^"(]+)"?\(', line)[1]
            counts = name in keep or any(WRAPPER in each for each in lines[at : lines.index("}", at)])
            kept.append(line if name in keep else line.replace("define linkonce_odr ", "define private ", 1))
        elif counts or not COUNTING.search(line):
            kept.append(line)
    return "\n".join(kept)


class _KernelLibrary(JITCodeLibrary):
    """A kernel, with copies of all that it calls."""

    def _optimize_final_module(self) -> None:
        """Leave counts of references out, and go on as numba does."""
        module = self._final_module
        keep = {compiled.fndesc.mangled_name for kernel in shared for compiled in kernel.overloads.values()}
        code = _uncounted(str(module), keep)
        if code is not None:
            self._final_module = llvm.parse_assembly(code)
            self._final_module.name = module.name
        super()._optimize_final_module()


def _keeps_nothing(kind: types.Type, models) -> bool:
    """Return whether what is left in a value of this type is never an array, but its numbers."""
    if isinstance(kind, types.BaseTuple):
        return all(_keeps_nothing(each, models) for each in kind.types)
    return isinstance(kind, types.Array) or not models[kind].contains_nrt_meminfo()


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Lower to code that ``_KernelLibrary`` optimises."""

    _name = "kernel_lowering"

    def run_pass(self, state) -> bool:
        """Lower a kernel."""
        models = state.targetctx.data_model_manager
        if all(_keeps_nothing(each, models) for each in state.args):
            state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super().run_pass(state)


class KernelCompiler(CompilerBase):
    """numba's pipeline for kernels."""

    def define_pipelines(self) -> list:
        """Return numba's own, but for the lowering."""
        return [pipeline_with(_KernelLowering, self.state)]
