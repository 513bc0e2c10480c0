"""``fwexp ls``: what is stored, as a table."""

# ruff: noqa: T201

import contextlib
import math

from fwexp.commands.arguments import Arguments, command
from fwexp.driver.trace import Status
from fwexp.errors import ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import methods
from fwexp.run.catalogues import catalogue
from fwexp.run.config import names
from fwexp.store.paths import Entry, entries
from fwexp.store.run_labels import differing
from fwexp.store.run_store import RUN_COLUMNS, StoredRun, find_runs

USAGE = """\
usage: fwexp ls [KEY=VALUE[,VALUE ...] ...] [--stale] [results_dir=DIR]

Lists the runs of a store: finished, interrupted, failed and damaged ones, their error of validation (with
dataset.validation=0.2), what they lost with workers of a cluster, and the options in which they differ. KEY is one of
dataset, split, solver, method (a name in conf/solver), lam, seed, status, key (its beginning will do), max_passes, gap_tol, or an
option such as solver.sampling.

  --stale    only runs made by another version of the code than that which is here; they are marked stale; fwexp run and
             fwexp figure with force=stale run them again
"""
NOT_FINISHED = ("partial", "failed", "damaged")
NUMBERS = {
    "lam": 'a number or "1/n"',
    "seed": "an integer >= 0",
    "max_passes": "a number",
    "gap_tol": "a number",
}
COLUMNS = ("status", "solver", "dataset", "lam", "seed", "gap", "passes", "time", "key")


@command("fwexp ls", USAGE, switches=("--stale",), keys=None, offers=lambda: [f"{key}=" for key in RUN_COLUMNS])
def main(given: Arguments) -> int:
    """Run ``fwexp ls`` with the arguments after ``ls``, and return the exit code."""
    filters = {**given.keys, **({"stale": "true"} if "--stale" in given.flags else {})}
    filters.pop("data_dir", None)  # accepted by all commands; nothing to do with it here
    results_dir = filters.pop("results_dir", "results")
    stored = list(entries(folders.check_folder("results_dir", results_dir)))
    for key, text in filters.items():
        _check(key, text.split(","), stored)
    values = {key: _keys(text, stored) if key == "key" else _values(text) for key, text in filters.items()}
    runs = find_runs(results_dir, include=NOT_FINISHED, **values)
    if not runs:
        print(f"no runs in {results_dir}" + (" match" if filters else ""))
        return 0
    runs.sort(key=lambda run: [str(run.columns().get(name)) for name in ("dataset", "solver", "lam_spec", "seed")])
    rows = [COLUMNS, *(_row(run) for run in runs)]
    marks = {
        "validation error": [_error(run) for run in runs],
        "sources": ["stale" if run.stale else "-" for run in runs],
        "data": ["other" if run.data == "other" else "-" for run in runs],
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


def _check(key: str, texts: list[str], stored: list[Entry]) -> None:
    """Refuse values that no run can have, rather than say that there is no such run."""
    if key in ("solver", "dataset"):
        known = {getattr(entry, key) for entry in stored} - {None}
        if not known.issuperset(texts):  # else there is no need to import them all
            known |= names(key) if key == "dataset" else {*catalogue(key)}
    elif key == "method":
        known = {*methods(), *(entry.solver for entry in stored)} - {None}
        texts = [text for text in texts if "[" not in text]  # named after its options
    elif key == "status":
        known = {*Status, *NOT_FINISHED} - {"partial"}
    elif key == "stale":
        known = {"true", "false"}
    else:
        known = None
    for text in texts:
        if known is not None and text not in known:
            raise ParameterError(unknown(key, text, known))
        if key in NUMBERS:
            number = _number(text)
            if number is None and not (key == "lam" and text.replace(" ", "") == "1/n"):
                raise ParameterError(f"{key} must be {NUMBERS[key]}, got {text!r}")
            if key == "seed" and not (number >= 0 and number.is_integer()):
                raise ParameterError(f"{key} must be {NUMBERS[key]}, got {text!r}")


def _keys(text: str, stored: list[Entry]) -> list[str]:
    """Return the keys that begin as the parts of a text do, as far as there are such."""
    known, keys = {entry.key for entry in stored}, []
    for part in text.split(","):
        matching = [part] if part in known else sorted(key for key in known if part and key.startswith(part))
        if len(matching) > 1:
            raise ParameterError(f"key must be the beginning of one key, got {part!r}, that of {', '.join(matching[:5])}")
        keys += matching
    return keys


def _number(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text) if math.isfinite(float(text)) else None
    return None


def _values(text: str) -> list:
    """Return what a filter of the command line may mean: ``0.01`` is a number, ``1/n`` and names are text."""
    return [value for part in text.split(",") for value in _readings(part)]


def _readings(text: str) -> list:
    import yaml

    number = _number(text)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:  # text of some other kind
        value = text
    return [text, value] if number is None else [text, value, number]


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
