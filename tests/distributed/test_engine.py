"""``engine=dask`` of the command line, on processes that it starts and on a cluster that is there."""

import os
import signal
import subprocess
import sys

import pytest
from distributed import Client, LocalCluster

import fwexp
from fwexp import distributed
from fwexp.cli import main
from fwexp.distributed.engine import spread
from fwexp.errors import ParameterError
from tests.small_problems import chain


@pytest.mark.slow
def test_runs_are_stored_as_any_other(tmp_path, capsys):
    arguments = ["run", "dataset=digits", "solver=auto", "lam=0.1", "max_passes=4", f"results_dir={tmp_path}"]
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        assert main([*arguments, "engine=dask", f"engine.address={cluster.scheduler_address}"]) == 0
    assert main([*arguments, "engine=dask"]) == 0  # the same run
    assert "stored already" in capsys.readouterr().err
    assert main([*arguments, "engine=dask", "engine.scheme=local"]) == 0  # by two processes
    first, second = (trace for _, trace in fwexp.load_results(results_dir=tmp_path).groupby("key"))
    assert first["dual"].tolist() == second["dual"].tolist()


@pytest.mark.slow
def test_an_interrupt_of_all_processes_saves_the_run(tmp_path):
    """As Ctrl-C in a terminal; the workers are needed for what is saved."""
    script = "import sys; from fwexp.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["run", "dataset=digits", "solver=auto", "lam=0.1", "gap_tol=0", "max_passes=1e6", "schedule=1", "engine=dask"]
    command = [sys.executable, "-c", script, *words, f"results_dir={tmp_path}"]
    for first in ("bcfw lam=0.1: pass 0 ", "bcfw lam=0.1: goes on from pass "):
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            lines = [next(line for line in running.stderr if line.startswith("bcfw "))]
            lines += [next(running.stderr) for _ in range(3)]
            os.killpg(running.pid, signal.SIGINT)
            _, rest = running.communicate(timeout=60)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        assert lines[0].startswith(first)
        assert (running.returncode, rest.splitlines()[-1]) == (130, "fwexp: interrupted")
        assert len(list(tmp_path.glob("runs/digits/auto/*.partial"))) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "engine=dask", "engine.address=tcp://127.0.0.1:1"],
        ["run", "-m", "engine=dask", "engine.address=tcp://127.0.0.1:1"],
        ["run", "-m", "hydra/launcher=dask", "hydra.launcher.address=tcp://127.0.0.1:1"],
        ["figure", "quickstart", "hydra/launcher=dask", "hydra.launcher.address=tcp://127.0.0.1:1"],
    ],
)
def test_a_wrong_address_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, words):
    monkeypatch.setattr(distributed.cluster, "SECONDS", 0.5)
    assert main([*words, f"results_dir={tmp_path / 'results'}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert ".address must be that of a Dask scheduler, got 'tcp://127.0.0.1:1': " in line
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_is_not_there():
    problem = chain("csr", 3, n=4)[1]
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster), spread(problem, 2, cluster.scheduler_address) as shards:
        assert (shards.k, shards.n) == (2, 4)
    message = r"engine\.address must be that of a Dask scheduler, got 'nowhere://here'"
    with pytest.raises(ParameterError, match=message), spread(problem, 2, "nowhere://here"):
        pass
