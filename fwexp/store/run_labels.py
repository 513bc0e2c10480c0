"""Short labels that distinguish runs that are listed together."""

from collections.abc import Mapping, Sequence

from fwexp.methods import flat as flat_options
from fwexp.methods import method_of, methods, stated
from fwexp.store.keys import GROUPS, task_of

# Always shown, so they are no part of what `differing` returns.
ALWAYS_SHOWN = ("task.name", "dataset.name", "solver.name", "lam", "seed")


def labels(configs: Sequence[Mapping]) -> list[str]:
    """Return a name for each of some configurations: data set, method, lam, seed, task, and the options that differ among them."""
    named = [with_method(config) for config in configs]
    options = differing([config | {"solver": solver} for config, solver in zip(configs, named, strict=True)])
    return [" ".join(filter(None, (_name(c, s), text))) for c, s, text in zip(configs, named, options, strict=True)]


def with_method(config: Mapping) -> dict:
    """Return the solver of a configuration: the name of its method, and the options that this does not state."""
    solver = dict(config["solver"])
    name = method_of(solver["name"], solver)
    if name not in methods():
        return solver
    told = stated(name)
    kept = {key: value for key, value in solver.items() if not told.issuperset(flat_options({key: value}))}
    return kept | {"name": name}


def _name(config: Mapping, solver: Mapping) -> str:
    settings = " ".join(f"{key}={config[key]}" for key in ("lam", "seed") if key in config)
    return f"{config['dataset']['name']} {solver['name']} {settings}"


def differing(configs: Sequence[Mapping]) -> list[str]:
    """Return the task, if it is not training, and the options in which runs of the same task, solver and data set differ."""
    flat = [_texts(config) for config in configs]
    values: dict[tuple, set[str | None]] = {}
    keys = list(dict.fromkeys(key for options in flat for key in options if key not in ALWAYS_SHOWN))
    for options in flat:
        for key in keys:
            values.setdefault((*_family(options), key), set()).add(options.get(key))
    return [
        " ".join(
            [f"task={task_of(config)}"] * ("task" in config)
            + [f"{key}={options[key]}" for key in keys if key in options and len(values[*_family(options), key]) > 1]
        )
        for config, options in zip(configs, flat, strict=True)
    ]


def _family(options: Mapping) -> tuple:
    return options.get("task.name"), options.get("dataset.name"), options.get("solver.name")


def _texts(config: Mapping) -> dict[str, str]:
    """Return a configuration as the texts of its options, by their keys on the command line."""
    flat = {}
    for key, value in config.items():
        is_choice = key in GROUPS and isinstance(value, Mapping)
        options = {f"{key}.{name}": option for name, option in value.items()} if is_choice else {key: value}
        flat |= {name: as_text(option) for name, option in options.items()}
    return flat


def as_text(value) -> str:
    """Return a value as on the command line, without the quotes."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{as_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(as_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value).removesuffix(".0")
