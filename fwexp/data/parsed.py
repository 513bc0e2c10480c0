"""Parsed forms of data files, kept in the user's cache folder so that a text is read once."""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from fwexp.data.files import sha256


def cache_folder() -> Path:
    """Return the folder of parsed data: ``fwexp/parsed`` below ``XDG_CACHE_HOME``, else below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fwexp" / "parsed"


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
    path = cache_folder() / f"{name}-{key[:16]}.npz"
    # Absent, or damaged in whatever way: then it is made again.
    with contextlib.suppress(Exception), path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        if stored.zip.testzip() is None:
            return dict(stored)
    arrays = parse()
    with contextlib.suppress(OSError):  # without a place to keep them, they are made every time
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the target's own folder, so that the last step is an atomic rename.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
            np.savez(Path(folder) / path.name, **arrays)
            (Path(folder) / path.name).replace(path)
    return arrays
