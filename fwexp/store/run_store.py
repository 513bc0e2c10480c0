"""The store of runs: ``results/runs/<dataset>/<solver>/<key>/``.

Runs are written atomically: ``run.json`` is written last (`fwexp.store.commit`), so a run is either complete or absent. A run
counts as stored if its ``run.json`` is whole and fits its place, and the other files have the recorded sizes. Their checksums are
verified when they are read. So runs can be listed from paths and ``run.json`` alone; ``config.yaml`` is for human readers.
"""

import contextlib
import datetime
import io
import math
import os
import time
import traceback
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fwexp.errors import OptionError, ParameterError, needing, unknown
from fwexp.files import folders, locks
from fwexp.files.atomic import clean, set_aside
from fwexp.files.user_paths import check_path
from fwexp.methods import is_method
from fwexp.options import check_flag
from fwexp.store import commit, paths, records
from fwexp.store.commit import CONFIG, MODEL, RECORD, TRACE
from fwexp.store.keys import STALE, key_of
from fwexp.store.provenance import plugins_of, provenance
from fwexp.store.records import Damaged
from fwexp.store.stored_run import PATH_COLUMNS, RUN_COLUMNS, WRITTEN, StoredRun, of_latest, read, table, verified_trace

if TYPE_CHECKING:
    import pandas as pd

    from fwexp.types import AnyPath

LONGEST_ERROR = 2**14  # characters


def run_dir(results_dir, config: Mapping) -> Path:
    """Return the folder of the finished run of a canonical configuration."""
    place = config["dataset"]["name"], config["solver"]["name"], key_of(config)
    return paths.run_path(folders.check_folder("results_dir", results_dir), *place)


def is_stored(results_dir, config: Mapping) -> bool:
    """Return whether a configuration has a finished run, with a record that fits and files of the right sizes."""
    return stored(results_dir, config) is not None


def stored(results_dir, config: Mapping, data: Mapping[str, str] | None = None) -> StoredRun | None:
    """Return the finished run of a configuration, if there is one, of the same ``data``, {file name: sha256}, as far as known."""
    run = read_run(run_dir(results_dir, config))
    other_data = data is not None and run.record.get("data") not in (None, {}, dict(data))
    return None if other_data or run.status in ("missing", "damaged") else run


def failure(results_dir, config: Mapping) -> StoredRun | None:
    """Return the record of the failure of a configuration, if there is one."""
    path = paths.failure_path(run_dir(results_dir, config))
    return read(paths.Entry(path, *path.parts[-4:-2], path.stem)) if folders.exists(path) else None


def _is_failure(path: Path) -> bool:
    """Return whether a file is the record of a failure that fwexp wrote."""
    return not path.is_symlink() and read(paths.Entry(path, *path.parts[-4:-2], path.stem)).status == "failed"


def tidy(results_dir) -> None:
    """Remove what processes left behind that were killed while they wrote here or ran something, as far as that can be done."""
    results_dir = folders.check_folder("results_dir", results_dir)
    clean(results_dir)
    for solver in results_dir.glob("runs/*/*/"):
        with contextlib.suppress(OSError):  # another user owns it, or the disk is full
            _tidy(solver)


def _tidy(solver: Path) -> None:
    from fwexp.driver import checkpoint

    clean(solver)
    locks.clean(solver)
    for folder in {path.parent for path in solver.glob("[!.]*/.*")}:
        commit.tidy(folder)
    for partial in solver.glob(f"*{paths.PARTIAL}"):
        final = partial.with_name(partial.name.removesuffix(paths.PARTIAL))
        if math.inf > _age(partial / RECORD) > _age(final / RECORD) >= 0:  # it was finished later
            commit.remove(partial)
    for saved in solver.glob(f".*{paths.CHECKPOINT}"):
        final = saved.with_name(saved.name[1:].removesuffix(paths.CHECKPOINT))
        if _age(saved) > _age(final / RECORD) >= 0:
            checkpoint.remove(saved)
    for note in solver.glob(f".*{paths.BEGUN}"):
        final = note.with_name(note.name[1:].removesuffix(paths.BEGUN))
        if _age(note) > _age(final / RECORD) >= 0:
            note.unlink()


def is_due(run: StoredRun | None, force) -> bool:
    """Return whether a configuration must be run (again), given its stored run or None."""
    return run is None or force is True or (force == STALE and run.stale)


