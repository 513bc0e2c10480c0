"""``engine``: where one training runs. Null is this process, ``dask`` the workers of a cluster (`fwexp.distributed`)."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import check_choice, check_integer, check_positive, make_options, option
from fwexp.store.keys import TRAIN

SOLVERS = ("auto", "bcfw")
PLACE = ("address", "patience")  # keys that change no number


def _check_address(name: str, value) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be the address of a Dask scheduler, got {shown(value)}")
    return value


@dataclass(frozen=True)
class Engine:
    """The options of ``engine=dask``; see ``conf/engine/dask.yaml``."""

    name: str = option("dask", check_choice, ("dask",))
    workers: int = option(2, check_integer, 1)
    address: str | None = option(None, _check_address, optional=True)
    scheme: str | None = option(None, check_choice, ("oracles", "local"), optional=True)
    patience: float = option(300.0, check_positive)


def check_engine(given, task: str, solver: str) -> Engine | None:
    """Return the engine of a composed configuration, None for this process."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ParameterError(f"engine must be dask or null, got {shown(given)}")
    if task != TRAIN:
        raise OptionError(f"engine={given.get('name')} goes with task=train, got task={task}")
    engine = make_options("engine", Engine, given, joint=".")
    if engine.scheme is not None and solver not in SOLVERS:
        raise OptionError(f"engine.scheme goes with solver={','.join(SOLVERS)}, got solver={solver}")
    return engine


def check_parts(engine: Mapping | None, problem) -> None:
    """Check that every worker of a canonical configuration's engine has an example, before workers are started."""
    if engine is not None and engine["workers"] > problem.n:
        raise ParameterError(f"engine.workers must be an integer in 1 .. {problem.n}, got {engine['workers']}")


def spread(problem, engine: Mapping | None, place: Mapping):
    """Return a context with the problem where a canonical configuration has it solved; ``place`` has values of `PLACE`."""
    if engine is None:
        return nullcontext(problem)
    from fwexp.distributed import engine as dask

    return dask.spread(problem, engine["workers"], **place)
