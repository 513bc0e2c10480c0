"""One run: from a canonical configuration to a folder in the store."""

import contextlib
import errno
import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fwexp import plugin_files, store
from fwexp.driver.checkpoint import Checkpoint
from fwexp.driver.clock import on_interrupt, paused_seconds, uninterrupted
from fwexp.driver.progress import telling_of_compilation
from fwexp.driver.trace import ending, lost_words
from fwexp.errors import DataError, OptionError, ParameterError, UserError
from fwexp.files import locks
from fwexp.jit import threads
from fwexp.run import catalogues
from fwexp.run.engine_options import check_parts, spread
from fwexp.store import paths, staleness
from fwexp.store.commit import TakenOver
from fwexp.store.keys import GROUPS, TRAIN, key_of, task_of
from fwexp.store.provenance import build
from fwexp.store.stored_run import StoredRun

DEATHS = 3  # a run whose processes died so many times has failed
STALE_NOTE = ", but made by another version of the code; force=stale runs it again"


@dataclass(frozen=True)
class Outcome:
    """A status: of a result, ``stored`` already, ``claimed`` by another process, ``failed``, ``full`` (the disk), ``skipped``."""

    status: str
    path: Path | None = None
    message: str = ""
    lost: str = ""  # with workers of a cluster


def run(
    config: Mapping, results_dir, data_dir=None, *, force=False, checkpoint=None, n_jobs=None, verbose=True, **place
) -> Outcome:
    """Run a canonical configuration and store the result, unless it is stored; ``checkpoint`` is the seconds between savings."""
    if outcome := _already(config, results_dir, data_dir, force):
        return outcome
    store.check_writable(results_dir)
    made_by = staleness.made_by(catalogues.modules(config))  # as they were loaded; they may be edited before the run is stored
    final = store.run_dir(results_dir, config)
    with locks.claimed(final) as claim:
        if not claim:
            return Outcome("claimed", None, "in work in another process")
        # Again, because no other process can be about to store it now.
        if outcome := _already(config, results_dir, data_dir, force):
            return outcome
        with _counted(final) as died:
            if died >= DEATHS:
                return fail(ProcessDied(f"its process died {DEATHS} times: killed, or out of memory"), config, results_dir)
            check([config], data_dir)
            data = _data(config["dataset"], data_dir)
            identity = {"settings": config, "data": data.checksums, "code": made_by, "packages or CPU": build()}
            seconds = math.inf if checkpoint is None else checkpoint
            saved = Checkpoint(paths.checkpoint_path(final), identity, seconds, claim.is_held)
            with threads.jobs(n_jobs):
                return _run(config, data, made_by, results_dir, data_dir, saved, place, verbose, claim)


def _already(config: Mapping, results_dir, data_dir, force) -> Outcome | None:
    found = stored(config, results_dir, data_dir)
    if store.is_due(found, force):
        return None
    return Outcome("stored", found.path, "stored already" + (STALE_NOTE if found.stale else ""))


def stored(config: Mapping, results_dir, data_dir) -> StoredRun | None:
    """Return the finished run of a configuration on the data as they are now, if there is one."""
    return store.stored(results_dir, config, known_checksums(config["dataset"], data_dir))


def _run(
    config: Mapping, data: "_Data", made_by: Mapping, results_dir, data_dir, checkpoint: Checkpoint, place: Mapping, verbose, claim
) -> Outcome:
    paused = paused_seconds()
    try:
        with telling_of_compilation(verbose):
            result = solve(config, data.problems, data_dir, verbose=verbose, checkpoint=checkpoint, place=place)
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # the solver of a user may call sys.exit
        return fail(error, config, results_dir)
    facts = {"made_by": made_by, "sources": data.checksums, "published": data.published, "paused": paused_seconds() - paused}
    try:
        with uninterrupted():  # Ctrl-C just now loses nothing
            path = store.save(result, config, results_dir, **facts, claim=claim)
    except TakenOver:
        return Outcome("claimed", None, "stored in another process")
    except OSError as error:
        if not is_full(error):
            return fail(error, config, results_dir)
        return Outcome("full", None, f"failed: cannot store the run: {error}")
    end = result.trace.iloc[-1]
    message = ending(result.status, end["passes"], result.gap, end["time"])
    lost = lost_words(result.lost)
    return Outcome(result.status, path, message + f"; lost with workers: {lost}" * bool(lost), lost)


# A note next to a run has a byte for every process that began it, and goes when one ends in an orderly way. A death counts only if
# the run was not saved since it began, because a run that makes progress will come to its end.


class ProcessDied(Exception):
    """The processes of a run have died, again and again."""


class WallTimeExceeded(Exception):
    """A run has taken too long, and its sweep ended its process."""


def note_of(final: Path) -> Path:
    """Return the note of a run, which exists while its process runs, and after that has died."""
    return final.with_name(f".{final.name}{paths.BEGUN}")


def is_death(failure: StoredRun | None) -> bool:
    """Return whether a run is a stored failure because its processes died."""
    return failure is not None and failure.status == "failed" and failure.record["error"].startswith(ProcessDied.__name__)


