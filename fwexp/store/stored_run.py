"""A stored run: its ``run.json``, whether that fits its place, and whether its files are as they were stored.

Each look at a run reads ``run.json`` and the sizes of the other files; their contents are verified when they are read.
"""

import dataclasses
import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from fwexp.driver.trace import lost_words
from fwexp.errors import DataError, needing
from fwexp.files.checksums import sha256, sha256_of_file
from fwexp.methods import flat, method_of
from fwexp.plugins import NAME
from fwexp.store import paths, records, staleness
from fwexp.store.commit import CONFIG, MODEL, RECORD, TRACE, name_of
from fwexp.store.keys import key_of, task_of
from fwexp.store.records import Damaged

Content = TypeVar("Content")

# Columns that `load_results` adds to the columns of the trace; options follow as ``solver.*`` and ``dataset.*``.
RUN_COLUMNS = (
    *("dataset", "split", "solver", "lam", "lam_spec", "seed", "key", "status"),
    *("objective", "max_passes", "gap_tol", "created", "sources", "stale", "data", "content", "lost", "method"),
)
# Settings of written traces: statistics that readers of thousands of small files do not use are left out.
WRITTEN = {"index": False, "use_dictionary": ["iterate"], "write_statistics": False, "store_schema": False}
PATH_COLUMNS = ("dataset", "solver", "key")  # those that paths answer


