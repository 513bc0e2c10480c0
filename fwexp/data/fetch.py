"""Download data files from their canonical sources."""

import contextlib
import gzip
import shutil
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from fwexp.data.data_files import LARGEST, NO_HOME
from fwexp.data.dataset import DataFile
from fwexp.errors import DataError, MissingPackage, needing
from fwexp.files.atomic import clean, hidden, put, set_aside
from fwexp.files.folders import none_left_empty

LEAST_CAP = 2**20  # bytes that any download may have, where twice its size is less


def fetch(file: DataFile, data_dir: Path, progress: bool = False) -> Path:
    """Download ``file``, check it, and only then give it its name; return its path. A former one gets the suffix ``.old``."""
    if data_dir == NO_HOME:
        raise DataError("FWEXP_DATA must name the data folder where there is no home folder, got nothing")
    target = data_dir / file.path
    try:
        # In the target's own folder, so that the last step is an atomic rename; removed in any case.
        with _working_folder(target) as folder:
            path = folder / target.name
            most = LARGEST if file.size is None else max(2 * file.size, LEAST_CAP)
            _download(file.url, path, most, progress)
            if file.skip:
                path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[file.skip :]))
            _pack(path)
            try:
                file.verify(path)
            except (DataError, MissingPackage) as error:
                raise DataError(str(error).replace(str(path), f"what came from {file.url}")) from error
            old = file.find(data_dir)
            for other in filter(None, (old, target)):
                set_aside(other)
            put(path, target, over=True)
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()  # it holds the answer
        raise DataError(f"cannot get {file.url} into {target}: {' '.join(str(error).split())}") from error
    return target


def _download(url: str, path: Path, most: int, progress: bool) -> None:
    with needing("downloads need"):
        from tqdm import tqdm
    with urlopen(Request(url, headers={"User-Agent": "fwexp"}), timeout=60) as response, path.open("wb") as file:
        length = response.length
        with tqdm(desc=path.name, total=length, unit="B", unit_scale=True, disable=not progress) as bar:
            while block := response.read(2**16):
                file.write(block)
                bar.update(len(block))
                if file.tell() > most:  # servers may send without end
                    raise OSError(f"more than {most} bytes came")
        if length is not None and file.tell() < length:
            raise OSError(f"the connection ended after {file.tell()} of {length} bytes")


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


def _pack(path: Path) -> None:
    """Pack a ``.gz`` file that came unpacked."""
    data = path.read_bytes()
    if path.suffix == ".gz" and not data.startswith(b"\x1f\x8b"):
        path.write_bytes(gzip.compress(data, mtime=0))
