"""The private parts of numba that fwexp uses, each with its reason, and whether this numba has all of them.

If a name is missing, or numba is newer than the tested versions, fwexp uses the public API alone. Kernels compute the same then,
but they take longer to compile and every process compiles its own. `pyproject.toml` accepts no newer numba for the same reason.
"""

from functools import cache

import numba

from fwexp import internals

__all__ = ["NEWER", "USED", "are_available", "missing"]

NEWER = (0, 69)  # The first version that was not tested; pyproject.toml has the same bound.

_CACHE = "Machine code in files of one kernel each, which are verified and which processes can write at once."
_PARTS = "Parts of kernels become no machine code of their own, a third of the time that kernels take to compile."
_WHOLE = "Tuples and arrays are not taken apart for calls of parts, hundreds of numbers each, a tenth of the time."
_PASSES = "Passes are not followed by what only debuggers and Python's own mode need."
_LENDING = "Arrays in arguments are not counted, a third of the code that LLVM compiles and a fifth of a short step."
_ENVIRONMENTS = "Kernels name the environments of their parts; without them, an exception in a part ends in a deadlock."

USED = {
    "numba._dynfunc.make_function": _PARTS,
    "numba.core.base.BaseContext.insert_func_defn": _WHOLE,
    "numba.core.callconv.CPUCallConv._get_arg_packer": _WHOLE,
    "numba.core.caching.FunctionCache._index_key": _CACHE,
    "numba.core.codegen.JITCodeLibrary._finalize_dynamic_globals": _PARTS,
    "numba.core.codegen.JITCodeLibrary._finalize_final_module": _PARTS,
    "numba.core.codegen.JITCodeLibrary._optimize_final_module": _PARTS,
    "numba.core.codegen.JITCodeLibrary._optimize_functions": _PARTS,
    "numba.core.codegen.JITCPUCodegen._function_pass_manager": _PARTS,
    "numba.core.codegen.JITCPUCodegen.set_env": _ENVIRONMENTS,
    "numba.core.compiler.CompileResult._find_referenced_environments": _ENVIRONMENTS,
    "numba.core.compiler.CompileResult._rebuild": _CACHE,
    "numba.core.compiler.CompileResult._reduce": _CACHE,
    "numba.core.compiler.CompilerBase.compile_extra": "Python collects garbage less often meanwhile, a tenth of the time.",
    "numba.core.compiler.DefaultPassBuilder.define_nopython_pipeline": _LENDING,
    "numba.core.compiler_machinery.PassManager._runPass": _PASSES,
    "numba.core.compiler_machinery._pass_registry": _PASSES,
    "numba.core.compiler_machinery.register_pass": _LENDING,
    "numba.core.cpu.CPUContext.call_conv": _WHOLE,
    "numba.core.datamodel.default_manager": _LENDING,
    "numba.core.imputils.user_function": _WHOLE,
    "numba.core.ir.Assign": _LENDING,
    "numba.core.lowering.Lower.delvar": _LENDING,
    "numba.core.lowering.Lower.setup_function": _WHOLE,
    "numba.core.lowering.Lower.extract_function_arguments": _LENDING,
    "numba.core.lowering.Lower.lower_assign": _LENDING,
    "numba.core.lowering.Lower.pre_lower": _LENDING,
    "numba.core.options.DefaultOptions.forceinline": "A call that is not inlined copies all arrays in its arguments.",
    "numba.core.options.DefaultOptions.no_cfunc_wrapper": "Wrappers for C are never called and take a tenth of the time.",
    "numba.core.postproc.VariableLifetime": _PASSES,
    "numba.core.runtime.rtsys": _CACHE,
    "numba.core.serialize.dumps": _CACHE,
    "numba.core.transforms.canonicalize_cfg": _PASSES,
    "numba.core.typed_passes.NativeLowering.lowering_class": _LENDING,
}


@cache
def missing() -> tuple[str, ...]:
    """Return the names of `USED` that this numba does not have, all of them if it is a version that was not tested."""
    if tuple(map(int, numba.__version__.split(".")[:2])) >= NEWER:
        return tuple(USED)
    return internals.missing(USED)


def are_available() -> bool:
    """Return whether this numba was tested and has every name of `USED`."""
    return not missing()
