"""``hydra/launcher``: where the runs of a sweep are done, with the keys of each choice.

An executor calls a function with the folder of the sweep and the key of a run, for all keys, and returns what the function returns
for each of them, or `WorkersLost` for a call whose worker has died; where a worker takes all others with it, it raises. Each uses
its library directly. The keys of joblib and submitit, their defaults and their meaning are those of Hydra's launchers for them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from fwexp.errors import OptionError, ParameterError, RunsFailed, WorkersLost, shown, unknown
from fwexp.files.processes import this_process
from fwexp.jit.threads import available_processors
from fwexp.options import as_real, check_integer, check_positive, make_options, option
from fwexp.run import interrupts
from fwexp.run.config import LAUNCHERS, defaults_of, keep

OWNER = "hydra.launcher"
PATIENCE = 600.0  # seconds
Work = Callable[[Path, str], object]


def _check_text(name: str, value) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be a text, got {shown(value)}")
    return value


def _check_jobs(name: str, value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value == 0:
        raise ParameterError(f"{name} must be a number of processes, or -1 for one per processor, got {shown(value)}")
    return value


def _check_resources(name: str, value) -> dict:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) and as_real(value[key]) > 0 for key in value):
        raise ParameterError(f"{name} must be a mapping of names to numbers > 0, such as {{GPU: 1}}, got {shown(value)}")
    return {key: float(number) for key, number in value.items()}


def _check_memory(name: str, value) -> str:
    from fwexp.distributed.cluster import is_size

    if not isinstance(value, str) or not is_size(value):
        raise ParameterError(f"{name} must be a size such as 4GB, got {shown(value)}")
    return value


def _fixed(name: str, value, *accepted: str | None):
    if value not in accepted:
        listed = " or ".join("null" if each is None else each for each in accepted)
        raise ParameterError(f"{name} must be {listed}, got {shown(value)}")
    return value


def _as_given(name: str, value):
    """Return a value that the library checks."""
    return value


@dataclass(frozen=True)
class Basic:
    """Runs in this process, one after the other."""

    needs: ClassVar[str] = "hydra"
    workers: ClassVar[int] = 1


@dataclass(frozen=True)
class Joblib:
    """Runs in processes of joblib on this machine: the keys are arguments of `joblib.Parallel`."""

    needs: ClassVar[str] = "joblib"

    n_jobs: int = option(-1, _check_jobs)
    backend: str | None = option(None, _fixed, None, "loky")  # it always is
    prefer: str = option("processes", _fixed, "processes")
    require: str | None = option(None, _fixed, None)
    verbose: int = option(0, check_integer, 0)
    timeout: float | None = option(None, check_positive, optional=True)
    pre_dispatch: object = option("2*n_jobs", _as_given)
    batch_size: object = option("auto", _as_given)
    temp_folder: str | None = option(None, _check_text, optional=True)
    max_nbytes: object = option(None, _as_given)
    mmap_mode: str | None = option("r", _check_text, optional=True)

    @property
    def workers(self) -> int:
        """Number of runs at once."""
        return self.n_jobs if self.n_jobs > 0 else max(available_processors() + 1 + self.n_jobs, 1)

    def map(self, work: Work, folder: Path, keys: Sequence[str]) -> list:
        """Call ``work`` for all keys."""
        from joblib import Parallel, delayed
        from joblib.externals.loky import ProcessPoolExecutor

        start = {"initializer": interrupts.follow, "initargs": (this_process(),)}
        if self.workers == 1:  # `Parallel` would run them in this process.
            with ProcessPoolExecutor(1, **start) as pool:
                return [*pool.map(work, [folder] * len(keys), keys)]
        texts = {name: int(value) if str(value).isdecimal() else value for name, value in vars(self).items()}
        return Parallel(**texts | start | {"backend": "loky"})(delayed(work)(folder, key) for key in keys)


@dataclass(frozen=True)
class SubmititLocal:
    """Runs in processes that submitit starts on this machine, as a rehearsal of those on a cluster."""

    needs: ClassVar[str] = "submitit"
    cluster: ClassVar[str] = "local"

    submitit_folder: str | None = option(None, _check_text, optional=True)  # by default in the folder of the sweep
    timeout_min: int = option(60, _as_given)
    cpus_per_task: int | None = option(None, _as_given)
    gpus_per_node: int | None = option(None, _as_given)
    tasks_per_node: int = option(1, _as_given)
    mem_gb: float | None = option(None, _as_given)
    nodes: int = option(1, _as_given)
    name: str = option("fwexp", _check_text)
    stderr_to_stdout: bool = option(False, _as_given)

    @property
    def workers(self) -> int:
        """Number of runs at once, as far as this process knows it."""
        return available_processors()

    def map(self, work: Work, folder: Path, keys: Sequence[str]) -> list:
        """Submit a job for each key, and wait for all."""
        import submitit
        from submitit.core.utils import UncompletedJobError

        def outcome(job):
            try:
                return job.results()[0]
            except UncompletedJobError as error:
                return WorkersLost(str(error))

        given = {key: value for key, value in vars(self).items() if key != "submitit_folder"}
        at_start = {f"{self.cluster}_{key}": given.pop(key) for key in ("max_num_timeout",) if key in given}
        shared = defaults_of(SubmititLocal)
        executor = submitit.AutoExecutor(self.submitit_folder or str(folder / "%j"), cluster=self.cluster, **at_start)
        executor.update_parameters(**{key if key in shared else f"{self.cluster}_{key}": value for key, value in given.items()})
        return [outcome(job) for job in executor.map_array(_Submitted(work), [folder] * len(keys), keys)]


class _Submitted:
    """A function for submitit, which submits it again where Slurm ends its job before its time."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def __call__(self, folder: Path, key: str):
        return self._work(folder, key)

    def checkpoint(self, folder: Path, key: str):
        """Return what is submitted instead of a job that was ended."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, folder, key)


@dataclass(frozen=True)
class SubmititSlurm(SubmititLocal):
    """Runs in jobs of Slurm."""

    cluster: ClassVar[str] = "slurm"

    partition: str | None = option(None, _as_given)
    qos: str | None = option(None, _as_given)
    comment: str | None = option(None, _as_given)
    constraint: str | None = option(None, _as_given)
    exclude: str | None = option(None, _as_given)
    gres: str | None = option(None, _as_given)
    cpus_per_gpu: int | None = option(None, _as_given)
    gpus_per_task: int | None = option(None, _as_given)
    mem_per_gpu: str | None = option(None, _as_given)
    mem_per_cpu: str | None = option(None, _as_given)
    account: str | None = option(None, _as_given)
    signal_delay_s: int = option(120, _as_given)
    max_num_timeout: int = option(0, _as_given)
    additional_parameters: dict | None = option(None, _as_given)
    array_parallelism: int = option(256, _as_given)
    setup: list | None = option(None, _as_given)


@dataclass(frozen=True)
class Dask:
    """Runs on the workers of a Dask cluster, one that is started here or one that is there.

    The keys are arguments of `fwexp.distributed.calls.calling`, and how the cluster is found.
    """

    needs: ClassVar[str] = "distributed"

    n_workers: int | None = option(None, check_integer, 1, optional=True)
    memory: str | None = option(None, _check_memory, optional=True)
    address: str | None = option(None, _check_text, optional=True)
    scheduler_file: str | None = option(None, _check_text, optional=True)
    resources: dict | None = option(None, _check_resources, optional=True)
    patience: float = option(PATIENCE, check_positive)

    def __post_init__(self) -> None:
        places = [name for name in ("address", "scheduler_file") if getattr(self, name) is not None]
        ours = [name for name in ("n_workers", "memory") if getattr(self, name) is not None]
        if len(places) > 1 or (places and ours):
            raise OptionError(
                f"{OWNER} takes address or scheduler_file, of a cluster that is there, or n_workers and memory, of one that is "
                f"started here, got {', '.join(places + ours)}"
            )

    @property
    def workers(self) -> int:
        """Number of runs at once, as far as this process knows it."""
        return self.n_workers or available_processors()

    def map(self, work: Work, folder: Path, keys: Sequence[str]) -> list:
        """Call ``work`` for all keys; one call at a time in a worker."""
        from fwexp.distributed.calls import calling

        try:
            with calling(OWNER, **vars(self) | {"resources": self.resources or {}}) as call:
                return call(work, [(folder, key) for key in keys])
        except WorkersLost as error:
            raise RunsFailed(f"the sweep broke off: {error}; repeat the command to go on") from error


EXECUTORS = dict(zip(LAUNCHERS, (Basic, Joblib, SubmititLocal, SubmititSlurm, Dask), strict=True))
Executor = Basic | Joblib | SubmititLocal | Dask


def register() -> None:
    """Make the keys of the executors known to Hydra whose packages are installed; ``basic`` is Hydra's own."""
    for name, kind in EXECUTORS.items():
        if kind is not Basic and find_spec(kind.needs):
            keep("hydra/launcher", name, defaults_of(kind))


