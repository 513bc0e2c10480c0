"""Download data files from their canonical sources."""

import contextlib
import gzip
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from fwexp.data.data_files import LARGEST, NO_HOME
from fwexp.data.dataset import DataFile
from fwexp.errors import DataError, MissingPackage, needing
from fwexp.files.atomic import clean, hidden, set_aside
from fwexp.files.folders import none_left_empty

PATIENCE = 3600.0  # seconds for a file; the largest one has 15 MB
LEAST_CAP = 2**20  # bytes that any download may have, where twice its size is less


def fetch(file: DataFile, data_dir: Path, progress: bool = False) -> Path:
    """Download ``file`` into ``data_dir``, check it, and only then give it its name; return its path.

    A file that is there already is replaced, and kept next to the new one with the suffix ``.old``.
    """
    with needing("downloads need"):
        import pooch

    if data_dir == NO_HOME:
        raise DataError("FWEXP_DATA must name the data folder where there is no home folder, got nothing")
    pooch.get_logger().setLevel("ERROR")  # it would propose a checksum to write into the code
    target = data_dir / file.path
    try:
        # In the target's own folder, so that the last step is an atomic rename; removed in any case.
        with _working_folder(target) as folder:
            http = pooch.HTTPDownloader(progressbar=progress, timeout=60)
            most = LARGEST if file.size is None else max(2 * file.size, LEAST_CAP)

            def download(url: str, output: str, _) -> None:
                with Path(output).open("wb") as opened:
                    http(url, _Capped(opened, most), None)

            retrieve = partial(pooch.retrieve, file.url, known_hash=None, fname=target.name, path=folder, downloader=download)
            name = _within(PATIENCE, retrieve)
            _drop_lines(Path(name), file.skip)
            _pack(Path(name))
            try:
                file.verify(Path(name))
            except (DataError, MissingPackage) as error:
                raise DataError(str(error).replace(name, f"what came from {file.url}")) from error
            Path(name).chmod(0o666 & ~_umask())  # temporary files are private
            old = file.find(data_dir)
            for other in filter(None, (old, target)):
                set_aside(other)
            Path(name).replace(target)
    except OSError as error:  # requests' exceptions are OSErrors too
        response = getattr(error, "response", None)
        if response is not None:
            response.close()  # pooch leaves it open
        cause = getattr(error.args[0], "reason", error) if error.args else error
        raise DataError(f"cannot get {file.url} into {target}: {' '.join(str(cause).split())}") from error
    return target


def _within(seconds: float, work: Callable[[], str]) -> str:
    """Return what a function returns; if it takes longer, raise OSError and leave it to a thread that ends with the process.

    Limits of the HTTP library are on single reads, so a server that sends a byte now and then keeps to them for ever.
    """
    outcomes: queue.SimpleQueue = queue.SimpleQueue()

    def run() -> None:
        try:
            outcomes.put((work(), None))
        except BaseException as error:
            outcomes.put(("", error))

    threading.Thread(target=run, daemon=True, name="download").start()
    try:
        found, error = outcomes.get(timeout=seconds)
    except queue.Empty:
        raise OSError(f"it takes more than {seconds:g} seconds") from None
    if error is not None:
        raise error
    return found


class _Capped:
    """A file that takes so many bytes: servers may send without end."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most, self.flush = file, most, file.flush

    def write(self, data: bytes) -> None:
        if self._file.tell() + len(data) > self._most:
            raise OSError(f"more than {self._most} bytes came")
        self._file.write(data)


@contextlib.contextmanager
def _working_folder(target: Path) -> Iterator[Path]:
    folder = hidden(target)
    with none_left_empty(target.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        clean(folder.parent)  # remnants of killed downloads
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _drop_lines(path: Path, count: int) -> None:
    """Remove lines at the start of a text."""
    if count:
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[count:]))


def _pack(path: Path) -> None:
    """Pack a ``.gz`` file that the HTTP library unpacked, as some servers declare gzip as the encoding of the transfer."""
    data = path.read_bytes()
    if path.suffix == ".gz" and not data.startswith(b"\x1f\x8b"):
        path.write_bytes(gzip.compress(data, mtime=0))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
