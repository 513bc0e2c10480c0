"""The one commit point of a run: its ``run.json``, the only file that is ever replaced, which names the other files.

A commit writes files under new names, also where their bytes are those of before, and replaces ``run.json`` in one step. Then it
removes the files that the former record named. A file has its plain name (``trace.parquet``) where that is free, else a token in
it. So a process may stop or die between any two steps, and another may store the same run meanwhile: the old or the new run is
whole. What a dead process left is removed by the next one that writes or tidies: files that are still linked to a hidden file of
the dead one, files that the record says it replaced, and files with a token that no record has named for a day.

No other file is replaced or removed. A ``run.json`` that fwexp did not write is kept with ``.old`` behind its name.
"""

import contextlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fwexp.driver.progress import print_line
from fwexp.files import atomic, locks
from fwexp.files.checksums import sha256, sha256_of_file
from fwexp.files.folders import is_folder
from fwexp.files.processes import is_gone
from fwexp.store import records
from fwexp.store.records import Damaged

CONFIG, TRACE, MODEL, RECORD = FILES = ("config.yaml", "trace.parquet", "model.npz", "run.json")
PATIENCE = 2 * locks.STALE  # seconds for another process that writes the same run
DAY = 86400.0  # seconds after which no process is about to name a file
WITH_TOKEN = re.compile(r"(config|trace|model)-[0-9a-f]{12}\.(yaml|parquet|npz)")


class TakenOver(OSError):
    """Another process has taken over the run, or stored it."""


def name_of(record: Mapping, role: str) -> str:
    """Return the name that a ``run.json`` has of a file."""
    return record["files"][role].get("name", role)


def commit(folder: Path, contents: Mapping[str, bytes], record: Mapping, may_store: Callable[[], bool] = lambda: True) -> None:
    """Replace the run in a folder: its files by their plain names, and ``run.json`` without its ``files``."""
    # `TakenOver` if another process stores or stored it, or ``may_store``, asked just before the end, says no.
    if folder.is_symlink() or not is_folder(folder):  # the target of a link does not belong to the store
        _set_aside(folder)
    with _claimed(folder, PATIENCE) as claim:
        if not claim:
            raise OSError(f"another process writes to {folder}")
        if os.path.lexists(folder / RECORD) and not _record(folder):
            _set_aside(folder / RECORD)
        _clean(folder)
        before = _record(folder)
        former, new, hidden = _sums(before), {}, []
        try:
            for role, content in contents.items():
                hidden.append(atomic.hidden(folder / role))
                hidden[-1].write_bytes(content)
                atomic.flush(hidden[-1])
                name = _place(hidden[-1], role, before.get("replaced") or {})
                new[role] = {"name": name, "size": len(content), "sha256": sha256(content)}
            hidden.append(atomic.hidden(folder / RECORD))
            hidden[-1].write_bytes(records.content_of({**record, "files": new, "replaced": former}))
            atomic.flush(hidden[-1])
            atomic.flush(folder)
            if not (claim.is_held() and _record(folder) == before and may_store()):
                raise TakenOver(f"another process stored the run in {folder}, or makes it")
            atomic.put(hidden[-1], folder / RECORD, over=bool(before))  # a first one replaces none, however late it comes
            atomic.flush(folder)
        except FileExistsError as error:
            raise TakenOver(f"another process stored the run in {folder}") from error
        finally:
            named = _sums(_record(folder))
            for path in [folder / file["name"] for file in new.values() if file["name"] not in named] + hidden:
                path.unlink(missing_ok=True)
        _clean(folder)


def tidy(folder: Path) -> None:
    """Remove what a killed process left of its commit to a folder."""
    with _claimed(folder) as claim:
        if claim:
            _clean(folder)


@contextlib.contextmanager
def _claimed(folder: Path, patience: float = 0.0) -> Iterator[locks.Claim | None]:
    """Hold the right to write to the folder of a run, as `locks.claimed` does; remove the folder if it is empty at the end."""
    try:
        with locks.claimed(folder / RECORD, patience) as claim:
            yield claim
    finally:
        with contextlib.suppress(OSError):  # there is something in it
            folder.rmdir()


def remove(folder: Path) -> None:
    """Remove the run in a folder, and the folder if nothing else is in it, as far as that can be done."""
    if not os.path.lexists(folder):  # The claim would make it for a moment, and readers would find it.
        return
    with contextlib.suppress(OSError), _claimed(folder) as claim:
        if claim and not folder.is_symlink() and (record := _record(folder)):
            _clean(folder)
            _unlink(folder, _sums(record))
            (folder / RECORD).unlink(missing_ok=True)  # the last to go


def _place(hidden: Path, role: str, replaced: Mapping[str, str]) -> str:
    """Name a new file: plainly if that name is free, and was not in use before the present record, else in another way."""
    stem, _, suffix = role.partition(".")
    with_token = f"{stem}-{uuid.uuid4().hex[:12]}.{suffix}"
    if role not in replaced:
        with contextlib.suppress(FileExistsError):
            atomic.put(hidden, hidden.with_name(role))
            return role
    atomic.put(hidden, hidden.with_name(with_token))
    return with_token


def _clean(folder: Path) -> None:
    """Remove what dead processes left in a folder, while its claim is held."""
    record = _record(folder)
    if os.path.lexists(folder / RECORD) and not record:  # the owner of the files is unknown
        return
    named, inside = _sums(record), [*os.scandir(folder)]
    dead = {entry.inode() for entry in inside if (owner := atomic.HIDDEN.fullmatch(entry.name)) and is_gone(owner["process"])}
    for entry in inside:
        is_ours = entry.name in FILES or WITH_TOKEN.fullmatch(entry.name)
        if is_ours and entry.name not in (*named, RECORD) and entry.is_file(follow_symlinks=False):
            is_old = WITH_TOKEN.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > DAY
            if entry.inode() in dead or is_old:
                Path(entry).unlink(missing_ok=True)
    _unlink(folder, {name: digest for name, digest in (record.get("replaced") or {}).items() if name not in named})
    atomic.clean(folder)


def _unlink(folder: Path, sums: Mapping[str, str]) -> None:
    """Remove files that are as recorded."""
    for name, digest in sums.items():
        path = folder / name
        with contextlib.suppress(OSError):
            is_ours = (name in FILES or WITH_TOKEN.fullmatch(name)) and not path.is_symlink()
            if is_ours and sha256_of_file(path) == digest:
                path.unlink()


def _record(folder: Path) -> dict:
    """Return the record in a folder; empty if there is none that fwexp wrote."""
    with contextlib.suppress(Damaged):
        if not (folder / RECORD).is_symlink():
            return records.read(folder / RECORD, records.Files)
    return {}


def _sums(record: Mapping) -> dict[str, str]:
    """Return the checksums of the files that a record names, by their names."""
    return {name_of(record, role): file["sha256"] for role, file in record.get("files", {}).items()}


def _set_aside(path: Path) -> None:
    if kept := atomic.set_aside(path):
        print_line(f"{path} is not as fwexp wrote it: kept as {kept.name}")
