"""What stands on the pages of the report."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from fwexp.errors import ParameterError
from fwexp.papers.catalogue import Figure
from fwexp.papers.claims import PAPERS, VERDICTS, all_claims
from fwexp.papers.claims.verdict import HOLDS, IN_PART, NOT_REACHED, OPEN, Finding
from fwexp.papers.files import PICTURE
from fwexp.papers.origin import OF_CODE
from fwexp.papers.report.figures import Drawn, curves
from fwexp.papers.report.html import Html, data, join, table, tag, text
from fwexp.papers.report.words import ANNOUNCED, BEYOND, CAPTIONS, COSTS, GLOSSARY, IN_THE_PAPERS, OURS, SOURCES

TITLES = dict(PAPERS.values()) | {"others": "Other figures"}
SIDES = ("bcfw", "bccfw_accelerated", "auto")


def navigation(names: Mapping[str, str], here: str) -> Html:
    """The links between the pages."""
    short = {"index": "Overview"} | {name: _short(name) for name in names}
    return join(
        (tag("a", words, href=f"{name}.html", aria_current="page" if name == here else None) for name, words in short.items()),
        " ",
    )


def _short(name: str) -> str:
    ids = {folder: paper for paper, (folder, _) in PAPERS.items()}
    return f"{ids[name]} {name}" if name in ids else TITLES.get(name, name)


def badge(verdict: str) -> Html:
    """A verdict, told by its words and marked by a colour."""
    return tag("span", verdict, class_=f"verdict v{VERDICTS.index(verdict)}")


def counts(records: Mapping[str, Mapping]) -> Html:
    """How many claims have which verdict."""
    found = Counter(record["verdict"] for record in records.values())
    return join((join([text(found[verdict]), badge(verdict)], " ") for verdict in VERDICTS if found[verdict]), ", ")


def paper(name: str, figures: Sequence[Drawn], everything: Mapping[str, Mapping]) -> Html:
    """The page of a paper: its figures in order, each with its claims, and the claims that none of them shows."""
    records = {id: record for id, record in everything.items() if PAPERS[record["paper"]][0] == name}
    ids = {id for each in figures for id in each.figure.claims}
    elsewhere = {id: record for id, record in records.items() if id not in ids}
    parts = [tag("h1", TITLES.get(name, name)), _contents(figures, records)]
    parts += [_figure(each, everything) for each in figures]
    if elsewhere:
        heading = "Claims that no figure of this page shows" if figures else "Claims"
        parts.append(tag("section", tag("h2", heading), _claims(elsewhere)))
    return join(parts, "\n")


def _contents(figures: Sequence[Drawn], records: Mapping[str, Mapping]) -> Html:
    """What is on a page: links to its figures, and to the paper's claims with their verdicts."""
    links = [
        tag("li", tag("a", each.figure.title, href=f"#{each.id}"), "" if each.stem else " (not drawn yet)") for each in figures
    ]
    parts = [tag("ul", *links)] if links else []
    if records:
        parts.append(tag("p", f"{len(records)} claims: ", counts(records), "."))
        parts.append(tag("p", join((_link(record) for record in records.values()), ", "), "."))
    return tag("nav", *parts, aria_label="On this page")


def _link(record: Mapping) -> Html:
    """A claim's id with its verdict, as a link to it."""
    href = f"{PAPERS[record['paper']][0]}.html#{record['id']}"
    return join([tag("a", record["id"], href=href), badge(record["verdict"])], " ")


def _figure(found: Drawn, everything: Mapping[str, Mapping]) -> Html:
    figure = found.figure
    records = {id: everything[id] for id in figure.claims if id in everything}
    bearing = _bearing(figure, everything)
    caption, paper = CAPTIONS.get(figure.name, (figure.title, ""))
    looking = _looking(found, everything)
    parts = [tag("h2", figure.title), tag("p", tag("code", figure.name), " ", _state(found, bearing, looking))]
    parts += [_content(found)] if found.stem else []
    parts.append(tag("p", caption))
    if paper:
        parts.append(tag("p", tag("strong", "In the paper: "), paper))
    if found.record.get("note"):
        of_code = any(words in found.record["note"] for words in OF_CODE)
        words = f"{found.record['note']}. " + (SOURCES if of_code else "")
        parts.append(tag("p", tag("strong", "Reservation: "), words, class_="note"))
    if records:
        parts.append(_claims(records))
    if alone := [record for id, record in bearing.items() if record is not everything[id]]:
        places = ", ".join(figure.places)
        listed = (tag("li", record["id"], " ", badge(record["verdict"]), " ", record["why"]) for record in alone)
        parts += [tag("p", f"These claims look at data of several figures. On {places} alone:"), tag("ul", *listed)]
    if others := [each for id, each in everything.items() if id not in records and (id in bearing or id in looking)]:
        parts.append(tag("p", "Claims that look at its runs, too: ", join((_link(record) for record in others), ", "), "."))
    redo = ["To run what is missing of it and draw it again: ", tag("code", f"fwexp figure {figure.name}"), "; "]
    if papers := dict.fromkeys(record["paper"] for record in _of_its_paper(figure.name, {**records, **bearing}).values()):
        redo += ["to check its claims: ", tag("code", f"fwexp claims {next(iter(papers))} --run"), "; "]
    parts.append(tag("p", *redo, "how long that takes: ", tag("code", "fwexp reproduce --dry-run"), "."))
    if found.stem:
        links = (tag("a", suffix[1:].upper(), href=f"figures/{found.id}{suffix}") for suffix in figure.suffixes)
        parts.append(tag("p", "Files: ", join(links, ", "), f"; drawn at commit {found.record.get('commit', 'unknown')}."))
    return tag("section", *parts, id=found.id)


