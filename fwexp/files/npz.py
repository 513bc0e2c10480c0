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
    with zipfile.ZipFile(file) as archive:
        sizes = sum(member.file_size for member in archive.infolist())
        damaged = archive.testzip()
    if sizes > (most := max(unpacked, size)):
        raise ValueError(f"it unpacks to more than {most} bytes")
    if damaged:  # np.load reads what a header claims, and compares the checksum of that only if it is all
        raise ValueError(f"its member {damaged} is damaged")
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        arrays = dict(loaded)
    if others := [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]:
        raise ValueError(f"its member {others[0]} is no array")
    return arrays


def read(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file that ``numpy.savez`` wrote; None where there is none, or it is damaged."""
    try:
        with path.open("rb") as file:
            return arrays_in(file)
    except Exception:  # damaged files fail anywhere
        return None
