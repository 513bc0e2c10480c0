"""What Hydra knows of configurations, kept: it would read every file again for each one that it composes.

The same for what it sends to workers: it would pickle all that is registered with every job.
"""

import contextlib
import copy
import functools
import pickle
from collections.abc import Iterator

from hydra._internal.config_repository import CachingConfigRepository
from hydra.core.config_store import ConfigStore


class Remembering(CachingConfigRepository):
    """A repository that reads a configuration once, and hands out copies: merging changes what is merged."""

    def load_config(self, config_path: str):
        """Return the configuration at a path, or None."""
        return copy.deepcopy(super().load_config(config_path))

    def initialize_sources(self, config_search_path) -> None:
        """Look in other folders from now on; copies of this one do not."""
        self.delegate, self.cache = copy.deepcopy(self.delegate), {}
        super().initialize_sources(config_search_path)

    def __deepcopy__(self, memo) -> "Remembering":
        """Hydra copies it before it composes, since it may then choose other folders: what was read, and from where, stays."""
        other = Remembering.__new__(Remembering)
        other.delegate, other.cache = self.delegate, self.cache
        return other


def remember(loader) -> None:
    """Have a configuration loader read each configuration once."""
    loader.repository = Remembering(loader.repository)


@contextlib.contextmanager
def registered_pickled_once() -> Iterator[None]:
    """Have what is registered with Hydra pickled once, for all jobs that are sent to workers meanwhile."""
    try:
        import cloudpickle  # classes that OmegaConf makes are too much for pickle
    except ImportError:  # then every job brings all of it, as Hydra has it
        yield
        return
    content = cloudpickle.dumps(vars(ConfigStore.instance()))
    ConfigStore.__reduce__ = lambda _: (_registered, (content,))
    try:
        yield
    finally:
        del ConfigStore.__reduce__


@functools.lru_cache(maxsize=1)
def _registered(content: bytes) -> ConfigStore:
    """Return in a worker what was registered, the same for all jobs."""
    store = ConfigStore.__new__(ConfigStore)
    vars(store).update(pickle.loads(content))
    return store
