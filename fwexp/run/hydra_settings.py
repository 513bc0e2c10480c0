"""Which of Hydra's own settings can be chosen: not where it writes, since it writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from fwexp.errors import OptionError, ParameterError, shown, unknown
from fwexp.options import check_choice, check_integer, option
from fwexp.run import dask_launcher
from fwexp.run.config import LAUNCHERS, defaults_of, keep

FIXED = {"run.dir": (".",), "sweep.dir": (".",), "sweep.subdir": (".",), "output_subdir": (None,), "job.chdir": (None, False)}
SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler"}  # of Optuna
JOBLIB = {"backend": (None, "loky"), "prefer": ("processes",), "require": (None,)}  # it always uses loky


@dataclass
class GridOptions:
    """The keys of ``hydra.sweeper`` of ``hydra/sweeper=fwexp``; see `fwexp.run.grids`."""

    grids: Any = field(default_factory=lambda: [{}])
    smoke: Any = field(default_factory=dict)
    preset: str = "full"


def _check_params(name: str, value) -> dict:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} must map keys to values, got {shown(value)}")
    return dict(value)


@dataclass(frozen=True)
class OptunaOptions:
    """The keys of ``hydra.sweeper``.

    ``n_jobs`` is how many points are drawn at once, by default as many as the launcher has workers; ``params`` maps keys to
    values as an experiment file states them.
    """

    n_trials: int = option(20, check_integer, 1)
    n_jobs: int | None = option(None, check_integer, 1, optional=True)
    sampler: str = option("tpe", check_choice, tuple(SAMPLERS))
    seed: int = option(0, check_integer, 0)
    params: dict = option(None, _check_params, optional=True)


SWEEPERS = ("fwexp", "optuna")


def register_settings() -> None:
    """Make the keys of sweepers, and of the launcher for Dask, known to Hydra."""
    keep("hydra/sweeper", "fwexp", GridOptions)  # which refuses other keys; those of Optuna are checked by `make_options`
    keep("hydra/sweeper", "optuna", defaults_of(OptunaOptions))
    dask_launcher.register()


def check_hydra(config: DictConfig) -> None:
    """Refuse settings that would be ignored or written elsewhere, in a composed configuration with its ``hydra``."""
    if (name := config.hydra.runtime.choices.get("hydra/sweeper")) not in SWEEPERS:
        raise OptionError(f"hydra/sweeper must be {' or '.join(SWEEPERS)}, got {name}")
    plain = OmegaConf.to_container(config.hydra, resolve=False)
    for key, fixed in FIXED.items():
        value = plain
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value not in fixed:
            raise OptionError(f"hydra.{key} cannot be set, got {value!r}: Hydra writes nothing here, and runs go to results_dir")
    if (mode := plain.get("mode")) is not None:
        raise OptionError(f"hydra.mode cannot be set, got {getattr(mode, 'name', mode)}: the flag -m makes a sweep")
    _check_launcher(config)
    if plain.get("callbacks"):
        raise OptionError(f"hydra.callbacks cannot be set, got {shown(plain['callbacks'])}: fwexp.solve takes a callback")
    if plain.get("verbose") and config.hydra.runtime.choices.get("hydra/job_logging") == "none":
        raise OptionError("hydra.verbose goes with hydra/job_logging=stdout only: otherwise no logging is shown")
    for key in ("hydra_logging", "job_logging"):
        handlers = plain[key].get("handlers") if isinstance(plain.get(key), dict) else None
        if isinstance(handlers, dict) and any("filename" in handler for handler in handlers.values() if isinstance(handler, dict)):
            raise OptionError(f"hydra/{key} must not write files, got {config.hydra.runtime.choices.get(f'hydra/{key}')}")


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
