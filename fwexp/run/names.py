"""What tells runs that are listed together from each other, in few words."""

from collections.abc import Mapping, Sequence

from fwexp.run.config import quote

SHOWN = ("dataset.name", "solver.name", "lam", "seed")  # always, so they are no part of what `differing` returns


def labels(configs: Sequence[Mapping]) -> list[str]:
    """Return a name for each of some configurations: data set, solver, lam, seed, and the options that differ among them."""
    return [
        " ".join(filter(None, (f"{c['dataset']['name']} {c['solver']['name']} lam={c['lam']} seed={c['seed']}", options)))
        for c, options in zip(configs, differing(configs), strict=True)
    ]


def differing(configs: Sequence[Mapping]) -> list[str]:
    """Return, for each of some configurations, the options that differ among those of its solver and data set.

    Other solvers have other options, so a difference to them says nothing.
    """
    flat = [_flat(config) for config in configs]
    values: dict[tuple, set[str | None]] = {}
    keys = list(dict.fromkeys(key for options in flat for key in options if key not in SHOWN))
    for options in flat:
        for key in keys:
            values.setdefault((*_family(options), key), set()).add(options.get(key))
    return [
        " ".join(f"{key}={options[key]}" for key in keys if key in options and len(values[*_family(options), key]) > 1)
        for options in flat
    ]


def _family(options: Mapping) -> tuple:
    return options.get("dataset.name"), options.get("solver.name")


def _flat(config: Mapping) -> dict[str, str]:
    """Return a configuration as the texts of its options, by their keys on the command line."""
    flat = {}
    for key, value in config.items():
        options = {f"{key}.{name}": option for name, option in value.items()} if key in ("dataset", "solver") else {key: value}
        flat |= {name: _text(option) for name, option in options.items()}
    return flat


def _text(value) -> str:
    """Return a value as on the command line, without the quotes."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    return value if isinstance(value, str) else quote(value).removesuffix(".0")
