"""The linker: writes one function out of a kernel and all parts that it calls, for given kinds of arguments, before numba sees it.

numba takes 30 ms for a function and 1 ms for an operation, so that many small functions on named tuples take many times as long as
one that has all of their lines. Here a call is replaced by the body of what it calls. What is dispatched on a class is chosen,
constants are folded and branches that they rule out left out, named tuples that are made on the way become variables, and fields
of rows are read once, at the top. A function that returns from within a loop remains one of its own; so does one whose sums may
be reordered, where this may not be (``fastmath``). Python's order of evaluation is kept.

Calls of the protocol on a problem whose family is not known go through a table (`fwexp.jit.c_functions`).
"""

import ast
from collections.abc import Callable

from fwexp.jit import addresses, kinds
from fwexp.jit.expressions import Expressions
from fwexp.jit.linked_values import NONE, Items, Value, constant, items
from fwexp.jit.syntax import CannotLinkError, assign, load, names_in, parsed, returns_in, returns_last, without_unused

DEEPEST = 60  # calls within one another, before a function counts as one that calls itself


class Linker:
    """State that all calls in one linked function share; with ``fastmath`` its sums may be reordered."""

    def __init__(self, calls, fastmath: bool, results: int | None = None) -> None:
        self.calls, self.fastmath = calls, fastmath  # calls that are not replaced
        self.results = results  # numbers that it returns in its argument ``_results``; 0 for nothing, None if it returns its result
        self.scope: dict[str, object] = {}  # global names of the text
        self.untold: set[str] = set()  # those of objects of which the text says no more than a name, such as arrays
        self.table: list[Callable] = []  # functions that are called through the table, in the order of their places
        self.top: list[ast.stmt] = []  # reads of fields
        self.roots: set[str] = set()  # names of rows that exist from the top on
        self.changing: set[str] = set()  # names that are assigned more than once
        self._fields: dict[tuple[str, str], Value] = {}
        self._count = 0

    def fresh(self, name: str) -> str:
        """Return a new name."""
        self._count += 1
        return f"{name}_{self._count}"

    def name_of(self, value, name: str) -> ast.expr:
        """Return the name that stands for a Python object in the text."""
        if self.scope.setdefault(name, value) is not value:
            self.scope[name := self.fresh(name)] = value
        return load(name)

    def finished(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return all statements of the function."""
        found = without_unused(self.top, body)
        self.calls.can_be_kept &= not (names_in(*found) & self.untold)
        return found

    def field(self, owner: Value, name: str) -> Value:
        """Return a field of a row."""
        place, kind = owner.info.fields[name]
        if isinstance(kind, kinds.Constant):
            return constant(kind.value)
        root = owner.node.id if isinstance(owner.node, ast.Name) and owner.node.id in self.roots else None
        if root and (found := self._fields.get((root, name))) is not None:
            return found
        own = f"{root}__{name}" if root else None
        value = Value(load(own) if own else self.read(owner.node, place, kind), kind)
        if own:
            self.top.append(assign(own, self.read(owner.node, place, kind)))
            self.roots.add(own)
            self._fields[root, name] = value
        return value

    def read(self, row: ast.expr, place: int, kind: kinds.Kind) -> ast.expr:
        """Return the expression that reads a field of a row."""
        at = ast.Constant(place)
        if isinstance(kind, kinds.Array):
            name = f"_{kind.dtype}_{kind.ndim}d"
            return ast.Call(self.name_of(addresses.array_in(kind.dtype, kind.ndim), name), [row, at], [])
        if isinstance(kind, kinds.Erased) and kind.name != "problem":
            return ast.BinOp(row, ast.Add(), ast.Constant(8 * place))
        is_real = isinstance(kind, kinds.Number) and kind.type == "float64"
        return ast.Call(self.name_of(addresses.real if is_real else addresses.word, "_real" if is_real else "_word"), [row, at], [])


class Frame(Expressions):
    """A call: the variables of a function by their names there, and the statements that come out of it."""

    def __init__(self, linker: Linker, function: Callable, is_whole: bool, depth: int = 0) -> None:
        self.linker, self.function, self.is_whole, self.depth = linker, function, is_whole, depth
        self.out: list[ast.stmt] = []
        self.variables: dict[str, Value] = {}
        self._source = parsed(function)
        self._results: list[str] | None = None  # the names of what it returns, if it returns at several places
        self._result = NONE
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.cells = {name: cell.cell_contents for name, cell in cells}

    # --- calls --------------------------------------------------------------------------------------------------------

    def bind(self, arguments: list[Value], keywords: dict[str, Value]) -> None:
        """Set the parameters."""
        source, name = self._source, self.function.__qualname__
        values = dict(zip(source.names, arguments, strict=False)) | keywords
        defaults = self.function.__defaults__ or ()
        for parameter, default in zip(source.names[len(source.names) - len(defaults) :], defaults, strict=True):
            values.setdefault(parameter, self._of_object(default, parameter))
        if set(values) != set(source.names) or (len(arguments) > len(source.names) and not source.rest):
            raise TypeError(f"{name}() is called with {len(arguments)} arguments, and takes {', '.join(source.names)}")
        if source.rest:
            self.variables[source.rest] = items(arguments[len(source.names) :])
        for parameter in source.names:
            self._bind_parameter(parameter, values[parameter])
        for local in source.stores:
            if local not in source.names:
                own = local if self.is_whole else self.linker.fresh(local)
                self.variables[local] = Value(load(own))
                if source.stores[local] > 1:
                    self.linker.changing.add(own)

    def _bind_parameter(self, name: str, value: Value) -> None:
        stored = self._source.stores[name] > 0
        if not stored and (self._is_fixed(value) or self._is_name(value)):  # no variable of the caller changes meanwhile
            self.variables[name] = value
        elif not stored and isinstance(value.info, Items):
            self.variables[name] = self.kept(value)
        else:
            own = name if self.is_whole else self.linker.fresh(name)
            if not self.is_whole:
                self.out.append(assign(own, self.whole(value)))
            if stored:
                self.linker.changing.add(own)
            self.variables[name] = Value(load(own), None if stored else value.info)

    def run(self) -> Value:
        """Write the body; return the result."""
        body = self._source.body
        if self.is_whole:
            self.statements(body)
            return NONE
        body = returns_last(body)
        returns = returns_in(body)
        if len(returns) > 1 or (returns and not isinstance(body[-1], ast.Return)):
            values = [node.value for node in returns if node.value is not None]
            sizes = {len(node.elts) if isinstance(node, ast.Tuple) else 0 for node in values}
            size = sizes.pop() if len(sizes) == 1 and len(values) == len(returns) else 0
            self._results = [self.linker.fresh("result") for _ in range(size or 1)] if values else []
            self.linker.changing.update(self._results)
            if values:
                found = [Value(load(name)) for name in self._results]
                self._result = items(found) if size else found[0]
        self.statements(body)
        return self._result

    def _return(self, node: ast.Return) -> None:
        value = self.expression(node.value) if node.value is not None else NONE
        if self.is_whole:
            self._return_from_text(value)
        elif self._results is None:
            self._result = value
        elif len(self._results) > 1:
            for name, item in zip(self._results, value.info.items, strict=True):
                self.out.append(assign(name, self.whole(item)))
        elif self._results:
            self.out.append(assign(self._results[0], self.whole(value)))

    def _return_from_text(self, value: Value) -> None:
        results = self.linker.results
        for k in range(results or 0):
            place = ast.Subscript(load("_results"), ast.Constant(k), ast.Store())
            self.out.append(ast.Assign([place], self.whole(value.info.items[k])))
        if results == 0 and any(isinstance(part, ast.Call) for part in ast.walk(value.node)):
            self.out.append(ast.Expr(value.node))
        self.out.append(ast.Return(None if value is NONE or results is not None else self.whole(value)))

    # --- statements ---------------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        """Write statements."""
        for node in body:
            write = getattr(self, f"_{type(node).__name__.lower()}", None)
            if write is None:
                raise CannotLinkError(f"{type(node).__name__} in {self.function.__qualname__}")
            write(node)

    def _branch(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements that are written elsewhere."""
        before, self.out = self.out, []
        self.statements(body)
        written, self.out = self.out, before
        return written

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _break(self, node) -> None:
        self.out.append(node)

    _continue = _break

    def _expr(self, node: ast.Expr) -> None:
        value = self.expression(node.value)
        if any(isinstance(part, ast.Call) for part in ast.walk(value.node)):
            self.out.append(ast.Expr(value.node))

    def _raise(self, node: ast.Raise) -> None:
        self.out.append(ast.Raise(self.expression(node.exc).node if node.exc else None))

    def _assign(self, node: ast.Assign) -> None:
        value = self.expression(node.value)
        if len(node.targets) > 1:
            value = self.kept(value)
        for target in node.targets:
            self._set(target, value)

    def _set(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            own, source = self.variables[target.id], self._source
            is_only = source.stores[target.id] == 1 and target.id not in source.names
            if is_only and self._is_fixed(value):
                self.variables[target.id] = value
                return
            if is_only and isinstance(value.info, Items):
                self.variables[target.id] = self.kept(value)
                return
            if not isinstance(own.node, ast.Name):
                raise CannotLinkError(f"{target.id} of {self.function.__qualname__} becomes another one")
            self.out.append(assign(own.node.id, self.whole(value)))
            if is_only and isinstance(value.info, kinds.Kind):
                self.variables[target.id] = Value(own.node, value.info)
        elif isinstance(target, ast.Tuple):
            self._set_all(target, value)
        else:
            self.out.append(self.put(*self._entry_of(target), self.whole(value)))

    def _set_all(self, target: ast.Tuple, value: Value) -> None:
        if not isinstance(value.info, Items):
            names = [self.linker.fresh("item") for _ in target.elts]
            self.out.append(ast.Assign([ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())], value.node))
            found = [Value(load(name)) for name in names]
        else:
            found, stored = value.info.items, names_in(target)
            own = {
                self.variables[name].node.id
                for name in stored
                if name in self.variables and isinstance(self.variables[name].node, ast.Name)
            }
            places = any(not isinstance(node, ast.Name) for node in target.elts)
            read = names_in(*(item.node for item in found))
            if places or own & read:
                found = [self.kept(item, own) for item in found]
        for part, item in zip(target.elts, found, strict=True):
            self._set(part, item)

    def _entry_of(self, target: ast.expr) -> list[Value]:
        """Return the array and the index of a target of an assignment."""
        if not isinstance(target, ast.Subscript):
            raise CannotLinkError(f"an assignment to {type(target).__name__}")
        return self.expressions([target.value, target.slice])

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            value = self.expression(node.value)
            own = self.variables[node.target.id].node.id
            self.out.append(ast.AugAssign(ast.Name(own, ast.Store()), node.op, self.whole(value)))
            return
        owner, index = self._entry_of(node.target)
        if self.places(owner, index) is not None:
            places = index.info.items if isinstance(index.info, Items) else [index]
            index = items(place if self._is_name(place) else self.kept(place) for place in places)
        at = len(self.out)
        value = self.whole(self.expression(node.value))
        former = self.entry(owner, index)
        if len(self.out) > at:  # what is there is read before the value is computed
            before = self.linker.fresh("before")
            self.out.insert(at, assign(before, former))
            former = load(before)
        elif isinstance(former, ast.Subscript):
            self.out.append(ast.AugAssign(ast.Subscript(former.value, former.slice, ast.Store()), node.op, value))
            return
        self.out.append(self.put(owner, index, ast.BinOp(former, node.op, value)))

    def _if(self, node: ast.If) -> None:
        test = self.expression(node.test)
        if test.is_constant:
            self.statements(node.body if test.constant else node.orelse)
            return
        yes, no = self._branch(node.body), self._branch(node.orelse)
        if yes or no:
            self.out.append(ast.If(test.node, yes or [ast.Pass()], no))

    def _while(self, node: ast.While) -> None:
        before, self.out = self.out, []
        test = self.expression(node.test)
        again, self.out = self.out, before
        if test.is_constant and not test.constant:
            return
        body = self._branch(node.body)
        if again:  # computed at every turn
            stop = ast.If(ast.UnaryOp(ast.Not(), test.node), [ast.Break()], [])
            self.out.append(ast.While(ast.Constant(True), [*again, stop, *body], []))
        else:
            self.out.append(ast.While(test.node, body or [ast.Pass()], []))

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise CannotLinkError("an else of a loop")
        over = self.expression(node.iter)
        none = isinstance(over.node, ast.Call) and [part.value for part in over.node.args if isinstance(part, ast.Constant)] == [0]
        if none and len(over.node.args) == 1:
            return
        if isinstance(node.target, ast.Name):
            target = self.variables[node.target.id].node
            target = ast.Name(target.id, ast.Store())
        else:
            target = ast.Tuple([ast.Name(self.variables[part.id].node.id, ast.Store()) for part in node.target.elts], ast.Store())
        self.out.append(ast.For(target, over.node, self._branch(node.body) or [ast.Pass()], []))

    def inlined(self, function: Callable, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """Write the body of a function here; return its result."""
        if self.depth > DEEPEST:
            raise CannotLinkError(f"{function.__qualname__} calls itself")
        frame = Frame(self.linker, function, False, self.depth + 1)
        frame.bind(arguments, keywords)
        result = frame.run()
        self.out += frame.out
        return result
