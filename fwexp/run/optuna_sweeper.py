"""``hydra/sweeper=optuna``: a sweep whose points Optuna chooses, so that ``objective_value`` becomes small.

Runs go through the store like those of any sweep. The study is kept in ``results_dir/sweeps``, under a digest of all that it
depends on. Each point is drawn with a seed of its own, and told in the order of the points, batch by batch: what is asked next
depends on the points before it alone, so a search that was killed goes on as if it had not been.
"""

import contextlib
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hydra.core.override_parser.types import Override, ValueType
from omegaconf import OmegaConf

from fwexp import store
from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, ParameterError, RunsFailed, UserError, needing
from fwexp.files import folders
from fwexp.files.checksums import sha256
from fwexp.options import make_options
from fwexp.run import execution, grids, runner
from fwexp.run.composition import Composition
from fwexp.run.config import EXECUTION_KEYS, containers, execution_settings, quote
from fwexp.run.executors import executor_of
from fwexp.run.hydra_settings import SAMPLERS, OptunaOptions
from fwexp.run.measures import check_quantity, value_of
from fwexp.store.keys import key_of

OWNER = "hydra.sweeper"


def search(composition: Composition, overrides: Sequence[str]) -> Path:
    """Search the values that the overrides of a command line leave open, and return the folder of the best run."""
    with needing("hydra/sweeper=optuna needs"):
        import optuna  # noqa: F401
    with _quiet():
        return _Search(composition, overrides).run()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence Optuna's own lines in this context."""
    from optuna import exceptions, logging

    level = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", exceptions.ExperimentalWarning)  # of an option that is stable in the next release
            yield
    finally:
        logging.set_verbosity(level)


class _Point(NamedTuple):
    """A trial of the study: its number, its overrides, its configuration, or why it has none."""

    number: int
    overrides: list[str]
    config: dict | None
    misfit: UserError | None


