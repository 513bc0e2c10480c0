"""Which of Hydra's own settings can be chosen: not where it writes, since it writes nothing, not who sweeps, and nothing it calls.

Hydra calls any object that a ``_target_`` names, and logging what ``()`` and ``class`` name. A configuration is only data
here: the launcher alone is chosen by such a name, from a list.
"""

from collections.abc import Iterator

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fwexp.errors import OptionError, ParameterError, shown, unknown
from fwexp.run import dask_launcher
from fwexp.run.config import LAUNCHERS

SWEEPERS = {"fwexp": "hydra_plugins.fwexp.GridSweeper", "optuna": "hydra_plugins.fwexp.OptunaSweeper"}
FIXED = {"run.dir": (".",), "sweep.dir": (".",), "sweep.subdir": (".",), "output_subdir": (None,), "job.chdir": (None, False)}
JOBLIB = {"backend": (None, "loky"), "prefer": ("processes",), "require": (None,)}  # it always uses loky
CALLED = {  # accepted values of ``_target_``, by key
    "hydra.sweeper._target_": tuple(SWEEPERS.values()),
    "hydra.launcher._target_": tuple(LAUNCHERS.values()),
}
LOGGING = {  # the values that logging imports or calls
    "class": ("logging.Formatter", "logging.NullHandler", "logging.StreamHandler"),
    "stream": ("ext://sys.stdout", "ext://sys.stderr"),
}


def check_hydra(config: DictConfig) -> None:
    """Refuse settings that would be called, ignored or written elsewhere, in a composed configuration with its ``hydra``."""
    name, target = config.hydra.runtime.choices.get("hydra/sweeper"), OmegaConf.select(config, "hydra.sweeper._target_")
    if target != SWEEPERS.get(name):
        raise OptionError(f"hydra/sweeper must be {' or '.join(SWEEPERS)}, got {target if name in SWEEPERS else name}")
    plain = OmegaConf.to_container(config.hydra, resolve=False)
    for key, fixed in FIXED.items():
        value = plain
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value not in fixed:
            raise OptionError(f"hydra.{key} cannot be set, got {value!r}: Hydra writes nothing here, and runs go to results_dir")
    if (mode := plain.get("mode")) is not None:
        raise OptionError(f"hydra.mode cannot be set, got {getattr(mode, 'name', mode)}: the flag -m makes a sweep")
    check_targets(config)
    _check_launcher(config)
    if plain.get("callbacks"):
        raise OptionError(f"hydra.callbacks cannot be set, got {shown(plain['callbacks'])}: configurations call nothing")
    if plain.get("verbose") and config.hydra.runtime.choices.get("hydra/job_logging") == "none":
        raise OptionError("hydra.verbose goes with hydra/job_logging=stdout only: otherwise no logging is shown")
    for key in ("hydra_logging", "job_logging"):
        handlers = plain[key].get("handlers") if isinstance(plain.get(key), dict) else None
        if isinstance(handlers, dict) and any("filename" in handler for handler in handlers.values() if isinstance(handler, dict)):
            raise OptionError(f"hydra/{key} must not write files, got {config.hydra.runtime.choices.get(f'hydra/{key}')}")
        _check_logging(f"hydra.{key}", plain.get(key))


def _check_launcher(config: DictConfig) -> None:
    """Refuse settings that a launcher would ignore, or fail on when its first run starts."""
    target, name = OmegaConf.select(config, "hydra.launcher._target_"), config.hydra.runtime.choices.get("hydra/launcher")
    if target != LAUNCHERS.get(name):  # A file or an argument sets it, in addition to the choice that the other keys come from.
        raise ParameterError(f"hydra.launcher cannot be set, got {shown(target)}; hydra/launcher takes {', '.join(LAUNCHERS)}")
    given, known = config.hydra.launcher, ConfigStore.instance().load(f"hydra/launcher/{name}.yaml").node
    for key in given:
        if key not in known:
            accepted = [key for key in known if key != "_target_"] or ["none"]
            raise OptionError(unknown(f"key of hydra.launcher ({name})", key, accepted))
    if name == "joblib":
        for key, accepted in JOBLIB.items():
            if key in given and given[key] not in accepted:
                listed = " or ".join("null" if value is None else value for value in accepted)
                raise ParameterError(f"hydra.launcher.{key} must be {listed}, got {shown(given[key])}")
        if given.get("n_jobs") == 0:
            raise ParameterError("hydra.launcher.n_jobs must be a number of processes, or -1 for one per processor, got 0")
    if name == "dask":
        dask_launcher.check(OmegaConf.to_container(given, resolve=True))


def check_targets(config: DictConfig) -> None:
    """Refuse a ``_target_`` anywhere in a composed configuration, except those in `CALLED`."""
    for key, value in _targets(config, "", OmegaConf.to_container(config, resolve=False)):
        if value not in CALLED.get(key, ()):
            accepted = f"; accepted: {', '.join(CALLED[key])}" if key in CALLED else ": configurations call nothing"
            raise OptionError(f"{key} cannot be set, got {shown(value)}{accepted}")


def _targets(config: DictConfig, key: str, value) -> Iterator[tuple[str, object]]:
    """Yield every key that ends in ``_target_`` with its text, also in the targets of references."""
    if isinstance(value, dict | list):
        for name, below in value.items() if isinstance(value, dict) else enumerate(value):
            place = f"{key}.{name}".lstrip(".")
            if name == "_target_":
                yield place, below  # not the target, which may change later
            else:
                yield from _targets(config, place, below)
    elif isinstance(value, str) and "${" in value and ":" in value and value.startswith("${") and value.endswith("}"):
        # A reference that is computed; text with more around it becomes no mapping, and what else is referred to has its own place.
        try:
            found = OmegaConf.select(config, key, throw_on_resolution_failure=True)
        except OmegaConfBaseException:
            found = None
        if OmegaConf.is_config(found):
            yield from _targets(found, key, OmegaConf.to_container(found, resolve=False))
        elif found is None and any(maker in value for maker in ("oc.create", "oc.decode", "oc.dict")):
            yield f"{key}._target_", value  # It has no value yet, and may become a mapping.


def _check_logging(key: str, value) -> None:
    """Refuse settings that make logging import or call something, in a configuration of it as it was written."""
    if isinstance(value, dict):
        for name, item in value.items():
            place = f"{key}.{name}"
            accepted = LOGGING.get(name)
            if name == "()" or (accepted and item not in accepted):
                hint = f"; accepted: {', '.join(accepted)}" if accepted else ": configurations call nothing"
                raise OptionError(f"{place} cannot be set, got {shown(item)}{hint}")
            if not accepted:
                _check_logging(place, item)
    elif isinstance(value, list):
        for k, item in enumerate(value):
            _check_logging(f"{key}.{k}", item)
    elif isinstance(value, str) and ("${" in value or "://" in value):
        raise OptionError(f"{key} cannot be set, got {shown(value)}: configurations of logging hold plain values")
