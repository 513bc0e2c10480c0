"""Sweeps: many runs, through Hydra's launchers.

`expand` and `execute` serve people's scripts, `execute_together` serves ``fwexp figure``; `GridSweeper` is the same behind
``fwexp run -m``. What is stored is left out before anything is launched, so a repeated sweep continues an interrupted one.
"""

import contextlib
import copy
import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, RunMode
from omegaconf import OmegaConf, read_write

from fwexp import store
from fwexp.driver.progress import print_line, without_summaries
from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.files import folders
from fwexp.files.processes import this_process
from fwexp.run import grids, interrupts, relay, runner, work
from fwexp.run.config import conf_dir, conf_dirs, execution_settings, literal, quote, register_schema
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_loader import Loader, started_by_us
from fwexp.run.hydra_settings import SWEEPER
from fwexp.run.runner import Outcome
from fwexp.run.work import Todo
from fwexp.store.keys import GROUPS, STALE, key_of
from fwexp.store.labels import labels
from fwexp.store.stored_run import StoredRun

CONFIG_NAME = "config"


@dataclass
class SweeperOptions:
    """The keys of ``hydra.sweeper``; see `fwexp.run.grids`."""

    _target_: str = SWEEPER
    grids: Any = field(default_factory=lambda: [{}])
    smoke: Any = field(default_factory=dict)
    preset: str = "full"


class GridSweeper(Sweeper):
    """Hydra's way into a sweep: ``fwexp run -m``."""

    def __init__(self, grids, smoke, preset) -> None:
        self._context = self._config = None

    def setup(self, *, hydra_context, task_function, config) -> None:
        """Take what Hydra hands over."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run all combinations of ``arguments``."""
        hydra = self._config.hydra
        configs, where = grids.expand(self._context.config_loader, [*hydra.overrides.hydra, *arguments], hydra.job.config_name)
        _raise_any(_execute([configs], {}, self._config, **where))


class SearchPath(SearchPathPlugin):
    """Where Hydra looks for YAML files beside our own: in the folders ``conf`` of other packages."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add these folders."""
        for folder in conf_dirs()[1:]:
            search_path.append(provider="fwexp", path=f"file://{folder}")


def register() -> None:
    """Make the schema, the sweeper and the search path known to Hydra, whose parser advances in its assertions."""
    if not __debug__:
        raise OptionError("configurations are read with Python's assertions: unset PYTHONOPTIMIZE, and leave out -O")
    register_schema()
    ConfigStore.instance().store(group="hydra/sweeper", name="fwexp", node=SweeperOptions)
    for plugin in (GridSweeper, SearchPath):
        Plugins.instance().register(plugin)
    Plugins.instance().class_name_to_class[SWEEPER] = GridSweeper  # Hydra takes plugins from a package of this name only


def expand(overrides: Sequence[str], *, preset: str | None = None) -> list[dict]:
    """Return the canonical configurations of a sweep, each once, all of them validated.

    Parameters
    ----------
    overrides : sequence of str
        What would follow ``fwexp run -m``, such as ``["+experiment=icml2013/fig1"]``.
    preset : {"full", "smoke"}
        Which values of the grids to take; full if nothing is said.
    """
    chosen = [] if preset is None else [f"hydra.sweeper.preset={quote(preset)}"]
    with hydra_loader() as loader:
        return grids.expand(loader, [*overrides, *chosen], CONFIG_NAME)[0]


def execute(configs: Sequence[Mapping], *, launcher="basic", **where) -> None:
    """Run what is not stored of a list of canonical configurations.

    Parameters
    ----------
    configs : sequence of dict
        As `expand` returns them.
    launcher : str
        One of Hydra's: ``basic``, ``joblib``, ``submitit_local``.
    **where
        ``results_dir``, ``data_dir``, ``force`` and ``checkpoint``, as in ``conf/config.yaml``.

    Raises
    ------
    RunsFailed
        A run failed; the others have finished.
    KeyboardInterrupt
        The sweep was interrupted; the current runs are kept as partial runs.
    """
    _raise_any(execute_together([configs], launcher=launcher, **where))


