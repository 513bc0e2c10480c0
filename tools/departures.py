"""The page on what is reproduced and how it differs from the papers, from declarations, presets and what is published."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from fwexp.data import DATASETS
from fwexp.papers.claims.verdict_records import read, tally
from fwexp.papers.declarations import FIGURES, PAPERS, STAND_IN, Figure, Paper
from fwexp.papers.figure_pipeline import configs_of
from fwexp.papers.plan import duration
from tools.published_faults import read_json

UNBOUNDED = 100_000
"""Passes from which on they are no budget: the time limit ends before."""
MOST = 6
"""Values of lam that are listed; more are counted."""
OURS = "generated here"


def page(folder: Path) -> str:
    """Return the page, in Markdown, on a folder of published results."""
    from fwexp.run.composition import composing

    about = read_json(folder / "provenance.json") or {}
    lines = ["# What is reproduced, and how it differs", ""]
    lines += ["This page lists data, sizes, seeds and budgets of every figure, next to those that the papers state."]
    lines += ["It is generated from the declarations of the figures and from the published runs. Where the runs of a figure end at"]
    lines += ["different points, the most frequent one comes first. Of 2013 the longest runs bound the optimum and are not drawn."]
    lines += ["", *_machine(about)]
    lines += ["", "| paper | claims | verdicts |", "| --- | ---: | --- |"]
    for name, paper in PAPERS.items():
        if records := read(folder / "claims" / f"{name}.json"):
            lines.append(f"| {paper.title} | {len(records)} | {tally(records.values())} |")
    FIGURES.load_all()
    made = _published_runs(about)
    with composing():  # for all of them, so that each file of values is read once
        for paper in PAPERS.values():
            own = [figure for name, figure in FIGURES.items() if name.startswith(f"{paper.name}/") and figure.has_runs]
            figures = [(figure, _configs(figure.name)) for figure in own]
            if figures:
                lines += ["", *_paper(paper, figures, made)]
    return "\n".join(lines) + "\n"


@functools.cache
def _configs(name: str) -> list[dict]:
    """Return the configurations of the runs of a figure."""
    return configs_of(FIGURES.find(name), "full")


def _machine(about: Mapping) -> Iterator[str]:
    """Yield on which machine the published runs were made, and how long they took."""
    runs = about.get("runs", {})
    if not runs:
        yield "Nothing is published yet."
        return
    facts = [
        ", ".join(runs["cpus"]) or about["cpu"],
        f"{_values(runs['cores'])} cores" if runs["cores"] else "number of cores not recorded",
        f"{about['memory_gb']:g} GB" if about["memory_gb"] else "memory not recorded",
        f"threads: {_values(runs['threads'])}" if runs["threads"] else "number of threads not recorded",
    ]
    yield f"The {runs['stored']} published runs took {runs['solver_hours']:g} solver hours in all, on {'; '.join(facts)}."
    yield "Solver time is that of the method alone, without evaluation for the log. Seconds are those of this machine."


def _published_runs(about: Mapping) -> dict[str, dict]:
    """Return the number of runs and the solver time of each published figure, those published last."""
    parts = [about, *about.get("since", ())]
    return {name: facts for part in parts for name, facts in part.get("runs", {}).get("figures", {}).items()}


def _paper(paper: Paper, figures: Sequence[tuple[Figure, list[dict]]], made: Mapping[str, dict]) -> Iterator[str]:
    """Yield the section on a paper, given the configurations of the runs of its figures."""
    yield f"## {paper.title}"
    yield from ["", f"**Budgets that the paper states.** {paper.budget}"] * bool(paper.budget)
    yield from [
        "",
        "| figure | data | seeds | lam | ends at | runs | solver time |",
        "| --- | --- | ---: | --- | --- | ---: | ---: |",
    ]
    options: dict[tuple[str, str], set] = {}
    for dataset in (config["dataset"] for _, configs in figures for config in configs):
        for option, value in dataset.items():
            options.setdefault((dataset["name"], option), set()).add(value)
    varied = {at for at, values in options.items() if len(values) > 1 and at[1] != "n" and all(isinstance(v, str) for v in values)}
    for figure, configs in figures:
        yield from _rows(figure, configs, made.get(figure.name), varied)
    used = dict.fromkeys(name for name, _ in options)
    yield from ["", "| data set | examples and dimension | in the paper |", "| --- | --- | --- |"]
    for name in used:
        relation = paper.data.get(name, OURS)
        yield f"| `{name}` | {DATASETS.find(name).shape} | {relation.replace(STAND_IN, f'**{STAND_IN.strip()}** ')} |"
    notes = [f"- {figure.name.rpartition('/')[2]}: {figure.note}." for figure, _ in figures if figure.note]
    yield from ["", "**Notes on figures.**", "", *notes] if notes else []
    yield from (
        ["", "**Choices that the paper leaves open.**", "", *(f"- {choice}" for choice in paper.choices)] if paper.choices else []
    )


def _rows(figure: Figure, configs: Sequence[dict], published: Mapping | None, varied: Set[tuple[str, str]]) -> Iterator[str]:
    """Yield the rows of a figure, one for each data set; the first one has the numbers of runs and their time."""
    places: dict[str, list[Mapping]] = {}
    for config in configs:
        dataset = config["dataset"]
        chosen = [f"{option}={value}" for option, value in dataset.items() if (dataset["name"], option) in varied]
        places.setdefault(" ".join([f"`{dataset['name']}`", *chosen]), []).append(config)
    runs = str(len(configs))
    if published and published["runs"] != len(configs):
        runs += f" (published: {published['runs']})"
    time = duration(published["solver_seconds"]) if published else "not published"
    name, totals = figure.name.rpartition("/")[2], (runs, time)
    for place, here in places.items():
        yield f"| {' | '.join((name, place, _seeds(here), _lams(here), _ends(here), *totals))} |"
        name, totals = "", ("", "")


def _seeds(configs: Iterable[Mapping]) -> str:
    """Return how many runs of a random method differ in their seed only."""
    return str(len({config["seed"] for config in configs}))


def _lams(configs: Iterable[Mapping]) -> str:
    """Return the values of lam."""
    lams = {config["lam"]: None for config in configs if config.get("lam") is not None}
    numbers = sorted((lam for lam in lams if not isinstance(lam, str)), reverse=True)
    texts = [f"{lam:g}" for lam in numbers] + [lam for lam in lams if isinstance(lam, str)]
    return ", ".join(texts) if len(texts) <= MOST else f"{len(texts)} values"


def _ends(configs: Iterable[Mapping]) -> str:
    """Return what ends the runs: passes, seconds, a gap, or the last lam of a path."""
    return "; ".join(end for end, _ in Counter(map(_end, configs)).most_common())


def _end(config: Mapping) -> str:
    task = config.get("task") or {}
    ends = [f"lam {task['lam_min']:.3g}"] if task.get("lam_min") else []
    ends += [f"{config['time_limit']:g} s"] if config.get("time_limit") else []
    ends += [f"{config['max_passes']:g} passes"] if config["max_passes"] < UNBOUNDED else []
    ends += [f"gap {config['gap_tol']:g}"] if config.get("gap_tol") else []
    return " or ".join(ends)


def _values(values: Iterable) -> str:
    """Return numbers as text."""
    return ", ".join(map(str, values))
