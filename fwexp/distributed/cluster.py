"""A Dask cluster: started here, or one that is there, found by the address of its scheduler or by a file that names it."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

import dask
from dask.utils import parse_bytes
from distributed import Client, LocalCluster
from distributed.comm import connect
from distributed.security import Security
from distributed.utils import silence_logging_cmgr

from fwexp.driver.progress import print_line
from fwexp.errors import ParameterError, WorkersLost, shown

SECONDS = 10  # within which a scheduler answers
ROLL_CALL = 1.0  # seconds between two looks at whether workers are there
SILENT = 4.0  # seconds without a worker until a line is printed
STARTS = 3  # of a cluster whose workers die while they start
QUICK = {  # a cluster that is started here
    "distributed.worker.profile.enabled": False,  # which looks at all threads a hundred times a second
    "distributed.admin.tick.interval": "1s",  # otherwise all processes wake up fifty times a second
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.reuse-broadcast-comm": True,  # questions go to the same workers again and again
}
# Ctrl-C goes to all processes in the foreground: this one asks workers for what it saves, and then ends them.
UNINTERRUPTED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
LOGGERS = ("distributed", "tornado", "asyncio")


@contextmanager
def connected(owner: str, address: str | None = None, scheduler_file: str | None = None, **local) -> Iterator[Client]:
    """Connect to a cluster, at an address or as a file says, or start a ``local`` one of processes, while the context lasts."""
    if address is None and scheduler_file is None:
        with _quiet(), dask.config.set(QUICK), _started(local) as cluster, Client(cluster) as client:
            yield client
        return
    with _quiet(), _found(owner, address, scheduler_file) as client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out Dask's log of workers that are gone: missing answers show the same. It also logs undisturbed ends as failures."""
    with ExitStack() as levels:
        for name in LOGGERS:
            levels.enter_context(silence_logging_cmgr(logging.CRITICAL + 1, root=name))
        logger = logging.getLogger("asyncio")  # has no handler of its own
        levels.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)
        yield


def _started(local: Mapping) -> LocalCluster:
    """Start a cluster here."""
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "preload": [UNINTERRUPTED]}
    options |= {"silence_logs": logging.CRITICAL + 1, **local}
    for start in range(1, STARTS + 1):
        try:
            return LocalCluster(**options)
        except RuntimeError as error:  # "Nanny failed to start."
            if start == STARTS:
                raise WorkersLost(
                    f"workers of the cluster died while they started, {STARTS} times: killed, or out of memory"
                ) from error
    raise AssertionError


def _found(owner: str, address: str | None, scheduler_file: str | None) -> Client:
    """Connect to a cluster that is there."""
    what, given = ("address", address) if scheduler_file is None else ("scheduler_file", scheduler_file)
    try:
        address = address or _address(scheduler_file)
        with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own
            thread.submit(asyncio.run, _greet(address)).result()
        return Client(address, timeout=SECONDS)
    except (OSError, ValueError) as error:
        kind = "that of a Dask scheduler" if scheduler_file is None else "a file that a running Dask scheduler has written"
        raise ParameterError(f"{owner}.{what} must be {kind}, got {shown(given)}: {error}") from error


async def _greet(address: str) -> None:
    """Raise an OSError if no Dask answers: `Client` waits for silent ports for ever, and takes any other answer for a size."""
    try:
        async with asyncio.timeout(SECONDS):
            comm = await connect(address, timeout=SECONDS, **Security().get_connection_args("client"))
            await comm.close()
    except TimeoutError as error:
        raise OSError(f"it did not answer within {SECONDS} s") from error
    except (OSError, ValueError):
        raise
    except Exception as error:  # A MemoryError, for instance.
        raise OSError("something else listens there") from error


class Watch:
    """Sees whether a cluster has a worker with given resources: prints a line when it has none, and gives up in the end."""

    def __init__(self, client: Client, setting: str, resources=MappingProxyType({}), *, waits_for_first: bool = False) -> None:
        self._client, self._setting, self._resources = client, setting, resources
        self._seen = self._looked = time.monotonic()
        # Workers that are there now may be gone at the first look.
        self._said, self._limited = False, not waits_for_first or self._has_one(self._workers())

    def look(self, patience: float) -> None:
        """Raise `WorkersLost` when no worker was there for ``patience`` seconds; cheap, so it may be called often."""
        # Where it ``waits_for_first``, a cluster without workers may get its first one at any time: jobs wait in queues.
        now = time.monotonic()
        if now - self._looked < ROLL_CALL:
            return
        having = " with " + ", ".join(f"{name}: {least:g}" for name, least in self._resources.items()) if self._resources else ""
        if self._client.status in ("closing", "closed"):
            raise WorkersLost("the scheduler of the cluster is gone")
        workers = self._workers()
        now = self._looked = time.monotonic()
        if self._has_one(workers):
            self._seen, self._said, self._limited = now, False, True
        elif now - self._seen > patience and self._limited:
            raise WorkersLost(f"no worker{having} came to the cluster for {patience:g} s ({self._setting})")
        elif now - self._seen > SILENT and not self._said:
            self._said = True
            what = f"the cluster has no worker{having}" if workers is not None else "the scheduler of the cluster does not answer"
            print_line(f"{what}; waiting" + f" for {patience:g} s at most ({self._setting})" * self._limited)

    def _has_one(self, workers: Mapping | None) -> bool:
        needed = self._resources.items()
        return any(all(worker["resources"].get(name, 0) >= least for name, least in needed) for worker in (workers or {}).values())

    def _workers(self) -> Mapping | None:
        """Return the scheduler's list of its workers; None if it does not answer."""
        try:
            return self._client.sync(self._client.scheduler.identity, n_workers=-1, callback_timeout=SECONDS)["workers"]
        except (OSError, RuntimeError, CancelledError):
            return None


def is_size(text: str) -> bool:
    """Return whether Dask reads a text as a number of bytes, such as ``4GB``."""
    try:
        return parse_bytes(text) > 0
    except ValueError:
        return False


def _address(scheduler_file: str) -> str:
    """Return the address in a file; Dask's own reader waits for ever where there is none."""
    found = json.loads(Path(scheduler_file).expanduser().read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise ValueError("it has no address")
    return found["address"]