def _bearing(figure: Figure, everything: Mapping[str, Mapping]) -> dict[str, Mapping]:
    """The claims that bear on a figure, those that it shows and those that are decided by its preset, as they are on its data."""
    found = {id for id, claim in all_claims().items() if figure.name in (claim.figure, *(need.preset for need in claim.needs))}
    return {id: _on(figure.places, record) for id, record in everything.items() if id in found}


def _on(places: Sequence[str], record: Mapping) -> Mapping:
    """A claim with those of its parts only that name one of some data sets; as it is where none or all do."""
    if not places:
        return record
    parts = {part: held for part, held in record["parts"].items() if any(place in part for place in places)}
    if len(parts) in (0, len(record["parts"])):
        return record
    finding = Finding(parts)
    return {**record, "parts": parts, "verdict": finding.verdict, "why": finding.why}


def _looking(found: Drawn, everything: Mapping[str, Mapping]) -> dict[str, Mapping]:
    """The claims that look at its runs, among others."""
    drawn = set(found.record.get("runs", ()))
    return {id: record for id, record in everything.items() if drawn & set(record["runs"])}


def _of_its_paper(figure: str, records: Mapping[str, Mapping]) -> dict[str, Mapping]:
    return {id: record for id, record in records.items() if PAPERS[record["paper"]][0] == figure.partition("/")[0]}


def _state(found: Drawn, bearing: Mapping[str, Mapping], looking: Mapping[str, Mapping]) -> Html:
    """Whether it was reproduced: what became of the paper's claims that bear on it, else of those that look at its runs."""
    name = found.figure.name
    if not found.stem:
        return text("Not drawn yet.")
    if found.preset != "full":
        return text("A short try, which decides nothing: not all of its runs.")
    if name in OURS:
        return text("Ours: no figure of a paper.")
    own = _of_its_paper(name, bearing)
    links = join((_link(record) for record in (own or _of_its_paper(name, looking)).values()), ", ")
    if not own:
        shared = join([" Claims of the paper that look at its runs among others: ", links, "."]) if links else ""
        return join([tag("strong", "Not judged by itself"), ": no claim of its paper is decided by it alone.", shared])
    verdicts = {record["verdict"] for record in own.values()}
    if verdicts <= {*OPEN}:
        answer = "Not reached within these runs" if NOT_REACHED in verdicts else "Not decided"
    elif name in ANNOUNCED:
        answer = "The paper announces it and shows no picture; ours bears its words out"
        answer += "" if verdicts == {HOLDS} else " in part" if verdicts & {HOLDS, IN_PART} else " nowhere"
    elif verdicts == {HOLDS}:
        answer = "Reproduced"
    else:
        answer = "Reproduced in part" if verdicts & {HOLDS, IN_PART} else "Not reproduced"
    return join([tag("strong", answer), ": ", links, "."])


def _content(found: Drawn) -> Html:
    """A table, curves, or a picture that has none."""
    if found.figure.suffixes != PICTURE:
        return _markdown(found)
    return _interactive(found) if found.figure.has_curves else tag("figure", _image(found))


def _image(found: Drawn) -> Html:
    return Html(f'<img src="{text(f"figures/{found.id}.png")}" alt="{text(_described(found))}" loading="lazy">')


def _described(found: Drawn) -> str:
    return str(found.record.get("description") or found.figure.title)


def _interactive(found: Drawn) -> Html:
    described, image = _described(found), _image(found)
    content = curves(found)
    return tag(
        "figure",
        tag("div", class_="curves", data_figure=found.id, data_label=found.figure.title),
        tag("noscript", image),
        tag("details", tag("summary", "The picture as drawn, and what it shows in words"), image, tag("p", described)),
        data(f"data-{found.id}", content),
    )


