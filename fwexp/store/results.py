"""The finished runs of a store as tables: found by filters, their traces joined, and the numbers that a run returned."""

import math
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fwexp.driver.trace import TRACE_COLUMNS
from fwexp.errors import OptionError, needing, unknown
from fwexp.files import folders
from fwexp.files.user_paths import check_path
from fwexp.methods import is_method
from fwexp.options import check_flag
from fwexp.store import paths
from fwexp.store.records import Damaged
from fwexp.store.stored_run import PATH_COLUMNS, RUN_COLUMNS, StoredRun, of_latest, read, table, verified_trace

if TYPE_CHECKING:
    import pandas as pd

    from fwexp.types import AnyPath

AXES = ("step", "oracle_calls", "passes", "time")


def find_runs(results_dir="results", *, include: Collection[str] = (), **filters) -> list[StoredRun]:
    """Return the runs of a store that match, sorted by path: the finished ones, and those that ``include`` names."""
    # Of these alone ``run.json`` is opened; filters are those of `load_results`.
    results_dir = folders.check_folder("results_dir", results_dir)
    filters = {name: _several(value) for name, value in filters.items()}
    by_path = {name: filters[name] for name in PATH_COLUMNS if name in filters}
    runs = list(_all_runs(results_dir, include, by_path))
    here = set(RUN_COLUMNS).union(*(run.columns() for run in runs))
    if not here.issuperset(filters):
        everything = list(_all_runs(results_dir, include))
        options = set().union(*(run.columns() for run in everything)) - set(RUN_COLUMNS)
        for name in filters:
            if name not in {*RUN_COLUMNS, *options} and (everything or not name.startswith(("solver.", "dataset."))):
                raise OptionError(unknown("filter", name, [*RUN_COLUMNS, *sorted(options)]))
    return [run for run in runs if all(_matches(run, name, values) for name, values in filters.items())]


def load_results(results_dir: "AnyPath" = "results", *, partial: bool = False, **filters: Any) -> "pd.DataFrame":
    """Return the traces of stored runs as one long DataFrame.

    Parameters
    ----------
    results_dir : path, default "results"
        The store.
    partial : bool, default False
        Whether to include interrupted runs.
    **filters
        Keep the runs whose column has this value, or one of this list of values: ``dataset``, ``split``, ``solver``, ``lam``
        (a number or the spec ``"1/n"``), ``lam_spec``, ``seed``, ``key``, ``status``, ``max_passes``, ``gap_tol``, ``created``,
        ``sources``, ``stale``, ``data``, ``content``, ``lost``, ``method`` (a name in ``conf/solver``), and options, for
        instance ``**{"solver.sampling": "perm"}``.

    Returns
    -------
    DataFrame
        The columns of the trace, then ``dataset split solver lam lam_spec seed key status max_passes gap_tol created``,
        ``sources`` (digest of the code that made the run), ``stale`` (whether the code has changed since), ``data``
        (``"published"``, or ``"other"`` if ``fwexp data verify`` expects different files; None if unknown), ``content`` (digest
        of the data files that the run read; None without files), ``lost`` (work lost with workers of a cluster, such as
        ``"1 part, 3 rounds"``, so the numbers differ from an undisturbed run; otherwise None), the options of solvers
        (``solver.*``) and data sets (``dataset.*``), NaN for runs that do not have them, and ``method`` (the name in figures,
        for instance ``bcpfw_gap_cache``).

    Raises
    ------
    ValueError
        If ``results_dir`` cannot be a folder.
    TypeError
        If a filter is no column.

    See Also
    --------
    load_run : One stored run, to predict with.
    sweep : Make the runs.

    Examples
    --------
    >>> import fwexp
    >>> frame = fwexp.load_results(dataset="ocr", solver=["bcfw", "ssg"], lam=0.01)
    >>> len(frame)  # this store is empty
    0
    """
    results_dir, partial = check_path("results_dir", results_dir), check_flag("partial", partial)
    return read_results(find_runs(results_dir, include={"damaged"} | ({"partial"} if partial else set()), **filters))


