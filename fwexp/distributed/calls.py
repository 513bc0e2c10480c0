"""Calls that have nothing to do with each other, each on some worker of a cluster."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

import dask
from distributed import Client
from distributed.scheduler import KilledWorker

from fwexp.distributed.cluster import connected
from fwexp.driver.progress import print_line
from fwexp.errors import WorkersLost

OURS = {  # of a cluster that is started here
    "distributed.scheduler.allowed-failures": 0,  # what was lost comes back here
    "distributed.deploy.lost-worker-timeout": "1h",  # one that dies again and again is started again and again
    "distributed.worker.memory.pause": False,  # with data that it keeps it would wait for ever: it ends at its limit
}
_one_at_a_time = threading.Lock()


@contextmanager
def calling(owner: str, n_workers: int | None, memory: str | None, resources: Mapping[str, float], **found):
    """Yield a function that takes a function and a list of arguments of each call, and returns what they returned.

    Parameters
    ----------
    owner, **found
        As in `connected`.
    n_workers : int, optional
        Workers of a cluster that is started here; by default as many as there are processors.
    memory : str, optional
        A worker that is started here is ended when it takes more.
    resources : mapping
        What a worker must have for a call, by name, as ``dask worker --resources`` names it; one that is started here has it.

    A result is the exception where the call raised one, and `WorkersLost` where its worker died as often as the scheduler allows.
    """
    local = {"n_workers": n_workers, "memory_limit": memory, "resources": dict(resources), "silence_logs": logging.CRITICAL}
    with dask.config.set(OURS), connected(owner, **found, **local) as client:
        yield lambda function, calls: _results(client, function, calls, resources)


def _results(client: Client, function: Callable, calls: Sequence[tuple], resources: Mapping[str, float]) -> list:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not any(all(worker["resources"].get(name, 0) >= least for name, least in resources.items()) for worker in workers):
        having = " with " + ", ".join(f"{name}: {least:g}" for name, least in resources.items()) if resources else ""
        print_line(f"the cluster has no worker{having} yet; waiting for one")
    options = {"resources": dict(resources), "pure": False, "retries": 0}
    return [_result(future) for future in [client.submit(_alone, function, *call, **options) for call in calls]]


def _alone(function: Callable, *arguments):
    """Call a function in a worker, one at a time whatever number of threads that has: what is global is of one call."""
    with _one_at_a_time:
        return function(*arguments)


def _result(future):
    try:
        return future.result()
    except KilledWorker as error:
        return WorkersLost(str(error))
    except Exception as error:
        if future.status != "error":  # none of the call's: the scheduler is lost
            raise
        return error
