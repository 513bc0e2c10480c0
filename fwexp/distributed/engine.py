"""``engine=dask`` of the command line: a cluster, started here or given by its address, and a problem spread over it."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, LocalCluster

from fwexp.distributed.shards import Shards, shard
from fwexp.errors import ParameterError, shown

# Ctrl-C goes to all processes in the foreground: this one asks workers for what it saves, and then ends them.
UNINTERRUPTED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@contextmanager
def spread(problem, workers: int, address: str | None = None) -> Iterator[Shards]:
    """Deal out the examples of a problem to workers, for as long as the context lasts.

    Parameters
    ----------
    problem : problem
    workers : int
        Parts.
    address : str, optional
        Of a Dask scheduler; by default as many processes are started here.

    Raises
    ------
    ValueError
        No scheduler at the address.
    """
    if address is None:
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "preload": [UNINTERRUPTED]}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster) as client:
            yield shard(problem, client, workers)
        return
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ParameterError(f"engine.address must be that of a Dask scheduler, got {shown(address)}: {error}") from error
    with client:
        yield shard(problem, client, workers)
