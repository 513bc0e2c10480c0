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
from collections.abc import Mapping
from pathlib import Path

from fwexp.errors import ParameterError
from fwexp.files import folders, locks
from fwexp.files.atomic import clean, set_aside
from fwexp.store import commit, paths, records
from fwexp.store.commit import CONFIG, MODEL, RECORD, TRACE
from fwexp.store.keys import STALE, key_of
from fwexp.store.provenance import plugins_of, provenance
from fwexp.store.stored_run import WRITTEN, StoredRun, read

LONGEST_ERROR = 2**14  # characters


def run_dir(results_dir, config: Mapping) -> Path:
    """Return the folder of the finished run of a canonical configuration."""
    runs = folders.check_folder("results_dir", results_dir) / "runs"
    return runs / config["dataset"]["name"] / config["solver"]["name"] / key_of(config)


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
    """Store a result, stale if its code is unknown, and return its folder; an interrupted one as ``<key>.partial``."""
    # `TakenOver` if another process took over the run during a pause.
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


def _age(path: Path) -> float:
    """Return how long ago a file was written: infinite if there is none, negative if its date tells nothing."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return math.inf


def _origin(made_by: Mapping | None) -> dict:
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own = plugins_of(tuple(made_by["modules"])) if made_by else {}
    return {"created": created, "sources": made_by, "provenance": provenance() | ({"plugins": own} if own else {})}
