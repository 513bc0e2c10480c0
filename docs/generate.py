"""Write the generated pages: the reference, parts of pages, pictures, and the published figures."""

from collections.abc import Iterator
from pathlib import Path

import command_pages
import figure_pages
import pictures
import reference
import solver_table

from fwexp.files.atomic import readable
from fwexp.files.owned import replacing_folder
from fwexp.options import STRUCTURED
from fwexp.solvers import SOLVERS


def pages(source: Path) -> None:
    """Write all of them below ``source / "generated"``."""
    with replacing_folder(source / "generated", "generated pages") as folder:
        write(source, folder)


def write(source: Path, folder: Path) -> None:
    """Write all of them into ``folder``."""
    figure_pages.pages(readable(source.parent / "results" / "published"), folder / "figures")
    pictures.draw(source, folder / "tutorials")
    reference.pages(source, folder)
    command_pages.pages(source, folder / "command")
    for name, lines in {"families.txt": [solver_table.table()], "methods.txt": _methods()}.items():  # parts of pages
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _methods() -> Iterator[str]:
    """Yield a table of the solvers of structured SVMs."""
    yield "| solver | method | random | duality gap |\n| --- | --- | --- | --- |"
    for name, solver in sorted(SOLVERS.items()):
        if STRUCTURED in solver.kinds:
            words = ("yes" if flag else "no" for flag in (solver.stochastic, solver.has_dual))
            yield f"| [`{name}`](#solver-{name}) | {reference.plain(solver.title)} | {' | '.join(words)} |"
