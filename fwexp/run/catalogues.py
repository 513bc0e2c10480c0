"""What ``dataset`` and ``solver`` of a configuration may name: data sets and solvers, and what tasks of another kind have instead.

A task on convex sets has ``instances`` in place of data sets and ``methods`` in place of solvers. All names differ, so a run is
found by its names alone.
"""

from collections.abc import Mapping

from fwexp.errors import ParameterError
from fwexp.options import check_choice, check_fields
from fwexp.store.keys import task_of


def _others(kind: str) -> dict:
    from fwexp.tasks import TASKS

    return {name: value for task in TASKS.values() for name, value in (getattr(task, kind) or {}).items()}


def datasets() -> list[str]:
    """Return all names of data sets and instances."""
    from fwexp.data import DATASETS

    return [*DATASETS, *_others("instances")]


def solvers() -> list[str]:
    """Return all names of solvers and methods."""
    from fwexp.solvers import SOLVERS

    return [*SOLVERS, *_others("methods")]


def dataset(name: str):
    """Return a data set or an instance."""
    from fwexp.data import DATASETS

    return DATASETS[name] if name in DATASETS else _others("instances")[name]


def check_dataset(name: str, options: Mapping, instances: Mapping | None = None):
    """Return the options dataclass of what ``dataset`` names: one of a task's instances, or a data set.

    Raises
    ------
    ParameterError
        Unknown name or value.
    OptionError
        Unknown option.
    """
    from fwexp.data import check_options

    if instances is not None:
        check_choice("dataset", name, instances)
    elif name not in (instances := _others("instances")):
        return check_options(name, options)
    return instances[name].check_options(options)


def check_solver(name: str, options: Mapping, methods: Mapping | None = None):
    """Return the options dataclass of what ``solver`` names: one of a task's methods, or a solver.

    Raises
    ------
    ParameterError
        Unknown name or value.
    OptionError
        Unknown option.
    """
    from fwexp.solvers import check_options, get_solver

    if methods is None:
        return check_options(get_solver(name), options)
    cls = methods[check_choice("solver", name, methods)]
    return cls.Options(**check_fields(f"solver {name}", cls.Options, options, defaults=False))


def check_place(task, group: str, name: str) -> None:
    """Refuse a name that is there for other tasks only; names that nothing has are left to those who list what there is.

    Parameters
    ----------
    task : type
        A task.
    group : {"dataset", "solver"}
    name : str

    Raises
    ------
    ParameterError
        A method on convex sets for training, for instance.
    """
    from fwexp.data import DATASETS
    from fwexp.solvers import SOLVERS
    from fwexp.tasks import TASKS

    kind, partner, own = {"dataset": ("instances", "solver", DATASETS), "solver": ("methods", "dataset", SOLVERS)}[group]

    def offers(other) -> Mapping:
        return own if getattr(other, kind) is None else getattr(other, kind)

    if name in offers(task) or not (others := [other for other in TASKS.values() if name in offers(other)]):
        return
    partners = {"solver": others[0].methods, "dataset": others[0].instances}[partner]
    where = f"task={', '.join(other.name for other in others)}" + (f" with {partner}={', '.join(partners)}" if partners else "")
    raise ParameterError(f"{group} {name} is for {where}; accepted for task={task.name}: {', '.join(sorted(offers(task)))}")


def modules(config: Mapping) -> list[str]:
    """Return the modules of the solver, the data set and the task of a canonical configuration."""
    from fwexp.data import DATASETS
    from fwexp.solvers import SOLVERS
    from fwexp.tasks import TASKS

    solver, dataset = config["solver"]["name"], config["dataset"]["name"]

    makers = [SOLVERS.module(solver) if solver in SOLVERS else _others("methods")[solver].__module__]
    makers.append(DATASETS.module(dataset) if dataset in DATASETS else _others("instances")[dataset].make.__module__)
    return [*makers, TASKS.module(task_of(config))]
