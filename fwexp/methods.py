"""The methods by name: a file ``conf/solver/<method>.yaml`` names a solver and states the options that make it this method.

The file with the name of its solver states the plain method, and with it the options that tell methods of this solver apart;
every other file states what it changes. A run is of the method whose options it has. Other options, such as how often gaps are
refreshed, tell methods apart only where one asks for that (``split_by``). A solver without a file of its name is plain wherever
none of its methods fits. Other packages have such files in their folder ``conf/``.
"""

import functools
import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fwexp import plugins
from fwexp.errors import OptionError, ParameterError, unknown

# Other names of methods on convex sets, in Python and on the command line; "fw" alone is also a solver of structured SVMs.
ALIASES = MappingProxyType({"fw": "frank_wolfe", "afw": "away", "pfw": "pairwise", "bpcg": "blended_pairwise"})

FOR_FIGURES = "For figures. "  # begins the comment of a method that only compares settings


class Method(NamedTuple):
    """The content of a method's file: its solver, the options that it states, its comment, and whether it is for figures only."""

    solver: str
    options: Mapping[str, Any]
    title: str
    for_figures: bool = False


def conf_dir() -> Path:
    """Return the folder of the YAML files: inside the package in a wheel, next to it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def read_method(path: Path) -> Method:
    """Return the method of a file; ValueError if it is none."""
    import yaml

    text = path.read_text(encoding="utf-8")
    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ParameterError(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or not isinstance(solver := content.pop("name", None), str):
        raise ParameterError("it does not say the name of its solver")
    comment = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    title = " ".join(line.strip("# ") for line in comment).removesuffix(".")
    plain = title.removeprefix(FOR_FIGURES)
    return Method(solver, MappingProxyType(content), plain, plain != title)


@functools.cache
def methods() -> Mapping[str, Method]:
    """Return all methods by name, ours first; a file that cannot be read is left out with one line."""
    found: dict[str, Method] = {}
    for folder in (conf_dir(), *plugins.configurations()):
        for path in sorted((folder / "solver").glob("*.yaml")):
            try:
                method = read_method(path)
            except (OSError, ValueError) as error:
                plugins.warn_left_out(f"method {path.stem!r} of {path}", error)
            else:
                found.setdefault(path.stem, method)
    return MappingProxyType(found)


def method_of(solver: str, options: Mapping[str, Any], split_by: Iterable[str] = ()) -> str:
    """Return the name of the method that a solver is with these options, nested or flat; those in ``split_by`` are named, too."""
    # A setting that is no method's is named after the options in which it departs from the plain method.
    plain, counted, named, by_departures = _table(solver, frozenset(split_by))
    departures = _departures(options, plain, counted)
    if (name := by_departures.get(frozenset(departures.items()))) is not None:
        return name
    return solver + "".join(f"[{option}={value}]" for option, value in sorted(departures.items()) if option in named)


def is_method(name: str, solver: str, options: Mapping[str, Any]) -> bool:
    """Return whether a solver with these options is the method ``name``: it has all options that the method states."""
    return method_of(solver, options, stated(name)) == name


def flat(options: Mapping, prefix: str = "") -> dict[str, Any]:
    """Return nested options by their keys, joined by dots; lists as JSON, because tables have single values."""
    found: dict[str, Any] = {}
    for key, value in options.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = json.dumps(value) if isinstance(value, list) else value
    return found


def flat_options(options: Mapping) -> dict[str, Any]:
    """Return the options that a method states as `load_results` has them: ``cache.F``, lists as text."""
    flat = _flat(options)
    return {name: value for name, value in flat.items() if not any(other.startswith(f"{name}.") for other in flat)}


def stated(name: str) -> set[str]:
    """Return the options that a method states, which distinguish its runs from all others."""
    return set(_flat(methods()[name].options)) if name in methods() else set()


def of_results(results, split_by: Iterable[str] = ()):
    """Return the method of every row of results, as ``load_results`` has them; `split_by` as in `method_of`."""
    split_by = tuple(split_by)
    columns = [column for column in results.columns if column.startswith("solver.")]
    known = {column.removeprefix("solver.") for column in columns}.union(*(_flat(method.options) for method in methods().values()))
    for option in split_by:
        if option not in known and not any(name.startswith(f"{option}.") for name in known):
            raise OptionError(unknown("option to split methods by", option, known))
    names = {
        run["key"]: method_of(run["solver"], {name.removeprefix("solver."): run[name] for name in columns}, split_by)
        for run in results.drop_duplicates("key")[["key", "solver", *columns]].to_dict("records")
    }
    return results["key"].map(names)


def variants(results, split_by: Iterable[str] = ()):
    """Return the variant, which is a method and an iterate, of every row of results: ``bcfw``, ``bcfw-wavg``, ..."""
    return of_results(results, split_by) + results["iterate"].map(lambda iterate: variant_of("", iterate))


def variant_of(method: str, iterate: str) -> str:
    """Return the name of a method's iterate."""
    return method if iterate == "last" else f"{method}-{iterate}"


@functools.cache
def _table(solver: str, split_by: frozenset[str]) -> tuple:
    """Return the plain options of a solver, those that count, those that names are made of, and its methods by departures."""
    own = {name: _flat(method.options) for name, method in methods().items() if method.solver == solver}
    plain = own.get(solver, {})
    named = split_by.union(plain)
    counted = named if solver in own else named.union(*own.values())
    by_departures = {
        frozenset(_departures(stated, plain, counted).items()): name for name, stated in own.items() if counted.issuperset(stated)
    }
    return plain, counted, named, by_departures


def _departures(options: Mapping, plain: Mapping, counted: Iterable[str]) -> dict:
    return {option: value for option, value in _flat(options).items() if option in counted and value != plain.get(option)}


def _flat(options: Mapping) -> dict[str, Any]:
    """Return options without missing ones; ``cache`` is true if an option such as ``cache.F`` is given."""
    # NaN where a solver does not have the option.
    found = {key: value for key, value in flat(options).items() if value is not None and value == value}
    return found | {key.rpartition(".")[0]: True for key in found if "." in key}