def _markdown(found: Drawn) -> Html:
    """A table of ours, which is Markdown, as HTML."""
    lines = found.read(".md").decode().splitlines()
    cells = [_cells(line) for line in lines if line.startswith("|")]
    words = [line.replace("**", "").replace("\\*", "*") for line in lines if line and not line.startswith(("|", "<!--"))]
    rows = [row for row in cells[1:] if not all(set(cell) <= set("-: ") for cell in row)]
    return join([table(cells[0], rows, found.figure.title), tag("p", " ".join(words))]) if cells else tag("p", " ".join(words))


def _cells(line: str) -> list[str]:
    hidden = "\0"
    return [
        cell.strip().replace(hidden, "|").replace("\\*", "*") for cell in line.replace(r"\|", hidden).strip().strip("|").split("|")
    ]


def _claims(records: Mapping[str, Mapping]) -> Html:
    return join((_claim(record) for record in records.values()), "\n")


def _claim(record: Mapping) -> Html:
    head = [tag("strong", record["id"]), badge(record["verdict"]), text(record["statement"])]
    parts = [tag("p", join(head, " ")), tag("p", tag("strong", "In the paper: "), record["quote"])]
    if record["why"]:
        parts.append(tag("p", record["why"], class_="why"))
    inside = [tag("p", tag("strong", "Criterion: "), record["criterion"])]
    if record["numbers"]:
        rows = [(name, "-" if value is None else value) for name, value in record["numbers"].items()]
        inside.append(table(("measured", "value"), rows, f"numbers of {record['id']}"))
    if record["sensitivity"]:
        inside.append(tag("p", "Thresholds that are ours, not the paper's, and the verdict at other values of one at a time:"))
        inside.append(_sensitivity(record))
    if record["runs"]:
        missing = f"{record['missing']} of them are not stored yet" if record["missing"] else "all of them stored"
        command = tag("code", f"fwexp claims {record['id']} --run")
        inside.append(
            tag("p", f"Looks at {len(record['runs'])} runs, {missing}. To run what is missing and decide it: ", command, ".")
        )
        keys = " ".join(key[:12] for key in record["runs"])
        inside.append(tag("details", tag("summary", "Keys of these runs"), tag("p", tag("code", keys), class_="keys")))
    parts.append(tag("details", tag("summary", f"Criterion and numbers of {record['id']}"), *inside))
    return tag("article", *parts, class_="claim", id=record["id"])


def _sensitivity(record: Mapping) -> Html:
    """The verdicts on a claim by the values of its thresholds; that of the criterion is marked."""
    claim = all_claims().get(record["id"])
    chosen = {name: f"{value:g}" for name, value in claim.chosen.items()} if claim else {}
    rows = [
        (
            name,
            join(
                (
                    join([tag("strong", f"{value} (chosen)") if value == chosen.get(name) else value, badge(verdict)], " ")
                    for value, verdict in verdicts.items()
                ),
                ", ",
            ),
        )
        for name, verdicts in record["sensitivity"].items()
    ]
    return table(("threshold", "verdict by its value"), rows, f"verdicts on {record['id']} by thresholds")


def index(by_page: Mapping[str, Sequence[Drawn]], records: Mapping, runs: Sequence, compared: Html) -> Html:
    """The first page."""
    rows = []
    for name, figures in by_page.items():
        own = {id: record for id, record in records.items() if PAPERS[record["paper"]][0] == name}
        ready = sum(each.preset == "full" for each in figures)
        link = tag("a", TITLES.get(name, name), href=f"{name}.html")
        rows.append((link, f"{ready} of {len(figures)}", counts(own) if own else "-"))
    each = [
        (
            tag("a", found.figure.name, href=f"{name}.html#{found.id}"),
            found.figure.title,
            _state(found, _bearing(found.figure, records), _looking(found, records)),
        )
        for name, figures in by_page.items()
        for found in figures
    ]
    parts = [
        tag("h1", "fwexp: the papers, run here"),
        tag(
            "p",
            "Frank-Wolfe methods for structural SVMs: the figures of the papers, drawn from runs on this machine, and each claim "
            "with a verdict that is computed: from these runs, or on small problems where it is about an identity or a bound. A "
            "claim fails where that contradicts the sentence of the paper; it is not reached where the sentence is about more than "
            "these runs went to; and it is undecided while a run that it needs is not stored.",
        ),
        tag("h2", "Papers"),
        table(("paper", "figures drawn", "claims"), rows, "papers"),
        tag("h2", "Figures"),
        table(("figure", "what it shows", "state"), each, "figures"),
        tag("h2", "Beyond the papers"),
        tag("p", BEYOND),
        compared,
        tag("h2", "Claims that do not hold, or not wholly"),
        _listed(records, "why not", lambda verdict: verdict not in (HOLDS, *OPEN)),
        tag("h2", "Claims that these runs do not decide"),
        _listed(records, "why", lambda verdict: verdict in OPEN),
        tag("h2", "Data sets"),
        _datasets(),
        tag("h2", "Runs"),
        _runs(runs),
        tag("h2", "Words"),
        tag("dl", *(join([tag("dt", word), tag("dd", meaning)]) for word, meaning in GLOSSARY.items())),
        tag("h2", "Environment"),
        _environment(),
    ]
    return join(parts, "\n")


