"""What Hydra knows of configurations, kept: it would read every file again for each one that it composes."""

import copy

from hydra._internal.config_repository import CachingConfigRepository


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


def is_ours(loader) -> bool:
    """Say whether a configuration loader is one that `remember` was told of."""
    return isinstance(loader.repository, Remembering)
