"""Solvers, data sets, tasks, papers and figures are found: in their folder, in other packages by entry point, in plugin files.

Working ones can be used by name. One that does not import, is of the wrong type, or has a name that is taken is left out, and one
line on standard error gives the reason.
"""

import dataclasses
import importlib
import inspect
import logging
import pkgutil
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fwexp import plugin_files
from fwexp.errors import ParameterError, shown, unknown
from fwexp.files.folders import is_folder
from fwexp.options import KINDS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

GROUPS = {kind: f"fwexp.{kind}s" for kind in ("solver", "dataset", "task", "paper", "figure")}
NAME = re.compile(r"[A-Za-z]\w*")
F = TypeVar("F", bound=Callable[..., Any])


class Definition(NamedTuple):
    """The place of a registered object: its module, its name in messages, and how to load it."""

    module: str
    described: str
    load: Callable[[], Any]
    is_meant: bool = False  # True if the user named its file: its faults are errors then.


class Named(Mapping):
    """Things of one kind, by name."""

    _kind: str

    def __contains__(self, name: object) -> bool:
        """Return whether there is a working object of that name."""
        try:
            self[name]
        except (KeyError, TypeError):
            return False
        return True

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def find(self, name: str, *others: str) -> Any:
        """Return the object of a name; refuse a name that neither the catalogue nor ``others`` has."""
        if not isinstance(name, str) or name not in self:
            raise ParameterError(unknown(self._kind, name, [*self, *others]))
        return self[name]


class Catalogue(Named):
    """The catalogue of one kind, by name.

    A look-up imports only the name that is looked up, and so do the names if ``lazy``; otherwise asking for all names imports all,
    so that only working ones are listed. ``own`` yields the entries of fwexp, ``at_hand`` may find one without the others,
    ``objects`` yields those of a module, and ``check`` refuses values of another kind.
    """

    def __init__(
        self,
        kind: str,
        own: Callable[[], Iterable[tuple[str, Definition]]],
        check: Callable[[Any], None],
        *,
        objects: Callable[[Any], Iterable],
        lazy: bool = False,
        pattern: re.Pattern[str] = NAME,
        at_hand: Callable[[str], Definition | None] | None = None,
    ) -> None:
        self._kind, self._own, self._check = kind, own, check
        self._lazy, self._pattern, self._at_hand, self._objects = lazy, pattern, at_hand, objects
        self._definitions: dict[str, Definition] | None = None
        self.loaded: dict[str, Any] = {}
        plugin_files.ON_CHANGE.append(self._forget)

    def __getitem__(self, name: str):
        plugin_files.modules()  # which forgets the names of former files
        if name not in self.loaded:
            definition = self._definition(name)
            try:
                value = definition.load()
                self._check(value)
                if value.name != name:
                    raise ParameterError(f"it calls itself {shown(value.name)}")
            except (Exception, SystemExit) as error:
                if definition.is_meant:
                    raise ParameterError(f"{self._kind} {name!r} of {definition.described}: {_reason(error)}") from error
                self.leave_out(name, error)
                raise KeyError(name) from error
            self.loaded[name] = value
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        if not self._lazy:
            self.load_all()
        return iter(list(self._discovered()))

    def load_all(self) -> None:
        """Import all modules, and leave out those that do not work."""
        for name in list(self._discovered()):
            self.get(name)

    def where(self, is_meant: Callable[[object], bool]) -> "Selection":
        """Return the object that fulfils a condition; it is looked up when it is requested."""
        return Selection(self, is_meant)

    def module(self, name: str) -> str:
        """Return the module that defines the object of a name."""
        return self._discovered()[name].module

    def leave_out(self, name: str, error: BaseException) -> None:
        """Forget a name, and log the reason."""
        self.loaded.pop(name, None)
        definition = self._discovered().pop(name)
        warn_left_out(f"{self._kind} {name!r} of {definition.described}", error)

    def _definition(self, name: str) -> Definition:
        at_hand = self._at_hand(name) if self._at_hand is not None and self._definitions is None else None
        return self._discovered()[name] if at_hand is None else at_hand

    def _discovered(self) -> dict[str, Definition]:
        plugin_files.modules()
        if self._definitions is None:
            definitions: dict[str, Definition] = {}  # other threads see all of them, or look themselves
            self._take(definitions, self._own())
            points = _entry_points(self._kind)
            self._take(definitions, [(point.name, Definition(point.module, _described(point), point.load)) for point in points])
            self._take_files(definitions)
            self._definitions = definitions
        return self._definitions

    def _forget(self) -> None:
        self._definitions = None
        self.loaded.clear()

    def _take_files(self, definitions: dict[str, Definition]) -> None:
        """Add the objects of plugin files, unless they only imported them."""
        for module in plugin_files.modules():
            for value in {id(value): value for value in self._objects(module)}.values():
                name, described = value.name, plugin_files.shown(module)
                if not isinstance(name, str) or not self._pattern.fullmatch(name):
                    raise ParameterError(
                        f"a {self._kind} must have a name of letters, digits and _, got {shown(name)} in {described}"
                    )
                if (other := definitions.get(name)) is None:
                    definitions[name] = _definition(module, value)._replace(described=described, is_meant=True)
                elif other.load() is not value:
                    what = f"{self._kind} {name!r} of {described}"
                    raise ParameterError(f"{what} must have a name of its own, got that of one in {other.described}")

    def _take(self, definitions: dict[str, Definition], found: Iterable[tuple[str, Definition]]) -> None:
        """Add an object whose name is new, neither among ``found`` nor among the ``definitions`` so far."""
        by_name: dict[str, list[Definition]] = {}
        for name, definition in found:
            by_name.setdefault(name if isinstance(name, str) else shown(name), []).append(definition)
        for name, those in by_name.items():
            what = f"{self._kind} {name!r} of {' and '.join(definition.described for definition in those)}"
            if not self._pattern.fullmatch(name):
                warn_left_out(what, ParameterError("that is no name for one"))
            elif name in definitions:
                warn_left_out(what, ParameterError(f"{definitions[name].described} has one of that name"))
            elif len(those) > 1:
                warn_left_out(what, ParameterError("they share the name"))
            else:
                (definitions[name],) = those


