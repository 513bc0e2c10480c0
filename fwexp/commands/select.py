"""``fwexp select``: choose a value by validation among the runs of a sweep."""

# ruff: noqa: T201

import csv
import functools
import itertools
import sys
from collections.abc import Mapping

from fwexp import store
from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.files import folders
from fwexp.run.config import quote
from fwexp.store.keys import STALE
from fwexp.store.stored_run import StoredRun

USAGE = """\
usage: fwexp select KEY=VALUE[,VALUE ...] ... [--refit] [--oracle] [--format text|csv|latex]
                    [results_dir=DIR] [data_dir=DIR]

Choose lam, or another option with several values, by validation. Runs a sweep on part of the training set, as fwexp run -m does,
and prints the value with the lowest error on the rest of the training set: for each seed, and by the mean over seeds. The test
error is shown for picked values only. Stored runs are not repeated, unless another version of the code made them; force=false takes
these, too.

  dataset.validation=0.2      share of the training examples to set aside (default: 0.2)
  dataset.validation_seed=0   seed that chooses these examples; 0,1,2 for several choices. Independent of the seed of the runs
  --refit                     also train on the whole training set with the picked value, and print the test error
  --oracle                    also print the value that the test set would pick, which shows the cost of validation
  --format FORMAT             text (default), csv with all digits, or latex with the package booktabs; csv and latex
                              send other lines to standard error

Examples:
  fwexp select dataset=ocr lam=0.1,0.01,0.001 seed=0,1,2
  fwexp select dataset=ocr lam=0.01,0.001 objective=hinge,log solver=auto dataset.validation_seed=0,1,2 --refit
"""
FORMATS = ("text", "csv", "latex")
SHARE = "dataset.validation"
KEYS = ("dataset", "solver", "lam", "seed", SHARE, f"{SHARE}_seed")


@command(
    "fwexp select",
    USAGE,
    switches=("--refit", "--oracle"),
    flags={"--format": FORMATS},
    keys=None,
    offers=lambda: [f"{key}=" for key in KEYS],
)
def main(given: Arguments) -> int:
    """Run ``fwexp select`` with the arguments after ``select``, and return the exit code."""
    from fwexp.papers import selection
    from fwexp.run import from_arguments

    _, flags, keys = given
    if not any(key.lstrip("+") == SHARE for key in keys):
        keys[SHARE] = "0.2"
    keys.setdefault("force", STALE)
    overrides = [f"{key}={quote(value) if key in folders.FOLDER_KEYS else value}" for key, value in keys.items()]
    with from_arguments.planned(overrides) as (configs, where, run):
        selection.check(configs)
        configs = run(configs)
        selection.check(configs)  # again, without those that skip_invalid left out
        stored = functools.partial(_stored, where)
        found = selection.select(configs, stored)
        if "--refit" in flags:
            again = {one.data: one.refitted() for one in found}
            run([config for of_one in again.values() for config in of_one])
            for one in found:
                one.refits = [selection.error_of(stored(config), "test_error") for config in again[one.data]]
    oracle, form = "--oracle" in flags, flags.get("--format", "text")
    _print([selection.HEAD, *(row for one in found for row in one.rows(oracle, "" if form == "csv" else ".4f"))], form)
    for sentence in (sentence for one in found for sentence in one.sentences(oracle)):
        (print if form == "text" else print_line)(sentence)
    return 0


def _stored(where: Mapping, config: Mapping) -> StoredRun | None:
    """Return the run of a configuration, unless another version of the code made it since the sweep."""
    run = store.stored(where["results_dir"], config)
    return run if run is not None and not (where["force"] and run.stale) else None


def _print(rows: list[tuple[str, ...]], form: str) -> None:
    """Print a table, whose first row is its head; for people without empty columns, and each data set once."""
    from fwexp.papers import comparison_text

    if form == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
        return
    kept = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    again = [False, *(row[0] == above[0] for above, row in itertools.pairwise(rows))]
    cells = [tuple("" if k == 0 and known else row[k] for k in kept) for known, row in zip(again, rows, strict=True)]
    print((comparison_text.text if form == "text" else comparison_text.latex)(cells))
