"""An archive of runs in one file: the records and traces of runs, and the weights of some. ``make publish`` writes it.

It is a tar file, compressed by xz as a whole, because runs have much in common. It has ``runs/<key>/run.json`` and
``runs/<key>/trace.parquet`` as they are in the store, ``runs/<key>/model.npz`` of runs whose weights figures need, and
``SHA256SUMS``, which ``sha256sum --check`` takes after unpacking. Equal runs give equal files.
"""

import lzma
import re
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

from fwexp.errors import ParameterError
from fwexp.files import locks
from fwexp.files.checksums import sha256
from fwexp.files.reading import open_regular
from fwexp.store import records, traces
from fwexp.store.commit import MODEL, RECORD, TRACE
from fwexp.store.keys import key_of
from fwexp.store.records import Damaged
from fwexp.store.run_store import put, read_run, results_of, run_dir
from fwexp.store.stored_run import StoredRun

SUMS = "SHA256SUMS"
LARGEST = 2**28  # bytes of an entry
LARGEST_TOTAL = 2**31  # bytes of all entries
SPEAKING = Damaged, tarfile.TarError, lzma.LZMAError, EOFError, OSError  # errors whose messages say what is wrong
NAME = re.compile(rf"runs/[0-9a-f]{{64}}/({re.escape(RECORD)}|{re.escape(TRACE)}|{re.escape(MODEL)})")


def read(path: Path):
    """Return what ``load_results`` returns of the runs in an archive; `ParameterError` if it is not as it was written."""
    return results_of([(run, contents[TRACE]) for run, contents in _runs(path)])


def runs(path: Path) -> list[StoredRun]:
    """Return the runs in an archive, without their files; raises what `read` does."""
    return [run for run, _ in _runs(path)]


def restore(path: Path, results_dir: Path, wanted: Collection[str] | None = None) -> list[str]:
    """Store the (wanted) runs of an archive that a store lacks, or has without their weights; return their keys."""
    restored = []
    for run, contents in _runs(path):
        if wanted is not None and run.key not in wanted:
            continue
        folder = run_dir(results_dir, run.config)
        with locks.claimed(folder) as claim:
            there = read_run(folder)
            if claim and (there.status == "missing" or (there.status != "damaged" and not set(there.files).issuperset(contents))):
                put(folder, contents, run.record, claim)
                restored.append(run.key)
    return restored


def _runs(path: Path) -> list[tuple[StoredRun, dict[str, bytes]]]:
    """Return the runs of an archive with their files, verified by the sums of the archive and by the records of the runs."""
    try:
        with open_regular(path) as file, lzma.open(file) as unpacked:
            contents = _verified(unpacked)
        keys = sorted({name.split("/")[1] for name in contents})
        return [_run(key, contents) for key in keys]
    except SPEAKING as error:
        raise ParameterError(f"archive must hold runs with their checksums, got {path} ({error})") from error
    except (ValueError, LookupError) as error:
        reason = "its sums or a record are not as fwexp writes them"
        raise ParameterError(f"archive must hold runs with their checksums, got {path} ({reason})") from error


def _verified(unpacked: BinaryIO) -> dict[str, bytes]:
    """Return the files in an archive: all that its sums, which come first, name, each once and as it was written."""
    contents, sums, left = {}, None, LARGEST_TOTAL
    with tarfile.open(fileobj=unpacked, mode="r|") as archive:
        for entry in archive:
            left -= entry.size
            if entry.size > LARGEST or left < 0:
                raise Damaged(f"it has more than {LARGEST} bytes in {entry.name}, or {LARGEST_TOTAL} in all")
            content = file.read() if (file := archive.extractfile(entry)) else None
            if sums is None:
                if entry.name != SUMS or content is None:
                    raise Damaged(f"it does not begin with {SUMS}")
                sums = dict(line.split("  ", 1)[::-1] for line in content.decode().splitlines())
            elif entry.name not in sums or not NAME.fullmatch(entry.name):
                raise Damaged(f"{entry.name} is not in its {SUMS}")
            elif entry.name in contents:
                raise Damaged(f"{entry.name} is there twice")
            elif content is None or sha256(content) != sums[entry.name]:
                raise Damaged(f"{entry.name} is not as it was written")
            else:
                contents[entry.name] = content
    while block := unpacked.read(2**20):  # to the end, whose checksum lzma verifies
        if block.strip(b"\0"):
            raise Damaged("there is something behind its last file")
        left -= len(block)
        if left < 0:
            raise Damaged(f"it has more than {LARGEST_TOTAL} bytes")
    if missing := sorted((sums or {}).keys() - contents.keys()):
        raise Damaged(f"it lacks {missing[0]}")
    if sums is None:
        raise Damaged("it is empty")
    return contents


def _run(key: str, contents: dict[str, bytes]) -> tuple[StoredRun, dict[str, bytes]]:
    """Return a run of an archive and its files."""
    record = records.parsed(contents[f"runs/{key}/{RECORD}"], RECORD)
    files = {name: contents[place] for name in (TRACE, MODEL) if (place := f"runs/{key}/{name}") in contents}
    config = record["config"]
    traces.table(files[TRACE])
    if record["status"] in ("interrupted", "failed"):
        raise Damaged(f"{key} is no finished run")
    sums = {name: record["files"][name]["sha256"] for name in files}
    if (record["key"], key_of(config)) != (key, key) or sums != {name: sha256(content) for name, content in files.items()}:
        raise Damaged(f"{key} is another run")
    return StoredRun(Path(key), key, record["status"], config, record), files
