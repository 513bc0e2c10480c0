"""The one commit point of a run: its ``run.json``, which has the checksums of the other files.

New files are written beside those that they replace, under hidden names that tell what they hold. Once ``run.json`` has been
replaced, in one step, they are those of the run; then they take their names, at the latest when somebody writes or tidies here
again. Until then readers find them under the hidden ones.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from fwexp.files import atomic, locks
from fwexp.store import records
from fwexp.store.records import Damaged

CONFIG, TRACE, MODEL, RECORD = FILES = ("config.yaml", "trace.parquet", "model.npz", "run.json")
PATIENCE = 2 * locks.STALE  # seconds for another process that writes the same run


def digest_of(record: Mapping, name: str) -> str:
    """Return the sha256 that a ``run.json`` has of a file; older ones have no sizes."""
    stored = record["files"][name]
    return stored if isinstance(stored, str) else stored["sha256"]


def written_path(folder: Path, name: str, digest: str) -> Path:
    """Return where a file of a run is until it has its name."""
    return folder / f".{name}.{digest[:12]}"


def fingerprint(content: bytes) -> dict:
    """Return what ``run.json`` records of a file."""
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def commit(folder: Path, contents: Mapping[str, bytes], record: Mapping) -> None:
    """Replace the run in a folder, or whatever is in its place; the older one is there until the new one is complete.

    Parameters
    ----------
    folder : Path
        Where the run is.
    contents : mapping
        What its files hold, by their names.
    record : mapping
        What its ``run.json`` says, but for the checksums of these files.

    Raises
    ------
    OSError
        It cannot be written; the older one is as it was.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):  # what a link names is somebody's own
        atomic.remove(folder)
    files = {name: fingerprint(content) for name, content in contents.items()}
    with _claimed(folder, PATIENCE) as mine:
        if not mine:
            raise OSError(f"another process writes to {folder}")
        _make_room(folder / RECORD)
        try:
            atomic.write({written_path(folder, name, files[name]["sha256"]): content for name, content in contents.items()})
            records.write(folder / RECORD, {**record, "files": files})
        finally:
            _settle(folder)


def tidy(folder: Path) -> None:
    """Give the files of a run their names, and remove what else was left by who was killed while he wrote here."""
    with _claimed(folder) as mine:
        if mine:
            _settle(folder)


@contextlib.contextmanager
def _claimed(folder: Path, patience: float = 0.0) -> Iterator[bool]:
    """Hold the right to write to the folder of a run, as `locks.claimed` does; if it is empty in the end it goes."""
    try:
        with locks.claimed(folder / RECORD, patience) as mine:
            yield mine
    finally:
        with contextlib.suppress(OSError):  # there is something in it
            folder.rmdir()


def _settle(folder: Path) -> None:
    names = {}
    if (folder / RECORD).exists():
        try:
            record = records.read(folder / RECORD)
            names = {written_path(folder, name, digest_of(record, name)): name for name in FILES if name in record["files"]}
        except (Damaged, LookupError, TypeError):  # whose they are cannot be told
            return
    for path in [path for name in FILES for path in folder.glob(f".{name}.{'[0-9a-f]' * 12}")]:
        if path in names:
            _make_room(folder / names[path])
            path.replace(folder / names[path])
        else:
            path.unlink()
    atomic.clean(folder)


def _make_room(path: Path) -> None:
    """Remove a folder where a file belongs, which could not take its place."""
    if path.is_dir():
        atomic.remove(path)
