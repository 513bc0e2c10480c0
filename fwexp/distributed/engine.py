"""``engine=dask`` of the command line: a problem spread over a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from fwexp.distributed.cluster import connected
from fwexp.distributed.shards import PATIENCE, Shards, shard


@contextmanager
def spread(problem, workers: int, address: str | None = None, patience: float = PATIENCE) -> Iterator[Shards]:
    """Deal out the examples of a problem to workers, of a scheduler or started here, for as long as the context lasts."""
    with connected("engine", address, n_workers=workers) as client:
        yield shard(problem, client, workers, patience=patience, setting="engine.patience")
