"""Contents of the pages that concern all papers: findings first, then the fastest methods, and lists of figures and runs."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from fwexp.methods import methods
from fwexp.papers import comparison, comparison_text
from fwexp.papers.claims.verdict import HOLDS, OPEN
from fwexp.papers.declarations import PAPERS, Advance, Paper, is_ours
from fwexp.papers.report.pages import title_of
from fwexp.plots import style

OURS = Paper("", "", "Beyond the papers: auto, the default", advance=Advance("auto", "bcpfw_gap_cache", "time", "icml2016/auto"))
"""What the first page says of this package, in the form of what it says of papers."""

UNITS = {"passes": ("fewer passes", "more passes"), "time": ("less time", "more time")}

IN_THE_PAPERS = {
    "ocr": "2013, 2016: n 6251 (or 626), d 4028 as printed in 2013; its features are 4082",
    "conll2000": "2013, 2016: n 8936, d 1643026",
    "hansards": "2013: n 5000, d 82; its features and training alignments are not public",
    "horseseg": "2016: n 147, 6121 or 25438, d 2069",
    "synthetic_horseseg": "2016: HorseSeg, of photos, has these sizes",
    "synthetic_lsp": "2016: LSP, of photos, n 100, d 2677",
    "slow_lsp": "2016: LSP, of photos, n 100, d 2677, with calls of up to seconds",
}
"""The size of a data set in the papers, or of the one that it stands in for.

Sizes of 2013 are in section 6, paragraph 1. Of 2016 section 5, paragraph 3, has the ranges; its table is in an appendix that is
not at hand, so its sizes come from other sources, such as the published code.
"""


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


def first_methods() -> list[str]:
    """Return the methods that the first page names, which the explorer shows first."""
    advances = [paper.advance for paper in [*PAPERS.values(), OURS] if paper.advance]
    return sorted({name for advance in advances for name in (advance.method, advance.over)})


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
    }


def compare(compared: pd.DataFrame) -> dict:
    """Return the first method at each gap, in seconds and in passes, for each data set and lam with runs of several methods."""
    costs = comparison.by_problem(compared)
    if costs.empty:
        return {"places": {}, "tallies": {}, "problems": 0}
    parts = costs["place"].str.extract(r"^(?P<place>.*), lam=(?P<lam>.*)$")
    costs = costs.assign(place=parts["place"], lam=parts["lam"], label=[style.line(name).label for name in costs["side"]])
    places: dict[str, dict] = {}
    wins = {cost: Counter() for cost in comparison.AXES}
    for (place, lam, gap), rows in costs.groupby(["place", "lam", "gap"], sort=False):
        best = {cost: _first(rows, cost) for cost in comparison.AXES}
        shown = places.setdefault(place, {"problems": [], "all": []})
        shown["all"] += [_costs(row) for row in rows[np.isfinite(rows["passes"])].sort_values("time").to_dict("records")]
        if best["time"]:
            shown["problems"].append((lam, f"{gap:g}", len(rows), best))
            for cost, winner in best.items():
                wins[cost][winner["label"]] += 1
    places = {place: shown for place, shown in places.items() if shown["problems"]}
    tallies = {cost: count.most_common() for cost, count in wins.items()}
    return {"places": places, "tallies": tallies, "problems": sum(wins["time"].values())}


def _first(rows: pd.DataFrame, cost: str) -> dict | None:
    """Return the first side and its lead over the next; None if no side arrives, or all of them start there."""
    first, *others = rows.sort_values(cost).to_dict("records")
    if not (first[cost] > 0 and np.isfinite(first[cost])):
        return None
    ahead = others[0][cost] / first[cost] if others else np.inf
    behind = f"{ahead:.3g} times less than {others[0]['label']}" if np.isfinite(ahead) else "no other gets there"
    return {"label": first["label"], "value": f"{first[cost]:.3g}", "behind": behind}


def _costs(row: Mapping) -> tuple:
    spans = [text for cost in comparison.AXES for text in comparison_text.shown(row, cost)]
    return row["lam"], f"{row['gap']:g}", row["label"], f"{row['reached']} of {row['seeds']}", *spans


def inventory(pages: Mapping[str, Mapping]) -> dict:
    """Return the inventory: papers, figures and data sets."""
    from fwexp.data import DATASETS

    DATASETS.load_all()
    sizes = [(name, one.title, one.shape, IN_THE_PAPERS.get(name, "-")) for name, one in sorted(DATASETS.items())]
    papers = [
        {"name": name, "title": title_of(name), "ready": sum(figure["full"] for figure in page["figures"]), **page}
        for name, page in pages.items()
    ]
    return {"pages": papers, "datasets": sizes}


def words() -> dict:
    """Return the values that the glossary needs in addition to its text."""
    return {"regimes": {name: method.label for name, method in style.METHODS.items() if name.startswith("cache_")}}


def environment() -> dict:
    """Return the software and the machine that wrote the report."""
    from fwexp.papers.origin import commit_of
    from fwexp.store.provenance import provenance

    here = provenance()
    rows = [("commit", commit_of(here)), ("Python", here["python"]), *sorted(here["versions"].items())]
    return {"environment": [*rows, ("system", here["system"]), ("processor", here["cpu"]), ("threads", here["threads"])]}
