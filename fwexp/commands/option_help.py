"""``fwexp solvers`` and ``fwexp options``: lists and descriptions, from YAML files and docstrings."""

# ruff: noqa: T201

import dataclasses
import inspect
import sys
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import ParameterError, unknown
from fwexp.methods import ALIASES, methods
from fwexp.options import KINDS, NoOptions
from fwexp.run.catalogues import catalogue, kinds
from fwexp.run.config import defaults_of
from fwexp.store.run_labels import as_text

SOLVERS_USAGE = """\
usage: fwexp solvers [NAME]

List solvers and methods, grouped by the problems that they solve. A method is a solver with certain options. With NAME, describe
one: its paper and its options.
"""
USAGE = """\
usage: fwexp options [NAME]

List the options of a solver, a method, a data set or a task: default, accepted values and meaning. Without NAME, list all names.
"""
GROUPS = ("solver", "dataset", "task")
HEADS = {"dataset": "data sets", "task": "tasks"}
WORDS = {int: "an integer", float: "a number", str: "a text"}


def _names(*groups: str) -> list[str]:
    return [name for group in groups for name in titles_of(group)]


@command("fwexp solvers", SOLVERS_USAGE, words=1, offers=lambda: _names("solver"), folder_keys=())
def solvers_main(given: Arguments) -> int:
    """Run ``fwexp solvers`` with the arguments after ``solvers``, and return the exit code."""
    return _show(("solver",), given.words)


@command("fwexp options", USAGE, words=1, offers=lambda: _names(*GROUPS), folder_keys=())
def main(given: Arguments) -> int:
    """Run ``fwexp options`` with the arguments after ``options``, and return the exit code."""
    return _show(GROUPS, given.words)


def _show(groups: Sequence[str], words: Sequence[str]) -> int:
    """Describe the choice that was named; without a name, list all choices."""
    titles = {group: titles_of(group) for group in groups}
    for name in words:
        if not any(name in known for known in titles.values()):
            raise ParameterError(unknown(" or ".join(groups), name, _names(*groups)))
        for group, known in titles.items():
            if name in known:
                about = described(group, name)
                print(f"{group}={name}: {about.title}", *map(_filled, about.paragraphs), sep="\n\n")
                print(*(line for option in about.options for line in _lines(option)), sep="\n")
    if not words:
        parts = {head: names for group in groups for head, names in _parts(group).items()}
        width = max(len(choice) for names in parts.values() for choice in names)
        for head, names in parts.items():
            print(f"{head}:", *(f"  {choice:{width}}  {title}" for choice, title in names.items()), sep="\n")
    return 0


def _parts(group: str) -> dict[str, dict[str, str]]:
    """Return the choices of a group with their titles: of solvers by kind of problem, those for figures only last."""
    titles, known = titles_of(group), methods() if group == "solver" else {}
    if not known:
        return {HEADS[group]: {f"{group}={name}": title for name, title in titles.items()}}
    parts: dict[str, dict[str, str]] = {head: {} for head in (*KINDS.values(), "settings that only figures use")}
    for name, title in titles.items():
        method = known.get(name, known.get(ALIASES.get(name, "")))
        first = KINDS[kinds(group, method.solver if method else name)[0]]
        parts["settings that only figures use" if method and method.for_figures else first][f"{group}={name}"] = title
    return {f"solvers for {head}" if head in KINDS.values() else head: names for head, names in parts.items() if names}


def titles_of(group: str) -> dict[str, str]:
    """Return the names in a group, with a title each."""
    titles = {name: value.title for name, value in catalogue(group).items()}
    if group == "solver":
        titles |= {name: f"Another name of {solver}" for name, solver in ALIASES.items() if solver in titles and name not in titles}
        titles |= {name: method.title or name for name, method in methods().items() if method.solver in titles}
    return dict(sorted(titles.items()))


class Row(NamedTuple):
    """An option: its setting, its accepted values, its meaning."""

    name: str
    value: str
    accepted: str
    meaning: str


class Description(NamedTuple):
    """Description of a solver, a method, a data set or a task."""

    title: str
    paragraphs: list[str]
    options: list[Row]


