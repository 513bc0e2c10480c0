"""Trees of Python functions, for the linker: their sources, where they return, and what of them is used."""

import ast
import linecache
import textwrap
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from fwexp.errors import ParameterError


class CannotLinkError(Exception):
    """A function uses what the linker does not have; it remains a function of its own."""


class NeedsFamilyError(Exception):
    """The code cannot be written without knowing the family of the problem."""


class Parsed(NamedTuple):
    """The source of a function."""

    names: tuple[str, ...]  # of the parameters
    rest: str | None  # the name of the parameter that takes all further arguments
    body: list[ast.stmt]  # without the docstring
    stores: Counter  # how often the body assigns each name


_lines: dict[str, list[str]] = {}


def remembered(function: Callable) -> list[str]:
    """Return the lines of the file of a function as they were when this was asked first: files are edited while in use."""
    name = function.__code__.co_filename
    if name not in _lines or name.startswith("<"):
        _lines[name] = linecache.getlines(name)
    return _lines[name]


@cache
def parsed(function: Callable) -> Parsed:
    """Return the tree of a function."""
    tree = ast.parse(textwrap.dedent(_source(function))).body[0]
    if not isinstance(tree, ast.FunctionDef) or tree.args.kwonlyargs or tree.args.kwarg:
        raise CannotLinkError(function.__qualname__)
    body = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    names = tuple(arg.arg for arg in [*tree.args.posonlyargs, *tree.args.args])
    return Parsed(names, tree.args.vararg and tree.args.vararg.arg, body, stores_in(body))


def _source(function: Callable) -> str:
    """Return the source of a function, read from its first line to the next one that is not indented."""
    code = function.__code__
    lines = remembered(function)[code.co_firstlineno - 1 :]
    if not lines or (code.co_filename == "<string>" and "def " not in lines[0] and not lines[0].startswith("@")):  # other code's
        where = f"{function.__qualname__} of {function.__module__}"
        raise ParameterError(f"{where} has no source that can be read, so it cannot be compiled: define it in a file or a notebook")
    indent, end = len(lines[0]) - len(lines[0].lstrip()), 0
    while end < len(lines) and not lines[end].lstrip().startswith("def "):
        end += 1
    end += 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent or lines[end].lstrip().startswith(")")):
        end += 1
    return "".join(lines[:end])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def stores_in(body: list[ast.stmt]) -> Counter:
    """Return how often statements assign each name; what is changed in place counts twice."""
    # So does what is read elsewhere than after its assignment, in the same block: there a name may have the value of a former turn
    # of a loop, and what it was set to another one by then.
    found: Counter = Counter()
    reads: dict[str, list[int]] = {}  # numbers of the places where each name is read, counted in the order of the text
    spans: dict[ast.stmt, tuple[int, int]] = {}  # the numbers of what is read in a statement
    blocks, count = [body], 0

    def visit(node: ast.AST) -> None:
        nonlocal count
        first = count
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                reads.setdefault(node.id, []).append(count)
                count += 1
            else:
                found[node.id] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] += 1
        for child in ast.iter_child_nodes(node):
            visit(child)
        if isinstance(node, ast.stmt):
            spans[node] = first, count
            blocks.extend(block for block in (getattr(node, "body", []), getattr(node, "orelse", [])) if block)

    for node in body:
        visit(node)
    for block in blocks:
        for node in block:
            if isinstance(node, ast.For):
                targets, start, end = [node.target], spans[node.body[0]][0], spans[node.body[-1]][1]
            else:
                targets = node.targets if isinstance(node, ast.Assign) else []
                start, end = spans[node][1], spans[block[-1]][1]
            for name in _stored(targets):
                places = reads.get(name, [])
                found[name] += bisect_left(places, end) - bisect_left(places, start) < len(places)
    return found


def _stored(nodes: Iterable[ast.AST]) -> Iterable[str]:
    return (node.id for part in nodes for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def names_in(*nodes: ast.AST) -> set[str]:
    """Return all names in trees."""
    return {node.id for part in nodes for node in ast.walk(part) if isinstance(node, ast.Name)}


# --- returns ----------------------------------------------------------------------------------------------------------


def returns_in(nodes: Iterable[ast.AST]) -> list[ast.Return]:
    """Return the return statements."""
    return [node for part in nodes for node in ast.walk(part) if isinstance(node, ast.Return)]


def _always_returns(body: list[ast.stmt]) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def returns_last(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the same statements with every return at the end of a branch; what returns from a loop cannot be linked."""
    out: list[ast.stmt] = []
    for k, node in enumerate(body):
        if isinstance(node, ast.Return):
            return [*out, node]
        if returns_in([node]):
            if not isinstance(node, ast.If):
                raise CannotLinkError("a return from a loop")
            rest = body[k + 1 :]
            branches = (part + ([] if _always_returns(part) else rest) for part in (node.body, node.orelse))
            yes, no = map(returns_last, branches)
            return [*out, ast.If(node.test, yes or [ast.Pass()], no)]
        out.append(node)
    return out


# --- the finished text ------------------------------------------------------------------------------------------------


def assign(name: str, value: ast.expr) -> ast.stmt:
    """Return an assignment."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def load(name: str) -> ast.expr:
    """Return a name that is read."""
    return ast.Name(name, ast.Load())


def without_unused(top: list[ast.stmt], body: list[ast.stmt]) -> list[ast.stmt]:
    """Return all statements but those assignments at the top whose name nothing reads after them."""
    needed, kept = names_in(*body), []
    for node in reversed(top):
        if node.targets[0].id in needed:
            needed |= names_in(node.value)
            kept.append(node)
    return kept[::-1] + body


def text_of(name: str, parameters: Iterable[str], body: list[ast.stmt]) -> str:
    """Return the text of a function."""
    module = ast.fix_missing_locations(ast.Module(body or [ast.Pass()], []))
    return f"def {name}({', '.join(parameters)}):\n{textwrap.indent(ast.unparse(module), '    ')}\n"
