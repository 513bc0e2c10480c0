"""``hydra/launcher=dask``: runs on the workers of a Dask cluster, one that is started here or one that is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from hydra import version
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobRuntime, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from omegaconf import OmegaConf

from fwexp.errors import OptionError, ParameterError, RunsFailed, WorkersLost, shown
from fwexp.options import as_real, check_integer, check_positive, make_options, option
from fwexp.run.config import LAUNCHERS, defaults_of, keep

OWNER = "hydra.launcher"
PATIENCE = 600.0  # seconds


def _check_text(name: str, value) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{name} must be a text, got {shown(value)}")
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


@dataclass(frozen=True)
class DaskOptions:
    """The keys of ``hydra.launcher``: the arguments of `fwexp.distributed.calls.calling`, and how the cluster is found."""

    n_workers: int | None = option(None, check_integer, 1, optional=True)
    memory: str | None = option(None, _check_memory, optional=True)
    address: str | None = option(None, _check_text, optional=True)
    scheduler_file: str | None = option(None, _check_text, optional=True)
    resources: dict | None = option(None, _check_resources, optional=True)
    patience: float = option(PATIENCE, check_positive)


def check(given: Mapping) -> DaskOptions:
    """Return the checked options of the launcher, given as they were composed."""
    options = make_options(OWNER, DaskOptions, {key: value for key, value in given.items() if key != "_target_"}, joint=".")
    places = [name for name in ("address", "scheduler_file") if getattr(options, name) is not None]
    ours = [name for name in ("n_workers", "memory") if getattr(options, name) is not None]
    if len(places) > 1 or (places and ours):
        raise OptionError(
            f"{OWNER} takes address or scheduler_file, of a cluster that is there, or n_workers and memory, of one that is "
            f"started here, got {', '.join(places + ours)}"
        )
    return options


def check_cluster(hydra, address: str | None) -> None:
    """Check that clusters started elsewhere answer: the launcher's in Hydra's part, and the engine's."""
    places = [("engine", {"address": address})] if address else []
    if hydra.launcher._target_ == LAUNCHERS["dask"]:
        options = check(OmegaConf.to_container(hydra.launcher, resolve=True))
        if options.address or options.scheduler_file:
            places.append((OWNER, {"address": options.address, "scheduler_file": options.scheduler_file}))
    for owner, place in places:
        from fwexp.distributed.cluster import connected

        with connected(owner, **place):
            pass


class DaskLauncher(Launcher):
    """A launcher as Hydra's are."""

    def __init__(self, **options) -> None:
        self._options = check({key: OmegaConf.to_container(v) if OmegaConf.is_config(v) else v for key, v in options.items()})

    def setup(self, *, hydra_context, task_function, config) -> None:
        """Keep the arguments that Hydra passes."""
        self._with = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run jobs and return the outcome of each; jobs whose workers died have failed with `WorkersLost`."""
        from fwexp.distributed.calls import calling

        options = vars(self._options) | {"resources": self._options.resources or {}}
        calls = [(*self._with, list(overrides), initial_job_idx + k) for k, overrides in enumerate(job_overrides)]
        try:
            with calling(OWNER, **options) as call:
                results = call(_run_job, calls)
        except WorkersLost as error:
            raise RunsFailed(f"the sweep broke off: {error}; repeat the command to go on") from error
        return [
            JobReturn(status=JobStatus.FAILED, _return_value=result) if isinstance(result, Exception) else result
            for result in results
        ]


def _run_job(context, task, config, overrides: list[str], number: int) -> JobReturn:
    """Run a job in a worker, as Hydra's launchers do."""
    setup_globals()
    version.setbase("1.3")
    job = context.config_loader.load_sweep_config(config, overrides)
    job.hydra.job.id, job.hydra.job.num = f"{job.hydra.job.name}_{number}", number
    JobRuntime.instance().set("name", job.hydra.job.name)
    HydraConfig.instance().set_config(job)
    keys = {"job_dir_key": "hydra.sweep.dir", "job_subdir_key": "hydra.sweep.subdir"}
    done = run_job(hydra_context=context, task_function=task, config=job, **keys)
    return JobReturn(status=done.status, _return_value=done._return_value)  # without its configurations, which it was given


def register() -> None:
    """Make the launcher's keys known to Hydra, where Dask is installed."""
    if find_spec("distributed"):
        node = {"_target_": LAUNCHERS["dask"]} | defaults_of(DaskOptions)
        keep("hydra/launcher", "dask", node)
