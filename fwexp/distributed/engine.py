"""``engine=dask`` of the command line: a problem spread over a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from fwexp.distributed.cluster import connected
from fwexp.distributed.shards import PATIENCE, Shards, shard


@contextmanager
def spread(problem, workers: int, address: str | None = None, patience: float = PATIENCE) -> Iterator[Shards]:
    """Deal out the examples of a problem to workers, for as long as the context lasts.

    Parameters
    ----------
    problem : problem
    workers : int
        Parts.
    address : str, optional
        Of a Dask scheduler; by default as many processes are started here.
    patience : float
        As of `shard`.

    Raises
    ------
    ValueError
        No scheduler at the address.
    """
    with connected("engine", address, n_workers=workers) as client:
        yield shard(problem, client, workers, patience=patience, setting="engine.patience")
