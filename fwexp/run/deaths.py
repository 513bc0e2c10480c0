"""Counts of the deaths of a run's processes.

A note next to the run has a byte for every process that began the run. A process that ends in an orderly way removes the note.
Every launcher counts in this way, and so do single runs. A death counts only if the run was not saved since it began, because a run
that makes progress will come to its end.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fwexp.store import paths
from fwexp.store.stored_run import StoredRun

DEATHS = 3  # a run whose processes died so many times has failed


class ProcessDied(Exception):
    """The processes of a run have died, again and again."""

    def __init__(self) -> None:
        super().__init__(f"its process died {DEATHS} times: killed, or out of memory")


class WallTimeExceeded(Exception):
    """A run has taken too long, and its sweep ended its process."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it took longer than its wall time limit of {seconds:g} s")


def note_of(final: Path) -> Path:
    """Return the note of a run, which exists while its process runs, and after that has died."""
    return final.with_name(f".{final.name}{paths.BEGUN}")


def is_death(failure: StoredRun | None) -> bool:
    """Return whether a run is a stored failure because its processes died."""
    return failure is not None and failure.status == "failed" and failure.record["error"].startswith(ProcessDied.__name__)


@contextlib.contextmanager
def counted(final: Path) -> Iterator[int]:
    """Count this process among those that began the run, whose claim it has; yield how many of them died."""
    note = note_of(final)
    with contextlib.suppress(OSError):
        if paths.checkpoint_path(final).stat().st_mtime_ns > note.stat().st_mtime_ns:
            note.unlink()
    with note.open("ab") as file:
        died = file.tell()
        file.write(b".")
    try:
        yield died
    finally:
        note.unlink(missing_ok=True)
