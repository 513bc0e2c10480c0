"""Counts of the deaths of a run's processes.

A note next to the run has a byte for every process that began the run. A process that ends in an orderly way removes the note.
Every launcher counts in this way, and so do single runs. A death counts only if the run was not saved since it began, because a run
that makes progress will come to its end.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fwexp.files.folders import exists
from fwexp.store import paths

DEATHS = 3  # a run whose processes died so many times has failed


class ProcessDied(Exception):
    """The processes of a run have died, again and again."""

    def __init__(self) -> None:
        super().__init__(f"its process died {DEATHS} times: killed, or out of memory")


def _note(final: Path) -> Path:
    return final.with_name(f".{final.name}{paths.BEGUN}")


def has_died(final: Path) -> bool:
    """Return whether the process of a run has died, or runs."""
    return exists(_note(final))


@contextlib.contextmanager
def counted(final: Path) -> Iterator[int]:
    """Count this process among those that began the run, whose claim it has; yield how many of them died."""
    note = _note(final)
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