def read_results(runs: Iterable[StoredRun], columns: Sequence[str] | None = None):
    """Return what `load_results` does of these runs, or these columns of their traces; one line of warning for a damaged run."""
    whole = []
    for run in runs:
        try:
            whole.append(of_latest(run, lambda run: table(verified_trace(run), columns)))
        except Damaged as error:
            path = "".join(sign if sign.isprintable() else "?" for sign in str(run.path))
            warnings.warn(f"{path} is damaged and was left out: {error}", stacklevel=3)
    return _joined(whole, columns)


def results_of(runs: Iterable[tuple[StoredRun, bytes]]):
    """Return what `load_results` does of runs with their traces, which are verified."""
    return _joined([(run, table(trace)) for run, trace in runs])


def _joined(runs: Sequence[tuple], columns: Sequence[str] | None = None):
    import numpy as np
    import pandas as pd

    with needing("stored runs need"):
        import pyarrow

    whole, tables = [run for run, _ in runs], [table for _, table in runs]
    if not whole:
        return pd.DataFrame(columns=[*(TRACE_COLUMNS if columns is None else columns), *RUN_COLUMNS])
    facts = pd.DataFrame([run.columns() | {"method": run.method} for run in whole])
    facts = facts.iloc[np.repeat(np.arange(len(whole)), [len(trace) for trace in tables])]
    rows = pyarrow.concat_tables(tables, promote_options="permissive").to_pandas()
    return pd.concat([rows, facts.reset_index(drop=True)], axis=1)


def _all_runs(
    results_dir: Path, include: Collection[str], by_path: Mapping[str, list] = MappingProxyType({})
) -> Iterator[StoredRun]:
    """Yield the runs of a store whose paths have one of the values of each column in ``by_path``."""
    for entry in paths.entries(results_dir):
        kind = entry.kind
        wanted = kind == "finished" or kind in include or (kind == "partial" and "damaged" in include)
        if wanted and all(getattr(entry, name) in values for name, values in by_path.items()):
            run = read(entry)
            if run.status != "missing" and ("damaged" if run.status == "damaged" else kind) in {"finished", *include}:
                yield run


def measures(run: StoredRun) -> dict[str, float]:
    """Return primal, dual, gap and errors of the weights that a run returned, and its costs, by the columns of a trace."""
    trace = read_results([run])
    trace = trace[trace["iterate"] == run.record["iterate"]]
    if trace.empty:
        return {}
    # A heuristic path has no objective, and that of a diverged run may not be finite: such runs return their last weights.
    primal = run.record["primal"]
    row = trace.iloc[-1] if primal is None else trace.loc[(trace["primal"] - primal).abs().fillna(math.inf).idxmin()]
    own = list(dict.fromkeys([*TRACE_COLUMNS, *trace.columns[: trace.columns.get_loc("dataset")]]))
    found = {name: row[name] for name in own if name != "iterate" and name in trace}
    return found | {name: run.record[name] for name in (*AXES, "primal", "dual", "gap") if run.record.get(name) is not None}


def _several(value) -> list:
    """Return the values that a filter accepts."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _matches(run: StoredRun, name: str, values: list) -> bool:
    columns = run.columns()
    if run.status == "damaged" and name not in columns:
        return True  # it might be one of those asked for
    if name == "method":
        solver = run.config["solver"]
        return any(value == run.method or is_method(value, solver["name"], solver) for value in values)
    return name in columns and any(_equal(name, columns, value) for value in values)


def _equal(name: str, columns: Mapping, value) -> bool:
    if name != "lam":
        return columns[name] == value
    if isinstance(value, str):
        return columns["lam_spec"] == value.replace(" ", "")
    return isinstance(value, Real) and math.isclose(columns["lam"], value, rel_tol=1e-12)
