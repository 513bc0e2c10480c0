"""How numba compiles the parts of kernels: functions that are called by compiled code only, which holds copies of them.

Left to itself, numba optimises each of them in full and makes machine code of it, and then optimises the copy in each caller
again. The first is work for nothing, a third of the time that kernels take to compile. So is counting references to all arrays
in all arguments, in and out of every call: a third of the code that LLVM is given.
"""

from collections import Counter

from numba import types
from numba._dynfunc import make_function
from numba.core import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

__all__ = ["PartCompiler", "pipeline_with"]


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into callers, where it is optimised; nothing of it can be run."""

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """End here: machine code would follow."""
        self._finalize_dynamic_globals()
        self._finalized = True


class LendingLower(Lower):
    """numba's translation to LLVM, of a function whose arguments live as long as it does: its caller holds them.

    So they, and what is read out of tuples among them, are not counted, and need no place in memory.
    """

    def pre_lower(self) -> None:
        """Find the variables that are arguments all along."""
        super().pre_lower()
        assigned = [inst for block in self.blocks.values() for inst in block.find_insts(ir.Assign)]
        times = Counter(inst.target.name for inst in assigned)
        self._lent = {inst.target.name for inst in assigned if isinstance(inst.value, ir.Arg) and times[inst.target.name] == 1}
        if self.generator_info is not None or self._disable_sroa_like_opt:
            self._lent = set()
        self._singly_assigned_vars |= self._lent

    def lower_assign(self, ty, inst):
        """Return the value that is assigned, not counted if it is lent."""
        name, value = inst.target.name, inst.value
        if name in self._lent:
            return self.context.cast(self.builder, self.fnargs[value.index], self.typeof(f"arg.{value.name}"), ty)
        if isinstance(value, ir.Expr) and value.op == "getattr" and value.value.name in self._lent:
            kind = self.typeof(value.value.name)
            if isinstance(kind, types.BaseNamedTuple) and value.attr in kind.fields and name in self._singly_assigned_vars:
                self._lent.add(name)
                place = kind.fields.index(value.attr)
                field = self.builder.extract_value(self.loadvar(value.value.name), place)
                return self.context.cast(self.builder, field, kind.types[place], ty)
        return super().lower_assign(ty, inst)

    def delvar(self, name: str) -> None:
        """End the life of a variable; borrowed references go on."""
        if name not in self._lent:
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower to code that is no more than a part of its callers."""

    _name = "part_lowering"
    lowering_class = LendingLower

    def run_pass(self, state) -> bool:
        """Lower a function, and register it for callers under a unique name."""
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
        """Return numba's own, except the lowering."""
        return [pipeline_with(_PartLowering, self.state)]
