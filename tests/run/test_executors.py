"""The keys of launchers, which are those that Hydra's launchers for joblib and submitit have, and what an executor returns."""

import sys
from pathlib import Path

import pytest

from fwexp.errors import ParameterError
from fwexp.run import sweep_folder
from fwexp.run.composition import composing
from fwexp.run.config import LAUNCHERS
from fwexp.run.executors import BASIC, DEFAULTS, Executor, executor_of

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


def made(name, **keys):
    return Executor(name, KEYS[name] | keys)


def chosen(*overrides):
    with composing() as composition:
        return executor_of(composition.compose(overrides))


def test_names_and_keys_stay():
    assert LAUNCHERS == ("basic", "joblib", "submitit_local", "submitit_slurm", "dask")
    assert DEFAULTS == KEYS


@pytest.mark.parametrize(
    ("overrides", "executor"),
    [
        ([], BASIC),
        (
            ["hydra/launcher=joblib", "hydra.launcher.n_jobs=3", "hydra.launcher.batch_size=2"],
            made("joblib", n_jobs=3, batch_size=2),
        ),
        (["hydra/launcher=submitit_local", "hydra.launcher.mem_gb=2"], made("submitit_local", mem_gb=2)),
        (["hydra/launcher=submitit_slurm", "hydra.launcher.partition=gpu"], made("submitit_slurm", partition="gpu")),
        (["hydra/launcher=dask", "hydra.launcher.resources={GPU: 1}"], made("dask", resources={"GPU": 1})),
    ],
)
def test_a_configuration_chooses_one(overrides, executor):
    assert chosen(*overrides) == executor


@pytest.mark.parametrize(("n_jobs", "workers"), [(3, 3), (-1, 4), (-2, 3), (-9, 1)])
def test_the_number_of_workers_is_that_of_joblib(monkeypatch, n_jobs, workers):
    monkeypatch.setattr("fwexp.run.executors.available_processors", lambda: 4)
    assert made("joblib", n_jobs=n_jobs).workers == workers


def seen(folder: Path, key: str):
    """Do what a job does: leave a file, or return an error; or end its process."""
    if key == "dies":
        sys.exit(3)
    (folder / f"{key}.seen").touch()
    return ValueError(key) if key == "raises" else None


@pytest.mark.slow
@pytest.mark.parametrize(
    "executor",
    [made("joblib", n_jobs=2, batch_size="2"), made("submitit_local"), made("dask", n_workers=2)],
    ids=lambda executor: f"{executor.name} {executor.workers}",
)
def test_each_key_is_done_and_errors_are_returned(executor, tmp_path):
    (raised,) = executor.map(seen, tmp_path, ["one", "raises", "other"])
    assert isinstance(raised, ValueError)
    assert {path.stem for path in tmp_path.glob("*.seen")} == {"one", "raises", "other"}


def test_a_job_of_submitit_is_submitted_again_as_it_was(tmp_path):
    again = sweep_folder.Job().checkpoint(tmp_path / "sweep", "key")
    assert again.args == (tmp_path / "sweep", "key")
    assert isinstance(again.function(*again.args), ParameterError)  # it is called: there is no such sweep


def test_files_of_submitit_go_where_they_are_wanted(tmp_path, monkeypatch):
    import submitit

    used = []
    monkeypatch.setattr(
        submitit, "AutoExecutor", lambda folder, **options: used.append((folder, options)) or (_ for _ in ()).throw(KeyError)
    )
    for executor in (made("submitit_local"), made("submitit_slurm", submitit_folder="there", max_num_timeout=2)):
        with pytest.raises(KeyError):
            executor.map(seen, tmp_path, ["key"])
    assert used == [(str(tmp_path / "%j"), {"cluster": "local"}), ("there", {"cluster": "slurm", "slurm_max_num_timeout": 2})]
