"""The keys of launchers, which are those that Hydra's launchers for joblib and submitit have, and what an executor returns."""

import sys
from pathlib import Path

import pytest

from fwexp.cli import main
from fwexp.errors import OptionError, ParameterError, WorkersLost
from fwexp.run.composition import composing
from fwexp.run.config import LAUNCHERS, defaults_of
from fwexp.run.executors import EXECUTORS, Basic, Dask, Joblib, SubmititLocal, SubmititSlurm, executor_of

KEYS = {
    "basic": {},
    "joblib": {
        "n_jobs": -1, "backend": None, "prefer": "processes", "require": None, "verbose": 0, "timeout": None,
        "pre_dispatch": "2*n_jobs", "batch_size": "auto", "temp_folder": None, "max_nbytes": None, "mmap_mode": "r",
    },
    "submitit_local": {
        "submitit_folder": None, "timeout_min": 60, "cpus_per_task": None, "gpus_per_node": None, "tasks_per_node": 1,
        "mem_gb": None, "nodes": 1, "name": "fwexp", "stderr_to_stdout": False,
    },
    "dask": {
        "n_workers": None, "memory": None, "address": None, "scheduler_file": None, "resources": None, "patience": 600.0,
    },
}  # fmt: skip
KEYS["submitit_slurm"] = KEYS["submitit_local"] | dict.fromkeys(
    ("partition", "qos", "comment", "constraint", "exclude", "gres", "cpus_per_gpu", "gpus_per_task", "mem_per_gpu", "mem_per_cpu",
     "account", "additional_parameters", "setup")
) | {"signal_delay_s": 120, "max_num_timeout": 0, "array_parallelism": 256}  # fmt: skip


def chosen(*overrides):
    with composing() as composition:
        return executor_of(composition.compose(overrides))


def test_names_and_keys_stay():
    assert tuple(KEYS[name] is not None and name for name in LAUNCHERS) == tuple(EXECUTORS)
    assert {name: defaults_of(kind) for name, kind in EXECUTORS.items()} == KEYS


@pytest.mark.parametrize(
    ("overrides", "executor"),
    [
        ([], Basic()),
        (["hydra/launcher=joblib", "hydra.launcher.n_jobs=3", "hydra.launcher.batch_size=2"], Joblib(n_jobs=3, batch_size=2)),
        (["hydra/launcher=submitit_local", "hydra.launcher.mem_gb=2"], SubmititLocal(mem_gb=2)),
        (["hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu"], SubmititSlurm(partition="gpu")),
        (["hydra/launcher=dask", "hydra.launcher.resources={GPU: 1}"], Dask(resources={"GPU": 1.0})),
    ],
)
def test_a_configuration_chooses_one(overrides, executor):
    assert chosen(*overrides) == executor


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["+hydra.launcher.x=1"], r"unknown key of hydra\.launcher \(basic\) 'x'; accepted: none"),
        (["hydra/launcher=joblib", "hydra.launcher.n_jobs=0"], r"hydra\.launcher\.n_jobs must be a number of processes, or -1 "),
        (["hydra/launcher=joblib", "hydra.launcher.prefer=threads"], r"hydra\.launcher\.prefer must be processes, got 'threads'"),
        (["hydra/launcher=joblib", "hydra.launcher.require=sharedmem"], r"hydra\.launcher\.require must be null, got 'sharedmem'"),
        (["hydra.launcher=null"], r"hydra\.launcher cannot be set, got None; hydra/launcher takes basic, joblib, "),
        (["++hydra.launcher._target_=builtins.open"], r"hydra\.launcher cannot be set, got 'builtins\.open'; hydra/launcher takes"),
    ],
)
def test_what_is_wrong_is_named(overrides, message):
    with pytest.raises((OptionError, ParameterError), match=message):
        chosen(*overrides)


def seen(folder: Path, key: str):
    """Return what a run returns: a key, an error, or nothing because its process ends."""
    if key == "dies":
        sys.exit(3)
    return ValueError(key) if key == "raises" else f"{folder.name} {key}"


@pytest.mark.slow
@pytest.mark.parametrize("executor", [Joblib(n_jobs=2), Joblib(n_jobs=1), SubmititLocal(), Dask(n_workers=2)], ids=repr)
def test_each_key_has_its_answer(executor, tmp_path):
    one, raised, other = executor.map(seen, tmp_path, ["one", "raises", "other"])
    assert (one, other) == (f"{tmp_path.name} one", f"{tmp_path.name} other")
    assert isinstance(raised, ValueError)


@pytest.mark.slow
def test_a_job_of_submitit_that_dies_is_lost_alone(tmp_path, monkeypatch):
    def kills(folder, key):
        import os

        return os._exit(1) if key == "dies" else key

    lost, other = SubmititLocal().map(kills, tmp_path, ["dies", "other"])
    assert isinstance(lost, WorkersLost)
    assert other == "other"


def test_a_job_of_submitit_is_submitted_again_as_it_was():
    from fwexp.run.executors import _Submitted

    again = _Submitted(seen).checkpoint(Path("sweep"), "key")
    assert again.args == (Path("sweep"), "key")
    assert again.function(*again.args) == "sweep key"


def test_files_of_submitit_go_where_they_are_wanted(tmp_path, monkeypatch):
    import submitit

    made = []
    monkeypatch.setattr(
        submitit, "AutoExecutor", lambda folder, **options: made.append((folder, options)) or (_ for _ in ()).throw(KeyError)
    )
    for executor in (SubmititLocal(), SubmititSlurm(submitit_folder="there", max_num_timeout=2)):
        with pytest.raises(KeyError):
            executor.map(seen, tmp_path, ["key"])
    assert made == [(str(tmp_path / "%j"), {"cluster": "local"}), ("there", {"cluster": "slurm", "slurm_max_num_timeout": 2})]


def test_a_single_run_takes_no_launcher(capsys):
    assert main(["run", "hydra/launcher=joblib"]) == 2
    assert capsys.readouterr().err == "fwexp: hydra/launcher=joblib starts the runs of a sweep; add -m\n"
