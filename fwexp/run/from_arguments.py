"""From the arguments of ``fwexp run -m``, or a list of configurations, to a sweep.

`expand` and `execute` serve people's scripts, `execute_together` serves ``fwexp figure``, `run` is ``fwexp run -m``.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from fwexp.errors import OptionError, RunsFailed, UserError
from fwexp.run import grids
from fwexp.run.composition import Composition, composing
from fwexp.run.config import execution_settings, quote
from fwexp.run.execution import Todo
from fwexp.run.executors import BASIC, executor_of
from fwexp.run.sweep import Sweep


def run(composition: Composition, overrides: Sequence[str]) -> None:
    """Run all combinations of the arguments of ``fwexp run -m``."""
    points = grids.expand(composition, overrides)
    _sweep_of(points).run_all(points.configs.values())


def expand(overrides: Sequence[str], *, preset: str | None = None) -> list[dict]:
    """Return the canonical configurations of the arguments of ``fwexp run -m``, each once, all of them validated."""
    chosen = [] if preset is None else [f"hydra.sweeper.preset={quote(preset)}"]
    with composing() as composition:
        points = grids.expand(composition, [*overrides, *chosen])
    if points.executor != BASIC and not any(text.startswith("hydra/launcher=") for text in overrides):
        name = points.executor.name
        raise OptionError(f"an experiment that is run from here must choose no launcher, got {name}; give it as an argument")
    return list(points.configs.values())


@contextlib.contextmanager
def planned(overrides: Sequence[str]) -> Iterator[tuple[list[dict], dict, Callable[[Sequence[Mapping]], list[Mapping]]]]:
    """Yield the plan of ``fwexp run -m``: configurations, places, and a function that runs some and returns those that fit."""
    with composing() as composition:
        points = grids.expand(composition, overrides)
        sweep = _sweep_of(points)
        yield list(points.configs.values()), points.execution, sweep.run_all


def execute(configs: Sequence[Mapping], *, launcher="basic", settings: Sequence[str] = (), **where) -> None:
    """Run the canonical configurations of a list that are not stored; ``where`` has keys of `execution_settings`."""
    (error,) = execute_together([configs], launcher=launcher, settings=settings, **where)
    if error is not None:
        raise error


def execute_together(
    groups: Sequence[Sequence[Mapping]],
    *,
    launcher="basic",
    settings: Sequence[str] = (),
    tried: dict[str, Todo] | None = None,
    **where,
) -> list[UserError | RunsFailed | None]:
    """Run what is not stored of several lists, each run once, as one sweep; return the error of each list."""
    # ``tried`` has the runs of sweeps before, by key, which are not run again, not even with ``force``; this sweep adds its own.
    with composing() as composition:
        executor = executor_of(composition.compose([f"hydra/launcher={launcher}", *settings]))
    return Sweep(executor, execution_settings(where), tried=tried).run(groups)


def _sweep_of(points: grids.Points) -> Sweep:
    """Return the sweep of the points of a command, which searches nothing."""
    if (quantity := points.execution["objective_value"]) is not None:
        raise OptionError(f"objective_value is what hydra/sweeper=optuna minimises, got {quantity!r} without that")
    return Sweep(points.executor, points.execution, misfits=points.misfits)
