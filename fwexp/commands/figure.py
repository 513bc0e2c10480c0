"""``fwexp figure``."""

# ruff: noqa: T201

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.run.config import LAUNCHERS, PRESETS
from fwexp.store.keys import GROUPS

USAGE = """\
usage: fwexp figure [NAME ...] [--dry-run] [--preset full|smoke] [--archive FILE] [results_dir=DIR] [data_dir=DIR] [out=DIR]
                    [hydra/launcher=basic|joblib|dask] [hydra.launcher.KEY=VALUE ...] [force=stale|true]
                    [dataset=NAME] [dataset.KEY=VALUE ...] [lam=LAM,LAM] [--format FORMATS] [--style FILE] [--width WIDTH]
       fwexp figure --from 'KEY=VALUE[,VALUE] ...' [--x passes|time] [--y gap|primal|test_error|...] [--format ...] [out=DIR]

Run what a figure needs and the store lacks, then draw the figure.

  NAME              a figure, or a paper for all of its figures (default: list all figures)
  --dry-run         list missing runs only
  --preset smoke    run few seeds and passes, as a quick check; the files are called NAME-smoke
  --archive FILE    take runs from an archive, such as results/runs.tar.xz, first, and make only what it lacks
  hydra/launcher    basic runs one run at a time; joblib runs several at once, and is the default where it is installed if the
                    figure shows no timings or the preset is smoke; dask runs on a cluster (docs/tutorials/cluster.md)
  force=stale       repeat runs made by another version of the code; force=true repeats all
  dataset, lam      draw the same kinds of curves for other data sets or lam, into files NAME-dataset=...
  --format FORMATS  formats, separated by commas: png and svg are always written, pdf and pgf (needs TeX) on request
  --style FILE      a matplotlib style file, or the name of a style, on top of the style of all figures
  --width WIDTH     width of a figure of curves, such as 3.25in, 8cm or 240pt
  --from FILTERS    draw the stored runs that match (filters of fwexp ls), one panel for each data set and lam; runs nothing
  --x, --y          columns of the trace that --from draws (default: gap against passes)
  out=DIR           another folder for the files, if the store may not be written (default: results_dir)

Writes DIR/figures/NAME.png, .svg, .csv (the numbers in the picture) and .json (commit, versions, runs); for a table, .md instead of
the pictures. With several figures, fwexp first makes all runs that can share the machine. Figures that show timings are then run
and drawn one at a time. Figures that fail are named at the end, and all others are drawn.
"""
FORCE = {"stale": "stale", "true": True, "false": False}
OVERRIDES = ("dataset", "dataset.", "lam")
FOLDERS = "results_dir", "data_dir", "out"
LAUNCHED = {"hydra/launcher": LAUNCHERS, "hydra.launcher.": ()}
FLAGS = {"--preset": PRESETS} | dict.fromkeys(("--archive", "--format", "--style", "--width", "--from", "--x", "--y"), ())
KEYS = {"out": (), **LAUNCHED, "force": FORCE, **dict.fromkeys(OVERRIDES, ())}
ACCEPTED = {"switches": ("--dry-run",), "flags": FLAGS, "keys": KEYS}


def _papers() -> list[str]:
    from fwexp.papers.declarations import FIGURES

    return list(dict.fromkeys(name.partition("/")[0] for name in FIGURES if "/" in name))


def _names() -> list[str]:
    from fwexp.papers.declarations import FIGURES

    return [*_papers(), *FIGURES]


def _chosen(words: list[str]) -> list[str]:
    from fwexp.papers.declarations import FIGURES

    below = {word: [name for name in FIGURES if name.startswith(word.rstrip("/") + "/")] for word in words if word not in FIGURES}
    for word in words:
        if not below.get(word):
            FIGURES.find(word, *_papers())
    return list(dict.fromkeys(name for word in words for name in below.get(word, [word])))


