"""Selection of runs of a sweep by validation, with the test error there; the test set chooses nothing."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fwexp.data.validation import NAMES
from fwexp.errors import OptionError, RunsFailed
from fwexp.methods import method_of
from fwexp.solvers import get_solver
from fwexp.store.keys import TRAIN, task_of
from fwexp.store.run_labels import as_text, differing, with_method
from fwexp.store.stored_run import StoredRun

HEAD = ("data", "solver", "lam", "options", "validation error", "sd", "picked by", "test error", "sd", "refit error", "sd")
NONE = ("", "")
ERRORS = ("validation_error", "test_error")
MEAN, ORACLE = "mean", "oracle"
SEEDS = ("seed", "validation_seed")
Repeat = tuple[int, int]  # the seed of a run, and the seed that chooses the validation examples


@dataclass
class Candidate:
    """Values of the options that a sweep tries, with the errors of their runs by their seeds."""

    config: Mapping
    lam: float
    options: str = ""
    errors: dict[Repeat, Mapping[str, float]] = field(default_factory=dict)

    def run(self, repeat: Repeat) -> Repeat:
        """Return the seeds of the run that stands for a repetition: a solver without random choices has one for all seeds."""
        return repeat if _is_stochastic(self.config) else (0, repeat[1])

    def of(self, repeat: Repeat, name: str) -> float:
        """Return an error; infinite if the run diverged."""
        return self.errors.get(self.run(repeat), {}).get(name, np.inf)

    def all(self, repeats: Sequence[Repeat], name: str) -> list[float]:
        """Return an error of every run, each once, that stands for the repetitions."""
        return [self.of(repeat, name) for repeat in dict.fromkeys(map(self.run, repeats))]

    def mean(self, repeats: Sequence[Repeat], name: str = "validation_error") -> float:
        """Return the mean of an error, without rounding errors that would decide between equal candidates."""
        return round(float(np.mean([self.of(repeat, name) for repeat in repeats])), 12)

    @property
    def solver(self) -> str:
        """The method by its name."""
        return method_of(self.config["solver"]["name"], self.config["solver"])

    @property
    def said(self) -> str:
        """The values on one line."""
        return f"solver={self.solver} lam={as_text(self.config['lam'])} {self.options}".strip()


@dataclass
class Selection:
    """The candidates of one data set, in the order of the sweep, as are the seeds."""

    # Refits are the test errors after training on the whole training set with what the mean over seeds picks, if asked for.

    data: str
    candidates: list[Candidate]
    repeats: list[Repeat]
    refits: list[float] = field(default_factory=list)

    def pick(self, repeats: Sequence[Repeat], name: str = "validation_error") -> Candidate | None:
        """Return the candidate of the lowest mean error; of several the one of the largest lam. None if all runs diverged."""
        found = [(candidate.mean(repeats, name), -candidate.lam, k) for k, candidate in enumerate(self.candidates)]
        lowest, _, place = min(found)
        return self.candidates[place] if np.isfinite(lowest) else None

    def picks(self, oracle: bool = False) -> dict[str, Candidate | None]:
        """Return the picks of every seed, of the mean over seeds and, if it is asked for, of the test set."""
        by_seed = {self.name(repeat): self.pick([repeat]) for repeat in self.repeats} if len(self.repeats) > 1 else {}
        by_test = {ORACLE: self.pick(self.repeats, "test_error")} if oracle else {}
        return by_seed | {MEAN: self.pick(self.repeats)} | by_test

    def name(self, repeat: Repeat) -> str:
        """Return the name of a repetition: its seeds, as far as they differ among runs."""
        several = [len({other[k] for other in self.repeats}) > 1 for k in range(2)]
        return " ".join(f"{SEEDS[k]}={repeat[k]}" for k in range(2) if several[k])

    def rows(self, oracle: bool = False, spec: str = ".4f") -> list[tuple]:
        """Return a row for each candidate as `HEAD` names its cells, errors in a format; only picked ones have a test error."""
        picks, rows = self.picks(oracle), []
        for candidate in self.candidates:
            by = [name for name, picked in picks.items() if picked is candidate]
            validation, test = (spread(candidate.all(self.repeats, name), spec) for name in ERRORS)
            tests = [test if by else NONE, spread(self.refits, spec) if picks[MEAN] is candidate else NONE]
            row = self.data, candidate.solver, as_text(candidate.config["lam"]), candidate.options, *validation, ", ".join(by)
            rows.append((*row, *tests[0], *tests[1]))
        return rows

    def sentences(self, oracle: bool = False) -> list[str]:
        """Return the values that validation picks, and the test error there."""
        picked = self.pick(self.repeats)
        if picked is None:
            return [f"{self.data}: every candidate has a run that diverged, so validation picks none"]
        several = len(self.repeats) > 1
        over = f" by the mean over {len(self.repeats)} seeds" if several else ""
        said = [f"{self.data}: validation picks {picked.said}{over}; test error {self._test(picked)}"]
        if self.refits:
            said.append(f"{self.data}: after training on the whole training set; test error {_shown(self.refits)}")
        if several and None not in (own := [self.pick([repeat]) for repeat in self.repeats]):
            errors = [one.of(repeat, "test_error") for one, repeat in zip(own, self.repeats, strict=True)]
            said.append(f"{self.data}: each seed at its own pick; test error {_shown(errors)}")
        lams = sorted({candidate.lam for candidate in self.candidates})
        if len(lams) > 1 and picked.lam in (lams[0], lams[-1]):
            end, more = ("smallest", "smaller") if picked.lam == lams[0] else ("largest", "larger")
            said.append(f"{self.data}: lam={as_text(picked.config['lam'])} is the {end} value tried; add {more} ones")
        if oracle and (best := self.pick(self.repeats, "test_error")) is not None:
            error = f"test error {self._test(best)}, which is no estimate for new data"
            said.append(f"{self.data}: the test set would pick {best.said}; {error}")
        return said

    def _test(self, picked: Candidate) -> str:
        """Return the test errors of a candidate as a text."""
        return _shown(picked.all(self.repeats, "test_error"))

    def refitted(self) -> list[dict]:
        """Return the configurations of training on the whole training set with the values that the mean over seeds picks."""
        picked = self.pick(self.repeats)
        if picked is None:
            return []
        dataset = {key: value for key, value in picked.config["dataset"].items() if key not in NAMES}
        seeds = dict.fromkeys(seed if _is_stochastic(picked.config) else 0 for seed, _ in self.repeats)
        return [{**picked.config, "dataset": dataset, "seed": seed} for seed in seeds]


def check(configs: Sequence[Mapping]) -> None:
    """Check, before anything is run, that there is a choice, and a validation set to make it with; `OptionError` if not."""
    for config in configs:
        if task_of(config) != TRAIN:
            raise OptionError(f"fwexp select takes task={TRAIN} only, got {task_of(config)}")
        if not config["dataset"].get("validation"):
            raise OptionError("fwexp select needs dataset.validation > 0, such as 0.2, got 0")
    for data, group in _groups(configs).items():
        if len({_candidate(config) for config in group}) < 2:
            raise OptionError(f"fwexp select needs several values to choose among, such as lam=0.1,0.01, got one for {data}")


def select(configs: Sequence[Mapping], stored: Callable[[Mapping], StoredRun | None]) -> list[Selection]:
    """Return the candidates of each data set, with the errors of their runs, which `stored` returns; `RunsFailed` without one."""
    selections = []
    for data, group in _groups(configs).items():
        candidates: dict[str, Candidate] = {}
        for config in group:
            run = stored(config)
            if run is None:  # another process may have removed it
                raise RunsFailed(f"a run of {data} is missing; repeat the command to run it")
            candidate = candidates.setdefault(_candidate(config), Candidate(config, run.record["lam"]))
            candidate.errors[_repeat(config)] = {name: error_of(run, name) for name in ERRORS}
        configs_of = [candidate.config | {"solver": with_method(candidate.config)} for candidate in candidates.values()]
        for candidate, options in zip(candidates.values(), differing(configs_of), strict=True):
            candidate.options = options
        drawn = [config for config in group if _is_stochastic(config)]
        repeats = list(dict.fromkeys(map(_repeat, drawn or group)))
        selections.append(Selection(data, list(candidates.values()), repeats))
    return selections


def error_of(run: StoredRun, name: str) -> float:
    """Return an error of a run; infinite if it diverged or has no such error."""
    return run.errors.get(name, np.inf)


def spread(errors: Sequence[float], spec: str = ".4f") -> tuple[str, str]:
    """Return the mean and the standard deviation of errors as texts: empty if errors are missing, and the latter of one error."""
    if not len(errors) or not np.isfinite(errors).all():
        return NONE
    return format(float(np.mean(errors)), spec), format(float(np.std(errors, ddof=1)), spec) if len(errors) > 1 else ""


def _shown(errors: Sequence[float]) -> str:
    mean, sd = spread(errors)
    return (mean or "unknown") + f" (sd {sd})" * bool(sd)


def _groups(configs: Sequence[Mapping]) -> dict[str, list[Mapping]]:
    """Return the configurations of each data set, by its name and options."""
    groups: dict[str, list[Mapping]] = {}
    for config in configs:
        shown = {key: value for key, value in config["dataset"].items() if key != "validation_seed"}
        name, *options = (value if key == "name" else f"{key}={as_text(value)}" for key, value in shown.items())
        groups.setdefault(" ".join([name, *options]), []).append(config)
    return groups


def _candidate(config: Mapping) -> str:
    """Return a configuration without its data set and seeds, as a text."""
    return json.dumps({key: value for key, value in config.items() if key not in ("dataset", "seed")}, sort_keys=True)


def _repeat(config: Mapping) -> Repeat:
    return config["seed"], config["dataset"].get("validation_seed", 0)


def _is_stochastic(config: Mapping) -> bool:
    return get_solver(config["solver"]["name"]).stochastic