def check_writable(results_dir, key: str = "results_dir") -> None:
    """Refuse, before anything is run, a store, or a folder of another key, that cannot be written."""
    folder = folders.check_folder(key, results_dir).absolute()
    while not folders.exists(folder) and not folder.is_symlink():
        folder = folder.parent
    if not folders.is_folder(folder) or not os.access(folder, os.W_OK | os.X_OK):
        reason = "is not writable" if folders.is_folder(folder) else "is no folder"
        raise ParameterError(f"{key} must be a folder that can be written, got {str(results_dir)!r} ({folder} {reason})")


def save(
    result,
    config: Mapping,
    results_dir,
    *,
    made_by: Mapping | None = None,
    sources: Mapping[str, str] | None = None,
    published: bool | None = None,
    paused: float = 0.0,
    claim: locks.Claim | None = None,
) -> Path:
    """Store a result and return its folder; an interrupted one as ``<key>.partial``.

    A run of unknown code (``made_by``) is stale. `TakenOver` if another process took over the run during a pause.
    """
    import numpy as np

    from fwexp.tasks.result_files import model_of

    final = run_dir(results_dir, config)
    target = paths.partial_path(final) if result.status == "interrupted" else final
    trace, model = result.trace, io.BytesIO()
    np.savez(model, **model_of(result))
    contents = {TRACE: trace.to_parquet(**WRITTEN), MODEL: model.getvalue()}
    end = trace.iloc[-1] if len(trace) else {}
    record = {
        "key": final.name,
        **{name: getattr(result, name) for name in ("status", "reason", "seed", "lam", "iterate", "primal", "dual", "gap")},
        **{name: end.get(name) for name in ("step", "oracle_calls", "passes", "time")},
        "data": dict(sources or {}),
        "published": published,
        "lost": result.lost or None,
        "errors": result.errors or None,
        "paused": paused or None,
        "config": config,
        "options": result.options,  # of ``auto`` what it chose
        **_origin(made_by),
    }
    put(target, contents, record, claim)
    return target


def put(folder: Path, contents: Mapping[str, bytes], record: Mapping, claim: locks.Claim | None = None) -> None:
    """Write a run of which all but ``config.yaml`` is given, and remove what an earlier attempt at it left."""
    import yaml

    from fwexp.driver import checkpoint

    config = yaml.safe_dump(record["config"], sort_keys=False).encode()
    final = folder.with_name(folder.name.removesuffix(paths.PARTIAL))

    def is_ours() -> bool:
        if claim is None or claim.is_held():
            return True
        return not locks.is_claimed(final) and read_run(final).status in ("missing", "damaged")

    commit.commit(folder, {CONFIG: config, **contents}, record, is_ours)
    if folder == final:
        commit.remove(paths.partial_path(final))
        checkpoint.remove(paths.checkpoint_path(final))
    if _is_failure(path := paths.failure_path(final)):
        path.unlink(missing_ok=True)


def save_failure(error: BaseException, config: Mapping, results_dir, *, made_by: Mapping | None = None) -> Path:
    """Leave a record of a run that raised ``error``; the next run of the configuration replaces it."""
    path = paths.failure_path(run_dir(results_dir, config))
    if not _is_failure(path):
        set_aside(path)
    record = {
        "key": path.stem,
        "status": "failed",
        "error": _text(f"{type(error).__name__}: {error}")[:LONGEST_ERROR],
        "traceback": _text("".join(traceback.format_exception(error)))[-LONGEST_ERROR:],
        "config": config,
        **_origin(made_by),
    }
    with folders.none_left_empty(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        records.write(path, record)
    return path


def _text(text: str) -> str:
    """Return a text that every program can read: names of files may be any bytes."""
    return text.encode(errors="replace").decode()


def read_run(folder: Path) -> StoredRun:
    """Return the run in a folder, its status ``"missing"`` or ``"damaged"`` where there is none that could be read."""
    return read(paths.entry(folder))


def find_runs(results_dir="results", *, include: Collection[str] = (), **filters) -> list[StoredRun]:
    """Return the finished runs of a store that match, sorted by path; of these alone ``run.json`` is opened.

    ``include`` has more: "partial", "failed", "damaged"; filters are those of `load_results`.
    """
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

    from fwexp.driver.trace import TRACE_COLUMNS

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


def _age(path: Path) -> float:
    """Return how long ago a file was written: infinite if there is none, negative if its date tells nothing."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return math.inf


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


def _origin(made_by: Mapping | None) -> dict:
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own = plugins_of(tuple(made_by["modules"])) if made_by else {}
    return {"created": created, "sources": made_by, "provenance": provenance() | ({"plugins": own} if own else {})}
