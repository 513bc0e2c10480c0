"""numba's cache of a function with files of ours. Processes that need the same kernel at once wait for the one that compiles it."""

import contextlib
import hashlib
import weakref
from collections.abc import Callable
from pathlib import Path

from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from fwexp.files import locks
from fwexp.jit import disk_cache

__all__ = ["KernelCache"]

WAIT_SECONDS = 120.0  # for another process, until it counts as stopped: ten times the time of a kernel


class KernelCache(FunctionCache):
    """numba's cache of a function, with one file for each signature; files that cannot be read or written are no error.

    numba's own files are an index and numbered data: two processes that add signatures at once may number them alike, and then
    one runs the code of the other.
    """

    def __init__(self, function: Callable, folder: Path) -> None:
        self._py_func, self._cache_path = function, str(folder)
        self._name = (function.__module__, function.__qualname__, function.__code__.co_firstlineno)
        self._claim = contextlib.ExitStack()
        weakref.finalize(self, self._claim.close)

    def load_overload(self, sig, target_context):
        """Return the cached kernel, or None; from then on this process is the one to compile it until it is saved."""
        key = (*self._name, self._index_key(sig, target_context.codegen()))
        self._claim.close()  # of a kernel that could not be compiled
        data = self._read(key)
        if data is None:
            with contextlib.suppress(OSError):
                self._claim.enter_context(locks.claimed(self._path(key), WAIT_SECONDS))
            data = self._read(key)
        if data is None:
            return None
        self._claim.close()
        rtsys.initialize(target_context)  # all else that numba would load here is for the compiler, which loads it itself
        return CompileResult._rebuild(target_context, *data)

    def save_overload(self, sig, data) -> None:
        """Keep a compiled kernel, unless it holds addresses of this process."""
        key = (*self._name, self._index_key(sig, data.codegen))
        if not data.library.has_dynamic_globals:
            with contextlib.suppress(OSError):
                disk_cache.write(self._path(key), dumps((key, data._reduce())))
        self._claim.close()

    def _path(self, key: tuple) -> Path:
        name = ".".join(key[:2]).replace("<", "").replace(">", "")[-100:]
        return Path(self._cache_path) / f"{name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}{disk_cache.SUFFIX}"

    def _read(self, key: tuple):
        stored, data = disk_cache.read(self._path(key)) or (None, None)
        return data if stored == key else None