@command("fwexp figure", USAGE, words=math.inf, offers=_names, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp figure`` with the arguments after ``figure``, and return the exit code."""
    from fwexp.papers.declarations import FIGURES

    words, flags, keys = given
    if "--from" in flags:
        return _draw_stored(given)
    for flag in flags.keys() & {"--x", "--y"}:
        raise OptionError(f"{flag} belongs to --from, because a figure of the catalogue has its own")
    if not words:
        FIGURES.load_all()
        width = max(map(len, FIGURES))
        print(*(f"{name:{width}}  {figure.title}" for name, figure in FIGURES.items()), sep="\n")
        return 0
    names = _chosen(words)
    results_dir, out = given.folders
    preset, archive = flags.get("--preset", "full"), Path(flags["--archive"]) if "--archive" in flags else None
    overrides = {key: value for key, value in keys.items() if key in OVERRIDES or key.startswith("dataset.")}
    look = _look(flags)
    if archive or "--dry-run" in flags:
        from fwexp.papers.figure_pipeline import runs_of
        from fwexp.store.archive import runs

        needed = {name: runs_of(name, preset, overrides) for name in names}
        if "--dry-run" in flags:
            _list_missing(needed, results_dir, {run.key for run in runs(archive)} if archive else set())
            return 0
        restore(archive, results_dir, {key for configs in needed.values() for key in configs})
    options = launched(given) | {"force": FORCE[keys.get("force", "false")], "overrides": overrides, "look": look, "preset": preset}
    from fwexp.papers.figure_pipeline import makers

    made = makers(names, results_dir, keys.get("data_dir"), out=out, **options)
    if len(names) == 1:
        print_files(*made.values())
    elif failed := attempt([(name, name, functools.partial(print_files, make)) for name, make in made.items()]):
        raise RunsFailed(f"{len(failed)} of {len(names)} figures failed: {', '.join(failed)}; repeat the command to try again")
    return 0


def restore(path: Path, results_dir: Path, wanted: Collection[str] | None = None) -> None:
    """Store the runs of an archive, only those with wanted keys if these are given, as far as they are missing."""
    from fwexp.store import archive

    print_line(f"{path}: {len(archive.restore(path, results_dir, wanted))} runs were not in {results_dir}")


def _look(flags: Mapping[str, str]):
    from fwexp.papers.figure_variants import Look

    return Look.read(flags.get("--format", ""), flags.get("--style"), flags.get("--width"))


def _draw_stored(given: Arguments) -> int:
    """Draw stored runs without a declaration."""
    from fwexp.commands.filters import read_filters
    from fwexp.papers.figure_variants import stored_figure

    words, flags, keys = given
    others = [*words, *sorted(flags.keys() & {"--preset", "--dry-run"}), *sorted(keys.keys() - set(FOLDERS))]
    if others:
        raise OptionError(
            f"--from takes only --archive, --x, --y, --format, --style, --width, results_dir= and out=, got {others[0]}"
        )
    pairs = [word.partition("=") for word in flags["--from"].split()]
    if not pairs or not all(key and value for key, _, value in pairs):
        raise OptionError(f"--from must be KEY=VALUE with spaces between, got {flags['--from']!r}")
    results_dir, out = given.folders
    if "--archive" in flags:
        restore(Path(flags["--archive"]), results_dir)
    filters = read_filters({key: value for key, _, value in pairs}, results_dir)
    axes = flags.get("--x", "passes"), flags.get("--y", "gap")
    print(*stored_figure(filters, flags["--from"], *axes, _look(flags), results_dir, out), sep="\n")
    return 0


def launched(given: Arguments) -> dict:
    """Return the chosen launcher and its settings, as `fwexp.run.from_arguments.execute` takes them."""
    settings = [f"{key}={value}" for key, value in given.keys.items() if key.startswith("hydra.launcher.")]
    return {"launcher": given.keys.get("hydra/launcher"), "settings": settings}


def print_files(make: Callable[[], Sequence[Path]]) -> None:
    """Make a figure by one of its `makers`, and print its files."""
    print(*make(), sep="\n")


def attempt(jobs: Sequence[tuple[str, str, Callable[[], object]]]) -> list[str]:
    """Run jobs, given as (name, words to print first, function), one after the other; return the names of failed ones."""
    failed = []
    for number, (name, words, do) in enumerate(jobs, 1):
        print_line(f"== {number}/{len(jobs)} {words}")
        try:
            do()
        except (RunsFailed, UserError) as error:  # of data or extras that are not there, for instance
            print_line(f"{name}: {error}")
            failed.append(name)
    return failed


def _list_missing(needed: Mapping[str, Mapping[str, dict]], results_dir: Path, archived: Collection[str]) -> None:
    from fwexp import store

    for name, configs in needed.items():
        missing = [c for key, c in configs.items() if key not in archived and not store.is_stored(results_dir, c)]
        print(*map(describe, missing), f"{name}: {len(configs)} runs, {len(missing)} missing", sep="\n")


def describe(config: dict) -> str:
    """Return one line that identifies a run among all runs of a figure."""
    chosen = {group: config[group] for group in GROUPS if group in config}
    names = [f"{group}={value['name']}" for group, value in chosen.items()]
    facts = [f"{key}={config[key]}" for key in ("lam", "seed", "max_passes") if key in config]
    options = [f"{group}.{key}={option}" for group, value in chosen.items() for key, option in value.items() if key != "name"]
    return " ".join([*names, *facts, *options])
