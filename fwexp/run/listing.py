"""``fwexp ls``: what is stored, as a table."""

# ruff: noqa: T201

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.run.config import conf_dir
from fwexp.run.store import Run, find_runs

USAGE = """\
usage: fwexp ls [KEY=VALUE[,VALUE ...] ...] [results_dir=DIR]

Lists the runs of a store: finished, interrupted, failed and damaged ones. KEY is one of dataset, split, solver, lam, seed, status,
key, or an option such as solver.sampling.
"""
INCLUDE = ("partial", "failed", "damaged")
COLUMNS = ("status", "solver", "dataset", "lam", "seed", "gap", "passes", "time", "key")


def main(arguments: list[str]) -> int:
    """Run ``fwexp ls`` with the arguments after ``ls``, and return the exit code."""
    if "-h" in arguments or "--help" in arguments:
        print(USAGE, end="")
        return 0
    filters = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or argument.startswith("-"):
            raise OptionError(f"fwexp ls takes key=value, got {argument!r}")
        if not value:
            raise ParameterError(f"{key} must not be empty")
        filters[key] = value
    filters.pop("data_dir", None)  # accepted by all commands; nothing to do with it here
    results_dir = filters.pop("results_dir", "results")
    for key in {"solver", "dataset"} & filters.keys():
        _check_names(key, filters[key].split(","), find_runs(results_dir, include=INCLUDE))
    runs = find_runs(results_dir, include=INCLUDE, **{key: _values(text) for key, text in filters.items()})
    if not runs:
        print(f"no runs in {results_dir}" + (" match" if filters else ""))
        return 0
    runs.sort(key=lambda run: [str(run.columns().get(name)) for name in ("dataset", "solver", "lam_spec", "seed")])
    rows = [COLUMNS, *(_row(run) for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for run in runs:
        if run.status == "failed":
            print(f"{run.key[:12]}: {' '.join(run.record['error'].split())}")
    return 0


def _check_names(group: str, names: list[str], runs: list[Run]) -> None:
    """Refuse names that neither ``conf/`` nor the store knows."""
    known = {path.stem for path in (conf_dir() / group).glob("*.yaml")} | {run.columns()[group] for run in runs}
    for name in names:
        if name not in known:
            raise ParameterError(unknown(group, name, known))


def _values(text: str) -> list:
    """Return what a filter of the command line may mean: ``0.01`` is a number, ``1/n`` and names are text."""
    return [value for part in text.split(",") for value in _readings(part)]


def _readings(text: str) -> list:
    import yaml

    value = yaml.safe_load(text)
    try:
        number = float(text)
    except ValueError:
        number = value
    return [text, value, number]


def _row(run: Run) -> tuple[str, ...]:
    status = "partial" if run.status == "interrupted" else run.status
    columns = run.columns()
    cells = [status, columns["solver"], columns["dataset"], columns.get("lam_spec"), columns.get("seed")]
    numbers = (("gap", ".3g"), ("passes", ".5g"), ("time", ".2f"))
    cells += [format(run.record[name], spec) if run.record.get(name) is not None else "-" for name, spec in numbers]
    return tuple("-" if cell is None else str(cell) for cell in [*cells, run.key[:12]])
