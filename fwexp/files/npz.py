"""Arrays in files of numpy's format npz, read without anything that could run; the format has a checksum of each array."""

import os
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np


def arrays_in(file: BinaryIO, unpacked: int = 0) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, which takes at most ``unpacked`` bytes if it is compressed; any error of damaged files."""
    if not (size := file.seek(0, os.SEEK_END)):  # so has a device, which never ends
        raise ValueError("it is empty")
    arrays = {}
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > (most := max(unpacked, size)):
            raise ValueError(f"it unpacks to more than {most} bytes")
        for member in members:
            if not member.filename.endswith(".npy"):
                raise ValueError(f"its member {member.filename} is no array")
            with archive.open(member) as content:
                arrays[member.filename.removesuffix(".npy")] = np.lib.format.read_array(content, allow_pickle=False)
                if content.read(1):  # At the end its checksum is compared.
                    raise ValueError(f"its member {member.filename} is damaged")
    return arrays


def write(file: BinaryIO, arrays: dict[str, np.ndarray], most: int) -> None:
    """Write an npz file, compressed if that unpacks to at most so many bytes."""
    fits = sum(array.nbytes + 1000 for array in arrays.values()) <= most  # with their headers
    (np.savez_compressed if fits else np.savez)(file, **arrays)


def read(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file that ``numpy.savez`` wrote; None where there is none, or it is damaged."""
    try:
        with path.open("rb") as file:
            return arrays_in(file)
    except Exception:  # damaged files fail anywhere
        return None
