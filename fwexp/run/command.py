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
from hydra import version
from hydra._internal.utils import _run_hydra, get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed
from fwexp.files import folders
from fwexp.run import launching, runner, sweep, work
from fwexp.run.config import canonical, conf_dir, execution_settings, quote
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_loader import started_by_us

FULL_ERROR = "HYDRA_FULL_ERROR"


def main(arguments: list[str]) -> int:
    """Run ``fwexp run`` with the arguments after ``run``, which are Hydra's, and return the exit code."""
    composed = []

    def remember(config) -> None:
        composed.append((config, HydraConfig.get()))

    sweep.register()
    version.setbase("1.3")
    try:
        parser, flags = read_arguments([_plain_folder(argument) for argument in arguments])
        mode = RunMode.MULTIRUN if flags.multirun else RunMode.RUN
        with _as_a_command(), started_by_us(mode):
            _run_hydra(flags, parser, remember, str(conf_dir()), sweep.CONFIG_NAME)
        return _run(*composed[0]) if composed else 0
    except COMPOSING as error:
        raise explain(error) from error
    except ValueError as error:
        if _raised_by_hydra(error):
            raise explain(error) from error
        raise
    except SystemExit as end:  # of --help and the like; 1 of a --package that there is not
        return 2 if end.code else 0


def read_arguments(arguments: list[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Return Hydra's parser and what it reads, in any order; what it cannot read is one line."""

    def refuse(message: str) -> None:
        raise OptionError(f"{message} (see fwexp run --help)")

    parser = get_args_parser()
    parser.error = refuse
    flags = parser.parse_intermixed_args(arguments)
    if flags.experimental_rerun is not None:  # unpickles a file
        raise OptionError("--experimental-rerun is not supported: stored runs are run again with force=true")
    return parser, flags


@contextlib.contextmanager
def _as_a_command() -> Iterator[None]:
    """Make Hydra call itself ``fwexp run`` in its help, and raise errors instead of printing them."""
    argv, full = sys.argv, os.environ.get(FULL_ERROR)
    sys.argv, os.environ[FULL_ERROR] = ["fwexp run"], "1"
    try:
        yield
    finally:
        sys.argv = argv
        os.environ.pop(FULL_ERROR) if full is None else os.environ.update({FULL_ERROR: full})


def _run(config, hydra_config) -> int:
    if list(hydra_config.sweeper.grids) != [{}]:
        raise OptionError("this experiment stands for many runs; add -m to run them all")
    if not launching.runs_here(hydra_config):
        raise OptionError(f"hydra/launcher={hydra_config.runtime.choices['hydra/launcher']} starts the runs of a sweep; add -m")
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
    if outcome.lost:
        print_line(f"lost with workers: {outcome.lost}")
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
