"""The one commit point of a run: its ``run.json``, which has the checksums of the other files.

New files are written next to the files that they replace, under hidden names that identify their content. Once ``run.json`` has
been replaced, in one step, the run consists of the new files. They get their final names then, or when the next process writes or
tidies here. Until then readers find them under the hidden names.

Only files that are as recorded are replaced or removed. Others, such as damaged ones, links and folders, are kept with
``.old`` behind their name.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.files import atomic, locks
from fwexp.files.checksums import sha256, sha256_of_file
from fwexp.store import records
from fwexp.store.records import Damaged
from fwexp.store.schema import KEY

CONFIG, TRACE, MODEL, RECORD = FILES = ("config.yaml", "trace.parquet", "model.npz", "run.json")
PATIENCE = 2 * locks.STALE  # seconds for another process that writes the same run


def digest_of(record: Mapping, name: str) -> str:
    """Return the sha256 that a ``run.json`` has of a file; `Damaged` if it is none."""
    digest = record["files"][name]["sha256"]
    if not (isinstance(digest, str) and KEY.fullmatch(digest)):
        raise Damaged(f"its record has a checksum of {name} of another kind")
    return digest


def written_path(folder: Path, name: str, digest: str) -> Path:
    """Return where a file of a run is until it has its name."""
    return folder / f".{name}.{digest[:12]}"


def fingerprint(content: bytes) -> dict:
    """Return what ``run.json`` records of a file."""
    return {"size": len(content), "sha256": sha256(content)}


def commit(folder: Path, contents: Mapping[str, bytes], record: Mapping) -> None:
    """Replace the run in a folder; the older one is there until the new one is complete. Files of others are set aside.

    Parameters
    ----------
    folder : Path
        Where the run is.
    contents : mapping
        What its files hold, by their names.
    record : mapping
        The content of ``run.json``, without the checksums of these files.

    Raises
    ------
    OSError
        It cannot be written; the older one is as it was.
    """
    if folder.is_symlink() or not folder.is_dir():  # the target of a link does not belong to the store
        _set_aside(folder)
    files = {name: fingerprint(content) for name, content in contents.items()}
    with _claimed(folder, PATIENCE) as mine:
        if not mine:
            raise OSError(f"another process writes to {folder}")
        for path in _others(folder):
            _set_aside(path)
        try:
            atomic.write({written_path(folder, name, files[name]["sha256"]): content for name, content in contents.items()})
            records.write(folder / RECORD, {**record, "files": files})
        finally:
            _settle(folder)


def tidy(folder: Path) -> None:
    """Rename the files of a run to their final names, and remove what a killed process left there."""
    with _claimed(folder) as mine:
        if mine:
            _settle(folder)


@contextlib.contextmanager
def _claimed(folder: Path, patience: float = 0.0) -> Iterator[bool]:
    """Hold the right to write to the folder of a run, as `locks.claimed` does; remove the folder if it is empty at the end."""
    try:
        with locks.claimed(folder / RECORD, patience) as mine:
            yield mine
    finally:
        with contextlib.suppress(OSError):  # there is something in it
            folder.rmdir()


def remove(folder: Path) -> None:
    """Remove the run in a folder, and the folder if nothing else is in it, as far as that can be done."""
    if not os.path.lexists(folder):  # The claim would make it for a moment, and readers would find it.
        return
    with contextlib.suppress(OSError), _claimed(folder) as mine:
        if mine and not folder.is_symlink():
            _settle(folder)
            others = {*_others(folder), folder / RECORD}
            ours = [folder / name for name in FILES if folder / name not in others]
            for path in [*ours, folder / RECORD] if _sums(folder) else []:  # the record is the last to go
                path.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    sums = _sums(folder)
    if (folder / RECORD).exists() and not sums:  # the owner of the files is unknown
        return
    for path in [path for name in FILES for path in folder.glob(f".{name}.{'[0-9a-f]' * 12}")]:
        name, _, digest = path.name[1:].rpartition(".")
        if not _sha256_of(path).startswith(digest):
            continue  # fwexp did not write it
        if sums.get(name, "").startswith(digest):
            if (folder / name).is_symlink() or not (folder / name).is_file():
                _set_aside(folder / name)
            path.replace(folder / name)
        else:
            path.unlink()
    atomic.clean(folder)


def _others(folder: Path) -> list[Path]:
    """Return the files with names of a run's files that differ from its record."""
    sums, record = _sums(folder), folder / RECORD
    others = [record] if os.path.lexists(record) and not sums else []
    for name in [name for name in FILES if name != RECORD and os.path.lexists(folder / name)]:
        waits = name in sums and os.path.lexists(written_path(folder, name, sums[name]))  # to replace the file of an older record
        is_file = stat.S_ISREG((folder / name).lstat().st_mode)
        if not is_file or not (waits or _sha256_of(folder / name) == sums.get(name)):
            others.append(folder / name)
    return others


def _sums(folder: Path) -> dict[str, str]:
    """Return the checksums that the record in a folder has of the other files; none if it cannot be read."""
    if (folder / RECORD).is_symlink():
        return {}
    try:
        record = records.read(folder / RECORD)
        return {name: digest_of(record, name) for name in FILES if name in record["files"]}
    except (Damaged, LookupError, TypeError):
        return {}


def _sha256_of(path: Path) -> str:
    """Return the checksum of a regular file; an empty text if there is none."""
    try:
        return sha256_of_file(path)
    except OSError:
        return ""


def _set_aside(path: Path) -> None:
    if kept := atomic.set_aside(path):
        print_line(f"{path} is not as fwexp wrote it: kept as {kept.name}")
