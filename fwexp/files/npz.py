"""Arrays in files of numpy's format npz, read without anything that could run, and without room that the file does not fill.

Files that fwexp keeps for itself are sealed: they begin with a mark, which foreign files do not have, and a digest of the rest.
The digest is checked before anything is unpacked.
"""

import contextlib
import errno
import hashlib
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fwexp.files import atomic
from fwexp.files.reading import open_regular

KINDS = "fiubcSU"  # of arrays: numbers and text
MARK = b"fwexp sealed\0\0\0\0"
SEAL = len(MARK) + hashlib.sha256().digest_size


def arrays_in(file: BinaryIO, unpacked: int = 0) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, as ``numpy.savez`` writes it.

    Parameters
    ----------
    file : file
        Opened for reading bytes.
    unpacked : int
        To how many bytes it may be unpacked, if that is more than it has; 0: it must not be compressed.

    Raises
    ------
    Exception
        Of any kind: damaged and foreign files fail anywhere.
    """
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if not unpacked and any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if sum(member.file_size for member in members) > (most := max(unpacked, file.seek(0, os.SEEK_END))):
            raise ValueError(f"it unpacks to more than {most} bytes")
        for member in members:
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
                shape, fortran, dtype = read_header(stream)
                if dtype.hasobject:
                    raise ValueError("Object arrays cannot be loaded: to read what they hold may run anything")
                held = bytearray(stream.read())
            if dtype.kind not in KINDS or math.prod(shape) * dtype.itemsize != len(held):
                raise ValueError(f"{member.filename} claims {dtype} of shape {shape}, and holds {len(held)} bytes")
            arrays[member.filename.removesuffix(".npy")] = np.ndarray(shape, dtype, held, order="F" if fortran else "C")
    return arrays


def seal(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file by one that `unseal` reads; an OSError leaves it as it was, and is raised for a file that is not sealed."""

    def fill(file: BinaryIO) -> None:
        file.write(bytes(SEAL))
        np.savez(file, **arrays)
        digest = _digest(file)
        file.seek(0)
        file.write(MARK + digest)

    if os.path.lexists(path) and not is_sealed(path):
        raise OSError(errno.EEXIST, "is no file that fwexp wrote; move it away", str(path))
    atomic.write({path: fill})


def unseal(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a sealed file; None where there is none, or it is damaged."""
    try:
        with open_regular(path) as file:
            return arrays_in(file) if file.read(SEAL) == MARK + _digest(file) else None
    except Exception:  # it cannot be read, or was sealed by others
        return None


def remove_sealed(path: Path) -> None:
    """Remove a sealed file, as far as that can be done; files of others stay."""
    with contextlib.suppress(OSError):
        if is_sealed(path):
            path.unlink()


def is_sealed(path: Path) -> bool:
    """Return whether a file is no link and was written by `seal`, even if it was damaged since."""
    if path.is_symlink():
        return False
    try:
        with open_regular(path) as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


def _digest(file: BinaryIO) -> bytes:
    file.seek(SEAL)
    return hashlib.file_digest(file, hashlib.sha256).digest()
