"""What stands on the pages of the report."""

from collections import Counter
from collections.abc import Mapping, Sequence

from fwexp.errors import ParameterError
from fwexp.experiments.claims import PAPERS, VERDICTS
from fwexp.experiments.files import PICTURE
from fwexp.experiments.report.figures import Drawn, curves
from fwexp.experiments.report.html import Html, data, join, table, tag, text
from fwexp.experiments.report.words import BEYOND, CAPTIONS

TITLES = dict(PAPERS.values()) | {"others": "Other figures"}
SIDES = ("bcfw", "bccfw-accelerated", "auto")


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
    parts = [tag("h1", TITLES.get(name, name))]
    if records:
        parts.append(tag("p", f"{len(records)} claims: ", counts(records), "."))
    parts += [_figure(each, {id: everything[id] for id in each.figure.claims if id in everything}) for each in figures]
    if elsewhere:
        heading = "Claims that no figure of this page shows" if figures else "Claims"
        parts.append(tag("section", tag("h2", heading), _claims(elsewhere)))
    return join(parts, "\n")


def _figure(found: Drawn, records: Mapping[str, Mapping]) -> Html:
    figure = found.figure
    caption, paper = CAPTIONS.get(figure.name, (figure.title, ""))
    parts = [tag("h2", figure.title), tag("p", tag("code", figure.name), " ", _state(found, records))]
    parts += [_content(found)] if found.stem else []
    parts.append(tag("p", caption))
    if paper:
        parts.append(tag("p", tag("strong", "In the paper: "), paper))
    if found.record.get("note"):
        parts.append(tag("p", tag("strong", "Reservation: "), found.record["note"], class_="note"))
    if records:
        parts.append(_claims(records))
    parts.append(
        tag("p", "To redo it: ", tag("code", f"fwexp figure {figure.name}"), "; claims: ", tag("code", "fwexp claims --run"))
    )
    if found.stem:
        links = (tag("a", suffix[1:].upper(), href=f"figures/{found.id}{suffix}") for suffix in figure.suffixes)
        parts.append(tag("p", "Files: ", join(links, ", "), f"; drawn at commit {found.record.get('commit', 'unknown')}."))
    return tag("section", *parts, id=found.id)


def _state(found: Drawn, records) -> Html:
    """Whether it was reproduced, in one sentence."""
    if not found.stem:
        return text("Not drawn yet.")
    shown = text("Drawn from the full runs. " if found.preset == "full" else "A short try: not the full runs. ")
    if not records:
        return join([shown, "It has no claims of its own."])
    return join([shown, "Its claims: ", counts(records), "."])


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
    lines = found.path(".md").read_text(encoding="utf-8").splitlines()
    cells = [_cells(line) for line in lines if line.startswith("|")]
    words = [line for line in lines if line and not line.startswith(("|", "<!--"))]
    rows = [row for row in cells[1:] if not all(set(cell) <= set("-: ") for cell in row)]
    return join([table(cells[0], rows, found.figure.title), tag("p", " ".join(words))]) if cells else tag("p", " ".join(words))


def _cells(line: str) -> list[str]:
    hidden = "\0"
    return [cell.strip().replace(hidden, "|") for cell in line.replace(r"\|", hidden).strip().strip("|").split("|")]


def _claims(records: Mapping[str, Mapping]) -> Html:
    return join((_claim(record) for record in records.values()), "\n")


def _claim(record: Mapping) -> Html:
    head = [tag("strong", record["id"]), badge(record["verdict"]), text(record["statement"])]
    parts = [tag("p", join(head, " "))]
    if record["why"]:
        parts.append(tag("p", record["why"], class_="why"))
    inside = [tag("p", tag("strong", "Criterion: "), record["criterion"])]
    if record["numbers"]:
        rows = [(name, "-" if value is None else value) for name, value in record["numbers"].items()]
        inside.append(table(("measured", "value"), rows, f"numbers of {record['id']}"))
    if record["runs"]:
        inside.append(tag("p", f"Looks at {len(record['runs'])} runs, of which {record['missing']} are not stored. To decide it: "))
        inside.append(tag("p", tag("code", f"fwexp claims {record['id']} --run")))
        keys = " ".join(key[:12] for key in record["runs"])
        inside.append(tag("details", tag("summary", "Keys of these runs"), tag("p", tag("code", keys), class_="keys")))
    parts.append(tag("details", tag("summary", f"Criterion and numbers of {record['id']}"), *inside))
    return tag("article", *parts, class_="claim", id=record["id"])


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
            _state(found, {id: records[id] for id in found.figure.claims if id in records}),
        )
        for name, figures in by_page.items()
        for found in figures
    ]
    parts = [
        tag("h1", "fwexp: the papers, run here"),
        tag(
            "p",
            "Frank-Wolfe methods for structural SVMs: the figures of the papers, drawn from runs on this machine, and each claim "
            "with a verdict that is computed from these runs. A claim is undecided while a run that it needs is not stored.",
        ),
        tag("h2", "Papers"),
        table(("paper", "figures drawn", "claims"), rows, "papers"),
        tag("h2", "Figures"),
        table(("figure", "what it shows", "state"), each, "figures"),
        tag("h2", "Beyond the papers"),
        tag("p", BEYOND),
        compared,
        tag("h2", "Data sets"),
        _datasets(),
        tag("h2", "Runs"),
        _runs(runs),
        tag("h2", "Environment"),
        _environment(),
    ]
    return join(parts, "\n")


def beyond(results_dir) -> Html:
    """Passes and time of the plain method, the accelerated one and auto, on what is stored of at least two of them."""
    from fwexp.experiments import comparison

    sides = [comparison.parse(name) for name in SIDES]
    results = comparison.load(sides, results_dir)
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
    return table(head, rows, "plain, accelerated and auto")


def _datasets() -> Html:
    from fwexp.data import DATASETS

    DATASETS.load_all()
    rows = [(name, found.title, found.shape) for name, found in sorted(DATASETS.items())]
    return table(("name", "content", "structure"), rows, "data sets")


def _runs(runs: Sequence) -> Html:
    from fwexp.run.names import differing

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

    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True) if config else "unknown"


def _environment() -> Html:
    from fwexp.experiments.origin import commit_of
    from fwexp.run.provenance import provenance

    here = provenance()
    rows = [("commit", commit_of(here)), ("Python", here["python"]), *sorted(here["versions"].items())]
    rows += [("system", here["system"]), ("processor", here["cpu"]), ("threads", here["threads"])]
    return table(("what", "which"), rows, "environment")
