"""The typed public API: all of it has types, and type checkers find each name where it is imported from."""

import ast
import inspect
import typing
from importlib import import_module

import fwexp
import fwexp.convex
import fwexp.distributed
import fwexp.estimators
import fwexp.plugins
import fwexp.testing
from tests.pages import ROOT

PLOTS = [import_module(f"fwexp.plots.{path.stem}") for path in sorted((ROOT / "plots").glob("[a-z]*.py"))]


def functions_of(value) -> list:
    """Return the public functions of a class, its constructor included; of a function itself."""
    if not inspect.isclass(value):
        return [value] if inspect.isfunction(value) else []
    members = [member for cls in value.__mro__ if cls.__module__.startswith("fwexp.") for member in vars(cls).items()]
    members = [(name, getattr(member, "fget", None) or getattr(member, "__func__", member)) for name, member in members]
    return [member for name, member in members if inspect.isfunction(member) and (name == "__init__" or name[0] != "_")]


def public(module) -> list:
    """Return what a module offers: by its ``__all__``, otherwise what it defines."""
    names = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
    values = [getattr(module, name) for name in names]
    return [value for value in values if hasattr(module, "__all__") or getattr(value, "__module__", "") == module.__name__]


MODULES = [fwexp, fwexp.convex, fwexp.distributed, fwexp.estimators, fwexp.plugins, fwexp.testing, *PLOTS]
FUNCTIONS = {function for module in MODULES for value in public(module) for function in functions_of(value)}


def untyped(function) -> list[str]:
    """Return the parameters of a function without a type, and ``return`` if its result has none."""
    signature = inspect.signature(function)
    names = [name for name, parameter in signature.parameters.items() if parameter.annotation is parameter.empty]
    result = ["return"] if signature.return_annotation is signature.empty else []
    return [name for name in names if name not in ("self", "cls")] + result


def test_public_functions_have_types():
    assert {function.__qualname__: names for function in FUNCTIONS if (names := untyped(function))} == {}


def test_signatures_show_no_private_module():
    shown = {function.__qualname__: str(inspect.signature(function)).replace("pathlib._local.", "") for function in FUNCTIONS}
    assert [name for name, text in shown.items() if "._" in text] == []  # Python 3.13 has its own `Path` there


def test_type_checkers_find_every_name_of_the_package():
    nodes = ast.parse((ROOT / "fwexp" / "__init__.pyi").read_text()).body
    imports = {
        alias.asname: f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    modules = {name: f"fwexp.{name}" for name in fwexp._MODULES}
    assert imports == {name: f"{home}.{name}" for name, home in fwexp._HOME.items()} | modules


def test_a_missing_type_is_found():
    def partly(given: int, missing, *more: int):
        return given

    assert untyped(partly) == ["missing", "return"]
    assert typing.get_type_hints(fwexp.load)["return"] is fwexp.Result
