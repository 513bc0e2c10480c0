"""Configurations, which Hydra composes from the files in ``conf/`` and from arguments, by its public functions."""

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import hydra
from hydra import initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fwexp.errors import OptionError, ParameterError, listed
from fwexp.files.folders import is_folder
from fwexp.run.config import conf_dir, conf_dirs, register_schema
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_settings import check_hydra, register_settings
from fwexp.store.keys import GROUPS

CONFIG_NAME = "config"
# Hydra 1.3 wants a program to say how it behaves; later releases behave in one way, and warn where it is said.
BASE = {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}
ALONE = threading.RLock()  # Hydra has global state: one thread at a time composes and sweeps


_given: list[Path] = []  # folders that an argument names
_open: list["Composition"] = []


class SearchPath(SearchPathPlugin):
    """Search path of Hydra for YAML files in addition to our own: the folders ``conf`` of other packages."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add these folders."""
        for folder in [*_given, *conf_dirs()[1:]]:
            search_path.append(provider="fwexp", path=f"file://{folder}")


def register() -> None:
    """Make the schema and the search path known to Hydra, whose parser advances in its assertions."""
    if not __debug__:
        raise OptionError("configurations are read with Python's assertions: unset PYTHONOPTIMIZE, and leave out -O")
    plugins = Plugins.instance()  # which registers what other packages have: our launchers take the place of theirs
    plugins.register(SearchPath)
    register_schema()
    register_settings()


class Composition:
    """Hydra with our folder: composes configurations, and reads each override and each file of values once."""

    def __init__(self, config_name: str = CONFIG_NAME) -> None:
        loader = GlobalHydra.instance().config_loader()
        self.loader, self._config_name, self._sources = loader, config_name, loader.get_sources()
        parser = OverridesParser.create(config_loader=loader)
        self.parse = functools.cache(lambda text: parser.parse_overrides([text])[0])
        self.names = functools.cache(self._names)
        self.part, self._file = functools.cache(self._part), functools.cache(self._load)

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """Return a configuration with its ``hydra``, whose settings are checked."""
        for text in overrides:
            self._check_choice(self.parse(text))
        config = hydra.compose(self._config_name, list(overrides), return_hydra_config=True)
        check_hydra(config)
        return config

    def _check_choice(self, override: Override) -> None:
        """Refuse an override that chooses nothing, or several names, from a group, or leaves it out: Hydra's message is no help."""
        key, given = override.key_or_group, override.input_line.partition("=")[2]
        if not key:
            raise OptionError(f"cannot read {override.input_line!r}, expected key=value")
        if key == "experiment" and override.get_key_element() != "+experiment":  # Hydra finds none, or a sweep ignores its grids
            raise OptionError(f"an experiment is chosen by +experiment={given or 'NAME'}, got {override.input_line!r}")
        if override.is_delete() and key in GROUPS:
            raise OptionError(f"{key} cannot be left out, got {override.input_line!r}")
        if override.type is not OverrideType.CHANGE or override.is_sweep_override() or not (names := self.names(key)):
            return
        if not isinstance(value := override.value(), str | dict) or not value:
            accepted = listed(names, key)
            raise ParameterError(f"{key} must be one name, or several with commas and -m, got {given!r}; accepted: {accepted}")

    def _names(self, group: str) -> list[str]:
        """Return the names that a group offers; the loader copies all schemas before each look, which takes 20 ms."""
        sources = [source for source in self._sources if source.is_group(group)]
        return sorted({name for source in sources for name in source.list(group, ObjectType.CONFIG)})

    def _load(self, path: str) -> ConfigResult | None:
        return next((source.load_config(path) for source in self._sources if source.is_config(path)), None)

    def _part(self, group: str, name: str) -> dict | None:
        """Return, as plain data, the part that ``group=name`` makes of its group; None if the file does more, or is wrong."""
        file, schema = map(self._file, (f"{group}/{name}", f"hydra/fwexp/{group}/{name}"))
        if file is None or schema is None or "defaults" in file.config or _package(file) or _package(schema):
            return None
        try:
            part = OmegaConf.to_container(OmegaConf.merge(schema.config, file.config), resolve=False)
        except OmegaConfBaseException:
            return None
        return None if "${" in str(part) else part

    def says_more(self, chosen: Mapping[str, str], group: str) -> bool:
        """Return whether a chosen file sets values of a group, from which another one is chosen, or includes more files."""
        files = [file for other, name in chosen.items() if (file := self._file(f"{other}/{name}"))]
        defaults = [default for file in files for default in file.config.get("defaults", ())]
        takes_in = not all(default == "_self_" or _is_override(default) for default in defaults)
        return takes_in or any(group in file.config for file in files)


def _package(file: ConfigResult) -> str | None:
    return file.header.get("package")


def _is_override(default) -> bool:
    return not isinstance(default, str) and all(str(key).startswith("override ") for key in default)


@contextlib.contextmanager
def composing() -> Iterator[Composition]:
    """Start Hydra from Python, or take the one that is started; a program under ``@hydra.main`` has its own again at the end."""
    with ALONE:
        if _open:
            yield _open[-1]
            return
        with started(str(conf_dir()), CONFIG_NAME) as composition:
            yield composition


@contextlib.contextmanager
def started(config_dir: str, config_name: str, more: Sequence[str] = ()) -> Iterator[Composition]:
    """Start Hydra from Python with this folder, primary configuration, and further folders; its errors become one line."""
    for folder in more:
        if not is_folder(Path(folder)):
            raise ParameterError(f"--config-dir must be a folder, got {folder!r}")
    with ALONE:
        register()
        before = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        _given[:] = [Path(folder).absolute() for folder in more]
        try:
            with initialize_config_dir(config_dir, job_name="fwexp", **BASE):
                _open.append(Composition(config_name))
                try:
                    yield _open[-1]
                finally:
                    _open.pop()
        except COMPOSING as error:
            raise explain(error) from error
        finally:
            _given.clear()
            GlobalHydra.instance().hydra = before
