"""Pages on the published figures: what the paper shows, our figure, the verdicts on its claims, and the command that repeats it."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import reference

from fwexp.experiments import FIGURES, PAPERS, Figure, Paper
from fwexp.papers.claims.verdict_records import close_thresholds, tally
from fwexp.papers.figure_files import paths
from tools import departures
from tools.publish import claims_by_kind
from tools.published_faults import DIFFERENCES

PEERS = {"liblinear": "LIBLINEAR and fwexp", "dlib": "dlib and fwexp", "crfsuite": "CRFsuite and fwexp"}
ABOUT_SHOWN = {"reproduced": "What the paper's figure shows", "announced": "What the paper announces"}
COLUMNS = "| claim | verdict | statement | place in the paper |\n| --- | --- | --- | --- |"


def pages(published: Path, folder: Path) -> None:
    """Write a page per published figure and per comparison, the gallery, and how our runs differ, below ``folder``."""
    claims = {}
    for path in sorted((published / "claims").glob("*.json")):
        claims |= json.loads(path.read_text(encoding="utf-8"))
    figures = [figure for figure in FIGURES.values() if (published / "figures" / f"{figure.name}.json").is_file()]
    for figure in figures:
        path = folder / f"{figure.name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        for picture in _pictures(figure, published):
            shutil.copy(picture, path.with_name(picture.name))
        path.write_text("\n".join(_figure(figure, claims, published)), encoding="utf-8")
    for name, title in PEERS.items():
        text = (published / "peers" / f"{name}.md").read_text(encoding="utf-8")
        (folder / f"{name}.md").write_text(f"{reference.LEAF}# {title}\n\n{text}", encoding="utf-8")
    (folder / "index.md").write_text("\n".join(_gallery(figures, claims)), encoding="utf-8")
    (folder / DIFFERENCES).write_text(departures.page(published), encoding="utf-8")


def paper_of(figure: Figure) -> Paper | None:
    """Return the paper that a figure belongs to."""
    return PAPERS.get(figure.name.partition("/")[0])


def _pictures(figure: Figure, published: Path) -> list[Path]:
    """Return the published pictures of a figure, one per page."""
    pages = paths(published / "figures" / figure.name, [suffix for suffix in figure.suffixes if suffix.endswith(".png")])
    return [page for page in pages if page.is_file()]


def _place(figure: Figure) -> str:
    """Return where in its paper a figure is, such as "Figure 1"; nothing if it is not there."""
    match = re.fullmatch(r"\w+/(fig|table)(\d+)", figure.name)
    return f"{ {'fig': 'Figure', 'table': 'Table'}[match[1]] } {match[2]}".strip() if match and figure.kind == "reproduced" else ""


def _figure(figure: Figure, claims: dict[str, dict], published: Path) -> Iterator[str]:
    """Yield the lines of the page on a figure."""
    paper = paper_of(figure)
    yield f"{reference.LEAF}# {reference.plain(figure.title)}\n"
    if paper:
        place = _place(figure)
        yield f"{place} of" * bool(place) + " A figure of ours, on" * (not place)
        yield f"[{reference.plain(paper.title)}]({paper.url})." if paper.url else f"{reference.plain(paper.title)}."
    yield "All published figures are in the [gallery]({}index.md).\n".format("../" * figure.name.count("/"))
    if figure.paper:
        yield f"**{ABOUT_SHOWN.get(str(figure.kind), 'What the paper shows')}.** {reference.plain(figure.paper)}\n"
    yield f"**What ours shows.** {reference.plain(figure.caption)}\n"
    if figure.note:
        yield f":::{{note}}\n{reference.plain(figure.note)}\n:::\n"
    if figure.is_table:
        yield (published / "figures" / f"{figure.name}.md").read_text(encoding="utf-8")
    for picture in _pictures(figure, published):
        yield f"![{reference.plain(figure.title)}]({picture.name})\n"
    shown = [claim for claim in claims.values() if claim["figure"] == figure.name]
    if shown:
        yield f"## Claims\n\n{COLUMNS}"
        yield from (_row(claim) for claim in shown)
        yield "\n[Figures and claims](/figures.md#check-the-claims) explains the verdicts.\n"
        for claim in shown:
            yield f":::{{dropdown}} {claim['id']}: criterion, numbers and other thresholds\n"
            yield from _details(claim)
            yield ":::\n"
    check = f"fwexp claims {paper.name}\n" if paper and shown else ""
    yield f"## Repeat it\n\n```bash\nfwexp figure {figure.name}\n{check}```\n"


def _details(claim: dict) -> Iterator[str]:
    """Yield how a claim was decided: its criterion and why that was changed, the numbers, and verdicts at other thresholds."""
    yield f"**Kind.** {claim['kind'].capitalize()}.\n"
    yield f"**Criterion.** {reference.plain(claim['criterion'])}\n"
    if claim["changed"]:
        yield f"**Changed after its result was seen:** {reference.plain(claim['changed'])}\n"
    if claim["confirmation"]:
        again = claim["confirmation"]
        yield f"**On seeds 10 to 19**, which no criterion has seen: {again['verdict']}. {reference.plain(again['why'])}\n"
    if claim["numbers"]:
        yield "| number | value |\n| --- | --- |"
        yield from (f"| {reference.plain(name)} | {reference.plain(str(value))} |" for name, value in claim["numbers"].items())
        yield ""
    for name, tried in claim["sensitivity"].items():
        verdicts = ", ".join(f"{found['verdict']} at {value}" for value, found in tried.items())
        yield f"**With another threshold** `{name}`: {verdicts}.\n"


def _row(claim: dict, *, with_why: bool = True) -> str:
    why = f" ({reference.plain(claim['why'])})" * bool(claim["why"] and with_why)
    why += f"; close to a threshold: {', '.join(close)}" if (close := close_thresholds(claim)) else ""
    cells = (claim["id"], f"**{claim['verdict']}**{why}", reference.plain(claim["statement"]), reference.plain(claim["place"]))
    return f"| {' | '.join(cells)} |"


def _gallery(figures: list[Figure], claims: dict[str, dict]) -> Iterator[str]:
    """Yield the lines of the gallery: verdicts and figures by paper."""
    yield "# Gallery: figures and verdicts\n"
    yield "This page shows, for every paper, what our runs confirm, what they do not confirm, and the figures. Each figure has"
    yield "a page with the claims, the verdicts and the command. [Figures and claims](../../figures.md) explains verdicts;"
    yield f"[What is reproduced, and how it differs]({DIFFERENCES}) lists data, sizes, seeds and budgets.\n"
    yield from claims_by_kind(list(claims.values()))
    changed = [f"{id} ({reference.plain(claim['changed'])})" for id, claim in claims.items() if claim["changed"]]
    yield f"\n:::{{dropdown}} {len(changed)} of {len(claims)} criteria were changed after their result was seen\n"
    yield from (f"- {line}" for line in changed)
    yield "\n:::\n"
    tools = ", ".join(f"[{title}]({name}.md)" for name, title in PEERS.items())
    yield f"There are also measurements against other tools: {tools}.\n"
    for paper in [*PAPERS.values(), None]:
        own = [claim for claim in claims.values() if paper and claim["paper"] == paper.id]
        shown = [figure for figure in figures if paper_of(figure) is paper]
        if not own and not shown:
            continue
        yield f"## {reference.plain(paper.title) if paper else 'Other figures'}\n"
        if own:
            yield f"Of {len(own)} claims, {tally(own)}.\n"
            doubtful = [claim for claim in own if claim["verdict"] != "holds"]
            if doubtful:
                yield f"Claims that do not hold in full:\n\n{COLUMNS}"
                yield from (_row(claim, with_why=False) for claim in doubtful)
                yield ""
        if shown:
            yield "::::{grid} 1 2 2 3\n:gutter: 2\n"
            for figure in shown:
                path = figure.name
                top = f":img-top: {path}.png\n:img-alt: {reference.plain(figure.title)}\n" * (not figure.is_table)
                options = f"{top}:link: {path}\n:link-type: doc\n"
                yield f":::{{grid-item-card}} {_place(figure)}\n{options}\n{reference.plain(figure.title)}\n:::"
            yield "::::\n"
