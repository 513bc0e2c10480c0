"""Execution of a sweep: runs that are not stored, once, by an executor."""

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence

from fwexp import plugin_files, store
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, UserError
from fwexp.files import folders
from fwexp.run import deaths, launching, relay, runner, work
from fwexp.run.executors import Basic, Executor, check_clusters
from fwexp.run.work import Todo
from fwexp.store.keys import GROUPS, STALE, key_of
from fwexp.store.run_labels import labels
from fwexp.store.stored_run import StoredRun

MOST_REASONS, MOST_LEFT = 3, 20  # that a line lists


def execute_in(
    executor: Executor,
    groups: Sequence[Sequence[Mapping]],
    tried: dict[str, Todo] | None = None,
    *,
    results_dir,
    data_dir=None,
    force=False,
    checkpoint=None,
    n_jobs=None,
    skip_invalid=False,
    fail_fast=False,
    wall_limit=None,
    misfits: Sequence[UserError] = (),
    names: Mapping[str, str] | None = None,
    unfit: dict[str, UserError] | None = None,
    **place,
) -> list[UserError | RunsFailed | None]:
    """Run as `execute_together` does, by an executor.

    Parameters
    ----------
    executor : Executor
        Of `fwexp.run.executors`.
    groups, tried
        As in `execute_together`.
    results_dir, data_dir, force, checkpoint, n_jobs, skip_invalid, fail_fast, wall_limit
        As in ``conf/config.yaml``.
    misfits : sequence of UserError
        Why points of the sweep were left out before.
    names : mapping, optional
        Names of the runs, by key; by default their numbers and settings, and their count is printed.
    unfit : dict, optional
        Takes why runs were left out, by key, with ``skip_invalid``.
    **place
        Of an engine, as in `fwexp.run.engine_options.PLACE`.
    """
    tried = {} if tried is None else tried
    # Workers outlive sweeps, and may be at work in another folder than this process by now.
    results_dir = folders.check_folder("results_dir", results_dir).absolute()
    data_dir = data_dir and folders.check_folder("data_dir", data_dir).absolute()
    store.tidy(results_dir)
    configs, stored, due, errors = {}, {}, {}, []
    unfit = {} if unfit is None else unfit
    for group in groups:
        new = {key: c for c in group if (key := key_of(c)) not in configs}
        error, of_new = None, {} if skip_invalid else None
        try:
            of_group = {key: store.stored(results_dir, c, runner.known_checksums(c["dataset"], data_dir)) for key, c in new.items()}
            todo = {key: Todo(c, "") for key, c in new.items() if key not in tried and store.is_due(of_group[key], force)}
            runner.check([run.config for run in todo.values()], data_dir, of_new)
            if of_new:
                if len(of_new) == len(new) and names is None:
                    raise next(iter(of_new.values()))
                unfit |= of_new
                new, of_group, todo = ({k: v for k, v in each.items() if k not in of_new} for each in (new, of_group, todo))
            configs, stored, due = configs | new, stored | of_group, due | todo
        except UserError as wrong:
            error = wrong
        errors.append(error)
    if None not in errors:
        return errors
    if due:
        store.check_writable(results_dir)
        check_clusters(executor, place.get("address"))
    if names is None:
        _announce(stored, due, sum(key in tried for key, run in stored.items() if run is None))
    broken = None
    if due:
        todo = list(due.values()) if isinstance(executor, Basic) else _kinds_first(list(due.values()))
        todo.sort(key=lambda run: deaths.has_died(store.run_dir(results_dir, run.config)))  # those that take a sweep with them
        _name(todo, configs, names)
        where = {
            "results_dir": str(results_dir),
            "data_dir": data_dir and str(data_dir),
            "force": force or STALE,  # what is due is not what another version of the code stores meanwhile
            "checkpoint": checkpoint,
            "n_jobs": n_jobs,
            **place,
        }
        jobs = {key_of(run.config): {"name": run.name, "config": run.config} for run in todo}
        sweep = {"where": where, "jobs": jobs, "fail_fast": fail_fast, "wall_limit": wall_limit}
        sweep["plugins"] = os.environ.get(plugin_files.VARIABLE, "")
        try:
            with relay.sweeping(results_dir, sweep) as folder:
                work.finish(todo, lambda todo: launching.launch(todo, executor, folder), results_dir, folder)
        except RunsFailed as error:
            broken = error
        store.tidy(results_dir)
    left_out = [*misfits, *unfit.values()]
    if left_out and names is None:
        print_line(skipped(left_out, len(configs) + len(left_out)))
    known = tried | due
    tried |= {key: run for key, run in due.items() if run.status not in work.UNENDED}
    mine = [[known[key] for key in map(key_of, group) if key in known] for group in groups]
    return [error or _failure(runs, broken, fail_fast) for error, runs in zip(errors, mine, strict=True)]


