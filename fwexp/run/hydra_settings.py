"""Which of Hydra's own settings can be chosen: not where it writes, since it writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig, OmegaConf

from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import check_choice, check_integer, option
from fwexp.run import executors
from fwexp.run.config import defaults_of, keep

FIXED = {"run.dir": (".",), "sweep.dir": (".",), "sweep.subdir": (".",), "output_subdir": (None,), "job.chdir": (None, False)}
SAMPLERS = {"tpe": "TPESampler", "random": "RandomSampler"}  # of Optuna


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
    """The keys of ``hydra.sweeper``; ``n_jobs`` points are drawn at once, by default as many as the launcher has workers."""

    n_trials: int = option(20, check_integer, 1)
    n_jobs: int | None = option(None, check_integer, 1, optional=True)
    sampler: str = option("tpe", check_choice, tuple(SAMPLERS))
    seed: int = option(0, check_integer, 0)
    params: dict = option(None, _check_params, optional=True)


SWEEPERS = ("fwexp", "optuna")


def register_settings() -> None:
    """Make the keys of sweepers and launchers known to Hydra."""
    keep("hydra/sweeper", "fwexp", GridOptions)  # which refuses other keys; those of Optuna are checked by `make_options`
    keep("hydra/sweeper", "optuna", defaults_of(OptunaOptions))
    executors.register()


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
    executors.executor_of(config)
    if plain.get("callbacks"):
        raise OptionError(f"hydra.callbacks cannot be set, got {shown(plain['callbacks'])}: fwexp.solve takes a callback")
    if plain.get("verbose") and config.hydra.runtime.choices.get("hydra/job_logging") == "none":
        raise OptionError("hydra.verbose goes with hydra/job_logging=stdout only: otherwise no logging is shown")
    for key in ("hydra_logging", "job_logging"):
        handlers = plain[key].get("handlers") if isinstance(plain.get(key), dict) else None
        if isinstance(handlers, dict) and any("filename" in handler for handler in handlers.values() if isinstance(handler, dict)):
            raise OptionError(f"hydra/{key} must not write files, got {config.hydra.runtime.choices.get(f'hydra/{key}')}")
