"""Contents of the pages of the report, as plain values; ``templates/`` lays them out."""

import functools
import os.path
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from fwexp.papers.claims import VERDICTS, all_claims, shown_by
from fwexp.papers.claims.verdict import FAILS, HOLDS, IN_PART, MEASURED, MOSTLY, OPEN, UNDECIDED, Finding, told
from fwexp.papers.claims.verdict_records import by_kind, close_thresholds, parts_of, tally
from fwexp.papers.declarations import PAPERS, Figure, Kind, is_ours, papers_by_id
from fwexp.papers.origin import OF_CODE
from fwexp.papers.report import run_pages
from fwexp.papers.report.figures import OTHERS, PUBLISHED, YOURS, Drawn

BORNE_OUT = {HOLDS, MEASURED, IN_PART, MOSTLY}  # the verdicts of claims that hold somewhere
TITLES = {
    "index": "Overview",
    "runs": "Runs",
    OTHERS: "Other figures",
    YOURS: "Your figures",
}
"""Titles of the pages that belong to no paper."""


@functools.cache
def environment() -> Environment:
    """Return the renderer of the templates, which escapes all text."""
    made = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals |= {"verdicts": VERDICTS, "places": list(VERDICTS), "page_of": page_of, "chosen": _chosen, "told": told}
    made.globals |= {"tally": tally, "by_kind": by_kind, "parts_of": parts_of, "close_thresholds": close_thresholds}
    return made


def page_of(record: Mapping) -> str:
    return papers_by_id()[record["paper"]].name


def _chosen(record: Mapping, threshold: str) -> str:
    claim = all_claims().get(record["id"])
    return f"{claim.chosen[threshold]:g}" if claim and threshold in claim.chosen else ""


def render(template: str, title: str, papers: Mapping[str, Mapping], /, here: str = "", base: str = "", **content: object) -> str:
    """Return a page, with links to all: ``papers`` are the pages of figures by name, ``base`` is the way to them from this one."""
    links = {"index": "Overview", **{name: title_of(name) for name in papers}, "runs": TITLES["runs"]}
    return environment().get_template(template).render(title=title, navigation=links, here=here, base=base, **content)


def title_of(name: str) -> str:
    """Return the title of a page."""
    return PAPERS[name].title if name in PAPERS else TITLES[name]


def paper(name: str, figures: Sequence[Drawn], everything: Mapping[str, Mapping], folder: Path) -> dict:
    """Return the page of a paper: its figures in order, each with its claims, and other claims; links begin at ``folder``."""
    claims = [record for record in everything.values() if page_of(record) == name]
    ids = {id for one in figures for id in shown_by(one.figure.name)}
    return {
        "paper": PAPERS.get(name),
        "yours": name == YOURS or (name in PAPERS and not is_ours(PAPERS.module(name))),
        "figures": [shown(one, everything, folder) for one in figures],
        "claims": claims,
        "elsewhere": [record for record in claims if record["id"] not in ids and record["verdict"] != UNDECIDED],
        "undecided": [record for record in claims if record["id"] not in ids and record["verdict"] == UNDECIDED],
    }


def index(papers: Mapping[str, Mapping], runs: Sequence[Mapping]) -> dict:
    """Return the contents of the first page, from the contents of the pages of papers and of runs."""
    from fwexp.store.provenance import provenance

    places: dict[str, Counter] = defaultdict(Counter)
    for run in runs:
        places[run["place"]][run["method"]] += 1
    claims = [record for page in papers.values() for record in page["claims"]]
    by_verdict = {verdict: [record for record in claims if record["verdict"] == verdict] for verdict in VERDICTS}
    return {
        "papers": [{"name": name, "title": title_of(name), "has_runs": _has_runs(page), **page} for name, page in papers.items()],
        "places": dict(sorted(places.items())),
        "runs": len(runs),
        "by_verdict": {verdict: by_verdict[verdict] for verdict in (FAILS, MOSTLY, IN_PART, MEASURED)},
        "all_claims": claims,
        "environment": run_pages.environment({"provenance": provenance()}),
    }


def _has_runs(page: Mapping) -> bool:
    """Return whether the store has runs behind a page: of a figure that was drawn here, or of a claim."""
    of_figures = any(figure["drawn"] and not figure["published"] for figure in page["figures"])
    return of_figures or any(record["missing"] < len(record["runs"]) for record in page["claims"])


