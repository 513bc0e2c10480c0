"""A Dask cluster: started here, or one that is there, found by the address of its scheduler or by a file that names it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from dask.utils import parse_bytes
from distributed import Client, LocalCluster

from fwexp.errors import ParameterError, shown

SECONDS = 10  # within which a scheduler answers
QUICK = {  # a cluster that is started here
    "distributed.worker.profile.enabled": False,  # which looks at all threads a hundred times a second
    "distributed.admin.tick.interval": "1s",  # otherwise all processes wake up fifty times a second
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.reuse-broadcast-comm": True,  # questions go to the same workers again and again
}
# Ctrl-C goes to all processes in the foreground: this one asks workers for what it saves, and then ends them.
UNINTERRUPTED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


@contextmanager
def connected(owner: str, address: str | None = None, scheduler_file: str | None = None, **local) -> Iterator[Client]:
    """Connect to a cluster, for as long as the context lasts.

    Parameters
    ----------
    owner : str
        Whose options these are, as messages say it.
    address : str, optional
        Of a scheduler.
    scheduler_file : str, optional
        That a scheduler has written.
    **local
        Without either: options of the `distributed.LocalCluster` that is started here, of processes with a thread each.

    Raises
    ------
    ParameterError
        No scheduler there.
    """
    if address is None and scheduler_file is None:
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "preload": [UNINTERRUPTED]}
        with dask.config.set(QUICK), LocalCluster(**options | local) as cluster, Client(cluster) as client:
            yield client
        return
    what, given = ("address", address) if scheduler_file is None else ("scheduler_file", scheduler_file)
    try:
        client = Client(address or _address(scheduler_file), timeout=SECONDS)
    except (OSError, ValueError) as error:
        kind = "that of a Dask scheduler" if scheduler_file is None else "a file that a running Dask scheduler has written"
        raise ParameterError(f"{owner}.{what} must be {kind}, got {shown(given)}: {error}") from error
    with client:
        yield client


def is_size(text: str) -> bool:
    """Whether Dask reads a text as so many bytes, such as ``4GB``."""
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
