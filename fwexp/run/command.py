"""``fwexp run``: Hydra composes what the arguments say; a single configuration is run here, a sweep by `fwexp.run.sweep`."""

# ruff: noqa: T201

import argparse
import contextlib
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import hydra
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed
from fwexp.files import folders
from fwexp.run import runner, sweep, work
from fwexp.run.config import canonical, conf_dir, execution_settings, quote
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_settings import check_hydra


def main(arguments: list[str]) -> int:
    """Run ``fwexp run`` with the arguments after ``run``, which are Hydra's, and return the exit code."""
    composed = []

    def remember(config) -> None:
        composed.append((config, HydraConfig.get().sweeper))

    sweep.register()
    with hydra_arguments([_plain_folder(argument) for argument in arguments]), _checked():
        try:
            hydra.main(config_path=str(conf_dir()), config_name=sweep.CONFIG_NAME, version_base="1.3")(remember)()
            return _run(*composed[0]) if composed else 0
        except COMPOSING as error:
            raise explain(error) from error
        except ValueError as error:
            if _raised_by_hydra(error):
                raise explain(error) from error
            raise
        except SystemExit as end:  # of --help and the like
            return int(end.code or 0)


def _run(config, sweeper) -> int:
    if "grids" in sweeper and list(sweeper.grids) != [{}]:
        raise OptionError("this experiment stands for many runs; add -m to run them all")
    where = execution_settings(config)
    config = canonical(config)
    outcome = runner.run(config, **where)
    if outcome.status == "claimed":
        print_line(work.waiting("this run", config, where["results_dir"]))
    while outcome.status == "claimed":
        time.sleep(work.SECONDS)
        outcome = runner.run(config, **where)
    if outcome.status == "stored":
        print_line(outcome.message)
    else:
        store.tidy(where["results_dir"])  # of what was killed before
    if outcome.status == "failed":
        raise RunsFailed(outcome.message)
    print(outcome.path)
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return 0


def _raised_by_hydra(error: Exception) -> bool:
    return Path(hydra.__file__).parent in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parents


def _plain_folder(argument: str) -> str:
    """Return an argument that names a folder in Hydra's grammar, in which spaces, umlauts and commas mean something."""
    match = re.fullmatch(rf"(\+{{0,2}}(?:{'|'.join(folders.FOLDER_KEYS)})=)(.+)", argument, re.DOTALL)
    if not match:
        return argument
    key, name = match.groups()
    return key + quote(folders.folder_argument(key.strip("+="), name))


@contextlib.contextmanager
def _checked() -> Iterator[None]:
    """Check whatever Hydra composes before it makes use of it: it sets up logging before anybody else sees a configuration."""
    load = ConfigLoaderImpl.load_configuration

    def checked(*arguments, **options):
        config = load(*arguments, **options)
        check_hydra(config)
        return config

    with _replaced(ConfigLoaderImpl, "load_configuration", checked):
        yield


@contextlib.contextmanager
def _replaced(owner, name: str, value) -> Iterator[None]:
    """Give something another attribute for a while; `unittest.mock` would take longer to import than most commands to start."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def hydra_arguments(arguments: list[str]) -> Iterator[None]:
    """Let Hydra find its arguments in any order, raise its errors instead of printing them, and be brief about unknown flags.

    The flag -m alone says whether this is a sweep: Hydra would compose everything once more to ask the configuration.
    """
    parsed_flags = []

    def refuse(parser: argparse.ArgumentParser, message: str) -> None:
        raise OptionError(f"{message} (see fwexp run --help)")

    def parse(parser: argparse.ArgumentParser, *args, **options) -> argparse.Namespace:
        parsed = parser.parse_intermixed_args(*args, **options)
        if getattr(parsed, "experimental_rerun", None) is not None:  # unpickles a file
            raise OptionError("--experimental-rerun is not supported: stored runs are run again with force=true")
        parsed_flags.append(parsed)
        return parsed

    def mode(*_, **__) -> RunMode:
        return RunMode.MULTIRUN if parsed_flags[-1].multirun else RunMode.RUN

    with (
        _replaced(sys, "argv", ["fwexp run", *arguments]),
        _environment(HYDRA_FULL_ERROR="1"),
        _replaced(argparse.ArgumentParser, "error", refuse),
        _replaced(argparse.ArgumentParser, "parse_args", parse),
        _replaced(Hydra, "get_mode", mode),
    ):
        yield
