"""``fwexp ls``: a table of stored runs."""

# ruff: noqa: T201

from fwexp.commands.arguments import Arguments, command
from fwexp.commands.filters import NOT_FINISHED, read_filters
from fwexp.store.results import find_runs
from fwexp.store.run_labels import differing
from fwexp.store.stored_run import RUN_COLUMNS, StoredRun

USAGE = """\
usage: fwexp ls [KEY=VALUE[,VALUE ...] ...] [--stale] [results_dir=DIR]

List stored runs: finished, interrupted, failed and damaged ones, with their validation error (after dataset.validation=0.2), the
scheme that engine=dask chose, the work lost with workers of a cluster, and the options in which the runs differ. KEY is one of
dataset, split, solver, method (a name in conf/solver), lam, seed, status, key (its first characters suffice), max_passes, gap_tol,
or an option such as solver.sampling.

  --stale    list only runs made by a different version of the code, which are marked stale; `fwexp run` and `fwexp figure`
             repeat them with force=stale
"""
COLUMNS = ("status", "solver", "dataset", "lam", "seed", "gap", "passes", "time", "key")


@command(
    "fwexp ls",
    USAGE,
    switches=("--stale",),
    keys=None,
    folder_keys=("results_dir",),
    offers=lambda: [f"{key}=" for key in RUN_COLUMNS],
)
def main(given: Arguments) -> int:
    """Run ``fwexp ls`` with the arguments after ``ls``, and return the exit code."""
    filters = {**given.keys, **({"stale": "true"} if "--stale" in given.flags else {})}
    results_dir = filters.pop("results_dir", "results")
    runs = find_runs(results_dir, include=NOT_FINISHED, **read_filters(filters, results_dir))
    if not runs:
        print(f"no runs in {results_dir}/ match" if filters else f"no runs in {results_dir}/ (start with: fwexp run)")
        return 0
    runs.sort(key=lambda run: [str(run.columns().get(name)) for name in ("dataset", "solver", "lam_spec", "seed")])
    rows = [COLUMNS, *(_row(run) for run in runs)]
    marks = {
        "validation error": [_error(run) for run in runs],
        "sources": ["stale" if run.stale else "-" for run in runs],
        "data": ["other" if run.data == "other" else "-" for run in runs],
        "scheme": [run.scheme or "-" for run in runs],
        "lost": [run.lost or "-" for run in runs],
        "options": [text or "-" for text in differing([run.config for run in runs])],
    }
    for name, column in marks.items():
        if any(cell != "-" for cell in column):
            rows = [(*row, cell) for row, cell in zip(rows, (name, *column), strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, damage in zip(rows, ["", *(run.damage for run in runs)], strict=True):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(_printable(f"{line}  {damage}".rstrip()))
    for run in runs:
        if run.status == "failed":
            print(_printable(f"{run.key[:12]}: {' '.join(run.record['error'].split())}"))
    return 0


def _printable(line: str) -> str:
    """Return one line that any terminal takes: files that are no runs may have any name."""
    return "".join(sign if sign.isprintable() else "?" for sign in line)


def _error(run: StoredRun) -> str:
    error = run.errors.get("validation_error")
    return "-" if error is None else format(error, ".4f")


def _row(run: StoredRun) -> tuple[str, ...]:
    status = "partial" if run.status == "interrupted" else run.status
    columns = run.columns()
    cells = [status, columns["solver"], columns["dataset"], columns.get("lam_spec"), columns.get("seed")]
    numbers = (("gap", ".3g"), ("passes", ".5g"), ("time", ".2f"))
    cells += [format(run.record[name], spec) if run.record.get(name) is not None else "-" for name, spec in numbers]
    return tuple("-" if cell is None else str(cell) for cell in [*cells, run.key[:12]])
