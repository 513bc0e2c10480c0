"""The store of runs: ``results/runs/<dataset>/<solver>/<key>/``.

The only place that knows paths. A run is there completely or not at all: it is written to a temporary sibling that is renamed at
the end, and it counts as stored while the checksums in its ``run.json`` agree with its files. Beside the finished runs of a data
set and solver stand ``<key>.partial/`` (interrupted) and ``failed/<key>.json`` (the error); neither counts as finished.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import os
import shutil
import traceback
import uuid
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from fwexp import _places
from fwexp.checks import check_flag, check_path
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.run import sources as made
from fwexp.run.config import STALE, canonical, run_key
from fwexp.run.provenance import provenance

__all__ = ["Run", "find_runs", "is_stored", "load_results", "read_run", "run_dir", "run_key", "save", "save_failure", "stored"]

CONFIG, TRACE, MODEL, RECORD = "config.yaml", "trace.parquet", "model.npz", "run.json"
PARTIAL, FAILED = ".partial", "failed"

# Columns that `load_results` adds to those of the trace; options follow as ``solver.*`` and ``dataset.*``.
RUN_COLUMNS = (
    *("dataset", "split", "solver", "lam", "lam_spec", "seed", "key", "status"),
    *("max_passes", "gap_tol", "created", "sources", "stale"),
)


@dataclasses.dataclass(frozen=True)
class Run:
    """A run in the store: where it is, its canonical configuration and what its ``run.json`` says.

    ``status`` is that of the result, ``"failed"`` (``record`` then has the ``error``) or ``"damaged"``.
    """

    path: Path
    key: str
    status: str
    config: dict
    record: dict

    @property
    def sources(self) -> str | None:
        """The digest of the sources that made it, as far as ``fwexp ls`` shows keys; None if that is not known."""
        return self.record["sources"]["sha256"][:12] if self.record.get("sources") else None

    @property
    def stale(self) -> bool:
        """Whether it was made by other sources than those that are here, or by unknown ones."""
        return bool(self.record) and made.is_stale(self.record)

    def columns(self) -> dict[str, Any]:
        """Return the values that are the same in all rows of the run, by their column in `load_results`."""
        if self.status == "damaged":
            dataset, solver = self.path.parts[-3:-1]
            return {"dataset": dataset, "solver": solver, "key": self.key, "status": self.status}
        dataset, solver = dict(self.config["dataset"]), dict(self.config["solver"])
        spec = self.config["lam"]
        values = {
            "dataset": dataset.pop("name"),
            "split": dataset.pop("split", None),
            "solver": solver.pop("name"),
            "lam": self.record.get("lam", math.nan if isinstance(spec, str) else spec),
            "lam_spec": str(spec),
            "seed": self.config["seed"],
            "key": self.key,
            "status": self.status,
            "max_passes": self.config.get("max_passes"),
            "gap_tol": self.config.get("gap_tol"),
            "created": self.record.get("created"),
            "sources": self.sources,
            "stale": self.stale,
        }
        values |= {"task": self.config["task"]} if "task" in self.config else {}  # NaN for training, among others
        return values | _flat("solver", solver) | _flat("dataset", dataset)


def run_dir(results_dir, config: Mapping) -> Path:
    """Return the folder of the finished run of a configuration."""
    config = canonical(config)
    runs = _places.folder("results_dir", results_dir) / "runs"
    return runs / config["dataset"]["name"] / config["solver"]["name"] / run_key(config)


def is_stored(results_dir, config: Mapping) -> bool:
    """Say whether the finished run of a configuration is there, with all checksums right."""
    return stored(results_dir, config) is not None


def stored(results_dir, config: Mapping) -> Run | None:
    """Return the finished run of a configuration, if it is there with all checksums right."""
    run = read_run(run_dir(results_dir, config))
    return None if run.status in ("missing", "damaged") else run


def is_due(run: Run | None, force) -> bool:
    """Say whether what is `stored` of a configuration, or nothing, has to be run (again)."""
    return run is None or force is True or (force == STALE and run.stale)


def check_writable(results_dir) -> None:
    """Refuse, before anything is run, a store that cannot be written."""
    folder = _places.folder("results_dir", results_dir).absolute()
    while not folder.exists() and not folder.is_symlink():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        reason = "is not writable" if folder.is_dir() else "is no folder"
        raise ParameterError(f"results_dir must be a folder that can be written, got {str(results_dir)!r} ({folder} {reason})")


def save(result, config: Mapping, results_dir, *, sources: Mapping[str, str] | None = None) -> Path:
    """Store a result and return its folder; an interrupted one as ``<key>.partial``.

    Parameters
    ----------
    result : Result
        What `fwexp.solve` returned.
    config : mapping
        The configuration that it was run with.
    results_dir : path
        The store.
    sources : mapping, optional
        {file name: sha256} of the data.
    """
    import numpy as np
    import yaml

    config = canonical(config)
    final = run_dir(results_dir, config)
    partial = final.with_name(final.name + PARTIAL)
    target = partial if result.status == "interrupted" else final
    trace = result.trace
    with _temporary_sibling(target) as folder:
        (folder / CONFIG).write_text(yaml.safe_dump(config, sort_keys=False))
        trace.to_parquet(folder / TRACE, index=False)
        np.savez(folder / MODEL, w=result.w)
        end = trace.iloc[-1] if len(trace) else {}
        record = {
            "key": final.name,
            "status": result.status,
            "reason": result.reason,
            "seed": result.seed,
            "lam": result.lam,
            "iterate": result.iterate,
            "primal": result.primal,
            "dual": result.dual,
            "gap": result.gap,
            **{name: end.get(name) for name in ("step", "oracle_calls", "passes", "time")},
            "data": dict(sources or {}),
            "files": {name: _sha256((folder / name).read_bytes()) for name in (CONFIG, TRACE, MODEL)},
            **_origin(config),
        }
        _write_json(folder / RECORD, record)
        _commit(folder, target)
    if target is final:
        shutil.rmtree(partial, ignore_errors=True)
    _failure_path(final).unlink(missing_ok=True)
    return target


def save_failure(error: BaseException, config: Mapping, results_dir) -> Path:
    """Leave a record of a run that raised ``error``; the next run of the configuration replaces it."""
    config = canonical(config)
    path = _failure_path(run_dir(results_dir, config))
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "key": path.stem,
        "status": "failed",
        "error": f"{type(error).__name__}: {error}",
        "traceback": "".join(traceback.format_exception(error)),
        "config": config,
        **_origin(config),
    }
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _write_json(temporary, record)
    temporary.replace(path)
    return path


def read_run(folder: Path) -> Run:
    """Return the run in a folder, its status ``"missing"`` or ``"damaged"`` where files or checksums are not right."""
    import yaml

    key = folder.name.removesuffix(PARTIAL)
    if not folder.is_dir():
        return Run(folder, key, "missing", {}, {})
    try:
        record = json.loads((folder / RECORD).read_bytes())
        files = {name: (folder / name).read_bytes() for name in (CONFIG, TRACE, MODEL)}
        if record["key"] != key or any(_sha256(content) != record["files"][name] for name, content in files.items()):
            raise ValueError("checksums differ")
        return Run(folder, key, record["status"], yaml.safe_load(files[CONFIG]), record)
    except (OSError, ValueError, KeyError, TypeError):
        return Run(folder, key, "damaged", {}, {})


def find_runs(results_dir="results", *, include: Collection[str] = (), **filters) -> list[Run]:
    """Return the finished runs of a store that match, sorted by path.

    Parameters
    ----------
    results_dir : path
        The store.
    include : collection of {"partial", "failed", "damaged"}
        What to return beside them.
    **filters
        As in `load_results`.
    """
    runs = list(_all_runs(_places.folder("results_dir", results_dir), include))
    known = [*RUN_COLUMNS, *sorted({name for run in runs for name in run.columns()} - set(RUN_COLUMNS))]
    for name in filters:
        if name not in known and (runs or not name.startswith(("solver.", "dataset."))):
            raise OptionError(unknown("filter", name, known))
    return [run for run in runs if all(_matches(run, name, value) for name, value in filters.items())]


def load_results(results_dir="results", *, partial: bool = False, **filters):
    """Return the traces of stored runs as one long DataFrame; nothing is run.

    Parameters
    ----------
    results_dir : path
        The store.
    partial : bool
        Whether to include interrupted runs.
    **filters
        Keep the runs whose column has this value, or one of this list of values: ``dataset``, ``split``, ``solver``, ``lam`` (a
        number or the spec ``"1/n"``), ``lam_spec``, ``seed``, ``key``, ``status``, ``max_passes``, ``gap_tol``, ``created``,
        ``sources``, ``stale``, and options, for instance ``**{"solver.sampling": "perm"}``.

    Returns
    -------
    DataFrame
        The columns of the trace, then ``dataset split solver lam lam_spec seed key status max_passes gap_tol created``,
        ``sources`` (the digest of the code that made the run) and ``stale`` (whether that is other code than what is here), and
        the options of solvers (``solver.*``) and data sets (``dataset.*``), NaN for runs that do not have them.

    Examples
    --------
    >>> import fwexp
    >>> frame = fwexp.load_results(dataset="ocr", solver=["bcfw", "ssg"], lam=0.01)
    >>> len(frame)  # nothing is stored yet
    0
    """
    import numpy as np
    import pandas as pd

    from fwexp.driver.result import TRACE_COLUMNS

    results_dir, partial = check_path("results_dir", results_dir), check_flag("partial", partial)
    runs = find_runs(results_dir, include={"damaged"} | ({"partial"} if partial else set()), **filters)
    for run in runs:
        if run.status == "damaged":
            warnings.warn(f"{run.path} is damaged and was left out", stacklevel=2)
    runs = [run for run in runs if run.status != "damaged"]
    if not runs:
        return pd.DataFrame(columns=[*TRACE_COLUMNS, *RUN_COLUMNS])
    traces = [pd.read_parquet(run.path / TRACE) for run in runs]
    facts = pd.DataFrame([run.columns() for run in runs])
    facts = facts.iloc[np.repeat(np.arange(len(runs)), [len(trace) for trace in traces])]
    return pd.concat([pd.concat(traces, ignore_index=True), facts.reset_index(drop=True)], axis=1)


def _all_runs(results_dir: Path, include: Collection[str]) -> Iterator[Run]:
    for folder in sorted((results_dir / "runs").glob("*/*")):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name.startswith(".") or path.name == FAILED:
                continue
            run = read_run(path)
            if run.status == "damaged":
                wanted = "damaged" in include
            else:
                wanted = not path.name.endswith(PARTIAL) or "partial" in include
            if wanted:
                yield run
        if "failed" in include:
            for path in sorted((folder / FAILED).glob("[!.]*.json")):
                record = json.loads(path.read_bytes())
                yield Run(path, path.stem, "failed", record["config"], record)


def _matches(run: Run, name: str, wanted) -> bool:
    columns = run.columns()
    if name not in columns:
        return run.status == "damaged"  # it might be one of those asked for
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    return any(_equal(name, columns, value) for value in (wanted if several else [wanted]))


def _equal(name: str, columns: Mapping, value) -> bool:
    if name != "lam":
        return columns[name] == value
    if isinstance(value, str):
        return columns["lam_spec"] == value.replace(" ", "")
    return isinstance(value, Real) and math.isclose(columns["lam"], value, rel_tol=1e-12)


def _flat(prefix: str, options: Mapping) -> dict[str, Any]:
    """Return nested options as ``prefix.key`` and ``prefix.key.key``."""
    flat = {}
    for key, value in options.items():
        flat |= _flat(f"{prefix}.{key}", value) if isinstance(value, Mapping) else {f"{prefix}.{key}": value}
    return flat


def _failure_path(final: Path) -> Path:
    return final.parent / FAILED / f"{final.name}.json"


def _origin(config: Mapping) -> dict:
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"created": created, "sources": made.made_by(config), "provenance": provenance()}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_json(path: Path, record: Mapping) -> None:
    path.write_text(json.dumps(_jsonable(record), indent=1, allow_nan=False) + "\n")


def _jsonable(value):
    """Return Python numbers for numpy's, and None for NaN and infinities, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items()}
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextlib.contextmanager
def _temporary_sibling(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside ``target``, with a name that no other process has; it is removed on an exception."""
    folder = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _commit(folder: Path, target: Path) -> None:
    """Rename a complete folder to its final name, in place of an older version."""
    while True:
        try:
            folder.rename(target)
            return
        except OSError:
            if not target.is_dir():
                raise
        older = folder.with_name(f"{folder.name}.old")
        target.rename(older)
        shutil.rmtree(older)
