"""Data files: where they are, and reading them so that damage becomes one clear line."""

import gzip
import hashlib
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from fwexp.errors import DataError, needing
from fwexp.files import checksums, folders
from fwexp.files.folders import check_folder

LARGEST = 2**32  # bytes that an npz file may unpack to; a few kB can claim far more
NO_HOME = Path(os.devnull, "no-home-folder")  # no file can be there


def resolve_data_dir(data_dir: str | os.PathLike | None = None) -> Path:
    """Return the data folder: ``data_dir``, else ``FWEXP_DATA``, else ``~/.cache/fwexp``, or `NO_HOME` without a home folder."""
    if data_dir is not None:
        return check_folder("data_dir", data_dir)
    if named := os.environ.get("FWEXP_DATA"):
        return check_folder("FWEXP_DATA", named)
    try:
        return Path("~/.cache/fwexp").expanduser()  # need not be there, nor to be read, for data in the package
    except RuntimeError:
        return NO_HOME


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line with its end) of a text file, unpacked if the name ends in ``.gz``."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = f"truncated or damaged after line {number}, expected a whole gzip file"
        raise DataError(f"{path}: {fault} ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def printable(value: bytes, most: int) -> str:
    """Return a part of a file as printable text of bounded length."""
    return ascii(value[:most])[1:] + ("..." if len(value) > most else "")


def read_image(path: Path, mode: str, longest: int = 0):
    """Return the pixels of an image, uint8, and by how much it was scaled to ``longest`` pixels, where that is not 0."""
    with needing("images need"):
        import numpy as np
        from PIL import Image

    try:
        with Image.open(path) as image:
            scale = longest / max(image.size) if longest else 1.0
            size = tuple(max(round(side * scale), 1) for side in image.size)
            converted = image.convert(mode)
            return np.asarray(converted.resize(size, Image.Resampling.BILINEAR) if longest else converted), scale
    except (OSError, SyntaxError, ValueError) as error:  # raised by PIL for damaged files
        raise DataError(f"{path}: cannot be read as an image ({error})") from error


def files_in(path: Path) -> list[Path]:
    """Return all files in and below a folder, in the order of their names; none for a file."""
    return sorted(file for file in path.rglob("*") if folders.is_file(file)) if folders.is_folder(path) else []


def sha256(path: Path) -> str:
    """Return the checksum of the bytes of a file, as stored; of a folder, the checksum of the names and checksums of its files."""
    if folders.is_folder(path):
        lines = [f"{sha256(file)}  {file.relative_to(path).as_posix()}\n" for file in files_in(path)]
        return checksums.sha256("".join(lines).encode())
    return checksums.sha256_of_file(path)


def check_content(path: Path, *, size: int, sha256: str) -> str:
    """Check the unpacked content of a file; packing the same content again gives other bytes. Return the facts checked."""
    digest, found = hashlib.sha256(), 0
    for _, line in read_lines(path):
        digest.update(line)
        found += len(line)
    if found != size:
        raise DataError(f"{path}: {found} bytes of content, expected {size}")
    if digest.hexdigest() != sha256:
        raise DataError(f"{path}: sha256 of the content is {digest.hexdigest()}, expected {sha256}")
    return f"{size} bytes of content, checksum as published"


def npz_arrays(path: Path) -> dict:
    """Return the arrays of an npz file, after a look at the sizes that its members claim: numpy allocates these before it reads."""
    import numpy as np

    from fwexp.files.npz import arrays_in

    with path.open("rb") as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
            raise ValueError("a single array")
        file.seek(0)
        try:
            return arrays_in(file, LARGEST)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error):
            raise
        except Exception as error:  # kinds that zipfile does not support; headers that numpy passes to Python's tokenizer
            raise ValueError(f"{type(error).__name__}: {error}") from error
