"""Expressions of linked functions: what each becomes, what of it is known, and which statements have to come before it."""

import ast
import builtins
import operator
import sys
from collections.abc import Callable

import numpy as np

from fwexp.jit import addresses, kinds
from fwexp.jit.linked_values import Items, Known, Made, Value, class_of, constant, items
from fwexp.jit.syntax import CannotLinkError, NeedsFamilyError, assign, load, names_in

OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip


class Expressions:
    """The expressions of a call, which a `linker.Frame` writes."""

    linker: object  # the `linker.Linker`
    function: Callable
    out: list[ast.stmt]  # the statements so far
    variables: dict[str, Value]  # by their names in the function
    cells: dict[str, object]  # variables of the function around it

    def whole(self, value: Value) -> ast.expr:
        """Return a value as an expression of its own."""
        if isinstance(value.info, Made):
            raise CannotLinkError(f"a {value.info.cls.__name__} in {self.function.__qualname__}")
        if isinstance(value.info, Items):
            return ast.Tuple([self.whole(item) for item in value.info.items], ast.Load())
        return value.node

    def expression(self, node: ast.expr) -> Value:
        """Return the value of an expression; statements that have to come before it are written."""
        find = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if find is None:
            raise CannotLinkError(f"{type(node).__name__} in {self.function.__qualname__}")
        return find(node)

    def expressions(self, nodes: list[ast.expr]) -> list[Value]:
        """Return the values of expressions that are evaluated one after the other."""
        found: list[Value] = []
        ends: list[int] = []
        for node in nodes:
            at = len(self.out)
            value = self.expression(node)
            if len(self.out) > at:  # statements come before this one, so what was read before must be kept
                for k, former in enumerate(found):
                    if not self._is_fixed(former) and not self._is_name(former):
                        size = len(self.out)
                        found[k] = self.kept(former, at=ends[k])
                        ends = [end + (len(self.out) - size) * (end >= ends[k]) for end in ends]
            found.append(value)
            ends.append(len(self.out))
        return found

    def _is_name(self, value: Value) -> bool:
        """Return whether statements of calls cannot change a value: none but those of a function assign its variables."""
        return isinstance(value.node, ast.Name) and not isinstance(value.info, (Made, Items))

    def _is_fixed(self, value: Value) -> bool:
        """Return whether a value never changes, so that its expression can stand for it from now on."""
        if isinstance(value.info, Made):
            return True
        if isinstance(value.info, Items):
            return all(map(self._is_fixed, value.info.items))
        if isinstance(value.info, Known) or value.is_constant:
            return True
        return isinstance(value.node, ast.Name) and value.node.id not in self.linker.changing

    def kept(self, value: Value, others: set[str] = frozenset(), at: int | None = None) -> Value:
        """Return a value that later statements do not change, in variables where it is none of those that never do."""
        if isinstance(value.info, Items):
            return items([self.kept(item, others, at) for item in value.info.items])
        if self._is_fixed(value) and not (names_in(value.node) & others):
            return value
        own = self.linker.fresh("kept")
        self.out.insert(len(self.out) if at is None else at, assign(own, self.whole(value)))
        return Value(load(own), value.info)

    def _of_constant(self, node: ast.Constant) -> Value:
        return Value(node)

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            return self.variables[node.id]
        for names in (self.cells, self.function.__globals__, vars(builtins)):
            if node.id in names:
                return self._of_object(names[node.id], node.id)
        raise NameError(f"name {node.id!r} in {self.function.__qualname__} is not defined")

    def _of_object(self, found, name: str) -> Value:
        """Return a Python object as a value."""
        if isinstance(found, (bool, int)) or found is None or (isinstance(found, float) and abs(found) < float("inf")):
            return constant(found)
        if isinstance(found, float):
            number = ast.Attribute(self.linker.name_of(np, "np"), "nan" if found != found else "inf", ast.Load())
            return Value(ast.UnaryOp(ast.USub(), number) if found < 0.0 else number)
        if isinstance(found, np.number):  # of a type of its own
            kind = ast.Attribute(self.linker.name_of(np, "np"), type(found).__name__, ast.Load())
            return Value(ast.Call(kind, [ast.Constant(found.item())], []))
        if isinstance(found, tuple) and not kinds.is_named_tuple(found):
            return items([self._of_object(item, name) for item in found])
        return Value(self.linker.calls.name(self.linker, found, name), Known(found))

    def _of_attribute(self, node: ast.Attribute) -> Value:
        owner = self.expression(node.value)
        info, name = owner.info, node.attr
        if isinstance(info, Made) and name in info.fields:
            return info.fields[name]
        if isinstance(info, (kinds.Row, kinds.Erased)) and name in info.fields:
            return self.linker.field(owner, name)
        if isinstance(info, kinds.Erased):
            raise NeedsFamilyError(name)
        if (cls := class_of(owner)) is not None:
            found = getattr(cls, name)
            return self.inlined(found.fget, [owner], {}) if isinstance(found, property) else self._of_object(found, name)
        if isinstance(info, Known) and info.object is not np:
            return self._of_object(getattr(info.object, name), name)
        if isinstance(info, Known):
            return Value(ast.Attribute(owner.node, name, ast.Load()), Known(getattr(info.object, name)))
        if isinstance(info, kinds.Array) and info.is_empty and name == "size":
            return constant(0)
        is_shape = isinstance(info, kinds.Array) and name == "shape"
        return Value(ast.Attribute(owner.node, name, ast.Load()), ("shape", info) if is_shape else None)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.expressions([node.value, node.slice])
        if isinstance(owner.info, Items) and index.is_constant:
            return owner.info.items[index.constant]
        if (
            type(owner.info) is tuple
            and owner.info[0] == "shape"
            and owner.info[1].is_empty
            and index.is_constant
            and index.constant == 0
        ):
            return constant(0)
        if isinstance(node.slice, ast.Slice) and isinstance(owner.info, kinds.Array) and owner.info.ndim == 1:
            return self._cut(owner, index.node)
        return Value(self.entry(owner, index))

    def entry(self, owner: Value, index: Value) -> ast.expr:
        """Return the expression of an entry or a part of an array."""
        if (places := self.places(owner, index)) is None:
            return ast.Subscript(self.whole(owner), self.whole(index), ast.Load())
        return ast.Call(self._function_of_entries(addresses.item, places), [owner.node, *places], [])

    def put(self, owner: Value, index: Value, value: ast.expr) -> ast.stmt:
        """Return the statement that sets an entry or a part of an array."""
        if (places := self.places(owner, index)) is None:
            return ast.Assign([ast.Subscript(self.whole(owner), self.whole(index), ast.Store())], value)
        return ast.Expr(ast.Call(self._function_of_entries(addresses.put, places), [owner.node, *places, value], []))

    def _function_of_entries(self, make: Callable, places: list[ast.expr]) -> ast.expr:
        name = f"_{make.__name__}" if len(places) == 1 else f"_{make.__name__}_{len(places)}d"
        return self.linker.name_of(make(len(places)), name)

    def places(self, owner: Value, index: Value) -> list[ast.expr] | None:
        """Return the numbers that say which entry of an array is meant, None where more than one entry is."""
        found = index.info.items if isinstance(index.info, Items) else [index]
        is_whole = any(isinstance(place.node, ast.Slice) or isinstance(place.info, kinds.Array) for place in found)
        if not isinstance(owner.info, kinds.Array) or len(found) != owner.info.ndim or is_whole:
            return None
        return [place.node for place in found]

    def _cut(self, owner: Value, part: ast.Slice) -> Value:
        """Return a part of an array of one dimension."""
        kind = kinds.array(owner.info.dtype, 1)
        if part.step is not None:
            return Value(ast.Subscript(owner.node, part, ast.Load()))
        lower, upper = part.lower or ast.Constant(0), part.upper or ast.Constant(sys.maxsize)
        if isinstance(lower, ast.Constant) and lower.value == 0 and part.upper is None:
            return owner
        return Value(ast.Call(self.linker.name_of(addresses.cut, "_cut"), [owner.node, lower, upper], []), kind)

    def _of_slice(self, node: ast.Slice) -> Value:
        parts = [node.lower, node.upper, node.step]
        found = iter(self.expressions([part for part in parts if part is not None]))
        return Value(ast.Slice(*(None if part is None else next(found).node for part in parts)))

    def _of_tuple(self, node: ast.Tuple) -> Value:
        found, starred = [], [isinstance(part, ast.Starred) for part in node.elts]
        parts = [part.value if is_starred else part for part, is_starred in zip(node.elts, starred, strict=True)]
        for value, is_starred in zip(self.expressions(parts), starred, strict=True):
            found += value.info.items if is_starred else [value]
        return items(found)

    def _of_list(self, node: ast.List) -> Value:
        return Value(ast.List([self.whole(value) for value in self.expressions(node.elts)], ast.Load()))

    def _of_binop(self, node: ast.BinOp) -> Value:
        left, right = self.expressions([node.left, node.right])
        if left.is_constant and right.is_constant:
            return constant(OPERATORS[type(node.op)](left.constant, right.constant))
        return Value(ast.BinOp(self.whole(left), node.op, self.whole(right)))

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.expression(node.operand)
        if value.is_constant:
            return constant(OPERATORS[type(node.op)](value.constant))
        return Value(ast.UnaryOp(node.op, self.whole(value)))

    def _of_compare(self, node: ast.Compare) -> Value:
        left, *rest = self.expressions([node.left, *node.comparators])
        if left.is_constant and len(rest) == 1 and rest[0].is_constant:
            return constant(OPERATORS[type(node.ops[0])](left.constant, rest[0].constant))
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and rest[0].is_constant and rest[0].constant is None:
            return constant(isinstance(node.ops[0], ast.IsNot))
        return Value(ast.Compare(self.whole(left), node.ops, [self.whole(value) for value in rest]))

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        stops = isinstance(node.op, ast.Or)  # on which value the rest is not evaluated
        first, rest = self.expression(node.values[0]), node.values[1:]
        following = ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
        if first.is_constant:
            return first if bool(first.constant) == stops else self.expression(following)
        before, self.out = self.out, []
        value = self.expression(following)
        written, self.out = self.out, before
        if not written:
            if value.is_constant and bool(value.constant) != stops and isinstance(value.constant, bool):
                return first
            return Value(ast.BoolOp(node.op, [self.whole(first), self.whole(value)]))
        own = self.linker.fresh("decided")
        self.linker.changing.add(own)
        self.out.append(assign(own, self.whole(first)))
        test = ast.UnaryOp(ast.Not(), load(own)) if stops else load(own)
        self.out.append(ast.If(test, [*written, assign(own, self.whole(value))], []))
        return Value(load(own))

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        test = self.expression(node.test)
        if test.is_constant:
            return self.expression(node.body if test.constant else node.orelse)
        branches = []
        for part in (node.body, node.orelse):
            before, self.out = self.out, []
            value = self.expression(part)
            branches.append((value, self.out))
            self.out = before
        (yes, first), (no, second) = branches
        if not (first or second):
            return Value(ast.IfExp(test.node, self.whole(yes), self.whole(no)))
        own = self.linker.fresh("chosen")
        self.linker.changing.add(own)
        self.out.append(ast.If(test.node, [*first, assign(own, self.whole(yes))], [*second, assign(own, self.whole(no))]))
        return Value(load(own))

    # --- calls --------------------------------------------------------------------------------------------------------

    def _of_call(self, node: ast.Call) -> Value:
        if any(keyword.arg is None for keyword in node.keywords):
            raise CannotLinkError("keywords from a mapping")
        starred = [isinstance(part, ast.Starred) for part in node.args]
        nodes = [part.value if is_starred else part for part, is_starred in zip(node.args, starred, strict=True)]
        function, *values = self.expressions([node.func, *nodes, *(keyword.value for keyword in node.keywords)])
        arguments: list[Value] = []
        for value, is_starred in zip(values, starred, strict=False):
            arguments += value.info.items if is_starred else [value]
        keywords = {keyword.arg: value for keyword, value in zip(node.keywords, values[len(nodes) :], strict=True)}
        if not isinstance(function.info, Known):
            return self.ordinary(function.node, arguments, keywords)
        called = function.info.object
        if isinstance(called, type) and issubclass(called, tuple) and hasattr(called, "_fields"):
            return self._made(called, arguments, keywords)
        if called is len and isinstance(arguments[0].info, kinds.Array) and arguments[0].info.is_empty:
            return constant(0)
        if called is len and isinstance(arguments[0].info, Items):
            return constant(len(arguments[0].info.items))
        if called in (float, int, bool) and arguments and arguments[0].is_constant:
            return constant(called(arguments[0].constant))
        return self.linker.calls.write(self, called, function.node, arguments, keywords)

    def _made(self, cls: type, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        fields = dict(zip(cls._fields, arguments, strict=False)) | keywords
        for name, default in cls._field_defaults.items():
            fields.setdefault(name, self._of_object(default, name))
        return Value(ast.Constant(None), Made(cls, {name: self.kept(fields[name]) for name in cls._fields}))

    def ordinary(self, function: ast.expr, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Return a call that stays one."""
        passed = [ast.keyword(name, self.whole(value)) for name, value in keywords.items()]
        return Value(ast.Call(function, [self.whole(value) for value in arguments], passed))