@contextlib.contextmanager
def _counted(final: Path) -> Iterator[int]:
    """Count this process among those that began the run, whose claim it has; yield how many of them died."""
    note = note_of(final)
    with contextlib.suppress(OSError):
        if paths.checkpoint_path(final).stat().st_mtime_ns > note.stat().st_mtime_ns:
            note.unlink()
    with note.open("ab") as file:
        died = file.tell()
        file.write(b".")
    try:
        yield died
    finally:
        note.unlink(missing_ok=True)


def is_full(error: Exception) -> bool:
    """Return whether nothing more can be stored: the disk is full, or read-only by now."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def fail(error: BaseException, config: Mapping, results_dir) -> Outcome:
    """Record a run that raised an exception; ``"full"`` if that cannot be stored."""
    message = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
    try:
        path = store.save_failure(error, config, results_dir, made_by=staleness.made_by(catalogues.modules(config)))
    except OSError as second:
        return Outcome("full", None, f"{message} (and cannot record it: {second})")
    return Outcome("failed", path, f"{message} (see {path})")


@on_interrupt("keep")
def solve(config: Mapping, problems: tuple, data_dir=None, *, place=MappingProxyType({}), **how):
    """Run a canonical configuration on the data that `load` returns; ``how`` is ``verbose`` and ``checkpoint``."""
    from fwexp.tasks import TASKS

    own, given = dict(config.get("task", {})), {key: value for key, value in config.items() if key not in (*GROUPS, "engine")}
    cls = TASKS[own.pop("name", TRAIN)]
    options = dict(config["solver"])
    solver, metrics = options.pop("name"), _scorer(*_place(config["dataset"], data_dir))
    engine = config.get("engine")
    if engine is not None and engine["scheme"] is not None:
        options["scheme"] = engine["scheme"]
    train, *aside, test = problems
    others = {"test": test, "validation": aside[0] if aside else None}
    with spread(train, engine, place) as problem:
        return cls(cls.check_options(own), given).run(problem, solver, options, metrics=metrics, **others, **how)


def check(configs: Iterable[Mapping], data_dir=None, misfits: dict[str, UserError] | None = None) -> None:
    """Load all data and see that the solvers can do with them; note configurations that do not fit in ``misfits``, if given."""
    parts = *GROUPS, "engine", "objective", "temperature"
    by_parts: dict[str, list[Mapping]] = {}
    for config in configs:
        by_parts.setdefault(json.dumps([config.get(part) for part in parts], sort_keys=True), []).append(config)
    for alike in by_parts.values():
        try:
            _check(alike[0], data_dir)
        except (ParameterError, OptionError) as error:
            if misfits is None:
                raise
            misfits |= {key_of(config): error for config in alike}


def _check(config: Mapping, data_dir) -> None:
    from fwexp.tasks import TASKS

    catalogues.check_kinds(task_of(config), config["dataset"]["name"], config["solver"]["name"])
    train, *_ = load(config["dataset"], data_dir)
    options = dict(config["solver"])
    TASKS[task_of(config)].check_problem(train, options.pop("name"), options, config)
    check_parts(config.get("engine"), train)


def load(dataset: Mapping, data_dir=None):
    """Return the problems of a data set as `Dataset.load` does, read once per process and content of the files."""
    return _data(dataset, data_dir).problems


def known_checksums(dataset: Mapping, data_dir=None) -> dict[str, str] | None:
    """Return {file name: sha256} of the data files as they are now, None where they are not at hand."""
    try:
        return _checksums(*_place(dataset, data_dir))
    except DataError:
        return None


class _Data(NamedTuple):
    problems: tuple
    checksums: dict[str, str]
    published: bool | None


def _data(dataset: Mapping, data_dir) -> _Data:
    return _load(*_place(dataset, data_dir))


def _place(dataset: Mapping, data_dir) -> tuple[str, str, tuple]:
    """Return a data set with its options as text, the absolute folder of its files, and a value that changes when a file does."""
    from fwexp.data import DATASETS, resolve_data_dir
    from fwexp.data.data_files import files_in

    folder = resolve_data_dir(data_dir).absolute()
    paths_of = DATASETS[dataset["name"]].locate(folder).values()
    states = [file.stat() for path in paths_of for file in (path, *files_in(path))]
    states = tuple((s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in states)
    return json.dumps(dataset, sort_keys=True), str(folder), states


def _found(dataset: str) -> tuple:
    """Return a data set and its options, from the text of both."""
    from fwexp.data import DATASETS, check_options

    options = json.loads(dataset)
    name = options.pop("name")
    return DATASETS[name], check_options(name, options)


@functools.lru_cache(maxsize=16)
def _load(dataset: str, data_dir: str, files: tuple) -> _Data:
    found, options = _found(dataset)
    checksums = _checksums(dataset, data_dir, files)
    data = _Data(found.load(options, data_dir), checksums, found.is_published(data_dir))
    if _place({"name": found.name}, data_dir)[2] != files:
        raise DataError(f"dataset {found.name}: a file in {data_dir} has changed while it was read; start again")
    return data


plugin_files.ON_CHANGE.append(_load.cache_clear)


@functools.lru_cache(maxsize=16)
def _scorer(dataset: str, data_dir: str, files: tuple):
    return _found(dataset)[0].scores(data_dir)


@functools.lru_cache(maxsize=64)
def _checksums(dataset: str, data_dir: str, files: tuple) -> dict[str, str]:
    found, options = _found(dataset)
    return found.sources(options, data_dir)
