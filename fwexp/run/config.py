"""What to run: the schema that validates ``conf/``, the canonical form of a configuration, and its key.

A configuration is a nested mapping: the options of one data set below ``dataset`` and of one solver below ``solver``, each with
its ``name``, and the ``task`` and the settings of the run (`RUN_KEYS`) at the top. Defaults are not repeated here: those of a
solver or data set stand in its options dataclass, those of a run in the signature of `fwexp.solve`.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fwexp import _found, _places
from fwexp.driver import settings as check
from fwexp.errors import OptionError, ParameterError, unknown

# Where results go, where data lie and whether to run again: top-level keys that change no number.
PLACE_KEYS = {"results_dir": "results", "data_dir": None, "force": False}
STALE = "stale"  # the value of force that runs again what other sources made

# The settings of a run, which are arguments of `fwexp.solve` of the same name.
RUN_KEYS = ("lam", "seed", "max_passes", "gap_tol", "time_limit", "iterates", "iterate", "schedule", "train_error")

# A setting or option that is left out of the canonical form while it has its default, so that adding it keeps the keys of stored
# runs. A field of an options dataclass that is added later says so with ``metadata={"added_later": True}``.
ADDED_LATER = ("iterate", "train_error")


def conf_dir() -> Path:
    """Return the folder of the YAML files: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"


def conf_dirs() -> list[Path]:
    """Return all folders of YAML files: ours, then those of other packages."""
    return [conf_dir(), *_found.configurations()]


def names(group: str) -> set[str]:
    """Return what can be chosen from ``dataset`` or ``solver``: what there is, and YAML files that name a setting of it."""
    from fwexp.data import DATASETS
    from fwexp.solvers import AUTO, SOLVERS

    files = {path.stem for folder in conf_dirs() for path in (folder / group).glob("*.yaml")}
    return files | set({"dataset": DATASETS, "solver": [AUTO, *SOLVERS]}[group])


def canonical(config: Mapping) -> dict:
    """Return the one form that all equal configurations share.

    Parameters
    ----------
    config : mapping
        A composed configuration; what is left out has its default, the places (`PLACE_KEYS`) are dropped.

    Returns
    -------
    dict
        Plain data with every value checked and cast; deterministic solvers have seed 0.

    Raises
    ------
    OptionError
        A key that does not exist.
    ParameterError
        A value that is not accepted.
    """
    config = _plain(config)
    for key in config:
        if key not in ("task", "dataset", "solver", *RUN_KEYS, *PLACE_KEYS):
            raise OptionError(unknown("key", key, ("task", "dataset", "solver", *RUN_KEYS, *PLACE_KEYS)))
    dataset, solver = _canonical_dataset(config.get("dataset")), _canonical_solver(config.get("solver"))
    task = check.check_task(config.get("task", check.TRAIN), solver["name"])
    settings = _canonical_settings(config, solver)
    values = ({} if task == check.TRAIN else {"task": task}) | {"dataset": dataset, "solver": solver} | settings
    return json.loads(json.dumps(values))  # lists for tuples, as in files


def run_key(config: Mapping) -> str:
    """Return the name of a run: the sha256 of the sorted JSON of its canonical configuration."""
    return key_of(canonical(config))


def key_of(config: Mapping) -> str:
    """Return the key of a configuration that is canonical, or was when it was stored."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, allow_nan=False).encode()).hexdigest()


def places(config: Mapping) -> dict:
    """Return ``results_dir``, ``data_dir`` and ``force`` of a composed configuration, checked."""
    given = {key: config.get(key, default) for key, default in PLACE_KEYS.items()}
    for key in _places.KEYS:
        if given[key] is not None or key == "results_dir":
            given[key] = str(_places.folder(key, given[key]))
    if not isinstance(given["force"], bool) and given["force"] != STALE:
        raise ParameterError(f"force must be true, false or {STALE}, got {given['force']!r}")
    return given


def to_overrides(config: Mapping) -> list[str]:
    """Return the Hydra overrides that compose to a configuration."""
    overrides = []
    for group in ("dataset", "solver"):
        options = dict(config[group])
        overrides.append(f"{group}={options.pop('name')}")
        overrides += [f"{group}.{key}={quote(value)}" for key, value in options.items()]
    return overrides + [f"{key}={quote(value)}" for key, value in config.items() if key not in ("dataset", "solver")]


def quote(value) -> str:
    """Return plain data as the value of a Hydra override."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            from hydra.core.override_parser.types import Quote, QuotedString

            return QuotedString(literal(value), Quote.single).with_quotes()
        case Mapping():
            return "{" + ",".join(f"{key}:{quote(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ",".join(quote(item) for item in value) + "]"
    return repr(value)


