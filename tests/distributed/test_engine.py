"""``engine=dask`` of the command line, on processes that it starts and on a cluster that is there."""

import pytest
from distributed import Client, LocalCluster

import fwexp
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


def test_a_cluster_that_is_not_there():
    problem = chain("csr", 3, n=4)[1]
    options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster), spread(problem, 2, cluster.scheduler_address) as shards:
        assert (shards.k, shards.n) == (2, 4)
    message = r"engine\.address must be that of a Dask scheduler, got 'nowhere://here'"
    with pytest.raises(ParameterError, match=message), spread(problem, 2, "nowhere://here"):
        pass
