"""Which of Hydra's own settings can be chosen: not where it writes, since it writes nothing, and not who sweeps."""

from omegaconf import DictConfig, OmegaConf

from fwexp.errors import OptionError

SWEEPER = "hydra_plugins.fwexp.GridSweeper"
FIXED = {"run.dir": ".", "sweep.dir": ".", "sweep.subdir": ".", "output_subdir": None}


def check_hydra(config: DictConfig) -> None:
    """Refuse what would be ignored or would write beside the store, in a composed configuration with its ``hydra``."""
    if OmegaConf.select(config, "hydra.sweeper._target_") != SWEEPER:
        raise OptionError(f"hydra/sweeper must be fwexp, got {config.hydra.runtime.choices.get('hydra/sweeper')}")
    plain = OmegaConf.to_container(config.hydra, resolve=False)
    for key, fixed in FIXED.items():
        value = plain
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value != fixed:
            raise OptionError(f"hydra.{key} cannot be set, got {value!r}: Hydra writes nothing here, and runs go to results_dir")
    for key in ("hydra_logging", "job_logging"):
        handlers = (plain.get(key) or {}).get("handlers") or {}
        if any("filename" in handler for handler in handlers.values()):
            raise OptionError(f"hydra/{key} must not write files, got {config.hydra.runtime.choices.get(f'hydra/{key}')}")