@dataclasses.dataclass(frozen=True)
class StoredRun:
    """A run in the store. ``status`` is the result's, ``failed``, ``damaged`` (see ``damage``), or ``missing`` while written."""

    path: Path
    key: str
    status: str
    config: dict
    record: dict
    damage: str = ""
    place: tuple[str | None, str | None] = (None, None)  # the data set and solver of its path, all that is known if damaged

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files next to its record; a run from an archive may lack weights."""
        return (CONFIG, TRACE, MODEL) if MODEL in self.record["files"] else (CONFIG, TRACE)

    @property
    def is_placed(self) -> bool:
        """True if the path consists of names of a data set, a solver and a run."""
        return all(name and NAME.fullmatch(name) for name in self.place) and records.KEY.fullmatch(self.key) is not None

    @property
    def sources(self) -> str | None:
        """The digest of the sources that made it, as far as ``fwexp ls`` shows keys; None if that is not known."""
        return self.record["sources"]["sha256"][:12] if self.record.get("sources") else None

    @property
    def stale(self) -> bool:
        """True if the run was made by other sources than the present ones, or by unknown ones."""
        return bool(self.record) and staleness.is_stale(self.record)

    @property
    def data(self) -> str | None:
        """``"published"`` or ``"other"`` data than that, as `Dataset.is_published` tells; None if that is not known."""
        return {True: "published", False: "other"}.get(self.record.get("published"))

    @property
    def content(self) -> str | None:
        """A short digest of the data files that the run read; None if it read none, or that is not known."""
        files = self.record.get("data")
        return sha256(repr(sorted(files.items())).encode())[:8] if files else None

    @property
    def lost(self) -> str | None:
        """Work that was lost with workers of a cluster, which changed its numbers; None without losses."""
        return lost_words(self.record.get("lost") or {}) or None

    @property
    def scheme(self) -> str | None:
        """The scheme by which it was spread over workers, be it given or chosen; None if it was not."""
        options = self.record.get("options") if self.config.get("engine") else None
        return options.get("scheme") if isinstance(options, Mapping) else None

    @property
    def errors(self) -> dict[str, float]:
        """Errors of its weights by the columns of a trace: those that were logged."""
        return self.record.get("errors") or {}

    @property
    def method(self) -> str | None:
        """The method as `fwexp.methods.method_of` names it; None if that is not known."""
        return method_of(self.config["solver"]["name"], self.config["solver"]) if self.config else None

    def columns(self) -> dict[str, Any]:
        """Return the values that are the same in all rows of the run, by their column in `load_results`."""
        return dict(self._columns)

    def weights(self):
        """Return the public weights, float64 (d,); `Damaged` unless they are as they were stored."""
        return self.model()["w"]

    def model(self) -> dict:
        """Return the arrays of the model, the weights ``w`` among them; `Damaged` unless they are as they were stored."""
        from fwexp.files.npz import arrays_in

        if MODEL not in self.files:
            raise DataError(f"{self.path} has no weights: it comes from an archive without them; force=true makes it again")
        _, content = of_latest(self, lambda run: verified(run, MODEL))
        try:
            arrays = arrays_in(io.BytesIO(content))
        except Exception as error:
            raise Damaged(f"{MODEL} has no weights") from error
        if "w" not in arrays:
            raise Damaged(f"{MODEL} has no weights")
        return arrays

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
            "objective": self.config.get("objective", "hinge"),
            "max_passes": self.config.get("max_passes"),
            "gap_tol": self.config.get("gap_tol"),
            "created": self.record.get("created"),
            "sources": self.sources,
            "stale": self.stale,
            "data": self.data,
            "content": self.content,
            "lost": self.lost,
        }
        if "temperature" in self.config:
            values["temperature"] = self.config["temperature"]
        if "task" in self.config:  # NaN for training, among others
            values["task"] = task_of(self.config)
        task = self.config.get("task")
        own = {key: value for key, value in task.items() if key != "name"} if isinstance(task, Mapping) else {}
        return values | flat(own, "task.") | flat(solver, "solver.") | flat(dataset, "dataset.")


def read(entry: paths.Entry) -> StoredRun:
    """Return the run of a record in its place, or a damaged run if the record contradicts its place."""
    run = _read(entry)
    while run.status == "damaged" and (again := _read(entry)) != run:  # another version has just taken its place
        run = again
    return run


def of_latest(run: StoredRun, look: Callable[[StoredRun], Content]) -> tuple[StoredRun, Content]:
    """Return a run and what ``look`` finds in its files, or both of another version that takes its place meanwhile."""
    while True:
        try:
            return run, look(run)
        except Damaged:
            again = read(paths.entry(run.path))
            if again.status in ("missing", "damaged") or again.record == run.record:
                raise
            run = again


def _read(entry: paths.Entry) -> StoredRun:
    place, kind = (entry.dataset, entry.solver), entry.kind
    try:
        if entry.trouble:
            raise Damaged(f"{entry.path.name} {entry.trouble}")
        record = records.read(entry.path if kind == "failed" else entry.path / RECORD)
        run = StoredRun(entry.path, entry.key, record["status"], record["config"], record, place=place)
        kind_of_status = {"interrupted": "partial", "failed": "failed"}.get(run.status, "finished")
        if (record["key"], key_of(run.config), kind_of_status) != (entry.key, entry.key, kind):
            raise Damaged("its record is that of another run")
        if place != tuple(run.columns()[name] for name in PATH_COLUMNS[:2]):
            raise Damaged("its record is of another data set or solver")
        if lacking := _lacking(record, kind):
            raise Damaged(f"its record has no {lacking}")
        for name in run.files if kind != "failed" else ():
            _compare_size(_path(run, name), record["files"][name]["size"])
        return run
    except Damaged as error:
        damage = str(error)
    status = "damaged" if entry.trouble or kind == "failed" or _has_files(entry.path) else "missing"
    return StoredRun(entry.path, entry.key, status, {}, {}, damage, place)


def _lacking(record: Mapping, kind: str) -> str:
    """Return what a record lacks of its kind."""
    if kind == "failed":
        return "" if record.get("error") is not None else "error"
    return next((name for name in (CONFIG, TRACE) if name not in (record.get("files") or {})), "")


def _has_files(folder: Path) -> bool:
    """Return whether the folder of a run contains files, unless its first version is being committed."""
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return RECORD in names or (bool(names) and not any(name.startswith(".") for name in names))


def _path(run: StoredRun, name: str) -> Path:
    return run.path / name_of(run.record, name)


def _compare_size(path: Path, stored: int) -> None:
    with records.readable(path):
        size = path.stat().st_size
    if size != stored:
        raise Damaged(f"{path.name} has {size} bytes, {stored} were stored")


def verified_trace(run: StoredRun) -> bytes:
    """Return the trace of a run; `Damaged` unless all its files are as they were stored."""
    if run.status == "damaged":
        raise Damaged(run.damage)
    for name in set(run.files) - {TRACE}:
        path = _path(run, name)
        with records.readable(path):
            _compare(name, sha256_of_file(path), run.record)
    return verified(run, TRACE)


def verified(run: StoredRun, name: str) -> bytes:
    """Return what a file holds; `Damaged` unless that is as it was stored."""
    content = records.read_bytes(_path(run, name))
    _compare(name, sha256(content), run.record)
    return content


def _compare(name: str, digest: str, record: Mapping) -> None:
    if digest != record["files"][name]["sha256"]:
        raise Damaged(f"{name} is not as it was stored")


def table(content: bytes, columns: Sequence[str] | None = None):
    """Return the trace in a file as a table of Arrow, or its ``columns``; `Damaged` if it is no trace."""
    with needing("stored runs need"):
        import pyarrow
        from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(pyarrow.BufferReader(content), pre_buffer=False)
        return file.read(columns, use_threads=False).replace_schema_metadata()
    except Exception as error:  # other files fail anywhere
        raise Damaged(f"{TRACE} cannot be read ({type(error).__name__})") from error
