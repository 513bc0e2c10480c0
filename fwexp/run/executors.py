"""``hydra/launcher``: where the runs of a sweep are done, with the keys of each choice.

An executor calls a job with the folder of the sweep and the key of a run, for all keys, and returns the errors that jobs return. A
worker that dies alone leaves no error; where it takes all others with it, the executor raises. Each uses its library directly.
The keys of joblib and submitit, their defaults and their meaning are those of Hydra's launchers for them.
"""

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from fwexp.errors import OptionError, ParameterError, RunsFailed, WorkersLost, shown, unknown
from fwexp.files.processes import this_process
from fwexp.jit.threads import available_processors
from fwexp.options import as_real, is_integer
from fwexp.run import sweep_folder
from fwexp.run.config import LAUNCHERS, keep

OWNER = "hydra.launcher"
Job = Callable[[Path, str], Exception | None]


@dataclass(frozen=True)
class Executor:
    """A choice of ``hydra/launcher`` with its keys."""

    name: str
    keys: Mapping[str, Any]

    @property
    def workers(self) -> int:
        """Number of runs at once, as far as this process knows it."""
        if self.name == "basic":
            return 1
        count = self.keys.get("n_jobs") or self.keys.get("n_workers") or available_processors()
        return count if count > 0 else max(available_processors() + 1 + count, 1)

    def map(self, job: Job, folder: Path, keys: Sequence[str]) -> list[Exception]:
        """Call a job for all keys, in workers, and wait for them."""
        return [error for error in _MAPS[self.name](self, job, folder, keys) if error is not None]


def _with_joblib(executor: Executor, job: Job, folder: Path, keys: Sequence[str]) -> list:
    from joblib import Parallel, delayed
    from joblib.externals.loky import ProcessPoolExecutor

    start = {"initializer": sweep_folder.follow, "initargs": (this_process(),)}
    given = {name: int(value) if str(value).isdecimal() else value for name, value in executor.keys.items()}
    with warnings.catch_warnings():
        # Loky replaces a worker that has grown by 300 MB: the next one reads its data anew, and no run is lost.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        if executor.workers == 1:  # `Parallel` would run them in this process.
            with ProcessPoolExecutor(1, **start) as pool:
                return [*pool.map(job, [folder] * len(keys), keys)]
        return Parallel(**given | start | {"backend": "loky"})(delayed(job)(folder, key) for key in keys)


def _with_submitit(executor: Executor, job: Job, folder: Path, keys: Sequence[str]) -> list:
    import submitit
    from submitit.core.utils import UncompletedJobError

    cluster, at_start = executor.name.removeprefix("submitit_"), "slurm_max_num_timeout"
    given = {key if key in SUBMITIT else f"{cluster}_{key}": value for key, value in executor.keys.items()}
    place = given.pop("submitit_folder") or str(folder / "%j")
    auto = submitit.AutoExecutor(place, cluster=cluster, **{key: given.pop(key) for key in [at_start] if key in given})
    auto.update_parameters(**given)
    errors = []
    for submitted in auto.map_array(job, [folder] * len(keys), keys):
        with contextlib.suppress(UncompletedJobError):
            errors += submitted.results()
    return errors


def _with_dask(executor: Executor, job: Job, folder: Path, keys: Sequence[str]) -> list:
    from fwexp.distributed.calls import calling

    try:
        with calling(OWNER, **{**executor.keys, "resources": executor.keys["resources"] or {}}) as call:
            return [error for error in call(job, [(folder, key) for key in keys]) if not isinstance(error, WorkersLost)]
    except WorkersLost as error:
        raise RunsFailed(f"the sweep broke off: {error}; repeat the command to go on") from error


_MAPS = dict(zip(LAUNCHERS[1:], (_with_joblib, _with_submitit, _with_submitit, _with_dask), strict=True))

# -- keys

