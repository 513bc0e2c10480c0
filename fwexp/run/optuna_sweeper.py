"""``hydra/sweeper=optuna``: a sweep whose points Optuna chooses, so that ``objective_value`` becomes small.

Each command goes through the whole study, in batches: it keeps the points of the commands before, draws each new point with a seed
of its own, and reads the value of each from its run in the store. So no run is done twice, and a search that was killed goes on as
if it had not been. The study is in ``results_dir/sweeps``, under a digest of all that it depends on.
"""

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra.core.override_parser.types import Override, ValueType
from omegaconf import OmegaConf

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, ParameterError, RunsFailed, needing
from fwexp.files.checksums import sha256
from fwexp.options import make_options
from fwexp.run import grids, runner
from fwexp.run.composition import Composition
from fwexp.run.config import EXECUTION_KEYS, containers, execution_settings
from fwexp.run.executors import executor_of
from fwexp.run.hydra_settings import SAMPLERS, OptunaOptions
from fwexp.run.sweep import Sweep, skipped
from fwexp.store.keys import key_of
from fwexp.store.results import measures

QUANTITIES = ("primal", "gap", "train_error", "validation_error", "test_error")
TIME_TO_GAP = re.compile(r"time_to_gap=(?=[\d.]*[1-9])((\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.IGNORECASE)
CURES = {"train_error": "; set train_error=true", "validation_error": "; set dataset.validation=0.2, for example"}


class Search:
    """A search for the values that the overrides of a command line leave open."""

    def __init__(self, composition: Composition, overrides: Sequence[str]) -> None:
        common, parsed = grids.split(composition, overrides)
        preset = parsed.pop("+experiment", None)
        if preset is not None and preset.is_sweep_override():
            raise OptionError(f"hydra/sweeper=optuna takes one experiment, got {preset.input_line}")
        self.compose = grids.Composer(composition, common, preset and preset.input_line)
        given = self.compose.with_hydra.hydra.sweeper
        self.options = make_options("hydra.sweeper", OptunaOptions, OmegaConf.to_container(given, resolve=True), joint=".")
        stated = {key: ",".join(grids.texts(values)) for key, values in (self.options.params or {}).items()}
        parsed = {key: composition.parse(f"{key}={text}") for key, text in stated.items()} | parsed
        self.fixed = [each.input_line for each in parsed.values() if not each.is_sweep_override()]
        self.space = {key: _distribution(each) for key, each in parsed.items() if each.is_sweep_override()}
        if not self.space:
            raise OptionError("hydra/sweeper=optuna needs a key to choose, such as 'lam=tag(log, interval(1e-5, 1))' or lam=0.1,1")
        if swept := next((key for key in self.space if key in EXECUTION_KEYS), None):
            raise OptionError(f"{swept} must have one value in a sweep, got {parsed[swept].input_line}")
        base = containers(self.compose(self.fixed))
        self.where, self.executor = execution_settings(base), executor_of(self.compose.with_hydra)
        self.quantity = self.where.pop("objective_value")
        if self.quantity not in QUANTITIES and not (isinstance(self.quantity, str) and TIME_TO_GAP.fullmatch(self.quantity)):
            accepted = f"{', '.join(QUANTITIES)} or time_to_gap=GAP with GAP > 0"
            raise ParameterError(f"objective_value must be {accepted}, got {self.quantity!r}")
        base = {key: value for key, value in base.items() if key not in EXECUTION_KEYS}
        own = base, {key: repr(value) for key, value in self.space.items()}, self.quantity, self.options.sampler, self.options.seed
        digest = sha256(json.dumps(own, sort_keys=True, default=str).encode())
        self.file = Path(self.where["results_dir"]).absolute() / "sweeps" / f"{digest[:12]}.db"

    def run(self) -> Path:
        """Run all trials whose runs are not stored, and return the folder of the best run."""
        from optuna.trial import TrialState

        study, former = self.study()
        total, size = max(self.options.n_trials, len(former)), self.options.n_jobs or self.executor.workers
        print_line(f"{total} trials, {len(former)} of them chosen before; the study is {self.file}")
        sweep, best, failed, misfits = Sweep(self.executor, self.where | {"objective_value": None}), {}, [], []
        for first in range(0, total, size):
            batch = {number: self.point(study, number, former) for number in range(first, min(first + size, total))}
            names = {key_of(config): f"[{number + 1}] {text}" for number, (text, config, _) in batch.items() if config}
            due = [config for _, config, _ in batch.values() if config and self.stored(config) is None]
            (error,) = sweep.run([due], names) if due else (None,)
            if error is not None and not isinstance(error, RunsFailed):
                raise error
            left = total - first - len(batch)
            for number, (text, config, misfit) in batch.items():
                key, value = config and key_of(config), None
                misfit, run, tried = misfit or sweep.unfit.get(key), None, sweep.tried.get(key)
                if config and not misfit and not (tried and tried.status == "failed"):
                    run = store.stored(self.where["results_dir"], config) if tried else self.stored(config)
                try:
                    value = run and value_of(run, self.quantity)
                except ParameterError as none:
                    if not self.where["skip_invalid"]:
                        raise
                    misfit = none
                if misfit:
                    misfits.append(misfit)
                elif value is not None:
                    best[number] = value, text, run.path
                elif tried:
                    failed.append(names[key])
                else:  # the sweep was ended before it
                    left += 1
                    continue
                study.tell(number, value, TrialState.PRUNED if misfit else TrialState.FAIL if value is None else None)
            if failed and self.where["fail_fast"]:
                said = f"{', '.join(failed)} failed, and fail_fast=true ended the search; not run: {left} of {total} trials"
                raise RunsFailed(said)
            if left > total - first - len(batch):
                raise error
        if misfits:
            print_line(skipped(misfits, total))
        if failed:
            raise RunsFailed(f"{len(failed)} of {total} trials failed; repeat the command to try them again")
        if not best:
            raise misfits[0]
        value, text, path = min(best.values(), key=lambda each: each[0])
        print_line(f"best of {len(best)} trials: {self.quantity} {value:.6g} with {text}")
        return path

    def study(self):
        """Return an empty study in the file, and the points of the study that was there."""
        import optuna
        from sqlalchemy import URL, NullPool
        from sqlalchemy.exc import DatabaseError

        store.check_writable(self.where["results_dir"])
        self.file.parent.mkdir(parents=True, exist_ok=True)
        url, name = URL.create("sqlite", database=str(self.file)).render_as_string(), self.file.stem
        try:
            storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})  # No connection stays open.
            former = optuna.create_study(storage=storage, study_name=name, load_if_exists=True).get_trials(deepcopy=False)
        except (DatabaseError, RuntimeError) as error:
            raise ParameterError(f"{self.file} must be a study of this Optuna, got another file; move it away") from error
        optuna.delete_study(study_name=name, storage=storage)
        points = [trial.params for trial in former if trial.params.keys() == self.space.keys()]  # others were killed while asked
        return optuna.create_study(storage=storage, study_name=name), points

    def point(self, study, number: int, former: Sequence[Mapping]):
        """Return the overrides of a point as text, its configuration, and why it has none."""
        import numpy as np
        import optuna

        if number < len(former):
            study.enqueue_trial(former[number])
        more = {"constant_liar": True} if self.options.sampler == "tpe" else {}
        seed = int(np.random.SeedSequence([self.options.seed, number]).generate_state(1)[0])
        study.sampler = getattr(optuna.samplers, SAMPLERS[self.options.sampler])(seed=seed, **more)
        params = study.ask(self.space).params
        chosen = [f"{key}={params[key] if isinstance(params[key], str) else f'{params[key]:.15g}'}" for key in self.space]
        try:
            return " ".join(chosen), self.compose.canonical([*self.fixed, *chosen]), None
        except (ParameterError, OptionError) as error:
            if not self.where["skip_invalid"]:
                raise
            return " ".join(chosen), None, error

    def stored(self, config: Mapping) -> store.StoredRun | None:
        """Return the run of a configuration if it needs none any more."""
        run = runner.stored(config, self.where["results_dir"], self.where["data_dir"])
        return None if store.is_due(run, self.where["force"]) else run


