"""``fwexp run``: one configuration is run here, a sweep by `from_arguments`; Hydra's other flags print, and are Hydra's."""

# ruff: noqa: T201

import argparse
import contextlib
import io
import itertools
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import hydra
from hydra.core.utils import configure_log

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, RunsFailed, unknown
from fwexp.files import folders
from fwexp.run import execution, from_arguments, runner
from fwexp.run.composition import BASE, CONFIG_NAME, Composition, register, started
from fwexp.run.config import SWEEP_KEYS, canonical, conf_dir, execution_settings, quote
from fwexp.run.executors import BASIC, executor_of
from fwexp.run.hydra_errors import COMPOSING, explain

SWEEP_FLAGS = ("-m", "--multirun")
PLACES = {"-cd": "--config-dir", "-cn": "--config-name", "-cp": "--config-path"}  # flags with a value, which say what is composed
PRINTING = ("-h", "--help", "--hydra-help", "-c", "--cfg", "-p", "--package", "--resolve", "-i", "--info", "--version")
TAKE_VALUES = ("-c", "--cfg", "-p", "--package", *itertools.chain(*PLACES.items()))
RUN_FLAGS = ("-r", "--run", *SWEEP_FLAGS, *itertools.chain(*PLACES.items()))


def main(arguments: list[str]) -> int:
    """Run ``fwexp run`` with the arguments after ``run``, which are Hydra's, and return the exit code."""
    arguments = [_plain_text(argument) for argument in arguments]
    flags, overrides = split(arguments)
    names = [flag.partition("=")[0] for flag in flags if flag.startswith("-")]
    for name in names:
        if name not in (*RUN_FLAGS, *PRINTING):
            raise OptionError(unknown("flag of fwexp run", name, sorted({*RUN_FLAGS, *PRINTING})))
    places = {name: _values(flags, short, name)[-1:] for short, name in PLACES.items()}
    if set(names) & set(PRINTING):
        return _print(flags, overrides)
    folder = str(Path(*places["--config-path"]).absolute()) if places["--config-path"] else str(conf_dir())
    name = (places["--config-name"] or [CONFIG_NAME])[0]
    with started(folder, name, places["--config-dir"]) as composition:
        return _sweep(composition, overrides) if is_sweep(flags) else _run(composition, overrides)


def _print(flags: list[str], overrides: list[str]) -> int:
    """Start Hydra as any application does, with flags that make it print a configuration or help."""
    register()
    argv, full = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv, os.environ["HYDRA_FULL_ERROR"] = ["fwexp run", *flags, *overrides], "1"  # to raise errors, not to print them
    try:
        with unchecked_help(), contextlib.redirect_stderr(io.StringIO()) as said:
            hydra.main(config_path=str(conf_dir()), config_name=CONFIG_NAME, **BASE)(lambda config: None)()
    except SystemExit as end:  # of --help and the like; of flags that argparse cannot read
        if end.code:
            raise OptionError(said.getvalue().strip().rpartition("\n")[2].removeprefix("fwexp run: error: ")) from end
    except COMPOSING as error:
        raise explain(error) from error
    except ValueError as error:  # of flags that do not go together
        raise OptionError(str(error)) from error
    finally:
        sys.argv = argv
        os.environ.pop("HYDRA_FULL_ERROR") if full is None else os.environ.update(HYDRA_FULL_ERROR=full)
    return 0


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
    return not set(SWEEP_FLAGS).isdisjoint(flags)


def _values(flags: Sequence[str], *names: str) -> list[str]:
    """Return the values of a flag."""
    apart = [value for name, value in itertools.pairwise(flags) if name in names]
    return apart + [value for flag in flags for name, equals, value in [flag.partition("=")] if equals and name in names]


def _sweep(composition: Composition, overrides: Sequence[str]) -> int:
    overrides = ["hydra/sweeper=fwexp" if text == "hydra/sweeper=basic" else text for text in overrides]  # Both take the product.
    if "hydra/sweeper=optuna" in overrides:
        from fwexp.run.optuna_sweeper import search

        print(search(composition, overrides))
    else:
        from_arguments.run(composition, overrides)
    return 0


def _run(composition: Composition, overrides: Sequence[str]) -> int:
    config = composition.compose(overrides)
    hydra_config = config.hydra
    if hydra_config.runtime.choices["hydra/sweeper"] != "fwexp" or list(hydra_config.sweeper.grids) != [{}]:
        raise OptionError("this experiment stands for many runs; add -m to run them all")
    if executor_of(config) != BASIC:
        raise OptionError(f"hydra/launcher={hydra_config.runtime.choices['hydra/launcher']} starts the runs of a sweep; add -m")
    configure_log(hydra_config.job_logging, hydra_config.verbose)
    where = execution_settings(config)
    for key, usual in SWEEP_KEYS.items():
        if where.pop(key) != usual:
            raise OptionError(f"{key} is for a sweep; add -m")
    config = canonical({key: value for key, value in config.items() if key != "hydra"})
    outcome = runner.run(config, **where)
    if outcome.status == "claimed":
        print_line(execution.waiting("this run", store.run_dir(where["results_dir"], config)))
    while outcome.status == "claimed":
        time.sleep(execution.SECONDS)
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