def described(group: str, name: str) -> Description:
    """Return the description of a name in a group, from its declaration and its docstrings."""
    method = methods().get(name, methods().get(ALIASES.get(name))) if group == "solver" else None
    known, own = catalogue(group), method.solver if method else name
    chosen, stated = known[own], dict(method.options) if method else {}
    texts = [f"For {' and '.join(KINDS[kind] for kind in kinds(group, own))}."]
    if stated and own != name:
        texts.insert(0, f"It is {own} with {', '.join(f'{option}={as_text(value)}' for option, value in stated.items())}.")
    module = known.module(own)
    shared = sum(known.module(other) == module for other in known) > 1
    alone = chosen if inspect.isclass(chosen) else chosen.Options  # describes one choice of a module of several
    texts.append((alone if shared else sys.modules[module]).__doc__)
    if group == "task":
        texts.append(f"Settings: {', '.join(f'{key}={as_text(value)}' for key, value in chosen.reads.items())}")
    if not dataclasses.fields(chosen.Options):
        texts.append("It has no options.")
    paragraphs = [inspect.cleandoc(text).partition("\n\n")[0] for text in texts if text]
    return Description(titles_of(group)[name], paragraphs, list(rows(group, chosen.Options, stated)))


def _lines(option: Row) -> Iterator[str]:
    yield f"  {option.name}={option.value}" + f"  ({option.accepted})" * bool(option.accepted)
    if option.meaning:
        yield textwrap.indent(_filled(option.meaning), "      ")


def rows(prefix: str, options: type, stated: Mapping) -> Iterator[Row]:
    """Yield the fields of an options dataclass, with the values that are ``stated`` or else their defaults."""
    said, values = meanings(options), defaults_of(options) | stated
    for field in dataclasses.fields(options):
        accepted = choices(field) + [WORDS[part] for part in _types(field) if part in WORDS and "choices" not in field.metadata]
        switched = [part for part in _types(field) if dataclasses.is_dataclass(part)]
        accepted += [f"a mapping of {', '.join(f.name for f in dataclasses.fields(part))}" for part in switched]
        accepted.sort(key="null".__eq__)  # null comes last
        value = values[field.name]
        yield Row(f"{prefix}.{field.name}", as_text(value), ", ".join(accepted), said.get(field.name, ""))
        for part in switched:
            yield from rows(f"{prefix}.{field.name}", part, value if isinstance(value, Mapping) else {})


def choices(field: dataclasses.Field) -> list[str]:
    """Return the values of an option that can be listed, as the command line takes them."""
    listed = field.metadata.get("choices", (True, False) if bool in _types(field) else ())
    return [as_text(value) for value in (*listed, *[None] * (type(None) in _types(field)))]


def _types(field: dataclasses.Field) -> tuple[type, ...]:
    return typing.get_args(field.type) if isinstance(field.type, types.UnionType) else (field.type,)


def meanings(options: type) -> dict[str, str]:
    """Return the meanings of the fields of an options dataclass, from the ``Attributes`` of its docstring and its bases'."""
    texts = {}
    for cls in reversed(options.__mro__):
        names: list[str] = []
        section = inspect.cleandoc(cls.__doc__ or "").partition("Attributes\n----------\n")[2].partition("\n\n")[0]
        for line in section.splitlines():
            if line.startswith(" "):
                texts |= {name: f"{texts[name]} {line.strip()}".strip() for name in names}
            else:
                names = line.partition(" : ")[0].split(", ")
                texts |= dict.fromkeys(names, "")
    return texts


def _filled(text: str) -> str:
    """Return a paragraph of a docstring in lines for a terminal."""
    return textwrap.fill(text.replace("``", ""), 110)


def offered(group: str, chosen: str, path: str) -> list[str]:
    """Return the values to offer for an option, such as ``cache`` or ``cache.F``, of the choice in a group."""
    method = methods().get(chosen, methods().get(ALIASES.get(chosen))) if group == "solver" else None
    own = method.solver if method else chosen
    if group not in GROUPS or own not in catalogue(group):
        return []
    options, (*above, last) = catalogue(group)[own].Options, path.split(".")
    for name in above:
        found = [field for field in dataclasses.fields(options) if field.name == name]
        options = next((part for field in found for part in _types(field) if dataclasses.is_dataclass(part)), NoOptions)
    return [value for field in dataclasses.fields(options) if field.name == last for value in choices(field)]
