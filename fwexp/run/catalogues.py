"""Which data sets, solvers and tasks fit together, by the kind of problem; and the modules that a configuration uses."""

import functools
from collections.abc import Collection, Iterable, Mapping

from fwexp.errors import ParameterError, listed
from fwexp.methods import ALIASES, methods
from fwexp.options import CONVEX, KINDS
from fwexp.store.keys import GROUPS, TRAIN, task_of


@functools.cache
def catalogue(group: str) -> Mapping:
    """Return the choices of a group (``dataset``, ``solver``, ``task``), by name."""
    from fwexp.data import DATASETS
    from fwexp.solvers import SOLVERS
    from fwexp.tasks import TASKS

    if group == "solver":
        TASKS.load_all()  # with the functions that they call, whose parameters are no names for options of solvers
    return {"dataset": DATASETS, "solver": SOLVERS, "task": TASKS}[group]


def kinds(group: str, name: str) -> tuple[str, ...]:
    """Return the kinds of problem that a data set gives, or a solver or task is for."""
    value = catalogue(group)[name]
    return (value.kind,) if group == "dataset" else tuple(value.kinds)


def fitting(group: str, wanted: Collection[str]) -> list[str]:
    """Return the names in a group that are for one of the kinds ``wanted``."""
    return sorted(name for name in catalogue(group) if not set(wanted).isdisjoint(kinds(group, name)))


def check_kinds(task: str, dataset: str, solver: str) -> None:
    """Refuse a task or a solver for other kinds of problem than the data set gives, naming what fits."""
    given = kinds("dataset", dataset)
    for group, name in (("task", task), ("solver", solver)):
        if set(given).isdisjoint(own := kinds(group, name)):
            what = f"{' and '.join(KINDS[kind] for kind in own)} ({listed(fitting('dataset', own), 'dataset')})"
            raise ParameterError(f"{group} {name} is for {what}; for dataset {dataset}: {listed(fitting(group, given), group)}")


def of_kind(dataset: str, solver: str, options: Mapping) -> tuple[str, Mapping]:
    """Return a solver with its options; on convex sets, of a name that is a structured solver's too, the method it means there."""
    meant = ALIASES.get(solver)
    if meant is None or CONVEX not in kinds("dataset", dataset):
        return solver, options
    stated = methods()[solver].options if solver in methods() else {}
    return meant, {**methods()[meant].options, **{name: value for name, value in options.items() if stated.get(name) != value}}


def default_task(dataset: str) -> str:
    """Return the default task of a data set: training, or the first task for its kind."""
    names = fitting("task", kinds("dataset", dataset))
    return TRAIN if TRAIN in names else names[0]


def overview() -> str:
    """Return a paragraph for every kind of problem, with the choices of each group, and the limits of tasks."""
    lines = []
    for kind, title in KINDS.items():
        names = {group: fitting(group, [kind]) for group in sorted(GROUPS)}
        lines += [f"{title}:", *(f"  {group}={','.join(found)}" for group, found in names.items())]
        limits = {catalogue("task")[task].solvers: [] for task in names["task"]}
        for task in names["task"]:
            limits[catalogue("task")[task].solvers].append(task)
        lines += [f"    task={','.join(tasks)} with solver={','.join(only)} alone" for only, tasks in limits.items() if only]
    return "\n".join(lines)


def modules(config: Mapping) -> list[str]:
    """Return the modules of the solver, the data set and the task of a canonical configuration."""
    names = {"solver": config["solver"]["name"], "dataset": config["dataset"]["name"], "task": task_of(config)}
    spread = ["fwexp.distributed.shards"] if "engine" in config else []
    return [catalogue(group).module(name) for group, name in names.items()] + spread


def that_fit(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the choices ``group=name`` among words that fit those among the others, and all words that are no choices."""
    chosen = [choice for word in others if (choice := _choice(word))]
    return [word for word in words if not (own := _choice(word)) or all(_fit(own, other) for other in chosen)]


def _choice(word: str) -> tuple[str, list[str]] | None:
    """Return the names that ``group=name,name`` chooses, if they are known; for methods their solvers."""
    group, _, text = word.partition("=")
    if group not in GROUPS:
        return None
    solvers = dict(ALIASES) | {name: method.solver for name, method in methods().items()} if group == "solver" else {}
    known = [solvers.get(name, name) for name in text.split(",")]
    names = [name for name in known if name in catalogue(group)]
    return (group, names) if names else None


def _fit(*choices: tuple[str, list[str]]) -> bool:
    """Return whether two choices are for the same kind of problem, and a task runs the solver."""
    one, other = ({kind for name in names for kind in kinds(group, name)} for group, names in choices)
    by_group = dict(choices)
    if {"task", "solver"} != set(by_group):
        return bool(one & other)
    limits = [catalogue("task")[task].solvers for task in by_group["task"]]
    return bool(one & other) and all(limit is None or set(by_group["solver"]) <= set(limit) for limit in limits)
