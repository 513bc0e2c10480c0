"""``fwexp compare``."""

# ruff: noqa: T201

import math
from collections.abc import Callable
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.driver.settings import factor_of_rule
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import methods
from fwexp.run.config import names

USAGE = """\
usage: fwexp compare SIDE SIDE [SIDE ...] [--dataset NAME] [--lam LAM,LAM] [--gaps GAP,GAP] [--stale]
                     [--format text|csv|latex] [--config-dir DIR] [results_dir=DIR] [out=DIR]

Compare stored runs of methods: passes and time to given duality gaps, with 95 % intervals over seeds and tests, on all problems
of which every side has runs. Runs nothing. A SIDE is

  bcfw_gap                            a method or a solver, by the name that figures and load_results use
  bcfw:sampling=gap,step=pairwise     a solver with these options
  other/results                       a folder of results, compared method by method

  --dataset NAME    only this data set
  --lam LAM,LAM     only these lam, numbers or 1/n
  --gaps GAP,GAP    duality gaps to reach (default: up to three for each problem; every side reaches at least one)
  --stale           include runs that another version of the code made, which are left out otherwise. Folders are compared as they
                    are
  --format FORMAT   text (default), csv with all digits, or latex with the package booktabs; csv and latex send other lines
                    to standard error
  --config-dir DIR  your folder with methods in DIR/solver, as for fwexp run

Prints medians over seeds with their intervals, or with fewer than 6 seeds their ranges; Wilcoxon's signed-rank tests of every two
sides over problems and seeds, with Holm's correction; each side against the best other side; and the fastest side for each data set
and lam. If a side has no dual on a problem (ssg, for example), all sides are measured there by the primal above the best dual of
any stored run. Tests take, for each problem, the smallest gap that more than half of the seeds of every side reach. Writes
performance profiles and a critical-difference diagram (Friedman, Nemenyi) to DIR/figures/compare/; the names of the files contain
the sides, --dataset, --lam and --gaps. out=DIR is another folder for them, if the store may not be written.
"""
FORMATS = ("text", "csv", "latex")
FILTERS = ("--dataset", "--lam", "--gaps")  # flags that the names of files contain, because they change what is drawn
FLAGS = dict.fromkeys((*FILTERS, "--config-dir"), ()) | {"--format": FORMATS}
ACCEPTED = {"switches": ("--stale",), "flags": FLAGS, "keys": ("out",), "folder_keys": ("results_dir",), "in_words": ":/["}


@command("fwexp compare", USAGE, words=math.inf, offers=methods, **ACCEPTED)
def main(given: Arguments) -> int:
    """Run ``fwexp compare`` with the arguments after ``compare``, and return the exit code."""
    words, flags, _ = given
    results_dir, out = given.folders
    if len(words) < 2 or len(set(words)) < len(words):
        raise OptionError(f"fwexp compare takes two different methods or more, got {' '.join(words) or 'none'}")
    gaps = _numbers("--gaps", flags["--gaps"]) if "--gaps" in flags else None
    filters = {}
    if "--dataset" in flags:
        filters["dataset"] = flags["--dataset"]
    if "--lam" in flags:
        lams = flags["--lam"].split(",")
        filters["lam"] = [lam if factor_of_rule(lam) else _numbers("--lam", lam)[0] for lam in lams]
    from fwexp import store
    from fwexp.papers import comparison, figure_files
    from fwexp.papers.figure_variants import label

    config_dir = Path(flags["--config-dir"]) if "--config-dir" in flags else None
    if config_dir and not folders.is_folder(config_dir):
        raise ParameterError(f"--config-dir must be a folder, got {str(config_dir)!r}")
    sides = [comparison.parse(word, results_dir, config_dir) for word in words]
    if len({side.store is None for side in sides}) > 1:
        raise OptionError("fwexp compare takes methods or folders, not both")
    chosen = [f"{flag.lstrip('-')}={flags[flag]}" for flag in FILTERS if flag in flags]
    store.check_writable(out, "out")
    stem = out / "figures" / "compare" / label("-".join([*words, *chosen]))
    for path in (stem, _of_ranks(stem)):
        figure_files.check_writable(path, figure_files.PICTURE)
    results = comparison.load(sides, results_dir, "--stale" in flags, **filters)
    if results.empty and "dataset" in filters and filters["dataset"] not in (known := names("dataset")):
        raise ParameterError(unknown("dataset", filters["dataset"], known))
    rows_of = comparison.by_side(sides, results)
    seeds = comparison.by_seed(rows_of, gaps)
    unbounded = sorted(set().union(*(rows["problem"] for rows in rows_of.values())) - set(seeds["place"]))
    if unbounded:
        left_out = f"no stored run has a dual on {' and '.join(unbounded)}, which bounds the optimum; run auto there"
        if seeds.empty:
            raise ParameterError(left_out)
        print_line(f"left out: {left_out}")
    solvers = results.drop_duplicates("key").set_index("key")["solver"]
    made = _print(seeds, solvers, [side.name for side in sides], flags.get("--format", "text"))
    title = ", ".join(words) + (f" ({', '.join(chosen)})" if chosen else "")
    _draw(*made, title, stem, print if "--format" not in flags else print_line)
    return 0


def _of_ranks(stem: Path) -> Path:
    """Return the stem of the files of the critical-difference diagram."""
    return stem.with_name(f"{stem.name}-ranks")


def _print(seeds, solvers, sides: list[str], form: str) -> tuple:
    """Print tables and sentences; return the costs and the ranks to draw."""
    from fwexp.papers import comparison, paired_tests
    from fwexp.papers import comparison_text as words

    costs = comparison.costs_of(seeds)
    levels = paired_tests.tested_levels(costs)
    tests = paired_tests.pair_tests(seeds, levels, solvers)
    said = [*paired_tests.shortages(seeds, tests, solvers)]
    said += [words.standing(costs, side, cost) for cost in comparison.AXES for side in sides] + words.fastest(costs)
    tables = [words.cost_cells(costs), *([words.test_cells(tests)] if len(tests) else [])]
    if form == "csv":
        print(words.csv(costs))
    else:
        print(*map(words.text if form == "text" else words.latex, tables), sep="\n\n")
    for line in ["", *said] if form == "text" else said:
        (print if form == "text" else print_line)(line)
    return costs, paired_tests.rank_frame(seeds, levels, solvers)


def _draw(costs, ranks, title: str, stem: Path, tell: Callable[[str], None]) -> None:
    """Draw and save the figures, and print their files; remove an older diagram of ranks if there are no ranks any more."""
    from fwexp.papers import figure_files
    from fwexp.papers.origin import Origin
    from fwexp.plots import profiles, rank_diagram

    frame = profiles.data(costs)
    drawn = [(profiles.draw(frame), frame, stem, f"Performance profiles of {title}")]
    if len(ranks):
        drawn.append((rank_diagram.draw(ranks), ranks, _of_ranks(stem), f"Mean ranks of {title}"))
    else:
        figure_files.remove(_of_ranks(stem), figure_files.PICTURE)
    for picture, numbers, place, words in drawn:
        for path in figure_files.save_figure(picture, numbers, place, Origin(f"compare/{place.name}", words)):
            tell(str(path))


def _numbers(flag: str, text: str) -> list[float]:
    """Return the positive numbers in a list, each once."""
    numbers = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not (number > 0 and math.isfinite(number)):
            raise ParameterError(f"{flag} takes positive numbers with commas between, got {text!r}")
        numbers.append(number)
    return list(dict.fromkeys(numbers))
