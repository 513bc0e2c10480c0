"""Hydra with a loader of ours, by its private parts: it would read every file again for each configuration."""

import contextlib
import copy
import pickle
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig


class Remembering(CachingConfigRepository):
    """A repository that reads a configuration once, and hands out copies, because merging changes its arguments."""

    pickles: dict[str, bytes | None]  # None for objects that cannot be pickled, such as schemas
    own_parts: dict[tuple, DictConfig]  # of Hydra, by the files in them

    def __init__(self, delegate) -> None:
        super().__init__(delegate)
        self.pickles, self.own_parts = {}, {}

    def load_config(self, config_path: str):
        """Return the configuration at a path, or None."""
        if config_path not in self.pickles:
            self.pickles[config_path] = _pickled(super().load_config(config_path))
        pickled = self.pickles[config_path]  # which takes a fraction of the time of a deep copy
        return copy.deepcopy(super().load_config(config_path)) if pickled is None else pickle.loads(pickled)

    def initialize_sources(self, config_search_path) -> None:
        """Read from other folders from now on; copies of this loader do not."""
        self.delegate, self.cache, self.pickles, self.own_parts = copy.deepcopy(self.delegate), {}, {}, {}
        super().initialize_sources(config_search_path)

    def __deepcopy__(self, memo) -> "Remembering":
        """Return a copy that keeps its configurations, because Hydra copies before it composes and may choose other folders."""
        other = Remembering.__new__(Remembering)
        other.__dict__ |= self.__dict__
        return other


def _pickled(value) -> bytes | None:
    try:
        return pickle.dumps(value)
    except pickle.PicklingError:
        return None


class _Merged(NamedTuple):
    """In a list of files, some that are merged already."""

    config: DictConfig


class QuickLoader(ConfigLoaderImpl):
    """Hydra's loader of configurations, which reads each once."""

    def __init__(self, config_search_path) -> None:
        super().__init__(config_search_path)
        self.repository = Remembering(self.repository)

    def _compose_config_from_defaults_list(self, defaults, repo) -> DictConfig:
        """Merge the files; Hydra's own part, half of the work and mostly the same, is merged once."""
        count = 1 + [default.config_path for default in defaults].index("hydra/config")
        files, merged = tuple((default.config_path, default.package) for default in defaults[:count]), repo.delegate.own_parts
        if files not in merged:
            merged[files] = super()._compose_config_from_defaults_list(defaults[:count], repo)
        return super()._compose_config_from_defaults_list([_Merged(merged[files]), *defaults[count:]], repo)

    def _load_single_config(self, default, repo) -> ConfigResult:
        if isinstance(default, _Merged):
            return ConfigResult(provider="fwexp", path="", config=copy.deepcopy(default.config), header={})
        return super()._load_single_config(default, repo)


class _Hydra(Hydra):
    mode: RunMode

    def get_mode(self, *_, **__) -> RunMode:
        """Return whether the flag -m is given: Hydra would compose everything once more to ask the configuration."""
        return self.mode


@contextlib.contextmanager
def starting(mode: RunMode, checked: Callable) -> Iterator[None]:
    """Start Hydra in this mode with a `QuickLoader`, through the one function that all its ways to start call."""
    start = Hydra.create_main_hydra2

    def create(task_name: str, config_search_path) -> Hydra:
        hydra = _Hydra(task_name, checked(QuickLoader(config_search_path)))
        hydra.mode = mode
        GlobalHydra.instance().initialize(hydra)
        return hydra

    Hydra.create_main_hydra2 = create
    try:
        yield
    finally:
        Hydra.create_main_hydra2 = start
