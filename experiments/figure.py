"""From the name of a figure to its files: run what is missing, read exactly the figure's runs, draw, save."""

import json
from collections.abc import Sequence
from pathlib import Path

from fwexp._folders import check_folder
from fwexp.driver.clock import uninterrupted
from fwexp.driver.progress import print_line
from fwexp.experiments.catalogue import FIGURES, Figure
from fwexp.experiments.files import PICTURE, TABLE, paths, save_figure
from fwexp.experiments.origin import Origin, facts, reservations

__all__ = ["PICTURE", "TABLE", "Figure", "make_figure", "missing_runs", "save_figure", "stored_results"]


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
    """Run what a figure needs and is not stored yet, then draw it.

    Parameters
    ----------
    name : str
        A name in the catalogue, such as ``icml2013/fig1``.
    results_dir, data_dir : path
        The store, and the folder of the data.
    preset : {"full", "smoke"}, optional
        Which values of the experiment preset to take; full if None.
    dry_run : bool
        Do nothing; return the files that would be written.
    launcher : {"basic", "joblib"}, optional
        Hydra's launcher for the runs; the figure's own if None.
    force : bool or "stale"
        Whether to run again what is stored; ``"stale"``: what other sources than those that are here made.

    Returns
    -------
    list of Path
        The picture as PNG and SVG, or the table as Markdown, the numbers in it as CSV, and where they come from as JSON.

    Raises
    ------
    RunsFailed
        Runs failed. If others were there to draw, the picture is made, and says how many it lacks, unless there is one that
        shows these and more.
    """
    from fwexp.run import store, sweep

    figure = FIGURES.find(name)
    preset = preset or "full"
    configs = sweep.expand([f"+experiment={figure.preset}"], preset=preset)
    stem = check_folder("results_dir", results_dir) / "figures" / (name if preset == "full" else f"{name}-{preset}")
    if dry_run:
        return paths(stem, figure.suffixes)
    failure = None
    try:
        options = {"force": force, "launcher": launcher or figure.launcher(preset)}
        sweep.execute(configs, results_dir=results_dir, data_dir=data_dir, **options)
    except sweep.RunsFailed as error:
        failure = error
    results = stored_results(configs, results_dir)
    if len(results):
        stored = _runs(configs, results_dir, set(results["key"]))
        shown = () if figure.shows is None else (figure.shows(stored, data_dir),)
        frame = figure.data(results, *shown)
        notes = ([figure.note] if figure.note else []) + ([] if preset == "full" else [f"{preset} preset"])
        runs = {run.key: facts(run) for run in stored}
        lacking = len(configs) - len(runs)
        notes += [f"{lacking} of {len(configs)} runs failed"] if lacking else []
        notes += reservations(runs.values())
        origin = Origin(name, figure.title, preset, runs)
        if not (lacking and _shows_more(stem, figure.suffixes, {store.run_key(c) for c in configs}, set(runs))):
            with uninterrupted():  # matplotlib's C code does not bear an interrupt
                save_figure(figure.draw(frame, *shown), frame, stem, origin, note=", ".join(notes))
    if failure is not None:
        raise failure
    return paths(stem, figure.suffixes)


def _shows_more(stem: Path, suffixes, wanted: set[str], drawn: set[str]) -> bool:
    """Whether the figure that is there shows what would be drawn and more of what is wanted; then a line says that it stays."""
    try:
        *others, record = paths(stem, suffixes)
        shown = set(json.loads(record.read_text(encoding="utf-8"))["runs"]) & wanted
        more = shown > drawn and all(path.stat().st_size for path in others)
    except (OSError, ValueError, KeyError, TypeError):  # there is none, or it is damaged
        return False
    if more:
        print_line(f"{record.with_suffix('')}: kept, it shows {len(shown)} runs, now there are {len(drawn)}")
    return more


def missing_runs(name: str, results_dir="results", preset: str | None = None) -> tuple[list[dict], int]:
    """The configurations of a figure whose runs are not stored, and how many runs it has in all."""
    from fwexp.run import store, sweep

    configs = sweep.expand([f"+experiment={FIGURES.find(name).preset}"], preset=preset or "full")
    return [config for config in configs if not store.is_stored(results_dir, config)], len(configs)


def stored_results(configs: Sequence[dict], results_dir="results"):
    """The results of exactly these configurations, as far as they are stored."""
    from fwexp.run import store

    return store.load_results(results_dir, key=[store.run_key(config) for config in configs])


def _runs(configs, results_dir, keys) -> list:
    """The stored runs with these keys, sorted by key."""
    from fwexp.run import store

    runs = [store.read_run(store.run_dir(results_dir, config)) for config in configs]
    return sorted((run for run in runs if run.key in keys), key=lambda run: run.key)
