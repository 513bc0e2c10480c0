"""Docstrings of estimators, which inherit the entries of parameters and attributes from their bases."""

import inspect
import re


def completed(docs: list[str], parameters: list[inspect.Parameter]) -> str:
    """Return a docstring with the parameters and attributes of its bases' docstrings, and with defaults.

    Parameters
    ----------
    docs : list of str
        The docstring of a class, then those of its bases, the nearest first: an entry replaces the same entry of later ones.
    parameters : list of inspect.Parameter
        The parameters of the class, in the order in which they are to be described; others of the bases are left out.
    """
    own, *above = map(_sections, docs)
    for heading in ("Parameters", "Attributes"):
        entries: dict[tuple[str, ...], str] = {}
        for sections in (own, *above):
            said = {name for names in entries for name in names}
            entries |= {names: text for names, text in _entries(sections[heading]) if said.isdisjoint(names)}
        if heading == "Parameters":
            order, defaults = (
                {given.name: k for k, given in enumerate(parameters)},
                {given.name: given.default for given in parameters},
            )
            entries = {names: entries[names] for names in sorted(entries, key=lambda names: order.get(names[0], -1))}
            entries = {names: _with_defaults(names, text, defaults) for names, text in entries.items() if names[0] in order}
        own[heading] = "".join(entries.values())
    intro = own.pop("")
    return intro + "\n\n".join(f"{heading}\n{'-' * len(heading)}\n{body.rstrip()}" for heading, body in own.items()) + "\n"


def _sections(doc: str) -> dict[str, str]:
    """Return the text under every heading of numpydoc, and before the first."""
    intro, *rest = re.split(r"^(\w+(?: \w+)?)\n-+\n", inspect.cleandoc(doc) + "\n", flags=re.MULTILINE)
    return {"": intro, "Parameters": "", "Attributes": ""} | dict(zip(rest[::2], rest[1::2]))


def _entries(body: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the names that every entry is about, and its lines."""
    texts = re.findall(r"^\S.*\n(?:\s+\S.*\n)*", body, flags=re.MULTILINE)
    return [(tuple(text.partition("\n")[0].partition(" : ")[0].split(", ")), text) for text in texts]


def _with_defaults(names: tuple[str, ...], text: str, defaults: dict) -> str:
    """Return an entry whose first line ends with the defaults, unless it is optional or one has none."""
    head, _, rest = text.partition("\n")
    values = [defaults[name] for name in names]
    if head.endswith(", optional") or None in values or inspect.Parameter.empty in values:
        return text
    shown = " and ".join(f'"{value}"' if isinstance(value, str) else repr(value) for value in values)
    return f"{head}, default {shown}\n{rest}"
