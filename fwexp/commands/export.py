"""``fwexp export``."""

# ruff: noqa: T201

import io
from pathlib import Path

from fwexp.commands.arguments import Arguments, command
from fwexp.errors import OptionError, ParameterError, shown

USAGE = """\
usage: fwexp export FILE [--runs] [KEY=VALUE[,VALUE] ...] [results_dir=DIR]
       fwexp export --mlflow DIR [KEY=VALUE[,VALUE] ...] [results_dir=DIR]

Write stored runs to one file for other programs, or to a local store of MLflow. KEY=VALUE chooses runs, as for fwexp ls.

  FILE           a file .csv or .parquet: one row per logged point and iterate, as fwexp.load_results returns them; an existing
                 file is replaced
  --runs         one row per run and iterate: its last logged point
  --mlflow DIR   write the runs to DIR/mlflow.db, each once; mlflow ui --backend-store-uri sqlite:///DIR/mlflow.db shows them
"""
SUFFIXES = (".csv", ".parquet")


def _columns() -> list[str]:
    from fwexp.store.run_store import RUN_COLUMNS

    return [f"{key}=" for key in RUN_COLUMNS]


@command("fwexp export", USAGE, words=1, switches=("--runs",), flags={"--mlflow": ()}, keys=None, in_words="/", offers=_columns)
def main(given: Arguments) -> int:
    """Run ``fwexp export`` with the arguments after ``export``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        If an argument is wrong, no run matches or can be read, or MLflow is missing.
    """
    from fwexp import store
    from fwexp.commands.filters import read_filters

    words, flags, keys = given
    if len(words) + ("--mlflow" in flags) != 1:
        raise OptionError(f"fwexp export takes either FILE or --mlflow DIR, got {' '.join([*words, *flags]) or 'neither'}")
    if "--mlflow" in flags and "--runs" in flags:
        raise OptionError("--runs goes with FILE, because MLflow keeps the points of each run")
    target = Path(words[0]) if words else None
    if target and target.suffix not in SUFFIXES:
        raise ParameterError(f"FILE must end in {' or '.join(SUFFIXES)}, got {shown(str(target))}")
    if target and (target.is_dir() or not target.resolve().parent.is_dir()):
        raise ParameterError(f"FILE must be a file in a folder that exists, got {shown(str(target))}")
    filters = {key: value for key, value in keys.items() if key not in ("results_dir", "data_dir")}
    results_dir = keys.get("results_dir", "results")
    runs = store.find_runs(results_dir, include={"damaged"}, **read_filters(filters, results_dir))
    if not runs:
        raise ParameterError(f"there are no runs to export in {results_dir}" + (" that match" if filters else ""))
    if target is None:
        from fwexp.trackers import export_to_mlflow

        folder = Path(flags["--mlflow"])
        count = export_to_mlflow([run for run in runs if run.status != "damaged"], folder)
        print(f"{count} of {len(runs)} runs written to {folder / 'mlflow.db'}; the others are there already")
        return 0
    results = store.read_results(runs)
    if results.empty:
        raise ParameterError(f"there are no rows to export in {results_dir}, because the runs that match are damaged or empty")
    if "--runs" in flags:
        results = results.sort_values("step", kind="stable").drop_duplicates(["key", "iterate"], keep="last").sort_index()
    _write(results, target)
    print(f"{len(results)} rows of {results['key'].nunique()} runs written to {target}")
    return 0


def _write(results, target: Path) -> None:
    """Write a frame in the format of the suffix of a file."""
    from fwexp.files import atomic

    if target.suffix == ".csv":
        content = results.to_csv(index=False, lineterminator="\n").encode()
    else:
        packed = io.BytesIO()
        results.assign(**{name: _of_one_kind(results[name]) for name in results}).to_parquet(packed, index=False)
        content = packed.getvalue()
    atomic.write({target.resolve(): content})


def _of_one_kind(column):
    """Return a column that parquet can hold: texts instead of values of several kinds, such as ``false`` and a list."""
    kinds = {type(value) for value in column.dropna()} if column.dtype == object else set()
    return column if len(kinds) < 2 and list not in kinds else column.map(str, na_action="ignore")
