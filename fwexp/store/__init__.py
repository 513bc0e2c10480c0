"""The store: where runs are kept, found and read. It knows configurations as mappings with a key, and neither Hydra nor solvers."""

from typing import TYPE_CHECKING

from fwexp.store.keys import key_of
from fwexp.store.run_store import check_writable, failure, is_due, is_stored, read_run, run_dir, save, save_failure, stored, tidy
from fwexp.store.stored_run import RUN_COLUMNS, StoredRun

if TYPE_CHECKING:
    from fwexp.store.results import find_runs, load_results, read_results

__all__ = [
    "RUN_COLUMNS",
    "StoredRun",
    "check_writable",
    "failure",
    "find_runs",
    "is_due",
    "is_stored",
    "key_of",
    "load_results",
    "read_results",
    "read_run",
    "run_dir",
    "save",
    "save_failure",
    "stored",
    "tidy",
]


def __getattr__(name: str):
    if name not in ("find_runs", "load_results", "read_results"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fwexp.store import results  # here, because runs are stored without tables of them

    return getattr(results, name)
