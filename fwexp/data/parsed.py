"""Parsed forms of data files, kept in the user's cache folder so that a text is read once."""

import contextlib
import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from fwexp.data.data_files import sha256
from fwexp.files import atomic, npz
from fwexp.files.caches import users_folder


def cache_folder() -> Path | None:
    """Return the folder of parsed data, ``fwexp/parsed`` in the user's cache folder; None where none can be written to."""
    try:
        return users_folder("parsed")
    except OSError:
        return None


def parsed_arrays(name: str, version: int, sources: Iterable[Path], parse: Callable[[], dict]) -> dict[str, np.ndarray]:
    """Return the arrays that ``parse()`` makes of files, from the cache if the files and ``version`` are the same."""
    key = hashlib.sha256(" ".join([str(version), *map(sha256, sources)]).encode()).hexdigest()
    folder = cache_folder()
    if folder is None:  # without a place to keep them, they are made every time
        return parse()
    path = folder / f"{name}-{key[:16]}.npz"
    arrays = npz.read(path)
    if arrays is None:  # absent, or damaged in any way
        arrays = parse()
        with contextlib.suppress(OSError):  # on a full disk, they are made every time
            atomic.write({path: lambda file: np.savez(file, **arrays)})
    return arrays