def literal(text: str) -> str:
    """Return what Hydra reads as ``text`` where that has the signs of a reference, ``${``."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


@functools.cache
def run_defaults() -> dict[str, Any]:
    """Return the default of every setting of a run, as `fwexp.solve` has it (of ``lam``: none)."""
    from fwexp.api import solve

    parameters = inspect.signature(solve).parameters
    return {key: None if parameters[key].default is inspect.Parameter.empty else parameters[key].default for key in RUN_KEYS}


@functools.cache
def register_schema() -> None:
    """Tell Hydra which keys exist, with their defaults, and the names of solvers and data sets; `canonical` checks values.

    A YAML file in ``conf/solver`` or ``conf/dataset`` may add a setting with a name of its own, or replace that of a solver.
    """
    from hydra.core.config_store import ConfigStore
    from omegaconf.errors import OmegaConfBaseException

    from fwexp.data import DATASETS
    from fwexp.solvers import AUTO, SOLVERS

    store = ConfigStore.instance()
    run = {"task": check.TRAIN, "dataset": None, "solver": None, **run_defaults(), **PLACE_KEYS}
    store.store(group="hydra/fwexp", name="run", node=_schema("run", run), package="_global_")
    nodes = [("solver", AUTO, _schema(AUTO, {"name": AUTO}))]
    for group, catalogue in (("dataset", DATASETS), ("solver", SOLVERS)):
        for name, found in list(catalogue.items()):
            try:
                nodes.append((group, name, _schema(name, {"name": name} | dataclasses.asdict(found.Options()))))
            except OmegaConfBaseException as error:  # a default that no configuration can hold
                catalogue.leave_out(name, error)
    for group, name, node in nodes:
        store.store(group=f"hydra/fwexp/{group}", name=name, node=node)
        if not any((folder / group / f"{name}.yaml").exists() for folder in conf_dirs()):
            store.store(group=group, name=name, node={"name": name})


def _schema(name: str, keys: Mapping[str, Any]) -> type:
    """Return a dataclass with the given keys and defaults: OmegaConf refuses all other keys and says which file has them."""
    from omegaconf import OmegaConf

    fields = [(key, Any, dataclasses.field(default_factory=functools.partial(_plain, value))) for key, value in keys.items()]
    schema = dataclasses.make_dataclass(name, fields)
    OmegaConf.structured(schema)  # raises for a default that no configuration can hold
    return schema


def _canonical_dataset(given) -> dict:
    from fwexp.data import check_options

    name, options = _name_and_options("dataset", given)
    return {"name": name} | _values(check_options(name, options))


def _canonical_solver(given) -> dict:
    from fwexp.solvers import check_options, get_solver

    name, options = _name_and_options("solver", given)
    if name != "auto":
        return {"name": name} | _values(check_options(get_solver(name), options))
    if options:
        raise OptionError(f"solver auto has no options, got {next(iter(options))!r}")
    return {"name": name}


def _name_and_options(group: str, given) -> tuple[str, dict]:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise ParameterError(f"{group} must be chosen by its name, got {given!r}")
    options = dict(given)
    return options.pop("name"), options


def _values(options) -> dict:
    """Return the fields of an options dataclass, without those that were added later and have their default."""
    values = dataclasses.asdict(options)
    for field in dataclasses.fields(options):
        if field.metadata.get("added_later") and getattr(options, field.name) == field.default:
            del values[field.name]
    return values


def _canonical_settings(config: Mapping, chosen: Mapping) -> dict:
    """Return the checked settings of a run of the ``chosen`` solver; the iterates of ``auto`` are not known yet."""
    from fwexp.api import check_iterates
    from fwexp.solvers import SOLVERS, check_options

    options = dict(chosen)
    solver = SOLVERS.get(options.pop("name"))
    given = run_defaults() | {key: config[key] for key in RUN_KEYS if key in config}
    time_limit = check.check_time_limit(given["time_limit"])
    seed = check.check_seed(given["seed"])
    values = {
        "lam": check.check_lam(given["lam"]),
        "seed": seed if solver is None or solver.stochastic else 0,
        "max_passes": check.check_max_passes(given["max_passes"]),
        "gap_tol": check.check_gap_tol(given["gap_tol"]) + 0.0,  # -0.0 is 0.0
        "time_limit": None if time_limit == math.inf else time_limit,
        "iterates": given["iterates"]
        if solver is None
        else check_iterates(solver, check_options(solver, options), given["iterates"], given["iterate"]),
        "iterate": given["iterate"],
        "schedule": check.check_schedule(given["schedule"]),
        "train_error": _check_flag("train_error", given["train_error"]),
    }
    return {key: value for key, value in values.items() if key not in ADDED_LATER or value != run_defaults()[key]}


def _check_flag(name: str, value) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} must be true or false, got {value!r}")
    return value


def _plain(value):
    """Return plain dicts and lists for mappings and sequences, those of OmegaConf included."""
    if type(value).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf

        return OmegaConf.to_container(value, resolve=True)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
