"""The runs of a sweep, here or in workers, by an executor."""

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fwexp import plugin_files, store
from fwexp.driver.progress import print_line, without_summaries
from fwexp.errors import UserError
from fwexp.run import deaths, interrupts, relay, runner
from fwexp.run.executors import Basic, Executor, Joblib
from fwexp.run.runner import Outcome
from fwexp.run.work import Todo
from fwexp.store.keys import key_of


def launch(todo: Sequence[Todo], executor: Executor, folder: Path) -> list[Outcome | Exception]:
    """Hand runs of the sweep with this folder to the executor, by key, and wait for them.

    Where a worker died, an executor either raises, having lost all, or returns `WorkersLost` for the run.
    """
    keys = [key_of(run.config) for run in todo]
    try:
        return _launched(keys, executor, folder)
    finally:
        _note_overrun(folder, keys)


def _launched(keys: Sequence[str], executor: Executor, folder: Path) -> list[Outcome | Exception]:
    if not isinstance(executor, Basic):
        return _in_workers(executor, folder, keys)
    apart = [key for key in keys if _may_die(folder, key)]
    returned = {key: returned_by(_here, folder, key) for key in keys if key not in apart}
    if apart:
        returned |= zip(apart, _in_workers(Joblib(n_jobs=1), folder, apart), strict=True)
    return [returned[key] for key in keys]


def _in_workers(executor: Executor, folder: Path, keys: Sequence[str]) -> list[Outcome | Exception]:
    with interrupts.passed_on(folder):
        return executor.map(functools.partial(returned_by, _in_worker), folder, keys)


def returned_by(work: Callable, folder: Path, key: str) -> Outcome | Exception:
    """Return what a function returns or raises."""
    try:
        return work(folder, key)
    except Exception as error:
        return error


def _may_die(folder: Path, key: str) -> bool:
    """Return whether a run needs a process of its own, because it can take this one with it."""
    sweep = relay.read(folder)
    results_dir, config = sweep["where"]["results_dir"], sweep["jobs"][key]["config"]
    return (
        sweep.get("wall_limit") is not None
        or deaths.has_died(store.run_dir(results_dir, config))
        or deaths.is_death(store.failure(results_dir, config))
    )


def _note_overrun(folder: Path, keys: Sequence[str]) -> None:
    """Store the failures of runs whose processes were ended because they took too long."""
    for key in keys:
        if relay.has_overrun(folder, key):
            name, config, where = _what(folder, key)
            outcome = runner.fail(deaths.WallTimeExceeded(relay.read(folder)["wall_limit"]), config, where["results_dir"])
            deaths.forget(store.run_dir(where["results_dir"], config))
            relay.end(folder, key, f"{name}: {outcome.message}")
            _end_at_failure(folder, outcome)


def _here(folder: Path, key: str) -> Outcome:
    """Run a run of the sweep that has this folder, in this process."""
    if relay.is_over(folder):  # at its first failure
        return Outcome("skipped")
    name, config, where = _what(folder, key)
    outcome = _run(config, where, verbose=sys.stderr.isatty())
    _end_at_failure(folder, outcome)
    if outcome.status != "claimed":
        print_line(f"{name}: {outcome.message}")
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return outcome


def _in_worker(folder: Path, key: str) -> Outcome:
    relay.check_seen(folder)
    if relay.is_over(folder):
        return Outcome("skipped")
    plugin_files.use(relay.read(folder)["plugins"])  # as they are there, on any host
    name, config, where = _what(folder, key)
    line = ""
    relay.begin(folder, key)
    try:
        with interrupts.heard(folder), relay.limited(folder, key):
            outcome = _run(config, where)
        _end_at_failure(folder, outcome)
        if outcome.status != "claimed":
            line = f"{name}: {outcome.message}"
        return outcome
    finally:  # also if submitit ends it, to continue it in another job
        relay.end(folder, key, line)


def _end_at_failure(folder: Path, outcome: Outcome) -> None:
    """End a sweep with ``fail_fast`` if a run has failed, and any sweep if nothing more can be stored."""
    if outcome.status == "full" or (outcome.status == "failed" and relay.read(folder)["fail_fast"]):
        relay.stop(folder)


def _what(folder: Path, key: str) -> tuple[str, dict, dict]:
    """Return the name and the configuration of a run, and where it is done."""
    sweep = relay.read(folder)
    return sweep["jobs"][key]["name"], sweep["jobs"][key]["config"], sweep["where"]


def _run(config: dict, where: dict, *, verbose=False) -> Outcome:
    try:
        with without_summaries():
            return runner.run(config, **where, verbose=verbose)
    except (UserError, OSError) as error:
        if runner.is_full(error):
            return Outcome("full", None, f"failed: {error}")
        return runner.fail(error, config, where["results_dir"])
