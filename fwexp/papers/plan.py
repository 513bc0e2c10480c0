"""The runs that all figures and claims still need, and an estimate of their time."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.errors import ParameterError
from fwexp.files.folders import exists
from fwexp.papers.comparison_text import text
from fwexp.papers.declarations import FIGURES, Figure

GUESS, SMOKE_GUESS = 60.0, 3.0
"""Seconds of a run of which no stored run tells anything, where no figure is drawn of it, and of one of the smoke presets."""

PUBLISHED_RUNS = Path(__file__).parents[2] / "results" / "runs.tar.xz"  # the archive of the published runs, in a checkout
OVERHEAD = 1.6  # what a run takes over the time of the solver, which is what it records: evaluation for the log, loading, compiling


@dataclass(frozen=True)
class Step:
    """The runs of one experiment preset, and the figure that is drawn from them, if one is."""

    name: str
    figure: Figure | None
    configs: list[dict]
    missing: list[dict]  # those that are not stored, and that no step before has
    seconds: float  # of these, one after the other
    guessed: int  # how many of them are guessed


def durations(runs: Sequence) -> Callable[[Mapping], float | None]:
    """Return what estimates the seconds of a run from finished ones, best from as many passes by its solver on its data."""
    like, rates = {}, {}
    for run in runs:
        time, passes = run.record.get("time"), run.record.get("passes")
        if time is not None:
            like.setdefault(_like(run.config), []).append(time)
            if passes:
                rates.setdefault(_similar(run.config), []).append(time / passes)

    def estimate(config: Mapping) -> float | None:
        if times := like.get(_like(config)):
            return OVERHEAD * statistics.median(times)
        if (similar := rates.get(_similar(config))) and config.get("max_passes"):
            return OVERHEAD * min(statistics.median(similar) * config["max_passes"], config.get("time_limit") or math.inf)
        return None

    return estimate


def plan(results_dir, preset: str = "full", archived: Sequence = (), timed: Sequence = ()) -> list[Step]:
    """Return the steps to all figures and claims, in the order of the catalogue; a run that several share is in the first."""
    # The runs ``archived`` count as stored. Missing runs take as long as stored ones like them, otherwise as those ``timed``.
    from fwexp import store
    from fwexp.run import from_arguments
    from fwexp.run.composition import composing
    from fwexp.store.keys import key_of

    runs = [*store.find_runs(results_dir), *archived]
    estimates, done = [durations(runs), durations(timed)], {run.key for run in runs}
    steps = []
    with composing():  # for all of them, so that each file of values is read once
        for name, figure in experiments():
            runs_nothing = figure is not None and not figure.has_runs
            configs = [] if runs_nothing else from_arguments.expand([f"+experiment={name}"], preset=preset)
            missing = {key: config for key, config in zip(map(key_of, configs), configs) if key not in done}
            done |= set(missing)
            times = [next(filter(None, (known(config) for known in estimates)), None) for config in missing.values()]
            guess = SMOKE_GUESS if preset == "smoke" else figure.seconds if figure else GUESS
            seconds = sum(guess if time is None else time for time in times)
            steps.append(Step(name, figure, configs, list(missing.values()), seconds, times.count(None)))
    return steps


def published_runs() -> list:
    """Return the published runs, for their times; none outside of a checkout, or if their archive is damaged."""
    from fwexp.store import archive

    try:
        return archive.runs(PUBLISHED_RUNS) if exists(PUBLISHED_RUNS) else []
    except ParameterError as error:
        print_line(f"no times of published runs: {error}")
        return []


def experiments() -> Iterator[tuple[str, Figure | None]]:
    """Yield the name of each experiment preset that a figure or claim needs, and the figure."""
    from fwexp.papers.claims import all_claims

    FIGURES.load_all()
    yield from FIGURES.items()
    needed = {need.preset for claim in all_claims().values() for need in claim.needs}
    yield from ((name, None) for name in sorted(needed - set(FIGURES)))


def table(steps: Sequence[Step]) -> str:
    """Return the text of a plan for the terminal."""
    rows = [("experiment", "runs", "missing", "about")]
    rows += [(step.name, str(len(step.configs)), str(len(step.missing)), about(step)) for step in steps]
    lines = [text(rows)]
    missing, seconds = sum(len(step.missing) for step in steps), sum(step.seconds for step in steps)
    guessed = sum(step.guessed for step in steps)
    lines.append(f"{missing} runs are missing" + (f", about {duration(seconds)} one after the other" if missing else ""))
    if guessed:
        lines.append(f"? {guessed} of them are like no stored run: the time is a guess")
    return "\n".join(lines)


def about(step: Step) -> str:
    """Return the time of a step as text, with a question mark if it is a guess."""
    return (duration(step.seconds) + (" ?" if step.guessed else "")) if step.missing else "-"


def duration(seconds: float) -> str:
    """Return seconds as a readable text."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _like(config: Mapping) -> tuple:
    return _as_text(config.get("task")), _as_text(config["dataset"]), config["solver"]["name"], config.get("max_passes")


def _similar(config: Mapping) -> tuple:
    return _as_text(config.get("task")), config["dataset"]["name"], config["solver"]["name"]


def _as_text(options) -> str:
    return repr(sorted(options.items()) if isinstance(options, Mapping) else options)
