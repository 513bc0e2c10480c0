"""An archive of runs in one file, for a data repository: the records and traces of runs, without their weights.

It is a ZIP file with ``runs/<key>/run.json`` and ``runs/<key>/trace.parquet`` as they are in the store, and with ``SHA256SUMS``,
which ``sha256sum --check`` takes after unpacking. Equal runs give equal files.
"""

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from fwexp.errors import ParameterError
from fwexp.files import atomic
from fwexp.files.checksums import sha256
from fwexp.store import records, schema
from fwexp.store.commit import RECORD, TRACE, digest_of
from fwexp.store.keys import key_of
from fwexp.store.records import Damaged
from fwexp.store.run_store import results_of
from fwexp.store.stored_run import MISFITS, StoredRun, verified_trace

SUMS = "SHA256SUMS"
LARGEST = 2**31  # bytes of an entry


def write(runs: Iterable[StoredRun], path: Path) -> list[str]:
    """Write an archive of runs, and replace a file of that name; return the keys of the runs.

    Raises
    ------
    Damaged
        If a file of a run is not as it was stored.
    """
    contents = {}
    for run in sorted(runs, key=lambda run: run.key):
        contents[f"runs/{run.key}/{RECORD}"] = records.read_bytes(run.path / RECORD, records.LARGEST)
        contents[f"runs/{run.key}/{TRACE}"] = verified_trace(run)
    sums = "".join(f"{sha256(content)}  {name}\n" for name, content in contents.items())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {SUMS: sums.encode(), **contents}.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # with the oldest date there is
    atomic.write({path.resolve(): packed.getvalue()})
    return [name.split("/")[1] for name in contents if name.endswith(TRACE)]


def read(path: Path):
    """Return what ``load_results`` returns of the runs in an archive.

    Raises
    ------
    ParameterError
        If the file is no archive, or is not as it was written.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sums = dict(line.split("  ", 1)[::-1] for line in _content(archive, SUMS).decode().splitlines())
            contents = {name: _content(archive, name) for name in sums}
        for name, content in contents.items():
            if sha256(content) != sums[name]:
                raise Damaged(f"{name} is not as it was written")
        keys = sorted({name.split("/")[1] for name in sums})
        return results_of([_run(key, contents) for key in keys])
    except (Damaged, schema.Misfit, zipfile.BadZipFile, *MISFITS) as error:
        raise ParameterError(f"archive must be a file that fwexp publish --archive wrote, got {path} ({error})") from error


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > LARGEST:
        raise Damaged(f"{name} has more than {LARGEST} bytes")
    return archive.read(name)


def _run(key: str, contents: dict[str, bytes]) -> tuple[StoredRun, bytes]:
    """Return a run of an archive and its trace, both verified by the record of the run."""
    record, trace = records.parsed(contents[f"runs/{key}/{RECORD}"], RECORD), contents[f"runs/{key}/{TRACE}"]
    config = record["config"]
    schema.check_run(record, config)
    if (record["key"], key_of(config)) != (key, key) or sha256(trace) != digest_of(record, TRACE):
        raise Damaged(f"{key} is another run")
    return StoredRun(Path(key), key, record["status"], config, record), trace
