"""Which data sets, solvers and tasks fit together, by the kind of problem; and the modules that a configuration uses."""

from collections.abc import Collection, Iterable, Mapping

from fwexp.errors import ParameterError
from fwexp.methods import methods
from fwexp.plugins import KINDS
from fwexp.store.keys import GROUPS, TRAIN, task_of


def catalogue(group: str) -> Mapping:
    """Return what there is in a group (``dataset``, ``solver``, ``task``), by name."""
    from fwexp.data import DATASETS
    from fwexp.solvers import SOLVERS
    from fwexp.tasks import TASKS

    return {"dataset": DATASETS, "solver": SOLVERS, "task": TASKS}[group]


def kinds(group: str, name: str) -> tuple[str, ...]:
    """Return the kinds of problem that a data set gives, or a solver or task is for."""
    value = catalogue(group)[name]
    return (value.kind,) if group == "dataset" else tuple(value.kinds)


def fitting(group: str, wanted: Collection[str]) -> list[str]:
    """Return the names in a group that are for one of the kinds ``wanted``."""
    return sorted(name for name in catalogue(group) if not set(wanted).isdisjoint(kinds(group, name)))


def check_kinds(task: str, dataset: str, solver: str) -> None:
    """Refuse a task or a solver that is for other kinds of problem than the data set gives.

    Raises
    ------
    ParameterError
        Names the data sets that it is for, and what is for this data set.
    """
    given = kinds("dataset", dataset)
    for group, name in (("task", task), ("solver", solver)):
        if set(given).isdisjoint(own := kinds(group, name)):
            what = f"{' and '.join(KINDS[kind] for kind in own)} ({', '.join(fitting('dataset', own))})"
            raise ParameterError(f"{group} {name} is for {what}; for dataset {dataset}: {', '.join(fitting(group, given))}")


def default_task(dataset: str) -> str:
    """Return the task of a data set where none is chosen: training, or what there is in its place."""
    names = fitting("task", kinds("dataset", dataset))
    return TRAIN if TRAIN in names else names[0]


def that_fit(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the choices ``group=name`` among words that fit those among the others, and all words that are no choices."""
    chosen = [kinds_of for word in others if (kinds_of := _kinds_of_choice(word))]
    return [word for word in words if not (own := _kinds_of_choice(word)) or all(own & other for other in chosen)]


def _kinds_of_choice(word: str) -> set[str]:
    """Return the kinds of problem of what ``group=name,name`` chooses, of names that are known."""
    group, _, names = word.partition("=")
    if group not in GROUPS:
        return set()
    solvers = {name: method.solver for name, method in methods().items()} if group == "solver" else {}
    known = [solvers.get(name, name) for name in names.split(",")]
    return {kind for name in known if name in catalogue(group) for kind in kinds(group, name)}


def overview() -> str:
    """Return a paragraph for every kind of problem, with what there is of each group."""
    return "\n".join(
        "\n".join([f"{title}:", *(f"  {group}={','.join(fitting(group, [kind]))}" for group in sorted(GROUPS))])
        for kind, title in KINDS.items()
    )


def modules(config: Mapping) -> list[str]:
    """Return the modules of the solver, the data set and the task of a canonical configuration."""
    names = {"solver": config["solver"]["name"], "dataset": config["dataset"]["name"], "task": task_of(config)}
    spread = ["fwexp.distributed.shards"] if "engine" in config else []
    return [catalogue(group).module(name) for group, name in names.items()] + spread
