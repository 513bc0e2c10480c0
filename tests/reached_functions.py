"""Functions that a kernel reaches, by the names in its code: what statements of `register` and `njit` are compared with."""

from types import CodeType, FunctionType, ModuleType

from fwexp.problems.kernel_features import KernelFeatures


def reached(function, classes):
    """Return the functions of fwexp that a kernel may call, at any depth, for problems made of ``classes``."""
    found, todo = set(), [function]
    while todo:
        function = todo.pop()
        if function not in found and (function.__module__ or "").startswith("fwexp."):
            found.add(function)
            todo += _called(function, classes)
    return found


def _called(function, classes):
    """Yield what a function names, also as an attribute of a module; of what is dispatched, what there is for the classes."""
    names, codes = set(), [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [getattr(value, name) for value in values if isinstance(value, ModuleType) for name in names if hasattr(value, name)]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in values:
        if hasattr(value, "implementations"):
            others = [found for cls, found in value.implementations.items() if cls is not KernelFeatures]
            yield from {value.find(cls) for cls in classes} - {None} or others  # A family without features has none of kernels.
        elif isinstance(value := getattr(value, "py_func", value), FunctionType):
            yield value
