"""Plugin files: one file of Python with a solver, a data set, a task, a figure or a claim.

``fwexp COMMAND --plugin FILE`` adds to the variable ``FWEXP_PLUGINS``. Only this variable counts: processes that are started from
here find the same files. A file becomes a module whose name has the stem and the digest of its code, so that edited code is another
module, and runs record the digest like that of the sources of a package. Comments and docstrings do not count for the name, but
the module is imported again if they change.
"""

import contextlib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from fwexp.errors import ParameterError
from fwexp.files.code_digest import code_of
from fwexp.files.folders import is_file

VARIABLE = "FWEXP_PLUGINS"
FLAG = "--plugin"
PREFIX = "fwexp_plugin_"

ON_CHANGE: list[Callable[[], object]] = []
"""Functions that forget what was found in other files; called when the files have changed."""

_known: tuple[str, tuple[ModuleType, ...]] | None = None  # the variable, and its modules
_imported_from: dict[str, bytes] = {}  # the contents of their files, by the names of the modules


def modules() -> tuple[ModuleType, ...]:
    """Return the modules of the plugin files, imported; refuse files that are missing, fail, or share a name."""
    given = os.environ.get(VARIABLE, "")
    if _known is None or _known[0] != given:
        refresh()
    return _known[1] if _known else ()


def refresh() -> None:
    """Import the plugin files as they are now; if they have changed, forget the names that the former ones registered."""
    global _known
    given, before = os.environ.get(VARIABLE, ""), _known[1] if _known else ()
    paths = [Path(text) for text in given.split(os.pathsep) if text]
    stems: dict[str, Path] = {}
    for path in paths:
        other = stems.setdefault(path.stem, path)
        if other.resolve() != path.resolve():
            raise ParameterError(f"plugin files must have different names, got {other} and {path}")
    found = tuple(dict.fromkeys(_imported(path) for path in paths))
    _known = given, found
    if found != before:
        for module in {*before} - {*found}:  # A copy of the file elsewhere is to be found there.
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
        for forget in ON_CHANGE:
            forget()


@contextlib.contextmanager
def using(paths: Iterable[str | os.PathLike]) -> Iterator[None]:
    """Use these plugin files in addition to the files of the variable in this context, and in processes that are started there."""
    before = os.environ.get(VARIABLE)
    given = [str(Path(path).expanduser().absolute()) for path in [*(before or "").split(os.pathsep), *paths] if str(path)]
    try:
        use(os.pathsep.join(dict.fromkeys(given)))
        yield
    finally:
        _set(before)
        if given:
            with contextlib.suppress(ParameterError):  # that was there before
                refresh()


def use(value: str) -> None:
    """Use the plugin files of a value of the variable, as they are now."""
    _set(value or None)
    if value or _known:
        refresh()


def _set(value: str | None) -> None:
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


def taken_from(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that ``--plugin FILE`` and ``--plugin=FILE`` name among arguments, and the other arguments."""
    files, others, rest = [], [], iter(arguments)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag != FLAG:
            others.append(argument)
            continue
        files.append(value if equals else next(rest, ""))
        if not files[-1]:
            raise ParameterError(f"{FLAG} needs a file, got none")
    return files, others


def shown(module: ModuleType) -> str:
    """Return the name of a plugin file in messages."""
    return f"plugin file {module.__file__}"


def experiments() -> dict[str, Mapping[str, Any]]:
    """Return the runs that figures in plugin files state, by the names of the figures."""
    values = [value for module in modules() for value in vars(module).values()]
    stated = [value for value in values if isinstance(getattr(value, "experiment", None), Mapping)]
    return {value.name: value.experiment for value in stated if isinstance(getattr(value, "name", None), str)}


def _name(path: Path) -> str:
    """Return the name of the module that a file is."""
    return f"{PREFIX}{re.sub(r'[^0-9A-Za-z]', '_', path.stem)}_{code_of(_content(path))[:12]}"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(f"plugin files must be files of Python, got {str(path)!r}: {error.strerror}") from error


def _imported(path: Path) -> ModuleType:
    try:
        name, content = _name(path), _content(path)
        if name in sys.modules and _imported_from.get(name) != content:  # Claims, for instance, have their criteria in docstrings.
            del sys.modules[name]
        _imported_from[name] = content
        return importlib.import_module(name)
    except ParameterError:
        raise
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path.absolute())]
        where = f" (line {lines[-1]})" if lines else ""
        hint = ""
        if isinstance(error, ModuleNotFoundError) and is_file(path.parent / f"{error.name}.py"):
            hint = "; a plugin is one file, several make a package"
        reason = " ".join(str(error).split())
        raise ParameterError(f"plugin file {path} must be importable, got {type(error).__name__}: {reason}{where}{hint}") from error


class _Loader(SourceFileLoader):
    """Loads a file without bytecode, which Python would reuse for an edited file of the same size and second."""

    def path_stats(self, path) -> Mapping[str, Any]:
        """Return no facts about the file, so that no bytecode is read or written."""
        raise OSError


class _Finder:
    """Finds the modules of plugin files, also for readers of sources and for pickles."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> ModuleSpec | None:
        """Return where a module comes from; None unless it is a plugin file."""
        if not name.startswith(PREFIX):
            return None
        for text in os.environ.get(VARIABLE, "").split(os.pathsep):
            file = Path(text).absolute()
            with contextlib.suppress(ParameterError):
                if text and _name(file) == name:
                    return spec_from_file_location(name, file, loader=_Loader(name, str(file)))
        return None


sys.meta_path.append(_Finder)
