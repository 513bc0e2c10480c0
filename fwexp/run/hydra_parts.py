"""Parts of configurations that need no composing: often Hydra answers a choice by a file of values alone."""

import functools
from collections.abc import Collection, Mapping

from hydra.core.config_loader import ConfigLoader
from hydra.plugins.config_source import ConfigResult
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException


class Parts:
    """The files of groups in the folders of a loader."""

    def __init__(self, loader: ConfigLoader) -> None:
        self._sources = loader.get_sources()
        self._file = functools.cache(self._load)
        self.part = functools.cache(self._part)
        self.is_group = functools.cache(loader.get_group_options)

    def _load(self, path: str) -> ConfigResult | None:
        return next((source.load_config(path) for source in self._sources if source.is_config(path)), None)

    def _part(self, group: str, name: str) -> dict | None:
        """Return, as plain data, the part that a choice ``group=name`` makes of its group.

        That is a file merged into its schema; None where the file does more, or anything is wrong: Hydra says what.
        """
        file, schema = map(self._file, (f"{group}/{name}", f"hydra/fwexp/{group}/{name}"))
        if file is None or schema is None or "defaults" in file.config or _package(file) or _package(schema):
            return None
        try:
            part = OmegaConf.to_container(OmegaConf.merge(schema.config, file.config), resolve=False)
        except OmegaConfBaseException:
            return None
        return None if any(sign in str(part) for sign in ("${", "_target_")) else part

    def say_more(self, chosen: Mapping[str, str], groups: Collection[str]) -> bool:
        """Return whether a chosen file sets values of other groups or includes more files."""
        files = [file for group, name in chosen.items() if (file := self._file(f"{group}/{name}"))]
        defaults = [default for file in files for default in file.config.get("defaults", ())]
        takes_in = not all(default == "_self_" or _is_override(default) for default in defaults)
        return takes_in or any(group in file.config for file in files for group in groups)


def _package(file: ConfigResult) -> str | None:
    return file.header.get("package")


def _is_override(default) -> bool:
    return not isinstance(default, str) and all(str(key).startswith("override ") for key in default)
