"""Sweeps: many runs, through Hydra's launchers.

`expand` and `execute` serve people's scripts, `execute_together` serves ``fwexp figure``; `GridSweeper` is the same behind
``fwexp run -m``. What is stored is left out before anything is launched, so a repeated sweep continues an interrupted one.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.plugins.sweeper import Sweeper
from hydra.types import RunMode

from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.run import dask_launcher, grids, launching
from fwexp.run.config import LAUNCHERS, conf_dir, conf_dirs, defaults_of, execution_settings, quote, register_schema
from fwexp.run.dask_launcher import DaskLauncher
from fwexp.run.execution import execute_in
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_loader import checked, current, started_by_us
from fwexp.run.hydra_settings import SWEEPERS
from fwexp.run.optuna_sweeper import OptunaOptions, OptunaSweeper
from fwexp.run.work import Todo
from fwexp.store.keys import key_of

CONFIG_NAME = "config"
ALONE = threading.RLock()  # Hydra has global state: one thread at a time composes and sweeps


@dataclass
class SweeperOptions:
    """The keys of ``hydra.sweeper``; see `fwexp.run.grids`."""

    _target_: str = SWEEPERS["fwexp"]
    grids: Any = field(default_factory=lambda: [{}])
    smoke: Any = field(default_factory=dict)
    preset: str = "full"


class GridSweeper(Sweeper):
    """Hydra's way into a sweep: ``fwexp run -m``."""

    def __init__(self, grids, smoke, preset) -> None:
        self._context = self._config = None

    def setup(self, *, hydra_context, task_function, config) -> None:
        """Keep the arguments that Hydra passes."""
        self._context, self._config = hydra_context, config

    def sweep(self, arguments: list[str]) -> None:
        """Run all combinations of ``arguments``."""
        hydra = self._config.hydra
        loader = checked(self._context.config_loader)
        given = [text for text in hydra.overrides.hydra if text != "hydra.mode=MULTIRUN"]  # Hydra adds that one for -m.
        points = grids.expand(loader, [*given, *arguments], hydra.job.config_name)
        configs, where = list(points.configs.values()), _places(points)
        _raise_any(execute_in(points.with_hydra, [configs], misfits=points.misfits, **where))


class SearchPath(SearchPathPlugin):
    """Search path of Hydra for YAML files in addition to our own: the folders ``conf`` of other packages."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add these folders."""
        for folder in conf_dirs()[1:]:
            search_path.append(provider="fwexp", path=f"file://{folder}")


def register() -> None:
    """Make the schema, the sweeper and the search path known to Hydra, whose parser advances in its assertions."""
    if not __debug__:
        raise OptionError("configurations are read with Python's assertions: unset PYTHONOPTIMIZE, and leave out -O")
    register_schema()
    for name, node in (("fwexp", SweeperOptions), ("optuna", {"_target_": SWEEPERS["optuna"]} | defaults_of(OptunaOptions))):
        ConfigStore.instance().store(group="hydra/sweeper", name=name, node=node)
    dask_launcher.register()
    plugins = Plugins.instance()
    for plugin in (GridSweeper, OptunaSweeper, SearchPath, DaskLauncher):
        plugins.register(plugin)
    ours = {SWEEPERS["fwexp"]: GridSweeper, SWEEPERS["optuna"]: OptunaSweeper, LAUNCHERS["dask"]: DaskLauncher}
    plugins.class_name_to_class |= ours  # Hydra takes none from elsewhere


