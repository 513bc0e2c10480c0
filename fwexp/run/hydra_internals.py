"""The private parts of Hydra that fwexp uses, each with its reason, and whether this Hydra has all of them.

If a name is missing, fwexp uses Hydra's public API alone: the same configurations are composed, at about twice the time.
`pyproject.toml` accepts hydra-core 1.3 only, of which no more than corrections are released.
"""

from functools import cache

from fwexp import internals

__all__ = ["USED", "are_available"]

_ONCE = "Files are read once, and Hydra's own part is merged once, for all configurations of a command: half of the time."
_START = "Hydra starts with the loader that reads once; its public ways to start take no loader."

USED = {
    "hydra._internal.config_loader_impl.ConfigLoaderImpl._compose_config_from_defaults_list": _ONCE,
    "hydra._internal.config_loader_impl.ConfigLoaderImpl._load_single_config": _ONCE,
    "hydra._internal.config_repository.CachingConfigRepository.initialize_sources": _ONCE,
    "hydra._internal.config_repository.CachingConfigRepository.load_config": _ONCE,
    "hydra._internal.hydra.Hydra.create_main_hydra2": _START,
    "hydra._internal.hydra.Hydra.get_mode": "The flag -m tells; Hydra would compose everything once more to see.",
    "hydra._internal.utils._run_hydra": "Arguments are read in any order, and those that cannot be read take one line.",
    "hydra._internal.utils.get_args_parser": "Arguments are read in any order, and those that cannot be read take one line.",
}


@cache
def are_available() -> bool:
    """Return whether this Hydra has every name of `USED`."""
    return not internals.missing(USED)