def execute_together(
    groups: Sequence[Sequence[Mapping]], *, launcher="basic", tried: dict[str, Todo] | None = None, **where
) -> list[UserError | RunsFailed | None]:
    """Run what is not stored of several lists of configurations, each once, as one sweep: workers idle at its end only.

    Parameters
    ----------
    groups : sequence of sequence of dict
        Lists as `execute` takes them.
    launcher : str
        As in `execute`.
    tried : dict, optional
        What was run by the sweeps before that were given this dictionary, by run key: that is not run again, not even with
        ``force``, but counts where it failed. What this sweep runs is added.
    **where
        As in `execute`.

    Returns
    -------
    list of UserError, RunsFailed or None
        What went wrong with each list: of one whose data or options are wrong, nothing was run that no other list has.

    Raises
    ------
    UserError
        Nothing can be run here at all.
    KeyboardInterrupt
        As in `execute`.
    """
    tried = {} if tried is None else tried
    with hydra_loader() as loader:
        config = loader.load_configuration(CONFIG_NAME, [f"hydra/launcher={launcher}"], run_mode=RunMode.MULTIRUN)
        return _execute(groups, tried, config, **execution_settings(where))


def _raise_any(errors: Sequence[Exception | None]) -> None:
    for error in errors:
        if error is not None:
            raise error


@contextlib.contextmanager
def hydra_loader() -> Iterator:
    """Start Hydra from Python and give its configuration loader, within another such block the same; its errors become one line."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    if GlobalHydra.instance().is_initialized() and isinstance(loader := GlobalHydra.instance().config_loader(), Loader):
        yield loader
        return
    register()
    try:
        with started_by_us(RunMode.RUN):
            started = initialize_config_dir(str(conf_dir()), version_base="1.3", job_name="fwexp")
        with started:
            yield GlobalHydra.instance().config_loader()
    except COMPOSING as error:
        raise explain(error) from error


def _execute(groups, tried, config, *, results_dir, data_dir, force, checkpoint, address=None) -> list:
    # Workers outlive sweeps, and may be at work in another folder than this process by now.
    results_dir = folders.check_folder("results_dir", results_dir).absolute()
    data_dir = data_dir and folders.check_folder("data_dir", data_dir).absolute()
    store.tidy(results_dir)
    configs, stored, due, errors = {}, {}, {}, []
    for group in groups:
        new = {key: c for c in group if (key := key_of(c)) not in configs}
        error = None
        try:
            of_group = {key: store.stored(results_dir, c, runner.known_checksums(c["dataset"], data_dir)) for key, c in new.items()}
            todo = {key: Todo(c, "") for key, c in new.items() if key not in tried and store.is_due(of_group[key], force)}
            runner.check([run.config for run in todo.values()], data_dir)
            configs, stored, due = configs | new, stored | of_group, due | todo
        except UserError as wrong:
            error = wrong
        errors.append(error)
    if None not in errors:
        return errors
    if due:
        store.check_writable(results_dir)
    _announce(stored, due, sum(key in tried for key, run in stored.items() if run is None))
    broken = None
    if due:
        _name(due, configs)
        todo = list(due.values()) if _runs_here(config.hydra.launcher) else _kinds_first(list(due.values()))
        where = {"results_dir": str(results_dir), "data_dir": data_dir and str(data_dir), "force": force, "checkpoint": checkpoint}
        where |= {"address": address} if address else {}
        try:
            work.finish(todo, lambda todo: _launch(todo, config, where), results_dir)
        except RunsFailed as error:
            broken = error
        store.tidy(results_dir)
    known = tried | due
    tried |= {key: run for key, run in due.items() if run.status not in work.UNENDED}
    mine = [[known[key] for key in map(key_of, group) if key in known] for group in groups]
    return [error or _failure(runs, broken) for error, runs in zip(errors, mine, strict=True)]


def _announce(stored: Mapping[str, StoredRun | None], due: Mapping[str, Todo], failed: int) -> None:
    """Say how much there is to do, of runs by key; ``failed`` did before, and are left alone."""
    kept = [run for key, run in stored.items() if run is not None and key not in due]
    stale = sum(run.stale for run in kept)
    others = f" ({stale} of them by another version of the code; force={STALE} redoes those)" if stale else ""
    print_line(f"{len(stored)} runs: {len(kept)} stored{others}, {len(due)} to run" + f", {failed} failed before" * bool(failed))


def _name(due: Mapping[str, Todo], configs: Mapping[str, Mapping]) -> None:
    """Give runs names by what tells them from all that were asked for."""
    for key, name in zip(configs, labels(list(configs.values())), strict=True):
        if key in due:
            due[key].name = name


def _failure(tried: Sequence[Todo], broken: RunsFailed | None) -> RunsFailed | None:
    """Return what to say of some of the runs of a sweep, which may have broken off."""
    failed, missing = work.counts(tried)
    if missing and broken:
        return broken
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


class _Jobs:
    """What a launcher asks about its jobs, in place of Hydra's loader and callbacks: nothing is composed, and nobody listens."""

    def load_sweep_config(self, config, overrides: list[str]):
        """Return Hydra's configuration of a job, which notes what it was launched with."""
        config = copy.deepcopy(config)
        with read_write(config.hydra):
            config.hydra.overrides.task = overrides
        return config

    def on_job_start(self, **_) -> None:
        """Do nothing."""

    on_job_end = on_job_start


