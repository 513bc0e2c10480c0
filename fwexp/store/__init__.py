"""The store: where runs are kept, found and read. It knows configurations as mappings with a key, and neither Hydra nor solvers."""

from fwexp.store.keys import key_of
from fwexp.store.run_store import (
    RUN_COLUMNS,
    StoredRun,
    check_writable,
    failure,
    find_runs,
    is_due,
    is_stored,
    load_results,
    read_results,
    read_run,
    run_dir,
    save,
    save_failure,
    stored,
    tidy,
)

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