def executor_of(config: DictConfig) -> Executor:
    """Return the executor that a composed configuration with its ``hydra`` chooses.

    Raises
    ------
    UserError
        It has other keys, or does not accept a value.
    """
    name, given = config.hydra.runtime.choices.get("hydra/launcher"), OmegaConf.select(config, "hydra.launcher")
    known = ConfigStore.instance().load(f"hydra/launcher/{name}.yaml").node if name in EXECUTORS else {}
    given = OmegaConf.to_container(given, resolve=True) if OmegaConf.is_config(given) else given
    if not known or not isinstance(given, dict) or given.get("_target_") != known.get("_target_"):
        found = given["_target_"] if isinstance(given, dict) and "_target_" in given else given
        raise ParameterError(f"hydra.launcher cannot be set, got {shown(found)}; hydra/launcher takes {', '.join(EXECUTORS)}")
    accepted = [key for key in known if key != "_target_"]
    if other := next((key for key in given if key not in known), None):
        raise OptionError(unknown(f"key of {OWNER} ({name})", other, accepted or ["none"]))
    return make_options(OWNER, EXECUTORS[name], {key: given[key] for key in accepted}, joint=".")


def check_clusters(executor: Executor, address: str | None) -> None:
    """Check that clusters started elsewhere answer: the executor's, and the one at the address of an engine."""
    for owner, place in _places(executor, address):
        from fwexp.distributed.cluster import connected

        with connected(owner, **place):
            pass


def _places(executor: Executor, address: str | None) -> Iterator[tuple[str, dict]]:
    if address:
        yield "engine", {"address": address}
    if isinstance(executor, Dask) and (executor.address or executor.scheduler_file):
        yield OWNER, {"address": executor.address, "scheduler_file": executor.scheduler_file}
