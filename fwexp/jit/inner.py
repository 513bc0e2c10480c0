"""How numba compiles the parts of kernels: functions that are called by compiled code only, which holds copies of them.

Left to itself, numba optimises each of them in full and makes machine code of it, and then optimises the copy in each caller
again. The first is work for nothing: a quarter of the time that kernels take to compile.
"""

import llvmlite.binding as llvm
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["PartCompiler", "pipeline_with"]


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into callers, where it is optimised; nothing of it can be run."""

    def _optimize_final_module(self) -> None:
        """Do what makes it small; loops are left as they are, for the callers."""
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """End here: machine code would follow."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower to code that is no more than a part of its callers."""

    _name = "part_lowering"

    def run_pass(self, state) -> bool:
        """Lower a function, and make it known to callers; what stands for it must be unlike that of any other."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered = state.cr
        module, name = lowered.fndesc.lookup_module(), lowered.fndesc.qualname
        stands_for = make_function(module, name, "", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(stands_for, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=stands_for)
        return True


def pipeline_with(lowering: type, state) -> PassManager:
    """Return numba's pipeline with another lowering."""
    pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
    pipeline.passes = [(lowering if each is NativeLowering else each, said) for each, said in pipeline.passes]
    pipeline.finalize()
    return pipeline


class PartCompiler(CompilerBase):
    """numba's pipeline for parts of kernels."""

    def define_pipelines(self) -> list:
        """Return numba's own, but for the lowering."""
        return [pipeline_with(_PartLowering, self.state)]
