"""Generated pages: options from their declarations, the API from ``__all__``, and the published results."""

import importlib
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from fwexp.commands.option_help import described, titles_of
from fwexp.files.owned import RECORD, replacing_folder
from fwexp.plugins import STRUCTURED
from fwexp.solvers import SOLVERS
from fwexp.solvers.table import table

API = {
    "fwexp": "Train, certify, predict, and read what is stored.",
    "fwexp.estimators": "The same by scikit-learn's conventions.",
    "fwexp.data": "Load data sets, and read files of other tools.",
    "fwexp.convex": "The same methods on any convex set with linear minimisation.",
    "fwexp.distributed": "One training over the workers of a Dask cluster.",
    "fwexp.testing": "Check an oracle or a solver of your own.",
}
HEADS = {"solver": "Solvers and methods", "dataset": "Data sets", "task": "Tasks"}


def pages(source: Path) -> None:
    """Write all of them below ``source / "generated"``."""
    with replacing_folder(source / "generated", "generated pages") as folder:
        _write(source.parent / "results" / "published", folder)


def _write(published: Path, folder: Path) -> None:
    shutil.copytree(published, folder / "published", ignore=shutil.ignore_patterns("*.csv", RECORD))
    for path in (folder / "published").rglob("*.md"):  # tables have no title, in the report they stand below one
        text = path.read_text(encoding="utf-8")
        if not text.startswith("# "):
            path.write_text(f"# {path.relative_to(folder / 'published').with_suffix('')}\n\n{text}", encoding="utf-8")
    written = {f"{group}.md": _options(group) for group in HEADS} | {f"{name.replace('.', '-')}.md": _api(name) for name in API}
    written |= {"families.txt": [table()], "methods.txt": _methods()}  # parts of pages
    for name, lines in written.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _options(group: str) -> Iterator[str]:
    """Yield the lines of a page on all that can be chosen in a group."""
    yield f"# {HEADS[group]}\n\nWritten from their declarations, as `fwexp options NAME` prints them.\n"
    for name in titles_of(group):
        about = described(group, name)
        yield f"({group}-{name})=\n## `{name}`\n\n**{_plain(about.title)}**\n"
        yield from (f"{_plain(text)}\n" for text in about.paragraphs)
        for option in about.options:
            accepted = f" ({_plain(option.accepted)})" * bool(option.accepted)
            yield f"`{option.name}={option.value}`{accepted}\n: {_plain(option.meaning)}\n"


def _methods() -> Iterator[str]:
    """Yield a table of the solvers of structured SVMs."""
    yield "| solver | method | random | duality gap |\n| --- | --- | --- | --- |"
    for name, solver in sorted(SOLVERS.items()):
        if STRUCTURED in solver.kinds:
            words = ("yes" if flag else "no" for flag in (solver.stochastic, solver.has_dual))
            yield f"| [`{name}`](#solver-{name}) | {_plain(solver.title)} | {' | '.join(words)} |"


def _api(name: str) -> Iterator[str]:
    """Yield the lines of a page on the public names of a module."""
    module = importlib.import_module(name)
    yield f"# {name}\n\n{API[name]}\n\n```{{eval-rst}}\n.. currentmodule:: {name}\n"
    for public in sorted(module.__all__, key=str.lower):
        value = getattr(module, public)
        if inspect.isclass(value):
            yield f".. autoclass:: {public}\n   :members:\n   :inherited-members: BaseEstimator, tuple\n"
        elif callable(value):
            yield f".. autofunction:: {public}\n"
    yield "```"


def _plain(text: str) -> str:
    """Return Markdown that shows a text of docstrings, in one line; what stands in backticks is code."""
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    return "".join(part if k % 2 else re.sub(r"[\\*_\[\]<>|$]", r"\\\g<0>", part) for k, part in enumerate(parts))
