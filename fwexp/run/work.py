"""The work of a sweep, until every run is stored or has failed: also what workers lose, and what other sweeps have in work.

Whether a run is done is read from the store, not from what a launcher returns: a launcher whose worker was killed returns
nothing at all, and a run may be finished by another sweep on the same store.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hydra.core.utils import JobStatus

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed
from fwexp.files import locks
from fwexp.run import runner
from fwexp.store.stored_run import StoredRun

SECONDS = 0.5  # between two looks at what other sweeps have in work
LOSSES = 2  # a run whose workers died so many times has failed
UNENDED = ("interrupted", "skipped", "due", "claimed")  # of runs that this process did not bring to an end


@dataclass(eq=False)
class Todo:
    """A run to be done: its configuration, what to call it, and what the store has of it before, be it of other data.

    ``status`` says how far it is: that of its `Outcome`, or as `_in_store` names it.
    """

    config: dict
    name: str
    before: StoredRun | None = None
    failure: StoredRun | None = None
    status: str = "due"


def finish(todo: Sequence[Todo], launch: Callable, results_dir) -> None:
    """Do all runs; their ``status`` says what became of each.

    Parameters
    ----------
    todo : sequence of Todo
        What is to be done.
    launch : callable
        ``launch(todo)`` does runs and returns Hydra's JobReturn of each; it raises where a worker died.
    results_dir : path
        The store.

    Raises
    ------
    RunsFailed
        The launcher itself does not work.
    """
    for number, each in enumerate(todo, 1):
        each.name = f"[{number}/{len(todo)}] {each.name}"
        each.before, each.failure = store.stored(results_dir, each.config), store.failure(results_dir, each.config)
    pending, losses = list(todo), Counter()
    while pending:
        # What was lost goes alone, then all the rest: a worker that dies takes the others with it, and what they had in work.
        batch = [each for each in pending if losses[each]][:1] or pending
        try:
            returned = launch(batch)
        except Exception as error:  # a worker was killed, for instance
            broken, found = error, [_in_store(each, results_dir) for each in batch]
        else:
            broken, found = None, [_status(done) for done in returned]
        for each, status in zip(batch, found, strict=True):
            each.status = status
        lost = [each for each in batch if each.status == "lost"]
        if broken and not lost and all(each.status == "due" for each in batch):
            raise RunsFailed(f"the sweep broke off: {type(broken).__name__}: {' '.join(str(broken).split())}") from broken
        for each in lost:
            losses[each] += 1
            if losses[each] == LOSSES:
                outcome = runner.fail(
                    RuntimeError(f"its worker died {LOSSES} times: killed, or out of memory"), each.config, results_dir
                )
                print_line(f"{each.name}: {outcome.message}")
                each.status = "failed"
            else:
                print_line(f"{each.name}: its worker died; again")
        pending = [each for each in pending if each.status in ("lost", "due")]
        if not pending:
            pending = _wait([each for each in todo if each.status == "claimed"], results_dir)


def counts(todo: Sequence[Todo]) -> tuple[int, int]:
    """Return how many runs failed, and how many did not end: interrupted in their workers, or never begun."""
    found = Counter(each.status for each in todo)
    return found["failed"], sum(found[status] for status in UNENDED)


def _status(done) -> str:
    if done.status is JobStatus.COMPLETED:
        return done.return_value.status
    print_line(f"failed: {done._return_value!r}")  # the public property writes and raises
    return "failed"


def _in_store(each: Todo, results_dir) -> str:
    """Return ``done``, ``failed``, ``lost`` (its process died), ``claimed`` (somebody has it in work) or ``due``."""
    run = store.stored(results_dir, each.config)
    if run is not None and (each.before is None or run.record != each.before.record):
        return "done"
    failure = store.failure(results_dir, each.config)
    if failure is not None and (each.failure is None or failure.record != each.failure.record):
        return "failed"
    final = store.run_dir(results_dir, each.config)
    return "lost" if locks.lost(final) else "claimed" if locks.held(final) else "due"


def _wait(claimed: Sequence[Todo], results_dir) -> list[Todo]:
    """Wait for runs that others have in work; return those, if any, that are to be done here after all."""
    if claimed:
        print_line(waiting(f"{len(claimed)} runs that are in work in other processes", claimed[0].config, results_dir))
    while claimed:
        for each in claimed:
            each.status = _in_store(each, results_dir)
            if each.status in ("done", "failed"):
                print_line(f"{each.name}: {each.status} in another process")
        again = [each for each in claimed if each.status in ("lost", "due")]
        if again:
            for each in again:
                locks.drop(store.run_dir(results_dir, each.config))
            return again
        claimed = [each for each in claimed if each.status == "claimed"]
        time.sleep(SECONDS if claimed else 0)
    return []


def waiting(what: str, config: Mapping, results_dir) -> str:
    """Return the line that says what is waited for: by whom, and for how long at most if that has died without a word."""
    who = locks.described(store.run_dir(results_dir, config))
    return f"waiting for {what}" + f": on {who}; taken over after {locks.STALE:g} s without a sign of life" * bool(who)
