"""Parts of configurations that need no composing: what Hydra does with a choice is often to put a file of values in its place."""

import functools
from collections.abc import Collection, Mapping, Sequence

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException


class Parts:
    """The files of groups, as Hydra would read them with these overrides."""

    def __init__(self, loader, config_name: str, overrides: Sequence[str]) -> None:
        _, self._repository = loader._parse_overrides_and_create_caching_repo(config_name, list(overrides))
        self.part = functools.cache(self._part)
        self.is_group = functools.cache(self._repository.get_group_options)

    def _part(self, group: str, name: str) -> dict | None:
        """Return, as plain data, the part that a choice ``group=name`` makes of its group.

        That is a file merged into its schema; None where the file does more, or anything is wrong: Hydra says what.
        """
        file, schema = map(self._repository.load_config, (f"{group}/{name}", f"hydra/fwexp/{group}/{name}"))
        if file is None or schema is None or file.defaults_list or file.header["package"] or schema.header["package"]:
            return None
        try:
            part = OmegaConf.to_container(OmegaConf.merge(schema.config, file.config), resolve=False)
        except OmegaConfBaseException:
            return None
        return None if any(sign in str(part) for sign in ("${", "_target_")) else part

    def say_more(self, chosen: Mapping[str, str], groups: Collection[str]) -> bool:
        """Return whether a chosen file sets values of other groups or includes more files."""
        files = [file for group, name in chosen.items() if (file := self._repository.load_config(f"{group}/{name}"))]
        defaults = [default for file in files for default in file.defaults_list]
        takes_in = not all(default.is_override() or default.is_self() for default in defaults)
        return takes_in or any(group in file.config for file in files for group in groups)
