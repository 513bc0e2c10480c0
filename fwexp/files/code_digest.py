"""Digests of the package's sources, which name the code that made something.

A stored run records the digest of the sources that made it. A module depends on the modules that it imports, and on their
imports. Imports that run later, inside functions, count if `deferred` says so. Comments, docstrings and blank lines do not count.

Imports are read from the syntax tree of a source. Parsing many sources takes half a second, so the imports of a source, and the
digest of its code, are kept in the user's cache folder, under the sha256 of the source.
"""

import ast
import contextlib
import hashlib
import importlib.util
import io
import json
import tokenize
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from fwexp.files import atomic
from fwexp.files.caches import users_folder
from fwexp.files.folders import is_file

PACKAGE = Path(__file__).resolve().parents[1]
MOST_KEPT = 5000  # sources that are kept; with more of them, the file starts anew
WITH_DOCSTRINGS = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def digest(modules: Iterable[str], *, without: Collection[str] = (), deferred: bool = False) -> str:
    """Return the sha256 of ``modules`` (packages stand for all theirs) and all they depend on but ``without``, as hex digits."""
    total = hashlib.sha256()
    for name in sorted(closure(modules, without=without, deferred=deferred)):
        total.update(f"{name}\0{code_of(_source(name))}\n".encode())
    _save_known()
    return total.hexdigest()


def code_of(source: bytes) -> str:
    """Return the sha256 of a source without comments, docstrings and blank lines, the same on every Python, as hex digits."""
    return _facts(source)["code"]


def closure(modules: Iterable[str], *, without: Collection[str] = (), deferred: bool = False) -> set[str]:
    """Return the names of ``modules`` and of all modules that they depend on; see `digest`."""
    found, todo = set(), [name for given in modules for name in _modules(given)]
    while todo:
        name = todo.pop()
        if name not in found and name not in without:
            found.add(name)
            todo += imports(name, deferred)
    _save_known()
    return found


@cache
def imports(module: str, deferred: bool = False) -> tuple[str, ...]:
    """Return the modules of our package, and of its own, that a module imports when it is imported, or ever if ``deferred``."""
    roots = {PACKAGE.name, module.partition(".")[0]}  # finding modules of other packages would import these packages
    names = set()
    for level, base, name, runs in _facts(_source(module))["imports"]:
        base = _absolute(level, base, module)
        if base.partition(".")[0] in roots and (runs or deferred):
            inner = base if name is None else f"{base}.{name}"
            names.add(inner if path_of(inner) else base)
    return tuple(sorted(name for name in names if path_of(name)))


def forget() -> None:
    """Forget the files of modules, and their contents."""
    for cached in (imports, path_of, _modules, _source):
        cached.cache_clear()


# --- the code of a source, and its imports ----------------------------------------------------------------------------


def _facts(source: bytes) -> dict:
    """Return the digest of the ``code`` of a source, and its ``imports`` as `_imports_in` returns them."""
    known, key = _known(), hashlib.sha256(source).hexdigest()
    if key not in known:
        known[key] = _parsed(source)
        _new.append(key)
    return known[key]


def _parsed(source: bytes) -> dict:
    """Return the facts of a source that is not known yet."""
    try:
        text = importlib.util.decode_source(source)
        tree = ast.parse(text)
        code, found = _without_comments(text, tree), _imports_in(tree)
    except (SyntaxError, ValueError, tokenize.TokenError):  # A module of another package may be no valid source.
        code, found = source, []
    return {"code": hashlib.sha256(code).hexdigest(), "imports": found}


