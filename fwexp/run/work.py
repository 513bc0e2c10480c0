"""The work of a sweep, until every run is stored or has failed: including runs lost by workers, and claimed by other sweeps.

Whether a run is done is read from the store, not from the launcher: a launcher whose worker was killed returns nothing at all, and
another sweep on the same store may have finished the run.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, UserError, WorkersLost
from fwexp.files import locks
from fwexp.run import deaths, relay
from fwexp.run.runner import Outcome
from fwexp.store.keys import key_of
from fwexp.store.stored_run import StoredRun

SECONDS = 0.5  # seconds between two looks at runs that other sweeps have claimed
STARTS = 3  # of workers that die before any of them begins a run
UNENDED = ("interrupted", "skipped", "due", "claimed", "full")  # of runs that this process did not bring to an end


@dataclass(eq=False)
class Todo:
    """A run to be done: its configuration, what to call it, and what the store has of it before, be it of other data.

    ``status`` is its progress: the status of its `Outcome`, or as `_in_store` names it.
    """

    config: dict
    name: str
    before: StoredRun | None = None
    failure: StoredRun | None = None
    status: str = "due"


def finish(todo: Sequence[Todo], launch: Callable, results_dir, folder: Path) -> None:
    """Run all runs; ``status`` of each is how it ended.

    Parameters
    ----------
    todo : sequence of Todo
        The runs to make.
    launch : callable
        ``launch(todo)`` does runs and returns the `Outcome` or the exception of each; it raises where a worker took all others
        with it.
    results_dir : path
        The store.
    folder : path
        Folder of the sweep (`fwexp.run.relay`), where workers note which runs have begun.

    Raises
    ------
    UserError
        Nothing can be launched in this way.
    RunsFailed
        The launcher itself does not work.
    """
    for run in todo:
        run.before, run.failure = store.stored(results_dir, run.config), store.failure(results_dir, run.config)
    pending, alone, fruitless = list(todo), [], 0
    while pending:
        # Runs that a launcher lost as a whole go alone, then all the rest: it lost runs of its other workers, too.
        batch = alone[:1] or pending
        try:
            returned = launch(batch)
        except (UserError, RunsFailed):
            raise
        except Exception as error:
            broken, statuses = error, [_in_store(run, results_dir) for run in batch]
        else:
            broken, statuses = None, [_status(done) for done in returned]
        for run, status in zip(batch, statuses, strict=True):
            if status in ("due", "lost", "claimed", "full"):
                found = _in_store(run, results_dir)  # A failure that is stored is final, also if its worker died after that.
                if found in ("done", "failed"):
                    if status == "claimed":  # It was taken over, or another sweep was faster.
                        _tell(run, found)
                    status = found
            if status in ("done", "failed") and relay.has_begun(folder, key_of(run.config)):
                deaths.forget(store.run_dir(results_dir, run.config))  # A worker died after the run had ended, in another sweep.
            died = status in ("due", "lost", "claimed") and relay.has_begun(folder, key_of(run.config))
            run.status = "lost" if died else status
            if died:
                print_line(f"{run.name}: its worker died; again")
        if any(run.status == "full" for run in batch):
            raise RunsFailed("the sweep broke off: nothing more can be stored; make room, and repeat the command to go on")
        if relay.is_over(folder):  # A run failed, and that was to end the sweep.
            for run in pending:
                run.status = "skipped" if run.status in ("lost", "claimed") else run.status
            return
        fruitless = fruitless + 1 if all(run.status == "due" for run in batch) else 0
        if fruitless and (fruitless == STARTS or not isinstance(broken, BrokenExecutor | None)):
            said = f"{type(broken).__name__}: {' '.join(str(broken).split())}" if broken else "workers die before they begin a run"
            raise RunsFailed(f"the sweep broke off: {said}") from broken
        alone = [run for run in dict.fromkeys([*alone, *(batch if broken else ())]) if run.status == "lost"]
        pending = [run for run in pending if run.status in ("lost", "due")]
        if not pending:
            pending = _wait([run for run in todo if run.status == "claimed"], results_dir)


def counts(todo: Sequence[Todo]) -> tuple[int, int]:
    """Return how many runs failed, and how many did not end: interrupted in their workers, or never begun."""
    by_status = Counter(run.status for run in todo)
    return by_status["failed"], sum(by_status[status] for status in UNENDED)


def _status(returned: Outcome | Exception) -> str:
    match returned:
        case UserError():
            raise returned
        case WorkersLost():
            return "due"
        case Exception():
            print_line(f"failed: {returned!r}")
            return "failed"
    return returned.status


def _in_store(run: Todo, results_dir) -> str:
    """Return ``done``, ``failed``, ``lost`` (its process died), ``claimed`` (another process makes it) or ``due``.

    What another version of the code stores meanwhile is not the run.
    """
    pairs = (("done", store.stored, run.before), ("failed", store.failure, run.failure))
    for status, look, before in pairs:
        now = look(results_dir, run.config)
        if now is not None and (before is None or now.record != before.record) and not now.stale:
            return status
    final = store.run_dir(results_dir, run.config)
    return "lost" if locks.is_orphaned(final) else "claimed" if locks.is_claimed(final) else "due"


def _wait(claimed: Sequence[Todo], results_dir) -> list[Todo]:
    """Wait for runs that others have in work; return those, if any, that are to be done here after all."""
    if claimed:
        print_line(waiting(f"{len(claimed)} runs that are in work in other processes", claimed[0].config, results_dir))
    while claimed:
        for run in claimed:
            run.status = _in_store(run, results_dir)
            if run.status in ("done", "failed"):
                _tell(run, run.status)
        again = [run for run in claimed if run.status in ("lost", "due")]
        if again:
            for run in again:
                locks.drop(store.run_dir(results_dir, run.config))
            return again
        claimed = [run for run in claimed if run.status == "claimed"]
        time.sleep(SECONDS if claimed else 0)
    return []


def _tell(run: Todo, ended: str) -> None:
    print_line(f"{run.name}: {'stored' if ended == 'done' else ended} in another process")


def waiting(what: str, config: Mapping, results_dir) -> str:
    """Return the line about a run that is waited for: by whom it is held, and for how long at most if its process has died."""
    who = locks.described(store.run_dir(results_dir, config))
    return f"waiting for {what}" + f": on {who}; taken over after {locks.STALE:g} s without a sign of life" * bool(who)