class _Search:
    """A search: its space, its study and its runs of points."""

    def __init__(self, composition: Composition, overrides: Sequence[str]) -> None:
        common, parsed = grids.split(composition, overrides)
        preset = parsed.pop("+experiment", None)
        if preset is not None and preset.is_sweep_override():
            raise OptionError(f"hydra/sweeper=optuna takes one experiment, got {preset.input_line}")
        self._compose = grids.Composer(composition, common, preset and preset.input_line)
        config = self._compose.with_hydra
        self._executor = executor_of(config)
        given = OmegaConf.to_container(config.hydra.sweeper, resolve=True)
        self._options = make_options(OWNER, OptunaOptions, given, joint=".")
        listed = {key: value if isinstance(value, list) else [value] for key, value in (self._options.params or {}).items()}
        texts = {key: ",".join(each if isinstance(each, str) else quote(each) for each in values) for key, values in listed.items()}
        parsed = {key: composition.parse(f"{key}={text}") for key, text in texts.items()} | parsed
        fixed = [each.input_line for each in parsed.values() if not each.is_sweep_override()]
        self._space = {key: _distribution(each) for key, each in parsed.items() if each.is_sweep_override()}
        if not self._space:
            raise OptionError("hydra/sweeper=optuna needs a key to choose, such as 'lam=tag(log, interval(1e-5, 1))' or lam=0.1,1")
        if swept := next((key for key in self._space if key in EXECUTION_KEYS), None):
            raise OptionError(f"{swept} must have one value in a sweep, got {parsed[swept].input_line}")
        self._fixed, base = fixed, containers(self._compose(fixed))
        self._where = execution_settings(base)
        self._quantity = check_quantity(self._where.pop("objective_value"))
        self._folder = folders.check_folder("results_dir", self._where["results_dir"]).absolute()
        self._base = {key: value for key, value in base.items() if key not in EXECUTION_KEYS}
        self._batch = self._options.n_jobs or self._executor.workers
        self._tried: dict[str, execution.Todo] = {}

    def run(self) -> Path:
        """Run all trials that are left, and return the folder of the best run."""
        from optuna.trial import TrialState

        study = self._study()
        trials = study.get_trials(deepcopy=False)
        ended = [trial.params for trial in trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
        known = ended + [trial.system_attrs.get("fixed_params") for trial in trials if trial.state is TrialState.WAITING]
        for trial in trials:  # Those that failed are tried again.
            if trial.state is TrialState.FAIL and trial.params.keys() == self._space.keys() and trial.params not in known:
                study.enqueue_trial(trial.params)
                known.append(trial.params)
        begun = [self._point(trial.number, trial.params) for trial in trials if trial.state is TrialState.RUNNING]
        total, left = self._options.n_trials, max(self._options.n_trials - len(ended), 0)
        print_line(f"{total} trials: {total - left} told, {left} to do; the study is {self._file}")
        failed, misfits = [], []
        while left > 0:
            batch = [*begun, *self._asked(study, min(self._batch, left) - len(begun))]
            begun, left = [], left - len(batch)
            unrun = left + self._do(study, batch, failed, misfits)
            if failed and self._where["fail_fast"]:
                raise RunsFailed(
                    f"{', '.join(failed)} failed, and fail_fast=true ended the search; not run: {unrun} of {total} trials"
                )
        if misfits:
            print_line(execution.skipped(misfits, total))
        done = [trial for trial in study.get_trials(deepcopy=False) if trial.state is TrialState.COMPLETE]
        if failed:
            raise RunsFailed(f"{len(failed)} of {total} trials failed; repeat the command to try them again")
        if not done:
            none = f"{self._file} has no trial with a value, {len(ended)} were left out; see why with force=true"
            raise misfits[0] if misfits else ParameterError(none)
        best = min(done, key=lambda trial: trial.value)
        point = self._point(best.number, best.params)
        print_line(f"best of {len(done)} trials: {self._quantity} {best.value:.6g} with {' '.join(point.overrides)}")
        return store.run_dir(Path(self._where["results_dir"]), point.config)

    @property
    def _file(self) -> Path:
        """The file of the study."""
        own = (self._base, {key: repr(value) for key, value in self._space.items()}, self._quantity)
        names = self._options.sampler, self._options.seed
        return self._folder / "sweeps" / f"{sha256(json.dumps([*own, *names], sort_keys=True, default=str).encode())[:12]}.db"

    def _study(self):
        """Return the study as it is stored; a new one unless all its runs are stored, and of the present data."""
        import optuna
        from sqlalchemy import URL, NullPool
        from sqlalchemy.exc import DatabaseError

        store.check_writable(self._folder)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        url = URL.create("sqlite", database=str(self._file)).render_as_string()
        try:
            storage = optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})  # No connection stays open.
            study = optuna.create_study(storage=storage, study_name=self._file.stem, load_if_exists=True)
            trials = study.get_trials(deepcopy=False)
        except (DatabaseError, RuntimeError) as error:
            raise ParameterError(f"{self._file} must be a study of this Optuna, got another file; move it away") from error
        done = [self._point(trial.number, trial.params) for trial in trials if trial.state is optuna.trial.TrialState.COMPLETE]
        if self._where["force"] is True or not all(self._is_stored(point.config) for point in done):
            optuna.delete_study(study_name=study.study_name, storage=storage)
            study = optuna.create_study(storage=storage, study_name=study.study_name)
        return study

    def _asked(self, study, count: int) -> Iterator[_Point]:
        """Yield at most so many new points, to the end of their batch."""
        import numpy as np
        import optuna

        more = {"constant_liar": True} if self._options.sampler == "tpe" else {}
        for _ in range(count):
            number = len(study.get_trials(deepcopy=False))
            seed = int(np.random.SeedSequence([self._options.seed, number]).generate_state(1)[0])
            study.sampler = getattr(optuna.samplers, SAMPLERS[self._options.sampler])(seed=seed, **more)
            trial = study.ask(self._space)
            yield self._point(trial.number, trial.params)
            if (trial.number + 1) % self._batch == 0:
                return

    def _point(self, number: int, params: Mapping) -> _Point:
        """Return the point of a trial."""
        if params.keys() != self._space.keys():  # it was killed while it was asked
            return _Point(number, [], None, None)
        chosen = [f"{key}={params[key] if isinstance(params[key], str) else f'{params[key]:.15g}'}" for key in self._space]
        try:
            return _Point(number, chosen, self._compose.canonical([*self._fixed, *chosen]), None)
        except (ParameterError, OptionError) as error:
            if not self._where["skip_invalid"]:
                raise
            return _Point(number, chosen, None, error)

    def _is_stored(self, config: Mapping | None) -> bool:
        """Return whether a configuration needs no run."""
        if config is None:
            return False
        return not store.is_due(self._stored(config), self._where["force"])

    def _stored(self, config: Mapping):
        checksums = runner.known_checksums(config["dataset"], self._where["data_dir"])
        return store.stored(self._folder, config, checksums)

    def _run_of(self, key: str, config: Mapping) -> store.StoredRun | None:
        """Return the stored run that gives a point its value; None if the point's own run failed, or is still to be done."""
        run, tried = self._stored(config), self._tried.get(key)
        if tried is None:
            return None if store.is_due(run, self._where["force"]) else run
        return None if tried.status == "failed" else run

    def _do(self, study, batch: Sequence[_Point], failed: list[str], misfits: list[UserError]) -> int:
        """Run points that are not stored and report them to the study; return the number of points left for the next time."""
        from optuna.trial import TrialState

        whole = [point for point in batch if point.config is not None]
        names, unfit, left = {}, {}, 0
        for point in whole:
            names.setdefault(key_of(point.config), f"[{point.number + 1}] {' '.join(point.overrides)}")
        error = None
        if whole:
            configs = [point.config for point in whole]
            (error,) = execution.execute_in(self._executor, [configs], self._tried, names=names, unfit=unfit, **self._where)
        if error is not None and not isinstance(error, RunsFailed):
            raise error
        for point in batch:
            key = point.config and key_of(point.config)
            value, misfit = None, point.misfit or unfit.get(key)
            if key and misfit is None and (run := self._run_of(key, point.config)):
                try:
                    value = value_of(run, self._quantity)
                except ParameterError as none:
                    if not self._where["skip_invalid"]:
                        raise
                    misfit = none
            if misfit is not None:
                misfits.append(misfit)
            elif key in self._tried and value is None:
                failed.append(names[key])
            elif key and value is None:
                left += 1
                continue
            state = TrialState.PRUNED if misfit else TrialState.FAIL if value is None else TrialState.COMPLETE
            study.tell(point.number, value, state, skip_if_finished=True)
        if left and not (failed and self._where["fail_fast"]):
            raise error
        return left


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
