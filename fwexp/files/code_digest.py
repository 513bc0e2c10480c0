"""Which sources of the package a module depends on, and their digest.

Two things hang on this: machine code is cached under the digest of the sources that it was compiled from, and a stored run
records the digest of the sources that made it. A module depends on what it imports when it is itself imported, and what
that imports; imports inside functions count where that is asked for.
"""

import ast
import hashlib
import importlib.util
import re
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# What begins a statement with one of the words, to the end of a line, or of parentheses, where comments may hold others.
IMPORT = re.compile(
    rb"""(?P<before>^[ \t]*|[;:][ \t]*)
    (?P<statement>(?:from|import)\b(?:\((?:\#[^\n]*|[^)\#])*\)|\\\r?\n|[^\n;(\\])*)""",
    re.MULTILINE | re.VERBOSE,
)


def digest(modules: Iterable[str], *, without: Collection[str] = (), deferred: bool = False) -> str:
    """Return the sha256 of the sources of ``modules`` and all they depend on, as hex digits.

    Parameters
    ----------
    modules : iterable of str
        Names of modules of the package, or of packages in it, which stand for all their modules. Of a module of another
        package, its source and what it imports from that package and from ours count.
    without : collection of str
        Names of modules that do not count, nor what they import.
    deferred : bool
        Whether imports inside functions count.
    """
    total = hashlib.sha256()
    for name in sorted(closure(modules, without=without, deferred=deferred)):
        total.update(name.encode() + b"\0" + _sha256(_source(name)))
    return total.hexdigest()


def closure(modules: Iterable[str], *, without: Collection[str] = (), deferred: bool = False) -> set[str]:
    """Return the names of ``modules`` and of all modules that they depend on; see `digest`."""
    found, todo = set(), [name for given in modules for name in _modules(given)]
    while todo:
        name = todo.pop()
        if name not in found and name not in without:
            found.add(name)
            todo += imports(name, deferred)
    return found


@cache
def imports(module: str, deferred: bool = False) -> tuple[str, ...]:
    """Return the modules of our package, and of its own, that a module imports at its top level, or anywhere if ``deferred``."""
    roots = {PACKAGE.name, module.partition(".")[0]}  # to look for others would import their packages
    names = set()
    for level, base, name, at_top in _imported(_source(module)):
        base = _absolute(level, base, module)
        if base.partition(".")[0] in roots and (at_top or deferred):
            inner = base if name is None else f"{base}.{name}"
            names.add(inner if path_of(inner) else base)
    return tuple(sorted(name for name in names if path_of(name)))


@cache
def _imported(source: bytes) -> tuple[tuple[int, str, str | None, bool], ...]:
    """Return what a source imports: dots, a module, a name in it (None: the module itself), and whether at the top level.

    Text that reads like an import counts as well: to parse whole files would take most of the time of a short command.
    """
    found = []
    for match in IMPORT.finditer(source):
        try:
            (node,) = ast.parse(match["statement"]).body
        except (SyntaxError, ValueError):  # prose
            continue
        if isinstance(node, ast.Import):
            found += [(0, alias.name, None, not match["before"]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.level, node.module or "", alias.name, not match["before"]) for alias in node.names]
    return tuple(found)


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
    """Return the file of a module of somebody else: a solver or data set of their own."""
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # its package is gone or does not import, or it is a script
        return None
    path = Path(spec.origin) if spec and spec.origin else None
    return path if path and path.suffix == ".py" and path.is_file() else None


def _folder(module: str) -> Path:
    """Return where a module lies, without its suffix; in a checkout experiments, plots and conf lie beside the package."""
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


@cache
def _sha256(source: bytes) -> bytes:
    return hashlib.sha256(source).digest()
