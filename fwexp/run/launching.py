"""Runs in this process, in processes of joblib, and by Hydra's other launchers, which call `job` in their workers."""

import contextlib
import copy
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext
from omegaconf import OmegaConf, read_write

from fwexp import plugin_files, store
from fwexp.driver.progress import print_line, without_summaries
from fwexp.errors import UserError, WorkersLost
from fwexp.files.processes import this_process
from fwexp.jit.threads import available_processors
from fwexp.run import deaths, interrupts, relay, runner
from fwexp.run.config import LAUNCHERS, literal
from fwexp.run.dask_launcher import DaskLauncher
from fwexp.run.runner import Outcome
from fwexp.run.work import Todo
from fwexp.store.keys import key_of


class _Jobs:
    """Stand-in for Hydra's loader and callbacks, which launchers ask about jobs: it composes nothing and calls no callback."""

    def load_sweep_config(self, config, overrides: list[str]):
        """Return Hydra's configuration of a job, which notes the overrides of its launch."""
        config = copy.deepcopy(config)
        with read_write(config.hydra):
            config.hydra.overrides.task = overrides
        return config

    def on_job_start(self, **_) -> None:
        """Ignore the start of a job."""

    on_job_end = on_job_start


def runs_here(hydra) -> bool:
    """Return whether the launcher in Hydra's part of a configuration has no workers."""
    return hydra.launcher._target_ == LAUNCHERS["basic"]


def workers(hydra) -> int:
    """Return how many runs the launcher in Hydra's part of a configuration does at once, as far as that is known here."""
    if runs_here(hydra):
        return 1
    here = available_processors()
    given = hydra.launcher.get("n_jobs") or hydra.launcher.get("n_workers") or here
    return given if given > 0 else max(here + 1 + given, 1)


def launch(todo: Sequence[Todo], config, folder: Path) -> list[JobReturn]:
    """Hand runs of the sweep with this folder to the launcher, by key, and wait for them.

    Where a worker died, a launcher either raises, having lost all, or returns `WorkersLost` for the run.
    """
    keys = [key_of(run.config) for run in todo]
    try:
        return _launched(keys, config, folder)
    finally:
        _note_overrun(folder, keys)


def _launched(keys: Sequence[str], config, folder: Path) -> list[JobReturn]:
    launcher = config.hydra.launcher
    if runs_here(config.hydra):
        apart = [key for key in keys if _may_die(folder, key)]
        returned = {key: _returned(_here, str(folder), key) for key in keys if key not in apart}
        if apart:
            with interrupts.passed_on(folder):
                returned |= zip(apart, _in_processes({"n_jobs": 1}, folder, apart), strict=True)
        return [returned[key] for key in keys]
    if launcher._target_ == LAUNCHERS["joblib"]:
        with interrupts.passed_on(folder):
            return _in_processes(OmegaConf.to_container(launcher, resolve=True), folder, keys)
    with _workers(config, folder) as config:
        context, task = HydraContext(config_loader=_Jobs(), callbacks=_Jobs()), functools.partial(job, str(folder))
        if launcher._target_ == LAUNCHERS["dask"]:
            starter = DaskLauncher(**{key: value for key, value in launcher.items() if key != "_target_"})
            starter.setup(hydra_context=context, task_function=task, config=config)
        else:
            starter = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=task, config=config)
        return starter.launch([[key] for key in keys], initial_job_idx=0)


def _may_die(folder: Path, key: str) -> bool:
    """Return whether a run needs a process of its own, because it can take this one with it."""
    sweep = relay.read(str(folder))
    final = store.run_dir(sweep["where"]["results_dir"], sweep["jobs"][key]["config"])
    return sweep.get("wall_limit") is not None or deaths.has_died(final)


def _note_overrun(folder: Path, keys: Sequence[str]) -> None:
    """Store the failures of runs whose processes were ended because they took too long."""
    for key in keys:
        if relay.has_overrun(folder, key):
            name, config, where = _what(str(folder), key)
            outcome = runner.fail(deaths.WallTimeExceeded(relay.read(str(folder))["wall_limit"]), config, where["results_dir"])
            deaths.forget(store.run_dir(where["results_dir"], config))
            relay.end(folder, key, f"{name}: {outcome.message}")
            _end_at_failure(str(folder), outcome)


