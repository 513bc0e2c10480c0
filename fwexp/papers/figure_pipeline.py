"""From the name of a figure to its files: make missing runs, read exactly the figure's runs, draw, save."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fwexp.driver.clock import uninterrupted
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, UserError
from fwexp.files.folders import check_folder
from fwexp.jit import threads
from fwexp.papers.declarations import FIGURES, Figure
from fwexp.papers.figure_files import check_writable, paths, read_record, save_figure, with_pages
from fwexp.papers.figure_variants import Look, on_other_data
from fwexp.papers.origin import Origin, facts, reservations
from fwexp.store.records import Damaged


def make_figure(
    name: str,
    results_dir="results",
    data_dir=None,
    preset: str | None = None,
    dry_run: bool = False,
    *,
    launcher: str | None = None,
    force: bool | str = False,
) -> list[Path]:
    """Make the missing runs of a figure, then draw it; return its files: of a dry run, those that would be written."""
    # If runs failed, `RunsFailed` is raised; the picture is made of the others, unless there is one that shows these and more.
    if dry_run:
        return _Plan.of(name, results_dir, preset).paths
    return makers([name], results_dir, data_dir, preset, launcher=launcher, force=force)[name]()


def makers(
    names: Iterable[str],
    results_dir="results",
    data_dir=None,
    preset: str | None = None,
    *,
    launcher: str | None = None,
    settings: Sequence[str] = (),
    force: bool | str = False,
    overrides: Mapping[str, str] = MappingProxyType({}),
    look: Look = Look(),  # noqa: B008  frozen
    out=None,
) -> dict[str, Callable[[], list[Path]]]:
    """Run, as one sweep, the side-by-side runs of figures; return by name functions that complete `make_figure` for each."""
    # Runs that take turns are left to these functions: they may last, and each figure is to be there before the next one runs. Runs
    # that several figures need are made once, even if they fail or are forced. ``settings`` are the launcher's, and ``overrides``
    # other data sets and lam (`on_other_data`); ``out`` gets the files, by default the store.
    from fwexp import store

    store.check_writable(out or results_dir, "out" if out else "results_dir")
    plans, made = [], {}
    where = {"results_dir": results_dir, "data_dir": data_dir}
    run = functools.partial(_run, **where, settings=settings, force=force, tried={})
    for name in names:
        try:
            plan = _Plan.of(name, out or results_dir, preset, launcher, overrides, look)
        except UserError as error:  # its turn will come
            made[name] = functools.partial(_fail, error)
        else:
            check_writable(plan.stem, plan.suffixes)
            plans += [plan] if plan.side_by_side else []
            made[name] = functools.partial(_make, plan, run, **where)
    if plans:
        run(plans)
    return made


@dataclass
class _Plan:
    """A figure to be made: its files, its runs, and their faults."""

    figure: Figure
    preset: str
    stem: Path
    configs: list[dict]
    launcher: str
    look: Look
    error: UserError | RunsFailed | None = None

    @classmethod
    def of(cls, name: str, out, preset: str | None, launcher=None, overrides=MappingProxyType({}), look=None) -> "_Plan":
        preset = preset or "full"
        figure, configs = _figure_and_configs(name, preset, overrides)
        name = figure.name if preset == "full" else f"{figure.name}-{preset}"
        stem = check_folder("results_dir", out) / "figures" / name
        look = look or Look()
        return cls(look.of(figure), preset, stem, configs, launcher or figure.launcher(preset), look)

    @property
    def suffixes(self) -> list[str]:
        *pictures, numbers, record = self.figure.suffixes
        more = with_pages(self.look.more, len(self.figure.chart.pages)) if self.figure.chart else self.look.more
        return [*pictures, *more, numbers, record]

    @property
    def paths(self) -> list[Path]:
        return paths(self.stem, self.suffixes)

    @property
    def side_by_side(self) -> bool:
        return self.launcher != "basic"


def _fail(error: Exception) -> None:
    raise error


def _run(plans: Sequence[_Plan], **where) -> None:
    """Run the configurations of figures with the same launcher, and note faults in their plans."""
    from fwexp.run import from_arguments

    try:
        # Steps take one core, and so do refreshes of gaps, which else would have all.
        with threads.steps_with(1 if plans[0].figure.timed else None):
            errors = from_arguments.execute_together([plan.configs for plan in plans], launcher=plans[0].launcher, **where)
    except UserError as error:  # nothing can be run at all
        errors = [error] * len(plans)
    for plan, error in zip(plans, errors, strict=True):
        plan.error = error


def _make(plan: _Plan, run: Callable, *, results_dir, data_dir) -> list[Path]:
    """Make the runs that take turns, and draw all."""
    if not plan.side_by_side:
        run([plan])
    if not isinstance(plan.error, UserError):
        _draw(plan, results_dir, data_dir)
    if plan.error is not None:
        raise plan.error
    return plan.paths


def _draw(plan: _Plan, results_dir, data_dir) -> None:
    """Draw a figure from its stored runs, if there are any."""
    from fwexp import store

    figure, preset, configs = plan.figure, plan.preset, plan.configs
    results, stored = read_runs(configs, results_dir)
    lacking = len(configs) - results["key"].nunique()
    if lacking and plan.error is None:
        plan.error = RunsFailed(f"{lacking} of {len(configs)} runs are damaged; force=true makes them again")
    if figure.has_runs and not len(results):
        return
    shown = () if figure.shows is None else (figure.shows(stored, data_dir),)
    frame = figure.data(results, *shown)
    runs = {run.key: facts(run) for run in stored}
    marks = [] if preset == "full" else [f"{preset} preset"]
    marks += [f"{lacking} of {len(configs)} runs are lacking"] if lacking else []
    marks += reservations(runs.values())
    origin = Origin(figure.name, figure.title, preset, runs)
    if not (lacking and _shows_more(plan, {store.key_of(c) for c in configs}, set(runs))):
        with uninterrupted(), plan.look.applied():  # matplotlib's C code does not bear an interrupt
            picture, words = figure.draw(frame, *shown), {"note": figure.note, "mark": ", ".join(marks)}
            save_figure(picture, frame, plan.stem, origin, **words, more=plan.look.more)


def _shows_more(plan: _Plan, wanted: set[str], drawn: set[str]) -> bool:
    """Return whether the present figure shows more of the wanted runs than a new one would; if so, print that it stays."""
    try:
        shown = set(read_record(plan.stem, plan.figure.suffixes, plan.figure.name, plan.preset).get("runs", {})) & wanted
    except Damaged:  # or there is none
        return False
    if more := shown > drawn:
        print_line(f"{plan.stem}: kept, it shows {len(shown)} runs, now there are {len(drawn)}")
    return more


def configs_of(figure: Figure, preset: str) -> list[dict]:
    """Return the configurations of a figure's runs."""
    from fwexp.run import from_arguments

    return from_arguments.expand([f"+experiment={figure.preset}"], preset=preset) if figure.has_runs else []


def _figure_and_configs(name: str, preset: str, overrides: Mapping[str, str]) -> tuple[Figure, list[dict]]:
    figure = FIGURES.find(name)
    return on_other_data(figure, overrides, preset) if overrides else (figure, configs_of(figure, preset))


def runs_of(name: str, preset: str = "full", overrides: Mapping[str, str] = MappingProxyType({})) -> dict[str, dict]:
    """Return the configurations of all runs of a figure, by key."""
    from fwexp import store

    return {store.key_of(config): config for config in _figure_and_configs(name, preset, overrides)[1]}


def read_runs(configs: Sequence[dict], results_dir) -> tuple:
    """Return the results of these configurations, as far as they are stored and whole, and their runs, sorted by key."""
    from fwexp import store

    runs = sorted((store.read_run(store.run_dir(results_dir, config)) for config in configs), key=lambda run: run.path)
    results = store.read_results(run for run in runs if run.status != "missing")
    whole = set(results["key"])
    return results, sorted((run for run in runs if run.key in whole), key=lambda run: run.key)
