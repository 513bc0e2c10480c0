"""From a store to the folder of the report; equal stores give equal reports."""

from importlib.resources import files
from pathlib import Path

from fwexp.driver.progress import counted, print_line
from fwexp.errors import needing
from fwexp.files import owned
from fwexp.files.folders import check_folder
from fwexp.papers.claims import all_claims, check_all
from fwexp.papers.claims.verdict_records import check_writable as check_claims
from fwexp.papers.claims.verdict_records import save
from fwexp.papers.declarations import PAPERS
from fwexp.papers.report.figures import Drawn, compared, drawn

KIND = "report"


def check_writable(results_dir: Path) -> None:
    """Check that a report and verdicts can be written; `ParameterError` if other files are in their place."""
    owned.check_folder(results_dir / "report", KIND)
    check_claims(all_claims(), results_dir)


def build(results_dir="results", out=None, *, verbose: bool = False) -> Path:
    """Write the report on a store and its verdicts to the folder ``out``, by default the store; return the first page."""
    with needing("fwexp report needs"):
        import jinja2  # noqa: F401
        from plotly.offline import get_plotlyjs

    from fwexp import store
    from fwexp.papers import comparison
    from fwexp.papers.report import pages, run_pages

    results_dir = check_folder("results_dir", results_dir)
    out = check_folder("out", out or results_dir)
    store.check_writable(out, "out")
    check_writable(out)
    if verbose:
        print_line("reading the figures and runs")
    places = dict.fromkeys((out, results_dir))
    figures = [*drawn(*places), *compared(*places)]
    results = store.load_results(results_dir)
    records = check_all(all_claims(), results_dir, results=results, stale=True, verbose=verbose)
    save(records, out)
    stored = store.find_runs(results_dir, include=("partial", "failed", "damaged"))
    runs = run_pages.of_each_key(run for run in stored if run.is_placed)
    if verbose:
        print_line("writing the pages")
    papers = {name: pages.paper(name, of_page, records, out / "report") for name, of_page in _by_page(figures).items()}
    claims = {id: record | {"page": pages.page_of(record)} for id, record in records.items()}
    of_runs = run_pages.pages(runs, run_pages.with_suboptimality(results, comparison.comparable(results)), claims, figures)
    with owned.replacing_folder(out / "report", KIND) as folder:
        contents = {"index": pages.index(papers, of_runs), "runs": {"runs": of_runs}, **papers}
        for name, content in contents.items():
            template = "paper.html" if name in papers else f"{name}.html"
            _write(folder / f"{name}.html", pages.render(template, pages.title_of(name), papers, here=name, **content))
        for run in counted(of_runs, "pages of runs written") if verbose else of_runs:
            title = f"{run['method']} on {run['place']}"
            _write(folder / "runs" / f"{run['key']}.html", pages.render("run.html", title, papers, base="../", run=run))
        for figure in figures:  # small pictures: the store has the originals
            for name, picture in figure.small.items():
                _write(folder / "figures" / name, picture)
        for asset in files(__package__).iterdir():
            if asset.name.endswith((".css", ".js")):
                _write(folder / asset.name, asset.read_text(encoding="utf-8"))
        _write(folder / "plotly.min.js", get_plotlyjs())
    return out / "report" / "index.html"


def _by_page(figures: list[Drawn]) -> dict[str, list[Drawn]]:
    """Return the figures of each page: one page per paper, and one for other figures if there are any."""
    pages: dict[str, list[Drawn]] = {name: [] for name in PAPERS}
    for figure in figures:
        pages.setdefault(figure.page, []).append(figure)
    return pages


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
