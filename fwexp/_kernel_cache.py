"""Machine code on disk: in folders that nobody else can write to, in files that are verified before they are used.

numba keeps machine code as pickles, and a pickle runs what it holds. So a folder is used only if it is this user's, and so
is every file in it. A file begins with a checksum: one that was cut short or changed counts as absent, and what was in it is
compiled anew. Where nothing can be kept (no place, a full disk), nothing is, and kernels are compiled in every process.
Processes that need the same kernel at once wait for the one that compiles it.
"""

import contextlib
import fcntl
import hashlib
import inspect
import os
import pickle
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, UserProvidedCacheLocator

from fwexp._own_folders import OTHERS, own, temporary_folder, users_folder

__all__ = ["KernelCache", "base", "directory", "prune"]

KEEP_DIRECTORIES = 200  # so many caches are kept, one for each module and version of its sources
KEEP_SECONDS = 7 * 24 * 3600.0  # and every one that was used within this time
WAIT_SECONDS = 120.0  # for another process, until it is taken for one that was stopped: ten times what a kernel takes


# --- folders ----------------------------------------------------------------------------------------------------------


@cache
def base() -> tuple[Path | None, str]:
    """Return the folder of all caches, or None, and why it is not the first that was tried.

    First is ``fwexp/numba`` in the user's cache folder, then one of this user's in the folder for temporary files.
    """
    troubles = []
    for find in (lambda: users_folder("numba"), temporary_folder):
        try:
            return find(), "; ".join(troubles)
        except OSError as error:
            troubles.append(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return None, "; ".join(troubles)


def directory(name: str) -> Path | None:
    """Return the folder of one cache, None where nothing can be kept; a new one has old ones pruned."""
    parent, _ = base()
    if parent is None:
        return None
    folder = parent / name
    try:
        is_new = not folder.exists()
        own(folder)
        os.utime(folder)
        if is_new:
            prune(parent)
    except OSError:
        return None
    return folder


def prune(parent: Path) -> None:
    """Remove the caches below ``parent`` that are neither among the newest nor recently used."""
    with contextlib.suppress(OSError):  # another process may prune at the same time
        ages = sorted(((path.stat().st_mtime, path) for path in parent.iterdir() if path.is_dir()), reverse=True)
        for used, path in ages[KEEP_DIRECTORIES:]:
            if time.time() - used > KEEP_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


# --- files ------------------------------------------------------------------------------------------------------------


class KernelCache(FunctionCache):
    """numba's cache of a function, below ``folder``; what cannot be read or written is no error."""

    def __init__(self, function: Callable, folder: Path) -> None:
        self._folder = folder
        self._impl_class = lambda function: _Implementation(function, folder)
        super().__init__(function)
        self._function = f"{function.__module__}.{function.__qualname__}"
        self._cache_file = _VerifiedFiles(self.cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def save_overload(self, sig, data) -> None:
        """Keep what was compiled. One writer at a time: two that add signatures at once would share one file name."""
        with contextlib.suppress(OSError), (self._folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def compiling(self, signature, codegen) -> Iterator[None]:
        """Wait while another process compiles what is not kept yet, but not for one that hangs."""
        key = self._index_key(signature, codegen)
        with contextlib.ExitStack() as held:
            if key not in self._cache_file._load_index():
                name = _digest(repr((self._function, key)).encode()).hex()[:16]
                with contextlib.suppress(OSError):
                    _wait_for(held.enter_context((self._folder / f"lock-{name}").open("a")))
            yield


def _wait_for(lock) -> None:
    patience = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < patience:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return


class _Implementation(CompileResultCacheImpl):
    """numba's own, but for the place: no setting of numba, and none of its other places, leads elsewhere."""

    def __init__(self, function: Callable, folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        name = f"{Path(inspect.getfile(function)).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))


class _Locator(UserProvidedCacheLocator):
    """Where a function is cached below a folder: by the file that defines it."""

    def __init__(self, function: Callable, folder: Path) -> None:
        self._py_file, self._lineno = inspect.getfile(function), function.__code__.co_firstlineno
        self._cache_path = str(folder / self.get_suitable_cache_subpath(self._py_file))

    def ensure_cache_path(self) -> None:
        own(Path(self._cache_path))


class _VerifiedFiles(IndexDataCacheFile):
    """numba's index and data files, each with a checksum in front.

    An entry names its own key: an index may be older or newer than the file that it points to, if a process dies or a disk
    is full between the two.
    """

    def save(self, key, data) -> None:
        super().save(key, (key, data))

    def load(self, key):
        stored = super().load(key)
        return stored[1] if stored and stored[0] == key else None

    def _load_index(self) -> dict:
        stamp, overloads = _read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict) -> None:
        _write(self._index_path, self._dump((self._source_stamp, overloads)))

    def _load_data(self, name: str):
        return _read(self._data_path(name))

    def _save_data(self, name: str, data) -> None:
        _write(self._data_path(name), self._dump(data))


def _digest(content: bytes) -> bytes:
    """Return the checksum of a file for these versions: pickles of others are not read."""
    versions = f"numba {numba.__version__} llvmlite {llvmlite.__version__} python {sys.version} "
    return hashlib.sha256(versions.encode() + content).digest()


def _read(path: str):
    """Return what a file holds, None if it cannot be read, was written by somebody else, or is not as it was written."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            found, content = os.fstat(file.fileno()), file.read()
    except OSError:
        return None
    start = hashlib.sha256().digest_size
    is_ours = found.st_uid == os.geteuid() and not found.st_mode & OTHERS
    return pickle.loads(content[start:]) if is_ours and content[:start] == _digest(content[start:]) else None


def _write(path: str, content: bytes) -> None:
    """Write a file that is there whole or not at all, and that others cannot write to."""
    handle, name = tempfile.mkstemp(dir=Path(path).parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(content) + content)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
