"""A stored run: what its ``run.json`` says, whether that fits its place, and whether its files are as they were stored.

``run.json`` and the sizes of the other files are looked at whenever a run is; what these hold is verified when it is read.
"""

import dataclasses
import functools
import hashlib
import io
import math
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from fwexp._durable import restore
from fwexp.run import paths, records
from fwexp.run import sources as run_sources
from fwexp.run.config import key_of, task_of
from fwexp.run.records import Damaged

CONFIG, TRACE, MODEL, RECORD = FILES = ("config.yaml", "trace.parquet", "model.npz", "run.json")
NUMBERS = ("lam", "gap", "passes", "time")  # in a record, where they are known

# What a record raises that is not as we write them.
MISFITS = OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError

# Columns that `load_results` adds to those of the trace; options follow as ``solver.*`` and ``dataset.*``.
RUN_COLUMNS = (
    *("dataset", "split", "solver", "lam", "lam_spec", "seed", "key", "status"),
    *("max_passes", "gap_tol", "created", "sources", "stale"),
)
PATH_COLUMNS = ("dataset", "solver", "key")  # those that paths answer


@dataclasses.dataclass(frozen=True)
class StoredRun:
    """A run in the store: where it is, its canonical configuration and what its ``run.json`` says.

    ``status`` is that of the result, ``"failed"`` (``record`` then has the ``error``) or ``"damaged"`` (``damage`` says what is
    wrong).
    """

    path: Path
    key: str
    status: str
    config: dict
    record: dict
    damage: str = ""
    place: tuple[str | None, str | None] = (None, None)  # the data set and solver of its path, all that is known if damaged

    @property
    def sources(self) -> str | None:
        """The digest of the sources that made it, as far as ``fwexp ls`` shows keys; None if that is not known."""
        return self.record["sources"]["sha256"][:12] if self.record.get("sources") else None

    @property
    def stale(self) -> bool:
        """Whether it was made by other sources than those that are here, or by unknown ones."""
        return bool(self.record) and run_sources.is_stale(self.record)

    def columns(self) -> dict[str, Any]:
        """Return the values that are the same in all rows of the run, by their column in `load_results`."""
        return dict(self._columns)

    def weights(self):
        """Return the public weights, float64 (d,), which must be as they were stored."""
        import numpy as np

        with np.load(io.BytesIO(_verified_file(self.path / MODEL, self.record)), allow_pickle=False) as model:
            return model["w"]

    @functools.cached_property
    def _columns(self) -> dict[str, Any]:
        if self.status == "damaged":
            return dict(zip(PATH_COLUMNS, (*self.place, self.key), strict=True)) | {"status": self.status}
        dataset, solver = dict(self.config["dataset"]), dict(self.config["solver"])
        lam = self.record.get("lam", self.config.get("lam"))
        values = {
            "dataset": dataset.pop("name"),
            "split": dataset.pop("split", None),
            "solver": solver.pop("name"),
            "lam": lam if isinstance(lam, Real) else math.nan,
            "lam_spec": str(self.config.get("lam", "")),
            "seed": self.config["seed"],
            "key": self.key,
            "status": self.status,
            "max_passes": self.config.get("max_passes"),
            "gap_tol": self.config.get("gap_tol"),
            "created": self.record.get("created"),
            "sources": self.sources,
            "stale": self.stale,
        }
        if "task" in self.config:  # NaN for training, among others
            values["task"] = task_of(self.config)
        task = self.config.get("task")
        own = {key: value for key, value in task.items() if key != "name"} if isinstance(task, Mapping) else {}
        return values | _flat("task", own) | _flat("solver", solver) | _flat("dataset", dataset)


def read(entry: paths.Entry) -> StoredRun:
    """Return what a record says of the run in its place, or a damaged run if that cannot be so."""
    while True:
        before = version_of(entry.path)
        run = _read(entry)
        if run.status != "damaged" or version_of(entry.path) == before:
            return run  # else another version has just taken its place


def version_of(path: Path) -> tuple[int, int] | None:
    """Return what tells the version of a run, or of a record, that is in its place from those before and after; None for none."""
    while True:
        try:
            found = path.stat()
        except FileNotFoundError:
            if not restore(path):
                return None
        except OSError:
            return None
        else:
            return found.st_ino, found.st_mtime_ns


def _read(entry: paths.Entry) -> StoredRun:
    place = entry.dataset, entry.solver
    try:
        if entry.trouble:
            raise Damaged(f"{entry.path.name} {entry.trouble}")
        record = records.read(entry.path if entry.kind == "failed" else entry.path / RECORD)
        config = record["config"] if "config" in record else _older_config(entry.path, record)
        run = StoredRun(entry.path, entry.key, record["status"], config, record, place=place)
        kind = {"interrupted": "partial", "failed": "failed"}.get(run.status, "finished")
        if (record["key"], key_of(config), kind) != (entry.key, entry.key, entry.kind):
            raise Damaged("its record is that of another run")
        if not isinstance(run.status, str) or any(not isinstance(record.get(name), Real | None) for name in NUMBERS):
            raise Damaged("its record has values of another kind")
        if place != tuple(run.columns()[name] for name in PATH_COLUMNS[:2]):
            raise Damaged("its record is of another data set or solver")
        if entry.kind == "failed":
            record["error"].split()
        else:
            _check_files(run)
        return run
    except Damaged as error:
        damage = str(error)
    except MISFITS:
        damage = "its record lacks what a record has"
    return StoredRun(entry.path, entry.key, "damaged", {}, {}, damage, place)


def _check_files(run: StoredRun) -> None:
    for name in (CONFIG, TRACE, MODEL):
        size = records.size_of(run.path / name)
        if isinstance(run.record["files"][name], str):  # an older record, without sizes
            _verified_file(run.path / name, run.record)
        elif size != run.record["files"][name]["size"]:
            raise Damaged(f"{name} has {size} bytes, {run.record['files'][name]['size']} were stored")


def _older_config(folder: Path, record: Mapping) -> dict:
    """Return the configuration of a run that was stored when ``run.json`` did not hold it."""
    import yaml

    try:
        return yaml.load(_verified_file(folder / CONFIG, record), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise Damaged(f"{CONFIG} is no YAML") from error


def verified_trace(run: StoredRun) -> bytes:
    """Return the trace of a run; `Damaged` unless all its files are as they were stored."""
    if run.status == "damaged":
        raise Damaged(run.damage)
    return [_verified_file(run.path / name, run.record) for name in (CONFIG, MODEL, TRACE)][-1]


def _verified_file(path: Path, record: Mapping) -> bytes:
    content, stored = records.read_bytes(path), record["files"][path.name]
    if _sha256(content) != (stored if isinstance(stored, str) else stored["sha256"]):
        raise Damaged(f"{path.name} is not as it was stored")
    return content


def fingerprint(content: bytes) -> dict:
    """Return what ``run.json`` records of a file."""
    return {"size": len(content), "sha256": _sha256(content)}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _flat(prefix: str, options: Mapping) -> dict[str, Any]:
    """Return nested options as ``prefix.key`` and ``prefix.key.key``."""
    flat = {}
    for key, value in options.items():
        flat |= _flat(f"{prefix}.{key}", value) if isinstance(value, Mapping) else {f"{prefix}.{key}": value}
    return flat
