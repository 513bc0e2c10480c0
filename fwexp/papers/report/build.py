"""From a store to the folder of the report; equal stores give equal reports."""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from fwexp.errors import OptionError, not_installed
from fwexp.files.folders import check_folder
from fwexp.files.replacing import replacing_folder
from fwexp.papers.catalogue import PAPERS
from fwexp.papers.claims import all_claims, check_all
from fwexp.papers.claims.check import save
from fwexp.papers.files import write
from fwexp.papers.report.figures import Drawn, drawn

ASSETS = ("report.css", "report.js")
NEEDED = ("plotly", "jinja2")


def lacking() -> str:
    """Return what a report needs and is not installed, if anything."""
    return next((name for name in NEEDED if not find_spec(name)), "")


def build(results_dir="results") -> Path:
    """Write the report on a store, and keep the verdicts in the store.

    Returns
    -------
    Path
        The first page.

    Raises
    ------
    OptionError
        plotly or jinja2 is not installed.
    """
    if name := lacking():
        raise OptionError(not_installed("fwexp report needs", name, "report"))
    from plotly.offline import get_plotlyjs

    from fwexp import store
    from fwexp.papers.report import pages

    results_dir = check_folder("results_dir", results_dir)
    figures = drawn(results_dir)
    results = store.load_results(results_dir)
    records = check_all(all_claims(), results_dir, results=results)
    save(records, results_dir)
    runs = store.find_runs(results_dir, include=("partial", "failed", "damaged"))
    papers = {name: pages.paper(name, of_paper, records) for name, of_paper in _by_page(figures, pages.OTHERS).items()}
    first = pages.index(papers, records, runs, pages.beyond(results))
    with replacing_folder(results_dir / "report") as folder:
        for name, content in {"index": first, **papers}.items():
            _write(folder / f"{name}.html", pages.render(name, papers, **content))
        for figure in figures:
            _copy(figure, folder)
        for asset in ASSETS:
            _write(folder / asset, files(__package__).joinpath(asset).read_text(encoding="utf-8"))
        _write(folder / "plotly.min.js", get_plotlyjs())
    return results_dir / "report" / "index.html"


def _by_page(figures: list[Drawn], others: str) -> dict[str, list[Drawn]]:
    """The figures of each page: one per paper, also where none is drawn, and one for all others."""
    pages: dict[str, list[Drawn]] = {name: [] for name in PAPERS}
    for figure in figures:
        paper = figure.figure.name.partition("/")[0]
        pages.setdefault(paper if paper in PAPERS else others, []).append(figure)
    return pages


def _copy(pictured: Drawn, folder: Path) -> None:
    if pictured.stem:
        write(
            folder / "figures" / pictured.id,
            {suffix: pictured.read(suffix) for suffix in pictured.figure.suffixes[:-1]},
            pictured.record,
        )


def _write(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8", newline="\n")
