"""Arrays in files of numpy's format npz, read without anything that could run, and without room that the file does not fill.

The format has a checksum of each array, which is compared when it is read.
"""

import math
import os
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fwexp.files.reading import open_regular

KINDS = "fiubcSU"  # of arrays: numbers and text


def arrays_in(file: BinaryIO, unpacked: int = 0) -> dict[str, np.ndarray]:
    """Return the arrays of an npz file, which may be compressed if ``unpacked``, the most bytes of all, is given."""
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


def read(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file that ``numpy.savez`` wrote; None where there is none, or it is damaged."""
    try:
        with open_regular(path) as file:
            return arrays_in(file)
    except Exception:  # damaged files fail anywhere
        return None
