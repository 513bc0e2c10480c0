"""Arrays in files of numpy's format npz, read without anything that could run, and without room that the file does not fill.

What is kept for ourselves is sealed: the file begins with a digest of all that follows, and of what it is about, and nothing is
unpacked before that was looked at.
"""

import hashlib
import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fwexp.files import atomic

KINDS = "fiubcSU"  # of arrays: numbers and text
SEAL = hashlib.sha256().digest_size


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
        Of whatever kind: damaged and foreign files fail anywhere.
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


def seal(path: Path, arrays: Mapping[str, np.ndarray], about: bytes = b"") -> None:
    """Replace a file by one that `unseal` reads; an OSError leaves it as it was."""

    def fill(file: BinaryIO) -> None:
        file.write(bytes(SEAL))
        np.savez(file, **arrays)
        digest = _digest(file, about)
        file.seek(0)
        file.write(digest)

    atomic.write({path: fill})


def unseal(path: Path, about: bytes = b"") -> dict[str, np.ndarray] | None:
    """Return the arrays of a sealed file; None where there is none, or it is damaged, or about something else."""
    if not path.is_file():  # to open a pipe would wait for ever
        return None
    try:
        with path.open("rb") as file:
            return arrays_in(file) if file.read(SEAL) == _digest(file, about) else None
    except Exception:  # it cannot be read, or was sealed by others
        return None


def _digest(file: BinaryIO, about: bytes) -> bytes:
    file.seek(SEAL)
    return hashlib.file_digest(file, lambda: hashlib.sha256(about)).digest()
