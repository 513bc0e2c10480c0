"""What Hydra knows of configurations, kept: it would read every file again for each one that it composes.

The same for what it sends to workers: it would pickle all that is registered with every job.
"""

import copy
import functools
import pickle

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


def pickle_registered_once() -> None:
    """Have what is registered by now pickled once, for all jobs that are sent to workers from here on."""
    import cloudpickle  # which launchers with workers bring; classes that OmegaConf makes are too much for pickle

    content = cloudpickle.dumps(vars(ConfigStore.instance()))
    ConfigStore.__reduce__ = lambda _: (_registered, (content,))


@functools.lru_cache(maxsize=1)
def _registered(content: bytes) -> ConfigStore:
    """Return in a worker what was registered, the same for all jobs."""
    store = ConfigStore.__new__(ConfigStore)
    vars(store).update(pickle.loads(content))
    return store