class Selection(Named):
    """The part of a catalogue that fulfils a condition."""

    def __init__(self, catalogue: Catalogue, is_meant: Callable[[object], bool]) -> None:
        self._catalogue, self._is_meant, self._kind = catalogue, is_meant, catalogue._kind

    def __getitem__(self, name: str):
        if not self._is_meant(value := self._catalogue[name]):
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name, value in self._catalogue.items() if self._is_meant(value))


_TAKEN: dict[str, set[str]] = {kind: set() for kind in KINDS}


def takes_options(kind: str) -> Callable[[F], F]:
    """Register the function below as one that takes options of methods for a kind of problem next to its own parameters."""

    def register(function: F) -> F:
        _TAKEN[kind].update(inspect.signature(function).parameters.keys() - {"options"})
        return function

    return register


def taken(kind: str) -> Collection[str]:
    """Return the names that options of methods for a kind of problem must not have, as far as `takes_options` has them."""
    return _TAKEN[kind]


def check_options_class(cls: type, taken: Collection[str] = ()) -> None:
    """Refuse options that are no dataclass, or have a field whose name is taken by another argument."""
    if not dataclasses.is_dataclass(cls):
        raise ParameterError(f"its Options must be a dataclass, got {shown(cls)}")
    for field in dataclasses.fields(cls):
        if field.name == "name" or field.name in taken:
            raise ParameterError(f"its option {field.name!r} must have another name; calls and configurations use this one already")


def warn_left_out(what: str, error: BaseException) -> None:
    """Log a one-line warning about a name that was left out, and the reason."""
    logging.getLogger("fwexp").warning("fwexp: left out %s: %s", what, _reason(error))


def _reason(error: BaseException) -> str:
    reason = " ".join(str(error).split())
    return reason if isinstance(error, ParameterError) else f"{type(error).__name__}: {reason}{_line(error)}"


def modules(package: str) -> Iterator[ModuleType]:
    """Import the modules of a package of fwexp one after the other; those that do not import are left out."""
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if (module := imported(info.name)) is not None:
            yield module


def imported(name: str) -> ModuleType | None:
    """Import a module and return it; if it does not import, print a line with the reason, and return None."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        warn_left_out(name, error)
        return None


def of_modules(package: str, objects: Callable[[object], Iterable]) -> Iterator[tuple[str, Definition]]:
    """Yield the entries of a `Catalogue` for the objects in the modules of a package, each of which has a ``name``."""
    for module in modules(package):
        for value in objects(module):
            yield value.name, _definition(module, value)


def of_module_called(package: str, name: object, objects: Callable[[object], Iterable]) -> Definition | None:
    """Return the entry of `of_modules` for a name, if the module of that name has it and works; otherwise None."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return None
    try:
        module = importlib.import_module(f"{package}.{name}")
        value = next((value for value in objects(module) if value.name == name), None)
    except (Exception, SystemExit):  # no such module, or one about which `load_all` warns
        return None
    return None if value is None else _definition(module, value)


def instances(module: ModuleType, base: type) -> list:
    """Return the values of a module that are instances of ``base``."""
    return [value for value in vars(module).values() if isinstance(value, base)]


def defined_classes(module: ModuleType, base: type) -> list[type]:
    """Return the classes derived from ``base`` that a module defines and gives a name of their own."""
    classes = dict.fromkeys(cls for cls in vars(module).values() if inspect.isclass(cls) and issubclass(cls, base))
    return [cls for cls in classes if cls.__module__ == module.__name__ and "name" in vars(cls)]


def _entry_points(kind: str) -> "EntryPoints":
    """Return what installed packages have of a kind."""
    from importlib.metadata import entry_points  # here, because a tagger predicts sooner without it

    return entry_points(group=GROUPS[kind])


@cache
def configurations() -> tuple[Path, ...]:
    """Return the folders ``conf`` of the packages that have something for us, where their YAML files are looked for."""
    points = [point for kind in GROUPS for point in _entry_points(kind)]
    folders = []
    for package in dict.fromkeys(point.module.partition(".")[0] for point in points):
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            continue
        folders += [Path(folder) / "conf" for folder in (spec and spec.submodule_search_locations) or ()]
    return tuple(filter(is_folder, folders))


def _definition(module: ModuleType, value) -> Definition:
    return Definition(module.__name__, module.__name__, lambda: value)


def _described(point: "EntryPoint") -> str:
    return f"package {point.dist.name}" if point.dist else point.module


def _line(error: BaseException) -> str:
    """Return where an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return f" ({Path(last[0].filename).name}, line {last[0].lineno})" if last and not isinstance(error, SyntaxError) else ""
