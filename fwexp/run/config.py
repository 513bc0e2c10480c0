"""The configuration of runs: the schema that validates ``conf/``, the canonical form of a configuration, and its key.

A configuration is a nested mapping: the options of one data set below ``dataset``, of one solver below ``solver`` and of one
task below ``task``, each with its ``name``, and the settings that the task reads at the top. Defaults are not repeated here:
those of a solver, data set or task stand in its options dataclass, those of settings with the task. Training has no options
and is left out, which keeps the keys of runs that were stored before there were tasks.
"""

import dataclasses
import functools
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fwexp import plugin_files, plugins
from fwexp.driver.schedule import CHECKPOINT_SECONDS
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import ALIASES, conf_dir, methods
from fwexp.options import check_flag, check_jobs, check_number, without_later_defaults
from fwexp.run import catalogues
from fwexp.run.engine_options import PLACE, SOLVERS, check_engine
from fwexp.store import records
from fwexp.store.keys import GROUPS, STALE, TRAIN, key_of

# Treatment of points that do not fit, of failures and of runs that hang, and the value that a search minimises.
SWEEP_KEYS = {"skip_invalid": False, "fail_fast": False, "wall_limit": None, "objective_value": None}
# Where results go, where data lie, whether to run again, how often to save a run that lasts, and how many threads it has: they
# change no number.
EXECUTION_KEYS = {"results_dir": "results", "data_dir": None, "force": False, "checkpoint": CHECKPOINT_SECONDS, "n_jobs": None}
EXECUTION_KEYS |= SWEEP_KEYS

LAUNCHERS = ("basic", "joblib", "submitit_local", "submitit_slurm", "dask")  # see `fwexp.run.executors`
PRESETS = ("full", "smoke")  # of an experiment: all of it, or just enough to see that it works


def conf_dirs() -> list[Path]:
    """Return all folders of YAML files: ours, then the folders of other packages."""
    return [conf_dir(), *plugins.configurations()]


def names(group: str) -> set[str]:
    """Return the choices in one of `GROUPS`: registered ones, and YAML files that name a setting of one."""
    return _files(group) | set(catalogues.catalogue(group)) | (set(ALIASES) if group == "solver" else set())


def _files(group: str) -> set[str]:
    return {path.stem for folder in conf_dirs() for path in (folder / group).glob("*.yaml")}


def canonical(config: Mapping) -> dict:
    """Return the one form of equal configurations: plain data without places, every value checked, cast or its default."""
    # Deterministic solvers have seed 0.
    from fwexp.data import check_options as check_dataset_options
    from fwexp.solvers import check_options, get_solver
    from fwexp.tasks import TASKS

    config = {key: value for key, value in containers(config).items() if key not in EXECUTION_KEYS}
    data, options = _name_and_options("dataset", config.pop("dataset", None))
    dataset = {"name": data} | _values(check_dataset_options(data, options))
    name, options = _name_and_options("task", config.pop("task") if "task" in config else {"name": catalogues.default_task(data)})
    task = TASKS.find(name)
    own = _values(task.check_options(options))
    method, options = catalogues.of_kind(data, *_name_and_options("solver", config.pop("solver", None)))
    cls = get_solver(method)
    catalogues.check_kinds(name, data, method)
    solver = {"name": method} | _values(check_options(cls, options))
    task.check_solver(method)
    engine = check_engine(config.pop("engine", None), name, method)
    if engine and method in SOLVERS and config.get("iterates") is None:
        config["iterates"] = ["last"]
    for key in config:
        if key not in task.reads:
            reads = "" if name == TRAIN else f" of task {name}"
            raise OptionError(unknown(f"key{reads}", key, (*GROUPS, "engine", *task.reads, *EXECUTION_KEYS)))
    settings = task.check_settings(config, method, {key: value for key, value in solver.items() if key != "name"})
    settings = {key: value for key, value in settings.items() if key not in task.added_later or value != task.reads[key]}
    values = {"task": {"name": name} | own} if name != TRAIN else {}
    if engine:
        values["engine"] = {key: value for key, value in vars(engine).items() if key not in PLACE}
    plain = json.loads(json.dumps(values | {"dataset": dataset, "solver": solver} | settings))  # lists for tuples, as in files
    if misfit := records.misfit(records.Config, plain):
        raise ParameterError(f"a configuration must fit into the records of a store, got one that {misfit}")
    return plain


def run_key(config: Mapping) -> str:
    """Return the name of a run: the sha256 of the sorted JSON of its canonical configuration."""
    return key_of(canonical(config))


