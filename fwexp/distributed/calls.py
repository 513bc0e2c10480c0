"""Calls that have nothing to do with each other, each on some worker of a cluster."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

import dask
from distributed import Client
from distributed.scheduler import KilledWorker

from fwexp.distributed.cluster import Watch, connected
from fwexp.errors import WorkersLost

OURS = {  # of a cluster that is started here
    "distributed.scheduler.allowed-failures": 0,  # lost tasks return to the scheme
    "distributed.deploy.lost-worker-timeout": "1h",  # one that dies again and again is started again and again
    "distributed.worker.memory.pause": False,  # with data that it keeps it would wait for ever: it ends at its limit
}
LOOK_INTERVAL = 0.1  # seconds between two looks at whether calls have ended
_one_at_a_time = threading.Lock()


@contextmanager
def calling(owner: str, n_workers: int | None, memory: str | None, resources: Mapping[str, float], patience: float, **found):
    """Yield a function that takes a function and a list of arguments of each call, and returns the results of the calls."""
    # A result is the exception where the call raised one, and `WorkersLost` where its worker died as often as the scheduler allows.
    # Workers that are started here end at ``memory``; ``resources`` is what a worker must have. `WorkersLost` is raised when no
    # worker is left for ``patience`` seconds, but the first one may come at any time.
    local = {"n_workers": n_workers, "memory_limit": memory, "resources": dict(resources)}
    with dask.config.set(OURS), connected(owner, **found, **local) as client:
        watch = Watch(client, f"{owner}.patience", resources, waits_for_first=True)
        yield lambda function, calls: _results(client, function, calls, resources, watch, patience)


def _results(
    client: Client, function: Callable, calls: Sequence[tuple], resources: Mapping[str, float], watch: Watch, patience: float
) -> list:
    options = {"resources": dict(resources), "pure": False, "retries": 0}
    futures = [client.submit(_alone, function, *call, **options) for call in calls]
    results: dict[int, object] = {}
    while len(results) < len(futures):
        for number, future in enumerate(futures):
            if future is not None and future.done():
                if future.cancelled():
                    raise WorkersLost("the scheduler of the cluster is gone")
                results[number] = _result(future)
                futures[number] = None  # else its worker keeps the result, and the call is made again where that dies
        watch.look(patience)
        time.sleep(LOOK_INTERVAL)
    return [results[number] for number in range(len(futures))]


def _alone(function: Callable, *arguments):
    """Call a function in a worker, one at a time for any number of its threads, because global state belongs to one call."""
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
