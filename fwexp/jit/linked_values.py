"""What the linker knows of values while it writes a function: an expression, and maybe more."""

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from fwexp.jit import kinds
from fwexp.jit.syntax import load


class Known(NamedTuple):
    """A Python object: a function, a class, a module."""

    object: Any


class Made(NamedTuple):
    """A named tuple that is made in a kernel: variables for its fields."""

    cls: type
    fields: "dict[str, Value]"


class Items(NamedTuple):
    """A tuple of values."""

    items: "list[Value]"


class Value(NamedTuple):
    """An expression of linked code, and what is known of its value: a kind, or one of the classes above."""

    node: ast.expr
    info: Any = None

    @property
    def is_constant(self) -> bool:
        """True for a number, a boolean or None that is known."""
        return isinstance(self.node, ast.Constant)

    @property
    def constant(self):
        """The value of such a one."""
        return self.node.value


def constant(value) -> Value:
    """Return a number, a boolean or None as a value."""
    return Value(ast.Constant(value))


NONE = constant(None)


def items(values: Iterable[Value]) -> Value:
    """Return a tuple of values."""
    values = list(values)
    return Value(ast.Tuple([value.node for value in values], ast.Load()), Items(values))


def class_of(value: Value) -> type | None:
    """Return the class of a named tuple, None for other values."""
    return value.info.cls if isinstance(value.info, (kinds.Row, Made)) else None


def key_of(value: Value):
    """Return all that a function of its own may know of an argument."""
    if isinstance(value.info, Made):
        return value.info.cls, tuple(map(key_of, value.info.fields.values()))
    if isinstance(value.info, Items):
        return tuple(map(key_of, value.info.items))
    if value.is_constant and (value.constant is None or isinstance(value.constant, bool)):
        return "constant", value.constant
    return value.info if isinstance(value.info, (kinds.Kind, Known)) else None


def parts_of(value: Value) -> list[ast.expr]:
    """Return what is passed to a function of its own for an argument."""
    if isinstance(value.info, Made):
        return [part for field in value.info.fields.values() for part in parts_of(field)]
    if isinstance(value.info, Items):
        return [part for item in value.info.items for part in parts_of(item)]
    is_known = isinstance(key_of(value), tuple) or isinstance(value.info, Known)
    return [] if is_known else [value.node]


def parameter(value: Value, name: str, names: list[str]) -> Value:
    """Return an argument as a function of its own has it, and add to ``names`` the parameters that it takes for it."""
    if isinstance(value.info, Made):
        fields = {field: parameter(one, f"{name}_{field}", names) for field, one in value.info.fields.items()}
        return Value(ast.Constant(None), Made(value.info.cls, fields))
    if isinstance(value.info, Items):
        return items([parameter(one, f"{name}_{k}", names) for k, one in enumerate(value.info.items)])
    if not parts_of(value):
        return value
    names.append(name)
    return Value(load(name), value.info)
