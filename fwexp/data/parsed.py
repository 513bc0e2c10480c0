"""Parsed forms of data files, kept in the user's cache folder so that a text is read once."""

import contextlib
import hashlib
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from fwexp.data.data_files import sha256
from fwexp.files.npz import seal, unseal
from fwexp.files.private import users_folder


def cache_folder() -> Path | None:
    """Return the folder of parsed data, ``fwexp/parsed`` in the user's cache folder; None where there is none of this user's."""
    try:
        return users_folder("parsed")
    except OSError:
        return None


def parsed_arrays(name: str, version: int, sources: Iterable[Path], parse: Callable[[], dict]) -> dict[str, np.ndarray]:
    """Return the arrays that ``parse()`` makes of files, from the cache if they are there.

    Parameters
    ----------
    name : str
        Of the data set; the name of the cached file begins with it.
    version : int
        Of the parsed form: raised when the same files give other arrays than before.
    sources : iterable of Path
        The files; their checksums and the version are the key, so that a changed file is parsed anew.
    parse : callable
        Returns a mapping from names to arrays; called when the cache has nothing, or something damaged.
    """
    key = hashlib.sha256(" ".join([str(version), *map(sha256, sources)]).encode()).hexdigest()
    folder = cache_folder()
    if folder is None:  # without a place to keep them, they are made every time
        return parse()
    path = folder / f"{name}-{key[:16]}.npz"
    arrays = unseal(path)
    if arrays is None:  # absent, or damaged in any way
        arrays = parse()
        # On a full disk, or where there is something else of this name, they are made every time.
        with contextlib.suppress(OSError):
            if stat.S_ISREG(path.lstat().st_mode):  # it is damaged
                path.unlink()
        with contextlib.suppress(OSError):
            seal(path, arrays)
    return arrays