def shown(pictured: Drawn, everything: Mapping[str, Mapping], folder: Path) -> dict:
    """Return the text on a figure: its own, the text of its files, and the claims about its runs."""
    figure, note = pictured.figure, pictured.record.get("note")
    claims = {id: everything[id] for id in shown_by(figure.name) if id in everything}
    bearing, drawn = _bearing(figure, everything), set(pictured.record.get("runs", ()))
    looking = {id: record for id, record in everything.items() if drawn & set(record["runs"])}  # possibly at others as well
    of_its_paper = _of_its_paper(figure.name, {**claims, **bearing})
    return {
        "id": pictured.id,
        "name": figure.name,
        "title": figure.title,
        "state": _state(pictured, bearing, looking),
        "drawn": pictured.stem is not None,
        "published": pictured.preset == PUBLISHED,
        "yours": pictured.yours,
        "file": Path(os.path.relpath(pictured.stem, folder)).as_posix() if pictured.stem else "",
        "described": str(pictured.record.get("description") or figure.title),
        "chart": pictured.chart,
        "table": _markdown(pictured) if pictured.stem and figure.is_table else None,
        "caption": figure.caption or figure.title,
        "paper": figure.paper,
        "note": note,
        "of_code": note and any(words in note for words in OF_CODE),
        "claims": claims.values(),
        "places": figure.places,
        "alone": [record for id, record in bearing.items() if record is not everything[id]],
        "others": [record for id, record in everything.items() if id not in claims and (id in bearing or id in looking)],
        "paper_id": next((record["paper"] for record in of_its_paper), ""),
        "suffixes": pictured.suffixes,
        "commit": pictured.record.get("commit", "unknown"),
    }


def _bearing(figure: Figure, everything: Mapping[str, Mapping]) -> dict[str, Mapping]:
    """Return the claims that a figure shows and those that its preset decides, restricted to its data."""
    decided = {id for id, claim in all_claims().items() if figure.name in (need.preset for need in claim.needs)}
    decided.update(shown_by(figure.name))
    return {id: _on(figure.places, record) for id, record in everything.items() if id in decided}


def _on(places: Sequence[str], record: Mapping) -> Mapping:
    """Return a claim with only those parts that name one of some data sets; unchanged if no part or every part does."""
    if not places:
        return record
    here = {
        kind: {part: held for part, held in record[kind].items() if any(place in part for place in places)}
        for kind in ("parts", "stand_ins")
    }
    if sum(map(len, here.values())) in (0, len(record["parts"]) + len(record["stand_ins"])):
        return record
    finding = Finding(here["parts"], stand_ins=here["stand_ins"])
    return {**record, **here, "verdict": finding.verdict, "why": finding.why}


def _of_its_paper(figure: str, records: Mapping[str, Mapping]) -> list[Mapping]:
    return [record for record in records.values() if page_of(record) == figure.partition("/")[0]]


class State(NamedTuple):
    """The state of a figure: whether it was reproduced as a short answer, a sentence, and the claims behind it."""

    answer: str
    words: str
    records: Sequence[Mapping] = ()


def _state(pictured: Drawn, bearing: Mapping[str, Mapping], looking: Mapping[str, Mapping]) -> State:
    """Return the state of the paper's claims about a figure, otherwise of those that read its runs."""
    name, kind = pictured.figure.name, pictured.figure.kind
    if not pictured.stem:
        return State("", "Not drawn yet.")
    if pictured.preset == PUBLISHED:
        return State("", "As published with the code, from all of its runs; this store has not drawn it.")
    if pictured.preset != "full":
        return State("", "A quick check with some of its runs, which decides nothing.")
    if kind is Kind.OURS:
        return State("", f"{'Yours' if pictured.yours else 'Ours'}: no figure of a paper.")
    if not (own := _of_its_paper(name, bearing)):
        others = _of_its_paper(name, looking)
        more = " Claims of the paper that look at its runs among others: " if others else ""
        return State("Not judged by itself", f": no claim of its paper is decided by it alone.{more}", others)
    verdicts = {record["verdict"] for record in own}
    if verdicts <= {*OPEN}:
        answer = "Not decided"
    elif kind is Kind.ANNOUNCED:
        answer = "The paper announces it and shows no picture; ours bears its words out"
        answer += "" if verdicts == {HOLDS} else " in part" if verdicts & BORNE_OUT else " nowhere"
    elif verdicts == {HOLDS}:
        answer = "Reproduced"
    elif verdicts & BORNE_OUT:
        measured = verdicts <= {HOLDS, MEASURED, *OPEN}
        answer = "Reproduced, as far as it was measured" if measured else "Reproduced in part"
    else:
        answer = "Not reproduced"
    return State(answer, ": ", own)


def _markdown(pictured: Drawn) -> dict:
    """Return the cells of a Markdown table that fwexp wrote, and the words below it."""
    lines = pictured.read(".md").decode().splitlines()
    cells = [_cells(line) for line in lines if line.startswith("|")]
    words = [line.replace("**", "").replace("\\*", "*") for line in lines if line and not line.startswith(("|", "<!--"))]
    rows = [row for row in cells[1:] if not all(set(cell) <= set("-: ") for cell in row)]
    return {"head": cells[0] if cells else [], "rows": rows, "words": " ".join(words)}


def _cells(line: str) -> list[str]:
    hidden = "\0"
    return [
        cell.strip().replace(hidden, "|").replace("\\*", "*") for cell in line.replace(r"\|", hidden).strip().strip("|").split("|")
    ]
