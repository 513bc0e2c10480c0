"""Sweeps: many runs, through launchers, given by their configurations; `fwexp.run.from_arguments` makes these of arguments.

What is stored is left out before anything is launched, so a repeated sweep continues an interrupted one.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence

from fwexp import plugin_files, store
from fwexp.driver.progress import print_line
from fwexp.errors import RunsFailed, UserError
from fwexp.files import folders
from fwexp.run import runner
from fwexp.run.config import SWEEP_KEYS
from fwexp.run.execution import Todo, finish
from fwexp.run.executors import BASIC, Executor, check_clusters
from fwexp.store.keys import GROUPS, STALE, key_of
from fwexp.store.run_labels import labels
from fwexp.store.stored_run import StoredRun

MOST_REASONS, MOST_LEFT = 3, 20  # that a line lists


class Sweep:
    """Lists of runs, each run done once; ``unfit`` has the reasons, by key, why ``skip_invalid`` left runs out."""

    def __init__(
        self, executor: Executor, where: Mapping, tried: dict[str, Todo] | None = None, misfits: Sequence[UserError] = ()
    ) -> None:
        self._executor, self.tried, self._misfits = executor, {} if tried is None else tried, list(misfits)
        self.unfit: dict[str, UserError] = {}
        self._settings = {key: where[key] for key in SWEEP_KEYS}
        # Workers outlive sweeps, and may be at work in another folder than this process by now.
        places = {key: where[key] and str(folders.check_folder(key, where[key]).absolute()) for key in folders.FOLDER_KEYS}
        self._where = {key: value for key, value in where.items() if key not in SWEEP_KEYS} | places

    def run_all(self, configs: Sequence[Mapping]) -> list[Mapping]:
        """Run what is not stored of a list, and return the configurations that fit."""
        (error,) = self.run([configs])
        if error is not None:
            raise error
        return [config for config in configs if key_of(config) not in self.unfit]

    def run(
        self, groups: Sequence[Sequence[Mapping]], names: Mapping[str, str] | None = None
    ) -> list[UserError | RunsFailed | None]:
        """Run what is not stored of lists of canonical configurations, and return the error of each list."""
        # ``names`` has the names of the runs by key; by default these are numbers and settings, and a line counts the runs.
        store.tidy(self._where["results_dir"])
        configs, stored, due, errors, before = {}, {}, {}, [], len(self.unfit)
        for group in groups:
            new = {key: config for config in group if (key := key_of(config)) not in configs}
            try:
                of_group, todo = self._plan(new, must_fit=names is None)
            except UserError as error:
                errors.append(error)
                continue
            errors.append(None)
            configs |= {key: new[key] for key in of_group}
            stored, due = stored | of_group, due | todo
        if None not in errors:
            return errors
        if due:
            store.check_writable(self._where["results_dir"])
            check_clusters(self._executor, self._where.get("address"))
        if names is None:
            _announce(stored, due, sum(key in self.tried for key, run in stored.items() if run is None))
        broken = self._finish(due, configs, names) if due else None
        left_out, self._misfits = [*self._misfits, *list(self.unfit.values())[before:]], []
        if left_out and names is None:
            print_line(skipped(left_out, len(configs) + len(left_out)))
        known = self.tried | due
        self.tried |= {key: run for key, run in due.items() if run.status in ("done", "failed")}
        mine = [[known[key] for key in map(key_of, group) if key in known] for group in groups]
        return [error or _failure(runs, broken, self._settings["fail_fast"]) for error, runs in zip(errors, mine, strict=True)]

    def _plan(self, configs: dict[str, Mapping], must_fit: bool) -> tuple[dict[str, StoredRun | None], dict[str, Todo]]:
        """Return, by key, what the store has of the runs that fit, and those to be done."""
        results_dir, data_dir, force = self._where["results_dir"], self._where["data_dir"], self._where["force"]
        stored = {key: runner.stored(config, results_dir, data_dir) for key, config in configs.items()}
        todo = {k: Todo(configs[k], results_dir) for k, run in stored.items() if k not in self.tried and store.is_due(run, force)}
        # Again, because what is stored from now on is what a `Todo` looks for.
        stored |= {key: runner.stored(configs[key], results_dir, data_dir) for key in todo}
        due = [key for key in todo if store.is_due(stored[key], force)]
        unfit = {}
        runner.check([configs[key] for key in due], data_dir, unfit if self._settings["skip_invalid"] else None)
        if unfit and len(unfit) == len(configs) and must_fit:
            raise next(iter(unfit.values()))
        self.unfit |= unfit
        fits = {key: run for key, run in stored.items() if key not in unfit}
        return fits, {key: todo[key] for key in due if key in fits}

    def _finish(self, due: Mapping[str, Todo], configs: Mapping[str, Mapping], names: Mapping[str, str] | None):
        """Execute the runs that are due, and return why the sweep broke off."""
        todo = list(due.values()) if self._executor == BASIC else _kinds_first(list(due.values()))
        todo.sort(key=Todo.may_die)  # those that take a sweep with them
        texts = names or dict(zip(configs, labels(list(configs.values())), strict=True))
        for number, run in enumerate(todo, 1):
            run.name = texts[run.key] if names else f"[{number}/{len(todo)}] {texts[run.key]}"
        # What is due is not what another version of the code stores meanwhile.
        sweep = {"where": self._where | {"force": self._where["force"] or STALE}, **self._settings}
        sweep["jobs"] = {run.key: (run.name, run.config) for run in todo}
        sweep["plugins"] = os.environ.get(plugin_files.VARIABLE, "")
        broken = None
        try:
            finish(todo, self._executor, sweep)
        except RunsFailed as error:
            broken = error
        store.tidy(self._where["results_dir"])
        return broken


def skipped(misfits: Sequence[UserError], count: int) -> str:
    """Return the line that reports how many of ``count`` combinations were left out, and why."""
    reasons = Counter(map(str, misfits)).most_common()
    listed = "; ".join(f"{reason} ({number})" for reason, number in reasons[:MOST_REASONS])
    others = f"; and {len(reasons) - MOST_REASONS} other reasons" if len(reasons) > MOST_REASONS else ""
    return f"skipped {len(misfits)} of {count} combinations, which do not fit: {listed}{others}"


def _announce(stored: Mapping[str, StoredRun | None], due: Mapping[str, Todo], failed: int) -> None:
    """Print how many runs there are to do, given runs by key; ``failed`` ones failed before and are left alone."""
    kept = [run for key, run in stored.items() if run is not None and key not in due]
    stale, again = sum(run.stale for run in kept), sum(stored[key] is not None and stored[key].stale for key in due)
    others = f" ({stale} of them by another version of the code; force={STALE} redoes those)" if stale else ""
    redone = f" ({again} of them again, which another version of the code made)" if again else ""
    line = f"{len(stored)} runs: {len(kept)} stored{others}, {len(due)} to run{redone}"
    print_line(line + f", {failed} failed before" * bool(failed))


def _failure(tried: Sequence[Todo], broken: RunsFailed | None, fail_fast: bool) -> RunsFailed | None:
    """Return the sentence on some of the runs of a sweep, which may have broken off."""
    left = [run.name for run in tried if run.status not in ("done", "failed")]
    failed = sum(run.status == "failed" for run in tried)
    if left and broken:
        return broken
    if left and fail_fast:
        others = f" and {len(left) - MOST_LEFT} more" if len(left) > MOST_LEFT else ""
        listed = ", ".join(left[:MOST_LEFT]) + others
        return RunsFailed(f"{failed} of {len(tried)} runs failed, and fail_fast=true ended the sweep; not run: {listed}")
    if failed:
        return RunsFailed(f"{failed} of {len(tried)} runs failed; repeat the command to try them again")
    if left:
        return RunsFailed(f"{len(left)} of {len(tried)} runs were interrupted; repeat the command to finish them")
    return None


def _kinds_first(todo: Sequence[Todo]) -> list[Todo]:
    """Put one run of each data set and solver before the rest, data sets in turn, so that workers compile different kernels."""
    met = Counter()

    def turn(run: Todo) -> float:
        dataset, kind = (json.dumps([run.config.get(group) for group in groups]) for groups in (("dataset",), GROUPS))
        met[kind] += 1
        met[dataset] += met[kind] == 1
        return met[dataset] if met[kind] == 1 else math.inf

    return sorted(todo, key=turn)
