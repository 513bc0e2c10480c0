"""Trees of Python functions, for the linker: their sources, where they return, and what of them is used."""

import ast
import linecache
import textwrap
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
    """Return how often statements assign each name.

    What is changed in place counts twice. So does what is read elsewhere than after its assignment, in the same block: there a name
    may have the value of a former turn of a loop, and what it was set to another one by then.
    """
    found = Counter(_stored(body))
    found.update(node.target.id for node in _nodes(body) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name))
    everywhere, blocks = _reads(body), [body]
    blocks += [block for node in _nodes(body) for block in (getattr(node, "body", None), getattr(node, "orelse", None))]
    for block in blocks:
        following: Counter = Counter()
        for node in reversed(block if isinstance(block, list) else ()):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
            seen = _reads(node.body) if isinstance(node, ast.For) else following
            found.update(name for name in _stored(targets) if seen[name] < everywhere[name])
            following.update(_reads([node]))
    return found


def _nodes(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    return (node for part in nodes for node in ast.walk(part))


def _stored(nodes: Iterable[ast.AST]) -> list[str]:
    return [node.id for node in _nodes(nodes) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _reads(nodes: Iterable[ast.AST]) -> Counter:
    """Return how often each name is read."""
    return Counter(node.id for node in _nodes(nodes) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))


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


def without_unused(body: list[ast.stmt], pure: set[str]) -> list[ast.stmt]:
    """Return statements without the assignments, among those of the names in ``pure``, that nothing reads."""
    while True:
        read = {
            node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        kept = [node for node in body if not (_assigned(node) in pure and _assigned(node) not in read)]
        if len(kept) == len(body):
            return body
        body = kept


def _assigned(node: ast.stmt) -> str | None:
    """Return the one name that a statement assigns."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def text_of(name: str, parameters: Iterable[str], body: list[ast.stmt]) -> str:
    """Return the text of a function."""
    module = ast.fix_missing_locations(ast.Module(body or [ast.Pass()], []))
    return f"def {name}({', '.join(parameters)}):\n{textwrap.indent(ast.unparse(module), '    ')}\n"