def value_of(run: store.StoredRun, quantity: str) -> float:
    """Return the value of a run to minimise: infinite if it diverged, or never reached the gap."""
    if run.status == "diverged":
        return math.inf
    if level := TIME_TO_GAP.fullmatch(quantity):
        trace = store.read_results([run], ("step", "time", "primal", "dual")).sort_values("step", kind="stable")
        gaps = trace["primal"].cummin() - trace["dual"].cummax()
        reached = trace["time"][gaps <= float(level[1])]
        value = math.nan if gaps.isna().all() else reached.min() if len(reached) else math.inf
    else:
        value = measures(run).get(quantity, math.nan)
    if math.isnan(value):
        made_by = f"solver {run.config['solver']['name']} on dataset {run.config['dataset']['name']}"
        needs = f"objective_value={quantity} needs runs that measure it, got none from {made_by}"
        raise ParameterError(needs + CURES.get(quantity, ""))
    return float(value)


def _distribution(override: Override):
    """Return Optuna's distribution of a key whose values a sweep has: a list of them, a range or an interval."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    swept, given = override.value(), override.input_line
    log = "log" in getattr(swept, "tags", ())
    if override.value_type is ValueType.INTERVAL_SWEEP:
        low, high = swept.start, swept.end
        if not (-math.inf < low < high < math.inf and (low > 0 or not log)):
            raise ParameterError(f"{given!r} must have finite ends in their order, and above 0 on a log scale")
        kind = IntDistribution if isinstance(low, int) and isinstance(high, int) else FloatDistribution
        return kind(low, high, log=log)
    if log:
        raise ParameterError(f"a log scale needs an interval, got {given!r}")
    texts = [text.partition("=")[2] for text in grids.choices(override)]
    if override.value_type is not ValueType.RANGE_SWEEP or len(texts) == 1:
        return CategoricalDistribution(list(dict.fromkeys(texts)))
    kind, number = (IntDistribution, int) if all(text.lstrip("-").isdigit() for text in texts) else (FloatDistribution, float)
    numbers = sorted(map(number, texts))
    return kind(numbers[0], numbers[-1], step=number(f"{numbers[1] - numbers[0]:.15g}"))


def search(composition: Composition, overrides: Sequence[str]) -> Path:
    """Search the values that the overrides of a command line leave open, and return the folder of the best run."""
    with needing("hydra/sweeper=optuna needs"):
        import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of an option that is stable in the next release
        return Search(composition, overrides).run()
