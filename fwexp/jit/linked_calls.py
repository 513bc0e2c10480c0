"""What becomes of calls in linked code: the body of the function, a function of its own, or a C function."""

import ast
import builtins
import math
import types
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import is_jitted

from fwexp.jit import addresses, kinds
from fwexp.jit.c_functions import ADDRESSES, Named, Signature
from fwexp.jit.linked_values import Value, class_of, constant, items, key_of, parameter, parts_of
from fwexp.jit.linker import Frame, Linker
from fwexp.jit.syntax import CannotLinkError, NeedsFamilyError, assign, load, parsed, text_of
from fwexp.jit.texts import Text, compiled_part

OURS = __name__.rpartition(".")[0]  # what is defined here is known by the folder of the cache


class Part(NamedTuple):
    """How a function that only compiled code calls is compiled."""

    function: Callable
    fastmath: bool | None = None  # whether sums may be reordered; None: as in the caller


_parts: dict[Callable, Part] = {}
_apart: dict[tuple, tuple] = {}


def mark(function: Callable, compiled: Callable | None = None, fastmath: bool | None = None) -> None:
    """State how a function is compiled, and maybe what takes its place in compiled code."""
    _parts[function] = Part(compiled or function, fastmath)


class Calls:
    """The calls of one linked function, and what it needs to run: C functions that are loaded before it is."""

    def __init__(self, entry: Callable | None = None) -> None:
        self._entry = entry  # returns the C function of a function of the protocol, where such are called and not written out
        self.needed: list[Named] = []
        self.can_be_kept = True
        self.header: list[str] = []  # names of functions of their own that the text depends on

    def name(self, linker: Linker, found, name: str) -> ast.expr:
        """Return what stands for a Python object in the text, which cannot be kept if this does not say what it is."""
        own = getattr(found, "__name__", "")
        if found is np or found is math:
            return linker.name_of(found, "np" if found is np else "math")
        if getattr(builtins, own, None) is found:
            return load(own)
        if getattr(math, own, None) is found:
            return ast.Attribute(linker.name_of(math, "math"), own, ast.Load())
        expression = linker.name_of(found, f"_{name}")  # no variable is called so
        if not (getattr(found, "__module__", None) or "").startswith(OURS):
            linker.untold.add(expression.id)
        return expression

    def write(self, frame: Frame, called, node: ast.expr, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Return the value of a call."""
        if hasattr(called, "find"):
            return self._dispatched(frame, called, arguments, keywords)
        if hasattr(called, "c_function"):
            return self._named(frame, called.c_function, arguments)
        if getattr(called, "kernel_fastmath", None) is not None or is_jitted(called):
            return self._function(frame, called.py_func, getattr(called, "kernel_fastmath", None), arguments, keywords)
        part = _parts.get(called) if isinstance(called, (types.FunctionType, types.BuiltinFunctionType)) else None
        if part is not None and not isinstance(part.function, types.FunctionType):  # one of numba's own
            return frame.ordinary(self.name(frame.linker, part.function, called.__name__), arguments, keywords)
        if isinstance(called, types.FunctionType) and called.__module__.partition(".")[0] != "numpy":
            function, fastmath = part or (called, None)
            return self._function(frame, function, fastmath, arguments, keywords)
        if called in (max, min) and len(arguments) == 2:
            node = self.name(frame.linker, addresses.larger if called is max else addresses.smaller, called.__name__)
        return frame.ordinary(node, arguments, keywords)

    # --- functions that are dispatched --------------------------------------------------------------------------------

    def _dispatched(self, frame: Frame, called, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        first = arguments[0].info
        if isinstance(first, kinds.Erased):
            return self._of_family(frame, called, arguments)
        function = called.find(class_of(arguments[0]))
        if function is None:
            name = getattr(class_of(arguments[0]), "__name__", "a number or an array")
            raise TypeError(f"{called.__name__} is not available for {name}")
        if self._entry is not None and called.signature is not None and not called.signature.results:
            return self._named(frame, self._entry(called), arguments)
        return self._function(frame, function, called.fastmath, arguments, keywords)

    def _of_family(self, frame: Frame, called, arguments: list[Value]) -> Value:
        """Call a function of the family through the table."""
        if called.__name__ in kinds.fixed and called.__name__ in arguments[0].info.fields:
            return frame.linker.field(arguments[0], called.__name__)
        signature, linker = called.signature, frame.linker
        if signature is None:
            raise NeedsFamilyError(called.__name__)
        for name, value in zip(signature.names, arguments, strict=True):
            is_elsewhere = name in ADDRESSES and not isinstance(value.info, (kinds.Erased, kinds.Row))
            is_own = name == "labelings" and isinstance(value.info, kinds.Array) and value.info.ndim != 1  # a form of the family's
            if is_elsewhere or is_own:
                raise NeedsFamilyError(f"{name} of {called.__name__}")
        if called not in linker.table:
            linker.table.append(called)
        place = ast.Constant(linker.table.index(called))
        caller = linker.name_of(addresses.caller(signature.wanted, signature.returned), f"_call_{called.__name__}")
        passed = [load("_functions"), place, *(frame.whole(value) for value in arguments)]
        if signature.results:
            return self._results(frame, caller, passed, signature.results)
        node = ast.Call(caller, passed, [])
        if signature.returned == "none":
            frame.out.append(ast.Expr(node))
            return constant(None)
        return Value(ast.Compare(node, [ast.NotEq()], [ast.Constant(0)]) if signature.is_truth else node)

    def _results(self, frame: Frame, caller: ast.expr, passed: list[ast.expr], count: int) -> Value:
        """Call a function that returns several numbers, in an array that is made at the top."""
        linker, name = frame.linker, f"_results_{count}"
        if not any(isinstance(node, ast.Assign) and node.targets[0].id == name for node in linker.top):
            linker.top.append(assign(name, ast.Call(linker.name_of(addresses.room, "_room"), [ast.Constant(count)], [])))
        frame.out.append(ast.Expr(ast.Call(caller, [*passed, load(name)], [])))
        results = Value(load(name), kinds.array("float64", 1))
        found = [Value(frame.entry(results, constant(k))) for k in range(count)]
        return items([frame.kept(value) for value in found])

    # --- C functions --------------------------------------------------------------------------------------------------

    def _named(self, frame: Frame, function: Named, arguments: list[Value]) -> Value:
        if function not in self.needed:
            self.needed.append(function)
        caller = frame.linker.name_of(function.caller, function.text.key)
        value = Value(ast.Call(caller, [frame.whole(value) for value in arguments], []))
        if function.returned == "none":
            frame.out.append(ast.Expr(value.node))
            return constant(None)
        return value

    # --- functions with a source --------------------------------------------------------------------------------------

    def _function(
        self, frame: Frame, function: Callable, fastmath: bool | None, arguments: list[Value], keywords: dict[str, Value]
    ) -> Value:
        """Write the body of a function here; or call it, where it cannot be or where only here sums may be reordered."""
        if not (frame.linker.fastmath and fastmath is False and _has_sums(function)):
            at = len(frame.out)
            try:
                return frame.inlined(function, arguments, keywords)
            except CannotLinkError:
                del frame.out[at:]
        return self._own_function(frame, function, arguments, keywords)

    def _own_function(self, frame: Frame, function: Callable, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Call a function that remains one."""
        # Its sums are not reordered: numba optimises a copy for every caller, and what runs may be the copy that was loaded first.
        names = parsed(function).names
        ordered = [*arguments, *(keywords[name] for name in names[len(arguments) :] if name in keywords)]
        key = function, tuple(map(key_of, ordered))
        if key not in _apart:
            calls = Calls()
            linker, parameters = Linker(calls, False), []
            inside = Frame(linker, function, True)
            given = [parameter(value, name, parameters) for name, value in zip(names, ordered, strict=False)]
            rows = (value for value in given if isinstance(value.info, (kinds.Row, kinds.Erased)))
            linker.roots.update(value.node.id for value in rows)
            inside.bind(given, {})
            inside.run()
            source = text_of(function.__name__, [*parameters, *["_functions"] * bool(linker.table)], linker.finished(inside.out))
            text = Text(function.__name__, calls.headed(source), linker.scope, False, calls.can_be_kept)
            _apart[key] = text, calls, compiled_part(text), linker.table
        text, calls, compiled, table = _apart[key]
        self.needed += [one for one in calls.needed if one not in self.needed]
        self.can_be_kept &= calls.can_be_kept
        if text.key not in self.header:
            self.header.append(text.key)
        passed = [part for value in ordered for part in parts_of(value)]
        if table:  # its own part of the table
            passed.append(ast.BinOp(load("_functions"), ast.Add(), ast.Constant(8 * len(frame.linker.table))))
            frame.linker.table += table
        return Value(ast.Call(frame.linker.name_of(compiled, text.key), passed, []))

    def load(self) -> None:
        """Load the C functions that are called by their names."""
        for function in self.needed:
            function.load()

    def headed(self, source: str) -> str:
        """Return a text with the names of the functions of their own that it depends on."""
        return "".join(f"# {name}\n" for name in sorted(self.header)) + source


def _has_sums(function: Callable) -> bool:
    """Return whether it may matter that sums are reordered."""
    try:
        body = parsed(function).body
    except CannotLinkError:
        return True
    return not (len(body) <= 1 and all(isinstance(node, (ast.Return, ast.Pass)) for node in body))


def linked_c_function(
    calls: Calls, name: str, function: Callable, signature: Signature, given: list, dtypes: dict | None, fastmath: bool
) -> Text:
    """Return the text of a C function; ``given`` are the kinds of what comes as addresses, ``dtypes`` those of labelings."""
    linker = Linker(calls, fastmath, signature.results if signature.returned == "none" else None)
    of_arrays = {
        own: form[0] or dtypes[own] for own, form in zip(signature.names, signature.wanted, strict=False) if form[1:] == (1,)
    }
    parameters, values = [], []
    for own, kind in zip(signature.names, given, strict=True):
        parameters += [f"{own}_data", f"{own}_size"] if own in of_arrays else [own]
        if own in of_arrays:
            linker.top.append(assign(own, _made_array(linker, of_arrays[own], 1, f"{own}_data", [f"{own}_size"])))
        elif own in ("direction", "blocks") and not isinstance(kind, kinds.Erased):
            linker.top.append(assign(own, linker.read(load(own), 0, kind)))
        if isinstance(kind, kinds.Row):
            linker.roots.add(own)
        values.append(Value(load(own), kinds.array(of_arrays[own], 1) if own in of_arrays else kind))
    if signature.results:
        parameters += ["_results_data", "_results_size"]
        linker.top.append(assign("_results", _made_array(linker, "float64", 1, "_results_data", ["_results_size"])))
    return _finished(calls, linker, function, name, parameters, values)


def array_function(function: Callable, wanted: tuple, returned: str, fastmath: bool) -> Named:
    """Return a function of numbers and arrays as a C function."""

    def link() -> tuple[Text, Callable[[], None]]:
        calls = Calls()
        linker, parameters, values = Linker(calls, fastmath, 0 if returned == "none" else None), [], []
        for own, form in zip(parsed(function).names, wanted, strict=True):
            kind = None
            if isinstance(form, tuple):
                kind, shape = kinds.array(*form), [f"{own}_{axis}" for axis in range(form[1])]
                parameters += [f"{own}_data", *shape]
                linker.top.append(assign(own, _made_array(linker, *form, f"{own}_data", shape)))
            else:
                parameters.append(own)
            values.append(Value(load(own), kind))
        return _finished(calls, linker, function, function.__name__, parameters, values), calls.load

    return Named(wanted, returned, link)


def _made_array(linker: Linker, dtype: str, ndim: int, data: str, shape: list[str]) -> ast.expr:
    make = linker.name_of(addresses.array_at(dtype, ndim), f"_{dtype}_{ndim}d_at")
    return ast.Call(make, [load(data), ast.Tuple(list(map(load, shape)), ast.Load())], [])


def _finished(calls: Calls, linker: Linker, function: Callable, name: str, parameters: list[str], values: list[Value]) -> Text:
    """Return the text of a function whose parameters are known."""
    frame = Frame(linker, function, True)
    frame.bind(values, {})
    frame.run()
    source = text_of(name, parameters, linker.finished(frame.out))
    return Text(name, calls.headed(source), linker.scope, linker.fastmath, calls.can_be_kept)


def forget_parts() -> None:
    """Forget functions of their own: one that is registered late may take part in them."""
    _apart.clear()
