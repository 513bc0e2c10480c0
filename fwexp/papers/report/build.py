"""From a store to the folder of the report; equal stores give equal reports."""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from fwexp.errors import OptionError, not_installed
from fwexp.files.atomic import clean, replacing_folder
from fwexp.files.folders import check_folder
from fwexp.papers.catalogue import Figure
from fwexp.papers.claims import PAPERS, all_claims, check_all
from fwexp.papers.claims.check import save
from fwexp.papers.files import write
from fwexp.papers.report import pages
from fwexp.papers.report.figures import Drawn, drawn
from fwexp.papers.report.html import page

ASSETS = ("report.css", "report.js")
OTHERS = "others"
"""The page of figures that belong to no paper of the list."""


def build(results_dir="results") -> Path:
    """Write the report on a store, and keep the verdicts in the store.

    Returns
    -------
    Path
        The first page.

    Raises
    ------
    OptionError
        plotly is not installed.
    """
    if not find_spec("plotly"):
        raise OptionError(not_installed("fwexp report needs", "plotly", "report"))
    from plotly.offline import get_plotlyjs

    from fwexp import store

    results_dir = check_folder("results_dir", results_dir)
    clean(results_dir)  # what a report left that was killed
    figures = drawn(results_dir)
    results = store.load_results(results_dir)
    records = check_all(all_claims(), results_dir, results=results)
    save(records, results_dir)
    runs = store.find_runs(results_dir, include=("partial", "failed", "damaged"))
    by_page = _by_page(figures)
    names = {name: pages.TITLES.get(name, name) for name in by_page}
    with replacing_folder(results_dir / "report") as folder:
        for name, found in by_page.items():
            content = pages.paper(name, found, records)
            _write(folder / f"{name}.html", page(names[name], content, pages.navigation(names, name), scripts=True))
        index = pages.index(by_page, records, runs, pages.beyond(results))
        _write(folder / "index.html", page("fwexp: the papers, run here", index, pages.navigation(names, "index")))
        for each in figures:
            _copy(each, folder)
        for asset in ASSETS:
            _write(folder / asset, files(__package__).joinpath(asset).read_text(encoding="utf-8"))
        _write(folder / "plotly.min.js", get_plotlyjs())
    return results_dir / "report" / "index.html"


def _by_page(figures: list[Drawn]) -> dict[str, list[Drawn]]:
    """The figures of each page: one per paper, also where none is drawn, and one for all others."""
    found: dict[str, list[Drawn]] = {folder: [] for folder, _ in PAPERS.values()}
    for each in figures:
        found.setdefault(_page_of(each.figure, found), []).append(each)
    return found


def _page_of(figure: Figure, papers) -> str:
    paper = figure.name.partition("/")[0]
    return paper if paper in papers else OTHERS


def _copy(found: Drawn, folder: Path) -> None:
    if found.stem:
        write(folder / "figures" / found.id, {suffix: found.read(suffix) for suffix in found.figure.suffixes[:-1]}, found.record)


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