def execution_settings(config: Mapping) -> dict:
    """Return the settings of `EXECUTION_KEYS` in a composed configuration, checked."""
    given = {key: config.get(key, default) for key, default in EXECUTION_KEYS.items()}
    for key in folders.FOLDER_KEYS:
        if given[key] is not None or key == "results_dir":
            given[key] = str(folders.check_folder(key, given[key]))
    if not isinstance(given["force"], bool) and given["force"] != STALE:
        raise ParameterError(f"force must be true, false or {STALE}, got {given['force']!r}")
    if given["checkpoint"] is not None:
        accepted = "a number of seconds >= 0 or null (only where a run is interrupted)"
        given["checkpoint"] = check_number("checkpoint", given["checkpoint"], accepted, least=0.0)
    given["n_jobs"] = check_jobs("n_jobs", given["n_jobs"])
    for key in ("skip_invalid", "fail_fast"):
        given[key] = check_flag(key, given[key])
    if given["wall_limit"] is not None:
        accepted = "a number of seconds in 0.1 .. 1e9 or null"
        given["wall_limit"] = check_number("wall_limit", given["wall_limit"], accepted, least=0.1, most=1e9)
    if config.get("engine"):
        given |= {key: value for key in PLACE if (value := config["engine"].get(key)) is not None}
    return given


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
    """Return Hydra's reading of ``text`` if it has the signs of a reference, ``${``."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


def register_schema() -> None:
    """Register the schema, once for all plugin files."""
    _register(plugin_files.modules())


@functools.cache
def _register(_) -> None:
    """Register with Hydra the keys with their defaults, and the names in the groups; `canonical` checks values."""
    from omegaconf.errors import OmegaConfBaseException

    nodes = []
    for group in GROUPS:
        for name, entry in list((catalogue := catalogues.catalogue(group)).items()):
            try:
                node = _schema(name, {"name": name} | defaults_of(entry.Options))
                nodes.append((group, name, _top(name, node, entry.reads) if group == "task" else node))
            except OmegaConfBaseException as error:  # a default that no configuration can hold
                catalogue.leave_out(name, error)
    tasks = catalogues.catalogue("task")
    every = {key: value for task in tasks.values() for key, value in task.reads.items()}
    files = {group: _files(group) for group in GROUPS}
    nodes += [("task", name, _top(name, None, every)) for name in files["task"] - set(tasks)]
    solvers = {name: node for group, name, node in nodes if group == "solver"}
    named = dict(ALIASES) | {name: method.solver for name, method in methods().items()}
    named = {name: solver for name, solver in named.items() if name not in solvers}
    nodes += [("solver", name, solvers[solver]) for name, solver in named.items() if solver in solvers]
    for group, name, node in nodes:
        keep(f"hydra/fwexp/{group}", name, node, "_global_" if group == "task" else None)
        if name not in files[group]:
            own = {"name": named.get(name, name) if group == "solver" else name}
            keep(group, name, own | (_usual(name) if group == "dataset" else {}))
    for name, stated in plugin_files.experiments().items():
        folder, _, last = f"experiment/{name}".rpartition("/")
        keep(folder, last, _experiment(stated), "_global_")
    keep("hydra/help", "fwexp", {"footer": catalogues.overview()})


def keep(group: str, name: str, node, package: str | None = None) -> None:
    """Register a choice of a group with Hydra, or another in its place: plugin files change what there is."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance().store
    replaces = {"replace": True} if "replace" in inspect.signature(store).parameters else {}  # of Hydra 1.4
    store(group=group, name=name, node=node, package=package, **replaces)


def _experiment(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preset as its YAML file would have it, from the statements of a figure."""
    values = containers(stated)
    chosen = [{f"override /{group}": values.pop(group)} for group in (*GROUPS, "engine") if isinstance(values.get(group), str)]
    sweeper = {key: values.pop(key) for key in ("grids", "smoke") if key in values}
    return {"defaults": [*chosen, "_self_"], **values} | ({"hydra": {"sweeper": sweeper}} if sweeper else {})


def _usual(dataset: str) -> dict[str, list]:
    """Return the defaults list of a data set for which the task and the solver in ``conf/config.yaml`` are not."""
    task, (kind,) = catalogues.default_task(dataset), catalogues.kinds("dataset", dataset)
    usual = {"task": task, "solver": catalogues.catalogue("task")[task].kinds[kind]}
    return {} if task == TRAIN else {"defaults": [{f"override /{group}@_global_.{group}": name} for group, name in usual.items()]}


def defaults_of(options: type) -> dict[str, Any]:
    """Return the defaults of an options dataclass, as written there."""
    missing = dataclasses.MISSING
    return {f.name: f.default if f.default_factory is missing else f.default_factory() for f in dataclasses.fields(options)}


def _top(name: str, task, settings: Mapping[str, Any]) -> type:
    """Return the schema of a whole configuration, whose settings are those that a task reads."""
    return _schema(name, {"task": task, "dataset": None, "solver": None, "engine": None, **settings, **EXECUTION_KEYS})


def _schema(name: str, keys: Mapping[str, Any]) -> type:
    """Return a dataclass with the given keys and defaults: OmegaConf refuses all other keys and names the file that has them."""
    from omegaconf import OmegaConf

    fields = [(key, Any, dataclasses.field(default_factory=functools.partial(containers, value))) for key, value in keys.items()]
    schema = dataclasses.make_dataclass(name, fields)
    OmegaConf.structured(schema)  # raises for a default that no configuration can hold
    return schema


def _name_and_options(group: str, given) -> tuple[str, dict]:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise ParameterError(f"{group} must be chosen by its name, got {given!r}")
    options = dict(given)
    return options.pop("name"), options


def _values(options) -> dict:
    """Return the fields of an options dataclass that belong in a configuration."""
    return without_later_defaults(dataclasses.asdict(options), type(options))


def containers(value):
    """Return plain dicts and lists for mappings and sequences, including OmegaConf's."""
    if type(value).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf

        return OmegaConf.to_container(value, resolve=True)
    if isinstance(value, Mapping):
        return {key: containers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [containers(item) for item in value]
    return value
