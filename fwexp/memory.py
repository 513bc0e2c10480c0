"""Available memory, and the memory of arrays: a run that cannot fit is refused before it starts, and large arrays go in pieces."""

import contextlib
import ctypes
import mmap

import numpy as np

from fwexp.errors import UserError

UNCHECKED_BYTES = 1 << 24  # bytes: what needs no more is not worth a look at how many there are, which takes as long as a small run
# of pages that only this process has, as other memory; Windows has no others
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


class NoRoomError(UserError, MemoryError):
    """More memory is needed than there is."""


def nbytes(value) -> int:
    """Return the bytes of all arrays in nested tuples, such as problems."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(nbytes, value)) if isinstance(value, tuple) else 0


def available() -> float:
    """Return how many bytes this process can still take: free memory or the limit of the process; infinity if unknown."""
    import psutil  # here, because a tagger predicts sooner without it

    least = np.inf
    with contextlib.suppress(OSError):
        least = psutil.virtual_memory().available
        if hasattr(psutil, "RLIMIT_AS"):  # other systems have no such limit, or do not keep it
            process = psutil.Process()
            limit = process.rlimit(psutil.RLIMIT_AS)[0]
            if limit != psutil.RLIM_INFINITY:
                least = min(least, limit - process.memory_info().vms)
    return least


def release_free_memory() -> None:
    """Return freed memory to the system at once, if the C library can (glibc), instead of when it likes."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def releasable_zeros(size: int, dtype: type = np.float64) -> np.ndarray:
    """Return an array, all 0, that `release` takes."""
    if not size:
        return np.zeros(0, dtype)
    nbytes = int(size) * np.dtype(dtype).itemsize
    try:
        return np.ndarray(size, dtype, mmap.mmap(-1, nbytes, **PRIVATE))
    except (OSError, OverflowError) as error:  # as other arrays raise it
        raise MemoryError(f"no room for an array of {nbytes} bytes") from error


def release(array: np.ndarray, start: int, end: int) -> None:
    """Return the memory of entries that are not read any more to the system, as far as it takes parts of an array."""
    if isinstance(getattr(array, "base", None), mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        page, size = mmap.PAGESIZE, array.itemsize
        first, last = -(-size * int(start) // page) * page, size * int(end) // page * page
        if last > first:
            array.base.madvise(mmap.MADV_DONTNEED, first, last - first)


def check_room(what: str, need: float) -> None:
    """Refuse a run that needs more bytes than are available."""
    if need > UNCHECKED_BYTES and need > (have := available()):
        raise NoRoomError(f"{what} needs at least {_shown(need)} of memory, and {_shown(max(have, 0.0))} are available")


def _shown(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"
