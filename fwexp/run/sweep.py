"""Sweeps: many runs, through Hydra's launchers.

`expand` and `execute` serve people's scripts, `execute_together` serves ``fwexp figure``; `GridSweeper` is the same behind
``fwexp run -m``. What is stored is left out before anything is launched, so a repeated sweep continues an interrupted one.
"""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.files import folders
from fwexp.run import dask_launcher, grids, launching, relay, runner, work
from fwexp.run.config import LAUNCHERS, conf_dir, conf_dirs, execution_settings, quote, register_schema
from fwexp.run.dask_launcher import DaskLauncher
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_loader import checked, current, started_by_us
from fwexp.run.hydra_settings import SWEEPER
from fwexp.run.work import Todo
from fwexp.store.keys import GROUPS, STALE, key_of
from fwexp.store.run_labels import labels
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
        """Keep what Hydra passes."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run all combinations of ``arguments``."""
        hydra = self._config.hydra
        loader = checked(self._context.config_loader)
        given = [text for text in hydra.overrides.hydra if text != "hydra.mode=MULTIRUN"]  # Hydra adds that one for -m.
        configs, where = grids.expand(loader, [*given, *arguments], hydra.job.config_name)
        _raise_any(_execute([configs], {}, self._config, **where))


class SearchPath(SearchPathPlugin):
    """Where Hydra looks for YAML files in addition to our own: in the folders ``conf`` of other packages."""

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
    dask_launcher.register()
    plugins = Plugins.instance()
    for plugin in (GridSweeper, SearchPath, DaskLauncher):
        plugins.register(plugin)
    plugins.class_name_to_class |= {SWEEPER: GridSweeper, LAUNCHERS["dask"]: DaskLauncher}  # Hydra takes none from elsewhere


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


@contextlib.contextmanager
def planned(overrides: Sequence[str]) -> Iterator[tuple[list[dict], dict, Callable[[Sequence[Mapping]], None]]]:
    """Give what ``fwexp run -m`` would run: the configurations, the places, and a function that runs some as the overrides say.

    Parameters
    ----------
    overrides : sequence of str
        What would follow ``fwexp run -m``, also of the launcher.
    """
    of_hydra = [text for text in overrides if text.lstrip("+~").startswith(("hydra/", "hydra."))]
    with hydra_loader() as loader:
        configs, where = grids.expand(loader, overrides, CONFIG_NAME)
        config = loader.load_configuration(CONFIG_NAME, of_hydra, run_mode=RunMode.MULTIRUN)
        yield configs, where, lambda some: _raise_any(_execute([some], {}, config, **where))


def execute(configs: Sequence[Mapping], *, launcher="basic", settings: Sequence[str] = (), **where) -> None:
    """Run what is not stored of a list of canonical configurations.

    Parameters
    ----------
    configs : sequence of dict
        As `expand` returns them.
    launcher : str
        One of Hydra's (``basic``, ``joblib``, ``submitit_local``, ``submitit_slurm``) or ``dask``.
    settings : sequence of str
        What is not as it is by default with it, such as ``hydra.launcher.n_workers=4``.
    **where
        ``results_dir``, ``data_dir``, ``force`` and ``checkpoint``, as in ``conf/config.yaml``.

    Raises
    ------
    RunsFailed
        A run failed; the others have finished.
    KeyboardInterrupt
        The sweep was interrupted; the current runs are kept as partial runs.
    """
    _raise_any(execute_together([configs], launcher=launcher, settings=settings, **where))


def execute_together(
    groups: Sequence[Sequence[Mapping]],
    *,
    launcher="basic",
    settings: Sequence[str] = (),
    tried: dict[str, Todo] | None = None,
    **where,
) -> list[UserError | RunsFailed | None]:
    """Run what is not stored of several lists of configurations, each once, as one sweep: workers idle at its end only.

    Parameters
    ----------
    groups : sequence of sequence of dict
        Lists as `execute` takes them.
    launcher, settings
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
        config = loader.load_configuration(CONFIG_NAME, [f"hydra/launcher={launcher}", *settings], run_mode=RunMode.MULTIRUN)
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

    if loader := current():
        yield loader
        return
    register()
    try:
        with started_by_us(RunMode.RUN):
            started = initialize_config_dir(str(conf_dir()), version_base="1.3", job_name="fwexp")
        with started:
            hydra = GlobalHydra.instance().hydra
            hydra.config_loader = checked(hydra.config_loader)  # which `current` finds
            yield hydra.config_loader
    except COMPOSING as error:
        raise explain(error) from error


def _execute(groups, tried, config, *, results_dir, data_dir, force, checkpoint, **place) -> list:
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
        dask_launcher.check_cluster(config.hydra, place.get("address"))
    _announce(stored, due, sum(key in tried for key, run in stored.items() if run is None))
    broken = None
    if due:
        todo = list(due.values()) if launching.runs_here(config.hydra) else _kinds_first(list(due.values()))
        _name(todo, configs)
        where = {
            "results_dir": str(results_dir),
            "data_dir": data_dir and str(data_dir),
            "force": force,
            "checkpoint": checkpoint,
            **place,
        }
        jobs = {key_of(run.config): {"name": run.name, "config": run.config} for run in todo}
        try:
            with relay.sweeping(results_dir, {"where": where, "jobs": jobs}) as folder:
                work.finish(todo, lambda todo: launching.launch(todo, config, folder), results_dir, folder)
        except RunsFailed as error:
            broken = error
        store.tidy(results_dir)
    known = tried | due
    tried |= {key: run for key, run in due.items() if run.status not in work.UNENDED}
    mine = [[known[key] for key in map(key_of, group) if key in known] for group in groups]
    return [error or _failure(runs, broken) for error, runs in zip(errors, mine, strict=True)]


def _announce(stored: Mapping[str, StoredRun | None], due: Mapping[str, Todo], failed: int) -> None:
    """Print how many runs there are to do, given runs by key; ``failed`` ones failed before and are left alone."""
    kept = [run for key, run in stored.items() if run is not None and key not in due]
    stale = sum(run.stale for run in kept)
    others = f" ({stale} of them by another version of the code; force={STALE} redoes those)" if stale else ""
    print_line(f"{len(stored)} runs: {len(kept)} stored{others}, {len(due)} to run" + f", {failed} failed before" * bool(failed))


def _name(todo: Sequence[Todo], configs: Mapping[str, Mapping]) -> None:
    """Give runs numbers, and names by the settings that tell them apart."""
    names = dict(zip(configs, labels(list(configs.values())), strict=True))
    for number, run in enumerate(todo, 1):
        run.name = f"[{number}/{len(todo)}] {names[key_of(run.config)]}"


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
