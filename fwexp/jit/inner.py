"""How numba compiles the parts of kernels: functions that are called by compiled code only, which holds copies of them.

Left to itself, numba optimises each of them in full and makes machine code of it, and then optimises the copy in each caller
again. The first is work for nothing, a third of the time that kernels take to compile. So is counting references to all arrays
in all arguments, in and out of every call: a third of the code that LLVM is given. numba also takes tuples and arrays apart for
every call, hundreds of numbers for a problem and an iterate; here they are passed as they are.
"""

from collections import Counter
from copy import copy

from llvmlite import ir as llvm
from numba import types
from numba._dynfunc import make_function
from numba.core import ir
from numba.core.callconv import CPUCallConv
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, _pass_registry, register_pass
from numba.core.cpu import CPUContext
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.postproc import VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering

__all__ = ["PartCompiler", "pipeline_with"]


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into callers, where it is optimised; nothing of it can be run."""

    def _optimize_functions(self, ll_module) -> None:
        """Optimise the functions of a module, not the many that it only declares."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

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


def _as_array(builder, value, kind):
    """Return a struct as an array if it should be one."""
    if value.type == kind or not isinstance(kind, llvm.ArrayType):
        return value
    array = llvm.Constant(kind, llvm.Undefined)
    for k in range(kind.count):
        array = builder.insert_value(array, builder.extract_value(value, k), k)
    return array


class _Whole:
    """Arguments of these types as a function takes them: one value each, not taken apart."""

    def __init__(self, context, kinds) -> None:
        self.argument_types = tuple(context.get_value_type(kind) for kind in kinds)

    def as_arguments(self, builder, values):
        """Return what a caller passes; numba packs variable arguments of one type as a struct, although they are an array."""
        return [_as_array(builder, value, kind) for value, kind in zip(values, self.argument_types, strict=True)]

    def from_arguments(self, builder, args) -> list:
        """Return the values in the function."""
        return list(args)

    def assign_names(self, args, names) -> None:
        """Name what the function is passed."""
        for arg, name in zip(args, names, strict=True):
            arg.name = name


class _PartConvention(CPUCallConv):
    """The calling convention of parts: arguments are passed whole."""

    def _get_arg_packer(self, kinds) -> _Whole:
        return _Whole(self.context, kinds)


class _PartContext(CPUContext):
    """numba's context of compilation, where functions are called as parts are."""

    call_conv = property(_PartConvention)


def _calling_parts(context: CPUContext) -> _PartContext:
    """Return a context with all that another knows."""
    own = copy(context)
    own.__class__ = _PartContext
    return own


class _PartLower(LendingLower):
    """numba's translation to LLVM, of a part."""

    def setup_function(self, fndesc) -> None:
        """Declare the function."""
        context, self.context = self.context, _calling_parts(self.context)
        super().setup_function(fndesc)
        self.context = context

    def extract_function_arguments(self) -> list:
        """Return the arguments, which come as they are."""
        self.fnargs = list(self.call_conv.get_arguments(self.function))
        return self.fnargs


def _caller(fndesc, library):
    """Return what inserts a call of a part into its callers."""
    numbas = user_function(fndesc, [library])

    def insert(context, builder, signature, args):
        return numbas(_calling_parts(context), builder, signature, args)

    insert.signature, insert.libs = numbas.signature, numbas.libs
    return insert


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower to code that is no more than a part of its callers."""

    _name = "part_lowering"
    lowering_class = _PartLower

    def run_pass(self, state) -> bool:
        """Lower a function, and register it for callers under a unique name."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered = state.cr
        module, name = lowered.fndesc.lookup_module(), lowered.fndesc.qualname
        stands_for = make_function(module, name, "", 0, lowered.env, (state.library,))
        insert = _caller(lowered.fndesc, state.library)
        state.targetctx.insert_func_defn([(insert, stands_for, insert.signature)])
        state.cr = lowered._replace(cfunc=stands_for)
        return True


class _Passes(PassManager):
    """numba's passes, without what it does after each of them for its debuggers and for Python's own mode."""

    def _runPass(self, index, pss, internal_state) -> None:
        """Run a pass, and bring up to date what later ones need."""
        function = internal_state.func_ir
        if function is None or function.is_generator:
            return super()._runPass(index, pss, internal_state)
        pss.analysis = self._analysis
        changed = [run(internal_state) for run in (pss.run_initialization, pss.run_pass, pss.run_finalizer)]
        if _pass_registry.get(type(pss)).mutates_CFG:
            function = internal_state.func_ir
            function.blocks = canonicalize_cfg(function.blocks)
            if any(changed):
                function.variable_lifetime = VariableLifetime(function.blocks)
        return None


_pipelines: dict[type, _Passes] = {}  # by the lowering


def pipeline_with(lowering: type, state) -> PassManager:
    """Return numba's pipeline with another lowering; all kernels and parts share the options on which the passes depend."""
    if lowering not in _pipelines:
        numbas, ours = DefaultPassBuilder.define_nopython_pipeline(state), _Passes("nopython")
        ours.passes = [(lowering if each is NativeLowering else each, said) for each, said in numbas.passes]
        ours.finalize()
        _pipelines[lowering] = ours
    return _pipelines[lowering]


_compiled: dict[tuple, CompileResult] = {}  # parts, by all that they depend on


class PartCompiler(CompilerBase):
    """numba's pipeline for parts of kernels."""

    def compile_extra(self, func):
        """Compile a function, once for all callers: numba repeats it for every set of options that a caller has, used or not."""
        state = self.state
        key = func, state.args, state.return_type, state.flags.copy(), state.typingctx
        if key not in _compiled:
            _compiled[key] = super().compile_extra(func)
        return _compiled[key]._replace(metadata=None)

    def define_pipelines(self) -> list:
        """Return numba's own, except the lowering."""
        return [pipeline_with(_PartLowering, self.state)]