def expand(overrides: Sequence[str], *, preset: str | None = None) -> list[dict]:
    """Return the canonical configurations of a sweep, each once, all of them validated.

    Parameters
    ----------
    overrides : sequence of str
        Arguments of ``fwexp run -m``, such as ``["+experiment=icml2013/fig1"]``.
    preset : {"full", "smoke"}
        Which values of the grids to take; ``full`` by default.
    """
    chosen = [] if preset is None else [f"hydra.sweeper.preset={quote(preset)}"]
    with hydra_loader() as loader:
        points = grids.expand(loader, [*overrides, *chosen], CONFIG_NAME)
    launcher = points.with_hydra.hydra.launcher._target_
    if not launching.runs_here(points.with_hydra.hydra) and not any(text.startswith("hydra/launcher=") for text in overrides):
        name = next(name for name, target in LAUNCHERS.items() if target == launcher)
        raise OptionError(f"an experiment that is run from here must choose no launcher, got {name}; give it as an argument")
    return list(points.configs.values())


@contextlib.contextmanager
def planned(overrides: Sequence[str]) -> Iterator[tuple[list[dict], dict, Callable[[Sequence[Mapping]], list[Mapping]]]]:
    """Return the plan of ``fwexp run -m``: the configurations, the places, and a function that runs some as the overrides say.

    The function returns the configurations that fit, without those that ``skip_invalid`` leaves out.

    Parameters
    ----------
    overrides : sequence of str
        Arguments of ``fwexp run -m``, also of the launcher.
    """
    with hydra_loader() as loader:
        points = grids.expand(loader, overrides, CONFIG_NAME)
        where, misfits = _places(points), points.misfits

        def run(some: Sequence[Mapping]) -> list[Mapping]:
            nonlocal misfits
            reported, misfits = misfits, []  # once
            unfit: dict[str, UserError] = {}
            _raise_any(execute_in(points.with_hydra, [some], misfits=reported, unfit=unfit, **where))
            return [config for config in some if key_of(config) not in unfit]

        yield list(points.configs.values()), where, run


def _places(points: grids.Points) -> dict:
    """Return where the runs of a sweep are done and how, which searches nothing."""
    if (quantity := points.execution.pop("objective_value")) is not None:
        raise OptionError(f"objective_value is what hydra/sweeper=optuna minimises, got {quantity!r} without that")
    return points.execution


def execute(configs: Sequence[Mapping], *, launcher="basic", settings: Sequence[str] = (), **where) -> None:
    """Run the canonical configurations of a list that are not stored.

    Parameters
    ----------
    configs : sequence of dict
        As `expand` returns them.
    launcher : str
        One of Hydra's (``basic``, ``joblib``, ``submitit_local``, ``submitit_slurm``) or ``dask``.
    settings : sequence of str
        Settings that differ from its defaults, such as ``hydra.launcher.n_workers=4``.
    **where
        Of ``conf/config.yaml``: ``results_dir``, ``data_dir``, ``force``, ``checkpoint``, ``n_jobs``, ``skip_invalid``,
        ``fail_fast`` and ``wall_limit``.

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
    """Run the configurations of several lists that are not stored, each once, as one sweep, so workers idle at its end only.

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
        Error of each list: if its data or options are wrong, none of its own runs was made.

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
        place = execution_settings(where)
        place.pop("objective_value")
        return execute_in(config, groups, tried, **place)


def _raise_any(errors: Sequence[Exception | None]) -> None:
    for error in errors:
        if error is not None:
            raise error


@contextlib.contextmanager
def hydra_loader() -> Iterator:
    """Start Hydra from Python and give its configuration loader, within another such block the same; its errors become one line.

    A program that Hydra started, with ``@hydra.main``, has its own Hydra again at the end.
    """
    with ALONE:
        if loader := current():
            yield loader
            return
        with _started() as loader:
            yield loader


@contextlib.contextmanager
def _started() -> Iterator:
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    register()
    before = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with started_by_us(RunMode.RUN):
            started = initialize_config_dir(str(conf_dir()), version_base="1.3", job_name="fwexp")
        with started:
            hydra = GlobalHydra.instance().hydra
            hydra.config_loader = checked(hydra.config_loader)  # which `current` finds
            yield hydra.config_loader
    except COMPOSING as error:
        raise explain(error) from error
    finally:
        GlobalHydra.instance().hydra = before