def skipped(misfits: Sequence[UserError], count: int) -> str:
    """Return the line that reports how many of ``count`` combinations were left out, and why."""
    reasons = Counter(map(str, misfits)).most_common()
    listed = "; ".join(f"{reason} ({number})" for reason, number in reasons[:MOST_REASONS])
    others = f"; and {len(reasons) - MOST_REASONS} other reasons" if len(reasons) > MOST_REASONS else ""
    return f"skipped {len(misfits)} of {count} combinations, which do not fit: {listed}{others}"


def _announce(stored: Mapping[str, StoredRun | None], due: Mapping[str, Todo], failed: int) -> None:
    """Print how many runs there are to do, given runs by key; ``failed`` ones failed before and are left alone."""
    kept = [run for key, run in stored.items() if run is not None and key not in due]
    stale = sum(run.stale for run in kept)
    again = sum(stored[key] is not None and stored[key].stale for key in due)
    others = f" ({stale} of them by another version of the code; force={STALE} redoes those)" if stale else ""
    redone = f" ({again} of them again, which another version of the code made)" if again else ""
    line = f"{len(stored)} runs: {len(kept)} stored{others}, {len(due)} to run{redone}"
    print_line(line + f", {failed} failed before" * bool(failed))


def _name(todo: Sequence[Todo], configs: Mapping[str, Mapping], given: Mapping[str, str] | None) -> None:
    """Name runs by the given names, or numbers, and by the settings in which they differ."""
    if given is not None:
        for run in todo:
            run.name = given[key_of(run.config)]
        return
    names = dict(zip(configs, labels(list(configs.values())), strict=True))
    for number, run in enumerate(todo, 1):
        run.name = f"[{number}/{len(todo)}] {names[key_of(run.config)]}"


def _failure(tried: Sequence[Todo], broken: RunsFailed | None, fail_fast: bool) -> RunsFailed | None:
    """Return the sentence on some of the runs of a sweep, which may have broken off."""
    failed, missing = work.counts(tried)
    if missing and broken:
        return broken
    if missing and fail_fast:
        left = [run.name for run in tried if run.status in work.UNENDED]
        others = f" and {len(left) - MOST_LEFT} more" if len(left) > MOST_LEFT else ""
        listed = ", ".join(left[:MOST_LEFT]) + others
        return RunsFailed(f"{failed} of {len(tried)} runs failed, and fail_fast=true ended the sweep; not run: {listed}")
    if failed:
        return RunsFailed(f"{failed} of {len(tried)} runs failed; repeat the command to try them again")
    if missing:
        return RunsFailed(f"{missing} of {len(tried)} runs were interrupted; repeat the command to finish them")
    return None


def _kinds_first(todo: Sequence[Todo]) -> list[Todo]:
    """Put one run of each data set and solver before the rest, data sets in turn, so that workers compile different kernels."""
    met, turns = Counter(), []
    for run in todo:
        dataset, kind = (json.dumps([run.config.get(group) for group in groups]) for groups in (("dataset",), GROUPS))
        met[kind] += 1
        if met[kind] == 1:
            met[dataset] += 1
        turns.append(met[dataset] if met[kind] == 1 else math.inf)
    return [todo[place] for place in sorted(range(len(todo)), key=turns.__getitem__)]