def _in_processes(given: Mapping, folder: Path, keys: Sequence[str]) -> list[JobReturn]:
    """Run with joblib itself: Hydra's launcher for it prepares and returns a whole configuration for each run."""
    from joblib import Parallel, delayed, effective_n_jobs
    from joblib.externals.loky import ProcessPoolExecutor

    options = {key: value for key, value in given.items() if key != "_target_"}
    for key in ("pre_dispatch", "batch_size", "max_nbytes"):  # texts there, such as 2*n_jobs, or numbers
        if str(options.get(key)).isdecimal():
            options[key] = int(options[key])
    start = {"initializer": interrupts.follow, "initargs": (this_process(),)}
    if effective_n_jobs(options["n_jobs"]) == 1:  # `Parallel` would run them in this process.
        with ProcessPoolExecutor(1, **start) as pool:
            return [*pool.map(functools.partial(_returned, _in_worker, folder), keys)]
    return Parallel(**options | start | {"backend": "loky"})(delayed(_returned)(_in_worker, folder, key) for key in keys)


def _returned(work: Callable, folder, key: str) -> JobReturn:
    """Return what a function returns or raises as Hydra's launchers do."""
    try:
        return JobReturn(status=JobStatus.COMPLETED, _return_value=work(folder, key))
    except Exception as error:
        return JobReturn(status=JobStatus.FAILED, _return_value=error)


@contextlib.contextmanager
def _workers(config, folder: Path) -> Iterator:
    """Set the further settings of a launcher with workers; yield Hydra's configuration, their own files in ``folder``."""
    config = copy.deepcopy(config)
    files = OmegaConf.to_container(config.hydra.launcher, resolve=False).get("submitit_folder")
    if files and "hydra.sweep.dir" in files:  # its default, which is the working directory
        with read_write(config.hydra):
            config.hydra.launcher.submitit_folder = literal(str(folder / "%j"))
    with interrupts.passed_on(folder), _patience() if files else contextlib.nullcontext():
        yield config


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Make submitit's launcher wait for all jobs, instead of raising an error when the first one dies.

    The launcher has no option for that. If submitit has no such method, a dead job ends the launch and the others start again.
    """
    try:
        from submitit import Job
        from submitit.core.utils import UncompletedJobError

        results = Job.results
    except (ImportError, AttributeError):
        yield
        return

    def patient(job) -> list:
        try:
            return results(job)
        except UncompletedJobError as error:
            return [JobReturn(status=JobStatus.FAILED, _return_value=WorkersLost(str(error)))]

    Job.results = patient
    try:
        yield
    finally:
        Job.results = results


def job(folder: str, _) -> Outcome:
    """Run the run of the sweep that has this folder, in a worker of one of Hydra's launchers."""
    (key,) = HydraConfig.get().overrides.task
    return _in_worker(Path(folder), key)


def _here(folder: str, key: str) -> Outcome:
    """Run a run of the sweep that has this folder, in this process."""
    if relay.is_over(Path(folder)):  # at its first failure
        return Outcome("skipped")
    name, config, where = _what(folder, key)
    outcome = _run(config, where, verbose=sys.stderr.isatty())
    _end_at_failure(folder, outcome)
    if outcome.status != "claimed":
        print_line(f"{name}: {outcome.message}")
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return outcome


def _in_worker(folder: Path, key: str) -> Outcome:
    relay.check_seen(folder)
    if relay.is_over(folder):
        return Outcome("skipped")
    plugin_files.use(relay.read(str(folder))["plugins"])  # as they are there, on any host
    name, config, where = _what(str(folder), key)
    line = ""
    relay.begin(folder, key)
    try:
        with interrupts.heard(folder), relay.limited(folder, key):
            outcome = _run(config, where)
        _end_at_failure(str(folder), outcome)
        if outcome.status != "claimed":
            line = f"{name}: {outcome.message}"
        return outcome
    finally:  # also if submitit ends it, to continue it in another job
        relay.end(folder, key, line)


def _end_at_failure(folder: str, outcome: Outcome) -> None:
    """End a sweep with ``fail_fast`` if a run has failed, and any sweep if nothing more can be stored."""
    if outcome.status == "full" or (outcome.status == "failed" and relay.read(folder)["fail_fast"]):
        relay.stop(Path(folder))


def _what(folder: str, key: str) -> tuple[str, dict, dict]:
    """Return the name and the configuration of a run, and where it is done."""
    sweep = relay.read(folder)
    return sweep["jobs"][key]["name"], sweep["jobs"][key]["config"], sweep["where"]


def _run(config: dict, where: dict, *, verbose=False) -> Outcome:
    try:
        with without_summaries():
            return runner.run(config, **where, verbose=verbose)
    except (UserError, OSError) as error:
        if runner.is_full(error):
            return Outcome("full", None, f"failed: {error}")
        return runner.fail(error, config, where["results_dir"])