JOBLIB = {"n_jobs": -1, "backend": None, "prefer": "processes", "require": None, "verbose": 0, "timeout": None}
JOBLIB |= {"pre_dispatch": "2*n_jobs", "batch_size": "auto", "temp_folder": None, "max_nbytes": None, "mmap_mode": "r"}
SUBMITIT = {"submitit_folder": None, "timeout_min": 60, "cpus_per_task": None, "gpus_per_node": None, "tasks_per_node": 1}
SUBMITIT |= {"mem_gb": None, "nodes": 1, "name": "fwexp", "stderr_to_stdout": False}
SLURM = SUBMITIT | dict.fromkeys(("partition", "qos", "comment", "constraint", "exclude", "gres", "cpus_per_gpu", "gpus_per_task"))
SLURM |= dict.fromkeys(("mem_per_gpu", "mem_per_cpu", "account", "additional_parameters", "setup"))
SLURM |= {"signal_delay_s": 120, "max_num_timeout": 0, "array_parallelism": 256}
THERE, HERE = ("address", "scheduler_file"), ("n_workers", "memory")  # of a Dask cluster
DASK = dict.fromkeys((*HERE, *THERE, "resources")) | {"patience": 600.0}  # seconds
DEFAULTS = dict(zip(LAUNCHERS, ({}, JOBLIB, SUBMITIT, SLURM, DASK), strict=True))
BASIC = Executor("basic", {})


def _is_size(value) -> bool:
    from fwexp.distributed.cluster import is_size

    return isinstance(value, str) and is_size(value)


def _are_resources(value) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) and as_real(value[key]) > 0 for key in value)


POSITIVE = (lambda value: 0 < as_real(value) < math.inf, "a positive finite number")
TEXT = (lambda value: isinstance(value, str) and value != "", "a text")
ACCEPTED = {  # The libraries check all other keys. Null is accepted where it is the default.
    "n_jobs": (lambda value: is_integer(value) and value != 0, "a number of processes, or -1 for one per processor"),
    "backend": (lambda value: value == "loky", "null or loky"),
    "prefer": (lambda value: value == "processes", "processes"),
    "require": (lambda _: False, "null"),
    "verbose": (lambda value: is_integer(value) and value >= 0, "an integer >= 0"),
    "n_workers": (lambda value: is_integer(value) and value >= 1, "an integer >= 1"),
    "memory": (_is_size, "a size such as 4GB"),
    "resources": (_are_resources, "a mapping of names to numbers > 0, such as {GPU: 1}"),
    **dict.fromkeys(("timeout", "patience"), POSITIVE),
    **dict.fromkeys(("submitit_folder", "name", *THERE), TEXT),
}


def register() -> None:
    """Make the keys of the executors known to Hydra whose packages are installed; ``basic`` is Hydra's own."""
    for name, package in zip(LAUNCHERS[1:], ("joblib", "submitit", "submitit", "distributed"), strict=True):
        if find_spec(package):
            keep("hydra/launcher", name, DEFAULTS[name])


def executor_of(config: DictConfig) -> Executor:
    """Return the executor that a composed configuration with its ``hydra`` chooses."""
    name, given = config.hydra.runtime.choices.get("hydra/launcher"), OmegaConf.select(config, "hydra.launcher")
    known = ConfigStore.instance().load(f"hydra/launcher/{name}.yaml").node if name in DEFAULTS else {}
    given = OmegaConf.to_container(given, resolve=True) if OmegaConf.is_config(given) else given
    if not known or not isinstance(given, dict) or given.get("_target_") != known.get("_target_"):
        found = given["_target_"] if isinstance(given, dict) and "_target_" in given else given
        raise ParameterError(f"{OWNER} cannot be set, got {shown(found)}; hydra/launcher takes {', '.join(LAUNCHERS)}")
    if other := next((key for key in given if key not in known), None):
        raise OptionError(unknown(f"key of {OWNER} ({name})", other, [*DEFAULTS[name]] or ["none"]))
    keys = {key: given[key] for key in DEFAULTS[name]}
    for key, value in keys.items():
        accepts, words = ACCEPTED.get(key, (lambda _: True, ""))
        if not accepts(value) and not (value is None and DEFAULTS[name][key] is None):
            raise ParameterError(f"{OWNER}.{key} must be {words}, got {shown(value)}")
    there, here = ([key for key in pair if keys.get(key) is not None] for pair in (THERE, HERE))
    if len(there) > 1 or (there and here):
        takes = "address or scheduler_file, of a cluster that is there, or n_workers and memory, of one that is started here"
        raise OptionError(f"{OWNER} takes {takes}, got {', '.join(there + here)}")
    return Executor(name, keys)


def check_clusters(executor: Executor, address: str | None) -> None:
    """Check that clusters started elsewhere answer: the executor's, and the one at the address of an engine."""
    for owner, place in ("engine", {"address": address}), (OWNER, {key: executor.keys.get(key) for key in THERE}):
        if any(place.values()):
            from fwexp.distributed.cluster import connected

            with connected(owner, **place):
                pass
