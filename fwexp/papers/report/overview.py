"""Contents of the first page: findings, and the claims and figures of all papers."""

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from fwexp.methods import methods
from fwexp.papers import comparison
from fwexp.papers.claims.verdict import HOLDS, OPEN
from fwexp.papers.declarations import PAPERS, Advance, Paper, is_ours
from fwexp.papers.report.pages import title_of
from fwexp.plots import style

OURS = Paper("", "", "Beyond the papers: auto, the default", advance=Advance("auto", "bcpfw_gap_cache", "time", "icml2016/auto"))
"""What the first page says of this package, in the form of what it says of papers."""

UNITS = {"passes": ("fewer passes", "more passes"), "time": ("less time", "more time")}


def findings(compared: pd.DataFrame, pages: Mapping[str, Mapping]) -> list[dict]:
    """Return the main finding of each paper, as measured: the median factor by which its method costs less."""
    papers = [paper for paper in PAPERS.values() if paper.advance]
    papers.sort(key=lambda paper: (not is_ours(PAPERS.module(paper.name)), paper.year or 9999))
    return [_finding(paper, compared, pages) for paper in [*papers[:2], OURS, *papers[2:]]]


def _finding(paper: Paper, compared: pd.DataFrame, pages: Mapping[str, Mapping]) -> dict:
    advance, page = paper.advance, pages.get(paper.name, {})
    factors = comparison.advances(compared, advance.method, advance.over, advance.cost)["factor"]
    shown = [figure for one in pages.values() for figure in one["figures"] if figure["name"] == advance.figure]
    found = {
        "paper": paper,
        "yours": page.get("yours", False),
        "method": style.line(advance.method).label,
        "over": style.line(advance.over).label,
        "titles": [_title(name) for name in (advance.method, advance.over)],
        "figure": shown[0] if shown else None,
        "claims": page.get("claims", ()),
        "problems": len(factors),
    }
    if len(factors):
        median, unit = factors.median(), UNITS[advance.cost]
        found["factor"], found["unit"] = (_times(median), unit[0]) if median >= 1 else (_times(1 / median), unit[1])
        found |= {"least": _times(factors.min()), "most": _times(factors.max()), "better": int((factors > 1).sum())}
    return found


def _times(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}"


def _title(method: str) -> str:
    """Return the title in the file of a method, without its paper and remarks on other files."""
    title = methods()[method].title if method in methods() else ""
    return re.split(r":| \(", title)[0] or method


def index(pages: Mapping[str, Mapping], records: Mapping[str, Mapping], compared: pd.DataFrame, runs: Sequence) -> dict:
    """Return the contents of the first page, from the contents of the pages of papers."""
    figures = [figure for page in pages.values() for figure in page["figures"]]
    return {
        "pages": [{"name": name, "title": title_of(name), **page} for name, page in pages.items()],
        "findings": findings(compared, pages),
        "claims": list(records.values()),
        "drawn": sum(figure["drawn"] and not figure["published"] for figure in figures),
        "published": sum(figure["published"] for figure in figures),
        "figures": len(figures),
        "fallen": [record for record in records.values() if record["verdict"] not in (HOLDS, *OPEN)],
        "open": [record for record in records.values() if record["verdict"] in OPEN],
        "runs": len(runs),
        "environment": _environment(),
    }


def _environment() -> str:
    """Return the software and the machine that write the report, in one line."""
    from fwexp.papers.report.run_pages import environment
    from fwexp.store.provenance import provenance

    return environment({"provenance": provenance()})
