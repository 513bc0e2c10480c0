"""Sweeps: many runs, through launchers.

`expand` and `execute` serve people's scripts, `execute_together` serves ``fwexp figure``, `run` is ``fwexp run -m``. What is
stored is left out before anything is launched, so a repeated sweep continues an interrupted one.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.run import grids
from fwexp.run.composition import Composition, composing
from fwexp.run.config import execution_settings, quote
from fwexp.run.execution import execute_in
from fwexp.run.executors import EXECUTORS, Basic, executor_of
from fwexp.run.work import Todo
from fwexp.store.keys import key_of


def run(composition: Composition, overrides: Sequence[str]) -> None:
    """Run all combinations of the arguments of ``fwexp run -m``."""
    points = grids.expand(composition, overrides)
    configs, where = list(points.configs.values()), _places(points)
    _raise_any(execute_in(points.executor, [configs], misfits=points.misfits, **where))


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
    with composing() as composition:
        points = grids.expand(composition, [*overrides, *chosen])
    if not isinstance(points.executor, Basic) and not any(text.startswith("hydra/launcher=") for text in overrides):
        name = next(name for name, kind in EXECUTORS.items() if kind is type(points.executor))
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
    with composing() as composition:
        points = grids.expand(composition, overrides)
        where, misfits = _places(points), points.misfits

        def run(some: Sequence[Mapping]) -> list[Mapping]:
            nonlocal misfits
            reported, misfits = misfits, []  # once
            unfit: dict[str, UserError] = {}
            _raise_any(execute_in(points.executor, [some], misfits=reported, unfit=unfit, **where))
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
    with composing() as composition:
        executor = executor_of(composition.compose([f"hydra/launcher={launcher}", *settings]))
    place = execution_settings(where)
    place.pop("objective_value")
    return execute_in(executor, groups, tried, **place)


def _raise_any(errors: Sequence[Exception | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
