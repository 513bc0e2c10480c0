"""``fwexp compare``."""

# ruff: noqa: T201

import hashlib
import math
import re
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import methods
from fwexp.run.config import names

USAGE = """\
usage: fwexp compare SIDE SIDE [SIDE ...] [--dataset NAME] [--lam LAM,LAM] [--gaps GAP,GAP]
                     [--config-dir DIR] [results_dir=DIR]

Passes and time to given duality gaps from stored runs, with their spread over seeds, on all problems that all sides have runs
of; nothing is run. A SIDE is

  bcfw_gap                            a method as figures name it, a solver, or either as load_results has it
  bcfw:sampling=gap,step=pairwise     a solver with these options
  other/results                       a folder of results, compared method by method

  --dataset NAME    only this data set
  --lam LAM,LAM     only these lam, numbers or 1/n
  --gaps GAP,GAP    the gaps to reach (default: 0.1,0.01,0.001)
  --config-dir DIR  a folder of yours with methods in DIR/solver, as of fwexp run

Prints a table, how each side stands to the best of the others, and which is the fastest for each data set and lam; writes
performance profiles over data sets, lam and gaps to DIR/figures/compare/.
"""
FLAGS = ("--dataset", "--lam", "--gaps", "--config-dir")


@command("fwexp compare", USAGE, words=math.inf, offers=methods, flags=dict.fromkeys(FLAGS, ()), in_words=":/[")
def main(given: Arguments) -> int:
    """Run ``fwexp compare`` with the arguments after ``compare``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        Unknown methods, flags or keys; nothing to compare.
    """
    words, flags, keys = given
    results_dir = keys.get("results_dir", "results")
    if len(words) < 2 or len(set(words)) < len(words):
        raise OptionError(f"fwexp compare takes two different methods or more, got {' '.join(words) or 'none'}")
    gaps = _numbers("--gaps", flags.get("--gaps", "0.1,0.01,0.001"))
    filters = {}
    if "--dataset" in flags:
        filters["dataset"] = flags["--dataset"]
    if "--lam" in flags:
        lams = flags["--lam"].split(",")
        filters["lam"] = [lam if lam == "1/n" else _numbers("--lam", lam)[0] for lam in lams]
    from fwexp.papers import comparison, figure_files
    from fwexp.papers.origin import Origin
    from fwexp.plots import profiles

    config_dir = Path(flags["--config-dir"]) if "--config-dir" in flags else None
    if config_dir and not config_dir.is_dir():
        raise ParameterError(f"--config-dir must be a folder, got {str(config_dir)!r}")
    sides = [comparison.parse(word, results_dir, config_dir) for word in words]
    if len({side.store is None for side in sides}) > 1:
        raise OptionError("fwexp compare takes methods or folders, not both")
    folder = folders.check_folder("results_dir", results_dir) / "figures" / "compare"
    name = re.sub(r"[^\w.-]+", "_", "-".join(words)).strip("_")
    name = name if len(name) <= 60 else f"{name[:50]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    figure_files.check_writable(folder / name, figure_files.PICTURE)
    results = comparison.load(sides, results_dir, **filters)
    if results.empty and "dataset" in filters and filters["dataset"] not in (known := names("dataset")):
        raise ParameterError(unknown("dataset", filters["dataset"], known))
    costs = comparison.compare(sides, results, gaps)
    print(comparison.table(costs))
    standings = [comparison.standing(costs, side.name, cost) for cost in ("passes", "time") for side in sides]
    print(*standings, *comparison.fastest(costs), sep="\n")
    frame = profiles.data(costs)
    title = f"Performance profiles of {', '.join(words)}"
    for path in figure_files.save_figure(profiles.draw(frame), frame, folder / name, Origin(f"compare/{name}", title)):
        print(path)
    return 0


def _numbers(flag: str, text: str) -> list[float]:
    """Return the positive numbers in a list."""
    numbers = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not (number > 0 and math.isfinite(number)):
            raise ParameterError(f"{flag} takes positive numbers with commas between, got {text!r}")
        numbers.append(number)
    return numbers
