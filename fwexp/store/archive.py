"""An archive of runs in one file: the records and traces of runs, and the weights of some. ``make publish`` writes it.

It is a tar file, compressed by xz as a whole, because runs have much in common. It has ``runs/<key>/run.json`` and
``runs/<key>/trace.parquet`` as they are in the store, ``runs/<key>/model.npz`` of runs whose weights figures need, and
``SHA256SUMS``, which ``sha256sum --check`` takes after unpacking. Equal runs give equal files.
"""

import io
import lzma
import tarfile
from collections.abc import Collection
from pathlib import Path

from fwexp.errors import ParameterError
from fwexp.files import locks
from fwexp.files.checksums import sha256
from fwexp.store import records
from fwexp.store.commit import MODEL, RECORD, TRACE
from fwexp.store.records import Damaged
from fwexp.store.results import results_of
from fwexp.store.run_store import put, read_run, run_dir
from fwexp.store.stored_run import StoredRun

SUMS = "SHA256SUMS"
SPEAKING = Damaged, tarfile.TarError, lzma.LZMAError, EOFError, OSError  # errors whose messages say what is wrong


def read(path: Path):
    """Return what ``load_results`` returns of the runs in an archive; `ParameterError` if it is not as it was written."""
    return results_of([(run, contents[TRACE]) for run, contents in with_files(path)])


def runs(path: Path) -> list[StoredRun]:
    """Return the runs in an archive, without their files; raises what `read` does."""
    return [run for run, _ in with_files(path)]


def restore(path: Path, results_dir: Path, wanted: Collection[str] | None = None) -> list[str]:
    """Store the (wanted) runs of an archive that a store lacks, or has without their weights; return their keys."""
    restored = []
    for run, contents in with_files(path):
        if wanted is not None and run.key not in wanted:
            continue
        folder = run_dir(results_dir, run.config)
        with locks.claimed(folder) as claim:
            there = read_run(folder)
            if claim and (there.status == "missing" or (there.status != "damaged" and not set(there.files).issuperset(contents))):
                put(folder, contents, run.record, claim)
                restored.append(run.key)
    return restored


def with_files(path: Path) -> list[tuple[StoredRun, dict[str, bytes]]]:
    """Return the runs of an archive with their files, verified by the sums of the archive."""
    wanted = f"archive must hold runs with their checksums, got {path}"
    try:
        with lzma.open(path) as packed:  # The end of the file has a checksum, too.
            unpacked = io.BytesIO(packed.read())
        with tarfile.open(fileobj=unpacked) as archive:
            contents = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}
        sums = dict(line.split("  ", 1)[::-1] for line in contents.pop(SUMS).decode().splitlines())
        for name in sorted(sums.keys() | contents.keys()):
            if name not in contents or sums.get(name) != sha256(contents[name]):
                raise Damaged(f"{name} is not as it was written")
        return [_run(key, contents) for key in sorted({name.split("/")[1] for name in contents})]
    except SPEAKING as error:
        raise ParameterError(f"{wanted} ({error})") from error
    except (ValueError, LookupError) as error:
        raise ParameterError(f"{wanted} (its {SUMS} or a record are not as fwexp writes them)") from error


def _run(key: str, contents: dict[str, bytes]) -> tuple[StoredRun, dict[str, bytes]]:
    """Return a run of an archive and its files."""
    record = records.parsed(contents[f"runs/{key}/{RECORD}"], RECORD)
    files = {name: contents[place] for name in (TRACE, MODEL) if (place := f"runs/{key}/{name}") in contents}
    return StoredRun(Path(key), key, record["status"], record["config"], record), files
