"""Write the generated pages: the reference, parts of pages, and the published results."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import reference

from fwexp.files.owned import RECORD, replacing_folder
from fwexp.plugins import STRUCTURED
from fwexp.solvers import SOLVERS
from fwexp.solvers.table import table


def pages(source: Path) -> None:
    """Write all of them below ``source / "generated"``."""
    with replacing_folder(source / "generated", "generated pages") as folder:
        write(source, folder)


def write(source: Path, folder: Path) -> None:
    """Write all of them into ``folder``."""
    published = source.parent / "results" / "published"
    shutil.copytree(published, folder / "published", ignore=shutil.ignore_patterns("*.csv", RECORD))
    for path in (folder / "published").rglob("*.md"):  # tables have no title, in the report they stand below one
        text = path.read_text(encoding="utf-8")
        if not text.startswith("# "):
            path.write_text(f"# {path.relative_to(folder / 'published').with_suffix('')}\n\n{text}", encoding="utf-8")
    reference.pages(source, folder)
    for name, lines in {"families.txt": [table()], "methods.txt": _methods()}.items():  # parts of pages
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _methods() -> Iterator[str]:
    """Yield a table of the solvers of structured SVMs."""
    yield "| solver | method | random | duality gap |\n| --- | --- | --- | --- |"
    for name, solver in sorted(SOLVERS.items()):
        if STRUCTURED in solver.kinds:
            words = ("yes" if flag else "no" for flag in (solver.stochastic, solver.has_dual))
            yield f"| [`{name}`](#solver-{name}) | {reference.plain(solver.title)} | {' | '.join(words)} |"