def _listed(records: Mapping[str, Mapping], reason: str, chosen: Callable[[str], bool]) -> Html:
    """A table of the claims whose verdict is chosen."""
    rows = [(_link(record), record["statement"], record["why"]) for record in records.values() if chosen(record["verdict"])]
    return table(("claim", "what is claimed", reason), rows, f"claims, and {reason}") if rows else tag("p", "None.")


def beyond(results) -> Html:
    """Passes and time of the plain method, the accelerated one and auto, on what is stored of at least two of them."""
    from fwexp.papers import comparison

    sides = [comparison.parse(name) for name in SIDES]
    results = comparison.comparable(results[results["solver"] == "bcfw"])  # which all of them stand for
    stored = [side for side in sides if len(results) and len(side.rows(results))]
    try:
        if len(stored) < 2:
            raise ParameterError("fewer than two of them are stored")
        costs = comparison.compare(stored, results)
    except ParameterError as error:
        return tag("p", f"Nothing to compare yet: {error}.")
    rows = [
        (
            row["problem"],
            row["side"],
            f"{row['reached']} of {row['seeds']}",
            *comparison.shown(row, "passes"),
            *comparison.shown(row, "time"),
        )
        for row in costs.to_dict("records")
    ]
    head = ("problem", "method", "seeds that got there", "passes, median", "least - most", "seconds, median", "least - most")
    standings = (tag("li", comparison.standing(costs, side.name, cost), ".") for cost in ("passes", "time") for side in stored)
    listed = table(head, rows, "plain, accelerated and auto")
    return join([tag("ul", *standings), tag("details", tag("summary", "All problems, gaps and seeds"), tag("p", COSTS), listed)])


def _datasets() -> Html:
    from fwexp.data import DATASETS

    DATASETS.load_all()
    rows = [(name, found.title, found.shape, IN_THE_PAPERS.get(name, "-")) for name, found in sorted(DATASETS.items())]
    return table(("name", "content", "size here: training + test examples, features", "in the papers"), rows, "data sets")


def _runs(runs: Sequence) -> Html:
    from fwexp.store.labels import differing

    if not runs:
        return tag("p", "No run is stored.")
    order = ("dataset", "solver", "lam_spec", "seed")
    runs = sorted(runs, key=lambda run: [str(run.columns().get(name)) for name in order] + [run.key])
    found = Counter(run.status for run in runs)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
    options = differing([run.config for run in runs])
    rows = [_run(run, option) for run, option in zip(runs, options, strict=True)]
    head = ("status", "data set", "solver", "lam", "seed", "passes", "seconds", "gap", "options that differ", "key")
    listed = tag("details", tag("summary", f"All {len(runs)} runs"), table(head, rows, "runs"))
    return join([tag("p", f"{len(runs)} runs: {summary}."), listed])


def _run(run, options: str) -> tuple:
    columns = run.columns()
    facts = [columns.get(name) for name in ("dataset", "solver", "lam_spec", "seed")]
    numbers = [run.record.get(name) for name in ("passes", "time", "gap")]
    shown = ["-" if value is None or value != value else f"{value:.4g}" for value in numbers]
    config = tag("details", tag("summary", run.key[:12]), tag("pre", _yaml(run.config)))
    return (run.status, *("-" if fact is None else fact for fact in facts), *shown, options or "-", config)


def _yaml(config) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(config, Dumper=dumper, sort_keys=False, allow_unicode=True) if config else "unknown"


def _environment() -> Html:
    from fwexp.papers.origin import commit_of
    from fwexp.store.provenance import provenance

    here = provenance()
    rows = [("commit", commit_of(here)), ("Python", here["python"]), *sorted(here["versions"].items())]
    rows += [("system", here["system"]), ("processor", here["cpu"]), ("threads", here["threads"])]
    return table(("what", "which"), rows, "environment")