def _without_comments(text: str, tree: ast.Module) -> bytes:
    """Return a source without comments, docstrings and blank lines."""
    # The rest is taken as it is: the syntax trees and tokens of two versions of Python differ. Blank lines in other strings count.
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    lines, kept, todo = [line.encode() for line in lines], set(), [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr):  # Python 3.11 does not know where the parts of the latter are.
            kept |= {*range(node.lineno, node.end_lineno)}
            continue
        children = [*ast.iter_child_nodes(node)]
        if isinstance(node, WITH_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            children.remove(docstring)
            first, last = docstring.lineno - 1, docstring.end_lineno - 1
            rest = lines[last][docstring.end_col_offset :]
            lines[first : last + 1] = [lines[first][: docstring.col_offset] + rest, *[b""] * (last - first)]
        todo += children
    return b"\n".join(line for place, line in enumerate(lines) if place in kept or line.strip())


def _imports_in(tree: ast.Module) -> list[list]:
    """Return the imports of a source: dots, module, name in it (None: the module itself), and whether importing runs them."""
    found = []
    for node, runs in _import_statements(tree.body, True):
        if isinstance(node, ast.Import):
            found += [[0, alias.name, None, runs] for alias in node.names]
        else:
            found += [[node.level, node.module or "", alias.name, runs] for alias in node.names]
    return found


def _import_statements(body: list, runs: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the import statements in a list of statements, and whether they run when these do."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, runs
            continue
        runs_body = runs and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_for_types(node)
        yield from _import_statements(getattr(node, "body", []), runs_body)
        for part in ("orelse", "handlers", "finalbody", "cases"):
            yield from _import_statements(getattr(node, part, []), runs)


def _is_for_types(node: ast.stmt) -> bool:
    """Return whether a statement is ``if TYPE_CHECKING:``, whose body never runs."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (getattr(node.test, "id", None), getattr(node.test, "attr", None))


_VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]  # An update may replace the file while this process runs.
_new: list[str] = []  # keys of `_known` that are not on disk


@cache
def _known() -> dict[str, dict]:
    """Return the facts of known sources, by the sha256 of the source."""
    with contextlib.suppress(OSError, ValueError):  # There is no such folder or file, or it is damaged.
        known = json.loads(_file_of_known().read_bytes())
        if isinstance(known, dict) and len(known) <= MOST_KEPT:
            return known
    return {}


def _save_known() -> None:
    """Keep on disk what was found out of sources."""
    if _new:
        _new.clear()
        with contextlib.suppress(OSError):
            atomic.write({_file_of_known(): json.dumps(_known()).encode()})


def _file_of_known() -> Path:
    """Return the file of known sources; its name depends on the code that reads them."""
    return users_folder("imports") / f"{_VERSION}.json"


# --- modules and their files ------------------------------------------------------------------------------------------


def _absolute(level: int, base: str, module: str) -> str:
    """Return the name of the module that is imported from, after ``level`` dots in ``module``."""
    if not level:
        return base
    path, parts = path_of(module), module.split(".")
    above = level - (path is not None and path.name == "__init__.py")
    return ".".join([*parts[: len(parts) - above], *([base] if base else [])])


@cache
def path_of(module: str) -> Path | None:
    """Return the file of a module, or None if there is none."""
    if not _is_ours(module):
        return _outside(module)
    place = _folder(module)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE.name


def _outside(module: str) -> Path | None:
    """Return the file of a user's module, which has a solver or data set."""
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # its package is gone or does not import, or it is a script
        return None
    path = Path(spec.origin) if spec and spec.origin else None
    return path if path and path.suffix == ".py" and is_file(path) else None


def _folder(module: str) -> Path:
    """Return where a module lies, without its suffix; in a checkout, experiments, plots and conf lie next to the package."""
    parts = module.split(".")[1:]
    inside = PACKAGE.joinpath(*parts)
    if len(parts) and not (PACKAGE / parts[0]).exists() and not (PACKAGE / f"{parts[0]}.py").exists():
        return PACKAGE.parent.joinpath(*parts)
    return inside


@cache
def _modules(name: str) -> list[str]:
    """Return ``name`` if it is a module, all modules below it if it is a package of ours."""
    if not _is_ours(name):
        return [name]
    folder = _folder(name)
    if not folder.is_dir():
        return [name]
    files = (path.relative_to(folder).with_suffix("") for path in sorted(folder.rglob("*.py")))
    return [".".join([name, *(part for part in file.parts if part != "__init__")]) for file in files]


@cache
def _source(module: str) -> bytes:
    path = path_of(module)
    return path.read_bytes() if path else b""