def _launch(todo: Sequence[Todo], config, where: Mapping) -> list[JobReturn]:
    """Hand runs to the launcher, by key, and wait for them; raises what it raises when a worker dies."""
    jobs = {key_of(run.config): {"name": run.name, "config": run.config} for run in todo}
    with relay.sweeping(where["results_dir"], {"where": where, "jobs": jobs}) as folder, _workers(config, folder) as config:
        context, task = HydraContext(config_loader=_Jobs(), callbacks=_Jobs()), functools.partial(job, str(folder))
        launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=task, config=config)
        if isinstance(options := getattr(launcher, "joblib", None), dict):  # of its workers, which wait for jobs
            options |= {"initializer": interrupts.follow, "initargs": (this_process(),)}
        return launcher.launch([[key] for key in jobs], initial_job_idx=0)


@contextlib.contextmanager
def _workers(config, folder: Path) -> Iterator:
    """Give a launcher with workers what it needs beside them; yield Hydra's configuration, their own files in ``folder``."""
    if _runs_here(config.hydra.launcher):
        yield config
        return
    config = copy.deepcopy(config)
    files = OmegaConf.to_container(config.hydra.launcher, resolve=False).get("submitit_folder")
    if files and "hydra.sweep.dir" in files:  # its default, which is the working directory
        with read_write(config.hydra):
            config.hydra.launcher.submitit_folder = literal(str(folder / "%j"))
    with interrupts.passed_on():
        yield config


def job(folder: str, _) -> Outcome:
    """Do a run of the sweep with this folder; what launchers call, in this process or in a worker."""
    hydra, sweep = HydraConfig.get(), relay.read(folder)
    (key,) = hydra.overrides.task
    name, config, where = sweep["jobs"][key]["name"], sweep["jobs"][key]["config"], sweep["where"]
    if not _runs_here(hydra.launcher):
        done = interrupts.run_in_worker(Path(folder).name, lambda: _run(config, where))
        if done and done.status != "claimed":
            relay.leave_line(Path(folder), key, f"{name}: {done.message}")
        return done or Outcome("skipped")
    outcome = _run(config, where, verbose=sys.stderr.isatty())
    if outcome.status != "claimed":
        print_line(f"{name}: {outcome.message}")
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return outcome


def _run(config: dict, where: dict, *, verbose=False) -> Outcome:
    try:
        with without_summaries():
            return runner.run(config, **where, verbose=verbose)
    except (UserError, OSError) as error:
        return runner.fail(error, config, where["results_dir"])


def _runs_here(launcher) -> bool:
    return launcher._target_.endswith(".BasicLauncher")
