"""``fwexp advise``: which method reaches a gap first on a data set, by short trials."""

# ruff: noqa: T201

import functools
import math
import os
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fwexp import plugin_files
from fwexp.commands.arguments import Arguments, command
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, ParameterError, RunsFailed, UserError
from fwexp.files import folders
from fwexp.options import check_number
from fwexp.run.config import quote

USAGE = """\
usage: fwexp advise dataset=NAME [lam=LAM] [gap_tol=GAP] [KEY=VALUE ...] [solver=METHOD,METHOD,...] [seconds=60]
                    [--config-dir DIR] [data_dir=DIR]

Try methods on a part of the training set, predict when each of them reaches the gap on the whole set, and print the command to
use, with the reasons. Stores nothing. Takes all keys of fwexp run, with one value each.

In the table, ~ marks extrapolated numbers: the last trial was on fewer examples than all, or stopped at the gap shown.

  seconds=60       seconds of all trials; compiling kernels for the first time takes longer
  solver=...       methods to try, such as your own (default: auto and its likely rivals)
  gap_tol=0.001    the certified gap to reach (default: the one of fwexp run)
  --config-dir DIR your folder with data sets or methods, as for fwexp run

Ctrl-C ends the trials; the advice then follows from the trials so far.

Examples:
  fwexp advise dataset=ocr lam=0.01
  fwexp advise --plugin mine.py dataset=mine lam=1/n gap_tol=0.01 seconds=20 solver=auto,bcfw,my_solver
"""
KEYS = ("dataset", "solver", "lam", "gap_tol", "objective", "seconds")
HINGE = (
    "auto",
    "bcfw",
    "bcfw_gap",
    "bcpfw_gap_cache",
    "bccfw_gap_cache_accelerated",
    "bcfw_exact_shrinking",
    "n_slack",
    "one_slack",
)
OTHERS = ("auto", "block_entropic", "lbfgs", "online_eg")  # for objectives with an entropy
TIE = 1.2  # ratio of predicted seconds up to which auto is preferred, because predictions are no better
MARGIN = 2.0  # of max_passes in the command, over the predicted passes
KINDS = {"block methods": True, "other methods": False}
HEAD = ("method", "passes", "time", "memory", "examples", "gap")
WIDTH = 84  # of the reasons
DURATIONS = ((5400.0, 3600.0, "h"), (90.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"))  # from, unit, name


class _Fit(NamedTuple):
    """A method that fits a data set: its configuration and title, the solver and options that run, and the least bytes of a run."""

    config: Mapping
    title: str
    setting: str = ""
    memory: float = math.nan
    is_block: bool = False


@command("fwexp advise", USAGE, flags={"--config-dir": ()}, keys=None, offers=lambda: [f"{key}=" for key in KEYS])
def main(given: Arguments) -> int:
    """Run ``fwexp advise`` with the arguments after ``advise``.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    UserError
        Wrong arguments.
    RunsFailed
        Every trial failed.
    KeyboardInterrupt
        The trials were interrupted; the advice is printed before.
    """
    from fwexp.problems.protocol import exact_oracle
    from fwexp.run import runner, sweep
    from fwexp.store.keys import TRAIN, task_of
    from fwexp.tasks.advice import Candidate, advise

    _, flags, keys = given
    seconds = check_number("seconds", _number(keys.pop("seconds", 60)), "a positive number", above=0.0)
    named, config_dir = keys.pop("solver", None), flags.get("--config-dir")
    overrides = [f"{key}={quote(value) if key in folders.FOLDER_KEYS else value}" for key, value in keys.items()]
    with sweep.hydra_loader():
        composed = functools.partial(_composed, [*overrides, *_search_path(config_dir)])
        config = composed()
        problem, *_ = runner.load(config["dataset"], keys.get("data_dir"))
        if task_of(config) == TRAIN and not exact_oracle(problem):
            print(_command("bcfw", keys, config_dir))
            print("\nThe oracle of this data set only approximates the maximum: no certified gap tells which method is faster.")
            return 0
        names = named.split(",") if named else _usual(config)
        fits, skipped = _fits(names, composed, problem, keys.get("data_dir"), must_exist=named is not None)
    if not fits:
        raise OptionError(f"solver must fit the data set, got {', '.join(names)}: {next(iter(skipped.values()))}")
    options = {name: {key: value for key, value in fit.config["solver"].items() if key != "name"} for name, fit in fits.items()}
    candidates = [Candidate(name, fits[name].config["solver"]["name"], own) for name, own in options.items()]
    found = advise(problem, candidates, _task(config, problem), config["gap_tol"], seconds, tell=_tell(problem))
    for name, reason in found.failures.items():
        skipped[name] = reason
    if not found.predictions:
        if found.is_interrupted:
            raise KeyboardInterrupt
        raise RunsFailed(f"every trial failed: {next(iter(skipped.values()))}")
    _print(found, fits, skipped, config, problem, lambda name, more: _command(name, keys, config_dir, more))
    if found.is_interrupted:
        raise KeyboardInterrupt
    return 0


def _number(text) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"seconds must be a positive number, got {text!r}") from None


def _search_path(config_dir: str | None) -> list[str]:
    """Return the override by which Hydra looks into a folder, too."""
    if config_dir is None:
        return []
    if not Path(config_dir).is_dir():
        raise ParameterError(f"--config-dir must be a folder, got {config_dir!r}")
    return [f"hydra.searchpath=[file://{Path(config_dir).absolute()}]"]


def _composed(overrides: Sequence[str], *more: str) -> Mapping:
    """Return the one canonical configuration of overrides.

    Raises
    ------
    UserError
        A wrong value, or several values.
    """
    from fwexp.run import sweep
    from fwexp.store.keys import TRAIN, task_of

    configs = sweep.expand([*overrides, *more])
    if len(configs) > 1:
        raise OptionError(f"fwexp advise takes one value for every key except solver, got {len(configs)} combinations")
    config = configs[0]
    if task_of(config) not in (TRAIN, "convex"):
        raise OptionError(f"fwexp advise takes task={TRAIN} only, got {task_of(config)}")
    if "engine" in config:
        raise OptionError("fwexp advise tries methods on this machine, so engine must be null")
    if not config["gap_tol"] > 0:
        raise ParameterError("gap_tol must be a positive number, because methods are compared by the time to it, got 0")
    return config


def _usual(config: Mapping) -> Sequence[str]:
    """Return the methods to try on a data set if none are named."""
    from fwexp.plugins import STRUCTURED
    from fwexp.run import catalogues

    kinds = catalogues.kinds("dataset", config["dataset"]["name"])
    if STRUCTURED not in kinds:
        return catalogues.fitting("solver", kinds)
    return HINGE if config.get("objective", "hinge") == "hinge" else OTHERS


def _fits(names: Iterable[str], composed, problem, data_dir, must_exist: bool) -> tuple[dict[str, _Fit], dict[str, str]]:
    """Return the methods that fit, each setting once, and why other methods do not; a named method must exist."""
    from fwexp.run import runner

    fits: dict[str, _Fit] = {}
    skipped: dict[str, str] = {}
    for name in names:
        try:
            config = composed(f"solver={name}")
        except UserError as error:
            if must_exist:
                raise
            skipped[name] = str(error)
            continue
        try:
            runner.check([config], data_dir)
            fit = _fit(name, config, problem)
        except UserError as error:
            skipped[name] = str(error)
        else:
            same = next((other for other, known in fits.items() if fit.setting and known.setting == fit.setting), name)
            fits[same] = fit if same == name else fits[same]._replace(title=f"{same} ({name})")
    return fits, skipped


def _fit(name: str, config: Mapping, problem) -> _Fit:
    """Return what is known of a method before it runs.

    Raises
    ------
    UserError
        The method has no dual, does not fit, or needs more memory than there is.
    """
    from fwexp.memory import check_room, nbytes
    from fwexp.solvers import get_solver
    from fwexp.solvers.bcfw import BCFW
    from fwexp.store.keys import GROUPS, TRAIN, task_of
    from fwexp.tasks.training_settings import Settings

    own = config["solver"]["name"]
    if not getattr(get_solver(own), "has_dual", True):
        raise OptionError(f"solver {own} has no dual, so no gap shows when it is done")
    if task_of(config) != TRAIN:
        return _Fit(config, name)
    given = {key: value for key, value in config.items() if key not in GROUPS}
    options = {key: value for key, value in config["solver"].items() if key != "name"}
    settings = Settings(problem=problem, solver=own, options=options, **given)
    check_room(f"training on {problem!r}", settings.memory)
    setting = f"{settings.method.name} {settings.options}"
    is_block = issubclass(settings.method, BCFW)
    return _Fit(config, _title(name, own, settings), setting, settings.memory + nbytes(problem), is_block)


def _title(name: str, solver: str, settings) -> str:
    """Return the name of a method and the method that it chooses, after "like" if its choice has other options."""
    from fwexp.methods import method_of, methods
    from fwexp.solvers.base import check_options

    runs = method_of(settings.method.name, vars(settings.options)).partition("[")[0]
    if runs in (name, solver):
        return name
    stated = check_options(settings.method, methods()[runs].options) if runs in methods() else None
    return f"{name} ({runs})" if stated == settings.options else f"{name} (like {runs})"


def _task(config: Mapping, problem):
    """Return the function that makes the task of a trial; lam is that of all examples."""
    from fwexp.driver.settings import check_lam
    from fwexp.store.keys import GROUPS, task_of
    from fwexp.tasks import TASKS

    task = TASKS[task_of(config)]
    given = {key: value for key, value in config.items() if key not in GROUPS}
    if "lam" in given:
        given["lam"] = check_lam("lam", given["lam"], problem.n)
    return lambda **limits: task(task.check_options({}), given | limits)


def _tell(problem):
    """Return the function that prints a trial."""
    n = getattr(problem, "n", 1)

    def tell(candidate, trial) -> None:
        where = f"{trial.size} of {n} examples, " if n > 1 else ""
        print_line(f"{candidate.name}: {where}gap {trial.gap:.2g} after {trial.ended:.3g} passes")

    return tell


def _command(name: str, keys: Mapping[str, str], config_dir: str | None, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the command that runs a method."""
    files = [word for module in plugin_files.modules() for word in (plugin_files.FLAG, os.path.relpath(module.__file__))]
    folder = [] if config_dir is None else ["--config-dir", config_dir]
    words = [f"{key}={value}" for key, value in ({"solver": name} | dict(keys) | dict(more)).items()]
    return "fwexp run " + " ".join(map(shlex.quote, [*files, *folder, *words]))


def _print(found, fits: Mapping[str, _Fit], skipped: Mapping[str, str], config: Mapping, problem, command_of) -> None:
    """Print the predictions, the command to use, and the reasons."""
    from fwexp.papers import comparison_text

    ranked = found.predictions
    best = next((p for p in ranked if p.candidate.name == "auto" and p.seconds <= TIE * ranked[0].seconds), ranked[0])
    print(comparison_text.text([HEAD, *(_row(p, fits[p.candidate.name]) for p in ranked)]))
    needed = MARGIN * best.passes
    more = {"max_passes": str(math.ceil(needed))} if config["max_passes"] < needed < math.inf else {}
    print("\n" + command_of(best.candidate.name, more) + "\n")
    for sentence in (*_reasons(best, found, fits, config, problem), *(f"Skipped {name}: {why}" for name, why in skipped.items())):
        print(textwrap.fill(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False))


def _row(prediction, fit: _Fit) -> tuple[str, ...]:
    """Return the row of a method; numbers that no run on all examples measured begin with a tilde."""
    last, memory = prediction.last, f"{fit.memory / 1e6:.3g} MB" if fit.memory == fit.memory else ""
    sign = "" if last.size == prediction.n and last.is_measured else "~"
    numbers = [
        sign + text if "unknown" not in text else text for text in (_shown(prediction.passes), _duration(prediction.seconds))
    ]
    return (fit.title, *numbers, memory, str(last.size), f"{last.gap:.2g}")


def _reasons(best, found, fits: Mapping[str, _Fit], config: Mapping, problem) -> Iterator[str]:
    """Yield why a method is advised, a sentence each."""
    from fwexp.driver.settings import check_lam
    from fwexp.problems.protocol import costly_oracle

    ranked = found.predictions
    if best.seconds == 0.0:
        yield f"The gap is at most {config['gap_tol']:g} before the first step: choose a smaller gap_tol."
        return
    yield _comparison(best, ranked, config["gap_tol"])
    fewest = min(ranked, key=lambda p: p.passes)
    if fewest.passes < best.passes:
        yield f"{fewest.candidate.name} needs the fewest passes, {_shown(fewest.passes)}, but its passes take longer."
    cheapest = min(ranked, key=lambda p: p.last.per_call)
    cost = f"costs {_duration(cheapest.last.per_call)} at least ({cheapest.candidate.name})"
    if "lam" not in config:
        yield f"A linear minimisation with its step {cost}."
        return
    yield f"A call of the oracle{', a Python function,' if costly_oracle(problem) else ''} with its step {cost}."
    lam_n = check_lam("lam", config["lam"], problem.n) * problem.n
    least = {words: [p.passes for p in ranked if fits[p.candidate.name].is_block is kind] for words, kind in KINDS.items()}
    counts = [f"{words} {_shown(min(passes))}" for words, passes in least.items() if passes]
    yield f"n = {problem.n}, lam n = {lam_n:.3g}; passes needed: {', '.join(counts)}."
    if math.isfinite(found.chi):
        gain = (
            f"; theory expects sampling by gaps to gain a factor of {_rounded(found.improvement)}"
            if math.isfinite(found.improvement)
            else ""
        )
        yield f"The gaps of the examples spread by chi = {found.chi:.3g}, which is 1 if all are equal{gain}."


def _comparison(best, ranked: Sequence, gap_tol: float) -> str:
    """Return how the advised method compares with the next one."""
    name, others = best.candidate.name, [p for p in ranked if p is not best]
    if best.seconds == math.inf:
        return f"No method came near a gap of {gap_tol:g}: give more seconds=, or a larger gap_tol or lam."
    said = f"{name} takes {_duration(best.seconds)} to a gap of {gap_tol:g}"
    if not others:
        return f"{said}; no other method was tried."
    other, factor = others[0].candidate.name, others[0].seconds / best.seconds
    if factor < 1.0:
        return f"{said}; {other} is faster by less than a factor of {TIE:g}, which predictions cannot tell."
    if factor == math.inf:
        return f"{said}; the trials do not show when other methods get there."
    return f"{said}; {other}, the next one, takes {_rounded(factor)} times as long."


def _shown(passes: float) -> str:
    return f"{passes:.3g}" if passes < math.inf else "unknown"


def _duration(seconds: float) -> str:
    for least, unit, word in DURATIONS:
        if seconds >= least:
            return f"{_rounded(seconds / unit)} {word}" if seconds < math.inf else "unknown"
    return f"{_rounded(seconds / 1e-6)} us"


def _rounded(number: float) -> str:
    """Return a number with two digits, or all those before the point."""
    return f"{float(f'{number:.2g}'):g}"
