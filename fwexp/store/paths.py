"""The layout of a store: ``runs/<dataset>/<solver>/<key>/``, found without opening a file.

Next to the finished runs of a data set and solver are ``<key>.partial/`` (interrupted) and ``failed/<key>.json`` (the error).
Names that begin with a dot are no runs: ``.<key>.checkpoint``, from which an unfinished run continues, and files that a process
is writing, or was writing when it died. Files ``<key>.old`` of other programs, which were in the way, are no runs either.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

NO_RUN = re.compile(r"\..*|.+\.old\d*", re.DOTALL)  # names
PARTIAL, FAILED, CHECKPOINT, BEGUN = ".partial", "failed", ".checkpoint", ".begun"


class Entry(NamedTuple):
    """An entry of a store. ``trouble`` is the reason why it is no run; the fault may be the data set or solver above it."""

    path: Path
    dataset: str | None
    solver: str | None
    key: str
    trouble: str = ""

    @property
    def kind(self) -> str:
        """The status by its place: ``"finished"``, ``"partial"`` or ``"failed"``."""
        return FAILED if self.path.parent.name == FAILED else "partial" if self.path.name.endswith(PARTIAL) else "finished"


def partial_path(final: Path) -> Path:
    """Return the folder of the same run while it is interrupted."""
    return final.with_name(final.name + PARTIAL)


def checkpoint_path(final: Path) -> Path:
    """Return the file in which the same run is saved while it lasts."""
    return final.with_name(f".{final.name}{CHECKPOINT}")


def failure_path(final: Path) -> Path:
    """Return the record of the same run where it failed."""
    return final.parent / FAILED / f"{final.name}.json"


def entry(folder: Path) -> Entry:
    """Return the entry of the folder of a run."""
    return Entry(folder, *folder.absolute().parts[-3:-1], folder.name.removesuffix(PARTIAL))


def entries(results_dir: Path) -> Iterator[Entry]:
    """Yield all entries of a store, sorted by path; one that is neither a run nor the record of a failure has its ``trouble``."""
    runs = results_dir / "runs"
    if os.path.lexists(runs):
        yield from _below(runs, ())


def _below(folder: Path, place: tuple[str, ...]) -> Iterator[Entry]:
    """Yield the entries of a folder of a store; ``place`` is where it lies below ``runs``."""
    try:
        inside = _inside(folder)
    except OSError as error:
        yield Entry(folder, *(*place[:-1], None, None)[:2], folder.name, f"is no folder of runs ({error.strerror})")
        return
    for path in inside:
        if len(place) < 2 or (len(place) == 2 and path.name == FAILED):
            yield from _below(path, (*place, path.name))
        elif len(place) == 2:
            trouble = "is no folder of a run" if _is_file(path) else ""
            yield Entry(path, *place, path.name.removesuffix(PARTIAL), trouble)
        else:
            trouble = "" if path.suffix == ".json" else "is no record of a failure"
            yield Entry(path, *place[:2], path.stem, trouble)


def _is_file(path: Path) -> bool:
    """Return whether something that is no folder is there; not if another process has just removed it."""
    try:
        return not stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return path.is_symlink()


def _inside(folder: Path) -> list[Path]:
    if folder.is_symlink() and Path(os.path.realpath(folder.parent)).is_relative_to(os.path.realpath(folder)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return sorted(path for path in folder.iterdir() if not NO_RUN.fullmatch(path.name))
