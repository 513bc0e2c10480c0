"""``fwexp run``: Hydra composes the arguments; a single configuration is run here, a sweep by `fwexp.run.sweep`."""

# ruff: noqa: T201

import argparse
import contextlib
import itertools
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import hydra
from hydra import version
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed
from fwexp.files import folders
from fwexp.methods import check_aliases
from fwexp.run import hydra_internals, launching, runner, sweep, work
from fwexp.run.config import SWEEP_KEYS, canonical, conf_dir, execution_settings, quote
from fwexp.run.hydra_errors import COMPOSING, explain
from fwexp.run.hydra_loader import started_by_us
from fwexp.store.keys import GROUPS

OTHER_GROUPS = ("engine", "experiment", "hydra")  # besides those of a run
FULL_ERROR = "HYDRA_FULL_ERROR"
TAKE_VALUES = ("-c", "--cfg", "-p", "--package", "-cp", "--config-path", "-cn", "--config-name", "-cd", "--config-dir")
RERUN = "--experimental-re"  # Hydra's flags may be cut short.


def main(arguments: list[str]) -> int:
    """Run ``fwexp run`` with the arguments after ``run``, which are Hydra's, and return the exit code."""
    composed = []

    def remember(config) -> None:
        composed.append((config, HydraConfig.get()))

    sweep.register()
    version.setbase("1.3")
    try:
        arguments = [_plain_text(argument) for argument in arguments]
        _check_folders(arguments)
        with _as_a_command():
            _start(arguments, remember) if hydra_internals.are_available() else _start_publicly(arguments, remember)
        return _run(*composed[0]) if composed else 0
    except COMPOSING as error:
        raise explain(error) from error
    except ValueError as error:
        if _raised_by_hydra(error):
            raise explain(error) from error
        raise
    except SystemExit as end:  # of --help and the like; 1 of a --package that there is not
        return 2 if end.code else 0


def _check_folders(arguments: Sequence[str]) -> None:
    """Check the YAML files in folders that the user names, because Hydra expands their aliases before anything is looked at."""
    named = [
        *_values(arguments, "-cd", "--config-dir", "-cp", "--config-path"),
        *re.findall(r"file://([^,\]\'\"]+)", " ".join(arguments)),
    ]
    for folder in map(Path, named):
        for path in itertools.chain(
            folder.glob("*.yaml"), *(folder.glob(f"{group}/**/*.yaml") for group in (*GROUPS, *OTHER_GROUPS))
        ):
            with contextlib.suppress(OSError):  # Hydra reads only what is chosen
                check_aliases(path)


def _start(arguments: list[str], remember: Callable) -> None:
    from hydra._internal.utils import _run_hydra, get_args_parser

    with unchecked_help():
        parser = get_args_parser()
    parser.error = _refuse
    flags = parser.parse_intermixed_args(arguments)
    if flags.experimental_rerun is not None:
        _refuse_rerun()
    with started_by_us(RunMode.MULTIRUN if flags.multirun else RunMode.RUN):
        _run_hydra(flags, parser, remember, str(conf_dir()), sweep.CONFIG_NAME)


def _start_publicly(arguments: list[str], remember: Callable) -> None:
    """Start Hydra as any application does. It uses a loader of its own then, so configurations are composed and checked before.

    Hydra explains in several lines which arguments it cannot read.
    """
    flags, overrides = split(arguments)
    if any(flag.startswith(RERUN) for flag in flags):
        _refuse_rerun()
    if not any(flag in ("-h", "--help", "--hydra-help") for flag in flags):
        folders_before = [f"hydra.searchpath=[file://{Path(name).absolute()}]" for name in _values(flags, "--config-dir", "-cd")]
        mode = RunMode.MULTIRUN if is_sweep(flags) else RunMode.RUN
        with sweep.hydra_loader() as loader:
            loader.load_configuration(sweep.CONFIG_NAME, [*folders_before, *overrides], run_mode=mode)
    sys.argv[1:] = [*flags, *overrides]
    with unchecked_help():
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=sweep.CONFIG_NAME)(remember)()


@contextlib.contextmanager
def unchecked_help() -> Iterator[None]:
    """Make argparse accept help that is no text, as in Hydra below 1.4: Python 3.14 checks help when a parser is made."""
    if not hasattr(argparse.ArgumentParser, "_check_help"):
        yield
        return
    argparse.ArgumentParser._check_help = lambda self, action: None  # The method itself is inherited.
    try:
        yield
    finally:
        del argparse.ArgumentParser._check_help


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the flags among Hydra's arguments, with their values, and the overrides."""
    flags, overrides, takes = [], [], False
    for argument in arguments:
        is_flag = takes or argument.startswith("-")
        (flags if is_flag else overrides).append(argument)
        takes = not takes and argument in TAKE_VALUES
    return flags, overrides


def is_sweep(flags: Sequence[str]) -> bool:
    """Return whether flags ask for a sweep."""
    return not {"-m", "--multirun"}.isdisjoint(flags)


def _values(flags: Sequence[str], *names: str) -> list[str]:
    """Return the values of a flag."""
    apart = [value for name, value in itertools.pairwise(flags) if name in names]
    return apart + [value for flag in flags for name, equals, value in [flag.partition("=")] if equals and name in names]


def _refuse(message: str) -> None:
    raise OptionError(f"{message} (see fwexp run --help)")


def _refuse_rerun() -> None:
    """Reject the flag that unpickles a file."""
    raise OptionError("--experimental-rerun is not supported: stored runs are run again with force=true")


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
    if hydra_config.runtime.choices["hydra/sweeper"] != "fwexp" or list(hydra_config.sweeper.grids) != [{}]:
        raise OptionError("this experiment stands for many runs; add -m to run them all")
    if not launching.runs_here(hydra_config):
        raise OptionError(f"hydra/launcher={hydra_config.runtime.choices['hydra/launcher']} starts the runs of a sweep; add -m")
    where = execution_settings(config)
    for key, usual in SWEEP_KEYS.items():
        if where.pop(key) != usual:
            raise OptionError(f"{key} is for a sweep; add -m")
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
        store.tidy(where["results_dir"])  # remnants of killed runs
    if outcome.lost:
        print_line(f"lost with workers: {outcome.lost}")
    if outcome.status in ("failed", "full"):
        raise RunsFailed(outcome.message)
    print(outcome.path)
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return 0


def _raised_by_hydra(error: Exception) -> bool:
    return Path(hydra.__file__).parent in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parents


def _plain_text(argument: str) -> str:
    """Return an argument whose value Hydra's grammar cannot read as it is: folders with spaces, ``time_to_gap=0.01``."""
    match = re.fullmatch(rf"(\+{{0,2}}(?:{'|'.join((*folders.FOLDER_KEYS, 'objective_value'))})=)(.+)", argument, re.DOTALL)
    if not match:
        return argument
    key, value = match.groups()
    name = key.strip("+=")
    if name in folders.FOLDER_KEYS:
        return key + quote(folders.folder_argument(name, value))
    return key + quote(value) if "=" in value and value[0] not in "'\"" else argument
