"""Execution of runs by an executor, each once, until it is stored or has failed.

Whether a run is done is read from the store, never from a worker: a worker that was killed returns nothing, and another sweep on
the same store may have done the run.
"""

import time
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, UserError
from fwexp.files import folders, locks
from fwexp.run import runner, sweep_folder
from fwexp.run.executors import BASIC, Executor
from fwexp.store import paths
from fwexp.store.commit import RECORD
from fwexp.store.keys import key_of

SECONDS = 0.5  # between two looks at runs that other processes have claimed
STARTS = 3  # of workers that die before any of them begins a run
ALONE = Executor("joblib", {"n_jobs": 1})  # for runs that may take their process with them


@dataclass(eq=False)
class Todo:
    """A run to be done. ``status`` is ``done`` or ``failed`` by what the store has, ``claimed``, ``died`` or ``due``."""

    config: dict
    results_dir: str
    name: str = ""
    status: str = "due"
    vain: int = 0  # how often it ended, and was not in the store

    def __post_init__(self) -> None:
        self.key, self.final = key_of(self.config), store.run_dir(self.results_dir, self.config)
        self.note = runner.note_of(self.final)
        self._records = {"done": self.final / RECORD, "failed": paths.failure_path(self.final)}
        self._before = {path: _mark(path) for path in (*self._records.values(), self.note)}

    def begin(self) -> None:
        """Note what there is before the run is launched."""
        self._before[self.note] = _mark(self.note)

    def look(self, watch: sweep_folder.Watch) -> None:
        """Read from the store how the run stands; print what no worker of this sweep has said about it."""
        self.status = self._ended() or ("claimed" if locks.is_claimed(self.final) else self._ended())
        if not self.status:
            self.status = "died" if self._is_new(self.note) else "due"
        if self.status == "died":
            print_line(f"{self.name}: its worker died; again")
        elif self.status in self._records:
            self.note.unlink(missing_ok=True)  # of a worker that died after the run had ended
            if self.key not in watch.told:
                watch.tell(self.key, f"{self.name}: {'stored' if self.status == 'done' else 'failed'} in another process")

    def _ended(self) -> str:
        """Return how the run has ended since the sweep began; what another version of the code stores is not the run."""
        for status, read in (("done", store.stored), ("failed", store.failure)):
            if self._is_new(self._records[status]):
                run = read(self.results_dir, self.config)
                if run is not None and not run.stale:
                    return status
        return ""

    def _is_new(self, path: Path) -> bool:
        return _mark(path) not in (None, self._before[path])

    def may_die(self) -> bool:
        """Return whether the run has taken its process with it before."""
        return folders.exists(self.note) or runner.is_death(store.failure(self.results_dir, self.config))


def _mark(path: Path) -> tuple | None:
    """Return what changes whenever a file is replaced or grows; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def finish(todo: Sequence[Todo], executor: Executor, sweep: dict) -> None:
    """Execute all runs, also those that workers lose or other processes have claimed; ``sweep`` is what workers read."""
    pending, alone, fruitless = list(todo), [], 0
    with sweep_folder.sweeping(todo[0].results_dir, sweep) as watch:
        while pending:
            # Runs that a launcher lost as a whole go alone, then all the rest: it lost runs of its other workers, too.
            batch, broken = alone[:1] or pending, None
            for run in batch:
                run.begin()
            watch.ended.clear()
            try:
                _launch(batch, executor, watch, sweep["wall_limit"])
            except (UserError, RunsFailed):
                raise
            except Exception as error:
                broken = error
            for run in batch:
                run.look(watch)
                if run.status == "due" and run.key in watch.ended:  # Another process had it, or its worker was interrupted.
                    run.status, run.vain = "claimed", run.vain + (run.key in watch.told)
                    if run.vain == STARTS:
                        raise RunsFailed(f"the sweep broke off: {run.name} ended {STARTS} times, and is not in the store")
            if folders.exists(watch.folder / "full"):
                raise RunsFailed("the sweep broke off: nothing more can be stored; make room, and repeat the command to go on")
            if sweep_folder.is_over(watch.folder):  # A run failed, and that was to end the sweep.
                return
            fruitless = fruitless + 1 if all(run.status == "due" for run in batch) else 0
            if fruitless == STARTS or (fruitless and not isinstance(broken, BrokenExecutor | None)):
                said = broken and f"{type(broken).__name__}: {' '.join(str(broken).split())}"
                said = said or "workers die before they begin a run"
                raise RunsFailed(f"the sweep broke off: {said}") from broken
            alone = [run for run in dict.fromkeys([*alone, *(batch if broken else ())]) if run.status == "died"]
            pending = [run for run in pending if run.status in ("died", "due")]
            if not pending:
                pending = _wait([run for run in todo if run.status == "claimed"], watch)


def _launch(batch: Sequence[Todo], executor: Executor, watch: sweep_folder.Watch, wall_limit: float | None) -> None:
    """Hand runs to the executor, and wait for them."""
    if executor == BASIC:
        apart = {run for run in batch if wall_limit is not None or run.may_die()}
        for run in batch:
            if run not in apart:
                watch.do(run.key)
        executor, batch = ALONE, [run for run in batch if run in apart]
    if batch:
        try:
            with sweep_folder.stopped_by_interrupt(watch.folder):
                errors = executor.map(sweep_folder.Job(), watch.folder, [run.key for run in batch])
        finally:
            watch.bury()
        for error in errors:
            raise error


def _wait(claimed: Sequence[Todo], watch: sweep_folder.Watch) -> list[Todo]:
    """Wait for runs that others have in work; return those, if any, that are to be done here after all."""
    if claimed:
        print_line(waiting(f"{len(claimed)} runs that are in work in other processes", claimed[0].final))
    while claimed:
        for run in claimed:
            run.look(watch)
        if again := [run for run in claimed if run.status in ("died", "due")]:
            for run in again:
                locks.drop(run.final)  # A worker would have to watch the claim as long again.
            return again
        claimed = [run for run in claimed if run.status == "claimed"]
        time.sleep(SECONDS if claimed else 0)
    return []


def waiting(what: str, final: Path) -> str:
    """Return the line about a run that is waited for: by whom it is held, and for how long at most if its process has died."""
    who = locks.described(final)
    return f"waiting for {what}" + f": on {who}; taken over after {locks.STALE:g} s without a sign of life" * bool(who)
