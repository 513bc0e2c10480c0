"""Hydra's loader of configurations, whose compositions are checked before Hydra makes use of them."""

import contextlib
from collections.abc import Iterator

from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.types import RunMode
from omegaconf import DictConfig

from fwexp.errors import OptionError, ParameterError, listed
from fwexp.run import hydra_internals
from fwexp.run.hydra_settings import check_hydra
from fwexp.store.keys import GROUPS


def _check_choice(override: Override, loader: ConfigLoader) -> None:
    """Refuse an override that chooses nothing, or several names, from a group, or leaves it out: Hydra's message would not help."""
    key = override.key_or_group
    if not key:
        raise OptionError(f"cannot read {override.input_line!r}, expected key=value")
    if key == "experiment" and override.get_key_element() != "+experiment":  # Hydra finds none, or a sweep ignores its grids
        given = override.input_line.partition("=")[2] or "NAME"
        raise OptionError(f"an experiment is chosen by +experiment={given}, got {override.input_line!r}")
    if override.is_delete() and key in GROUPS:
        raise OptionError(f"{key} cannot be left out, got {override.input_line!r}")
    if override.type is not OverrideType.CHANGE or override.is_sweep_override() or not (names := loader.get_group_options(key)):
        return
    if not isinstance(value := override.value(), str | dict) or not value:
        given = override.input_line.partition("=")[2]
        accepted = listed(names, key)
        raise ParameterError(f"{key} must be one name, or several with commas and -m, got {given!r}; accepted: {accepted}")


class Loader(ConfigLoader):
    """A loader of Hydra's that checks choices and configurations, because Hydra sets up logging at once."""

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader

    def load_configuration(self, config_name, overrides, *arguments, **options) -> DictConfig:
        """Return the composition of the loader, if none of that would be called, ignored or written outside the store."""
        for override in OverridesParser.create().parse_overrides(list(overrides)):
            _check_choice(override, self)
        config = self._loader.load_configuration(config_name, overrides, *arguments, **options)
        check_hydra(config)
        return config

    def load_sweep_config(self, master_config, sweep_overrides) -> DictConfig:
        """Return the configuration of a job."""
        return self._loader.load_sweep_config(master_config, sweep_overrides)

    def get_search_path(self):
        """Return where it looks for files."""
        return self._loader.get_search_path()

    def get_sources(self) -> list:
        """Return the reader of the files there."""
        return self._loader.get_sources()

    def list_groups(self, parent_name: str) -> list[str]:
        """Return the groups in a group."""
        return self._loader.list_groups(parent_name)

    def get_group_options(self, group_name: str, *arguments, **options) -> list[str]:
        """Return the choices of a group; none if there is no such group."""
        return self._loader.get_group_options(group_name, *arguments, **options)

    def compute_defaults_list(self, *arguments, **options):
        """Return which files are composed."""
        return self._loader.compute_defaults_list(*arguments, **options)


def checked(loader: ConfigLoader) -> Loader:
    """Return a loader that checks."""
    return loader if isinstance(loader, Loader) else Loader(loader)


@contextlib.contextmanager
def started_by_us(mode: RunMode) -> Iterator[None]:
    """Start Hydra in this mode with a `Loader`, one that reads each file once if this Hydra allows."""
    if hydra_internals.are_available():
        from fwexp.run import hydra_quick

        with hydra_quick.starting(mode, checked):
            yield
    else:
        yield


def current() -> Loader | None:
    """Return the loader with which Hydra was started by `started_by_us`, if it was."""
    hydra = GlobalHydra.instance()
    if not hydra.is_initialized():
        return None
    loader = hydra.config_loader()
    return loader if isinstance(loader, Loader) else None
