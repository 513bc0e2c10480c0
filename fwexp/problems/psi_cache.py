"""Vectors psi_i(y) that Python functions have computed, kept for the steps that need them again."""

from collections.abc import Callable
from typing import Any

from fwexp.problems.sparse_vector import SparseVector

NBYTES = 64 << 20  # of numbers; what is kept beside them (labelings, the entries) is small or is there anyway


class PsiCache:
    """Vectors by example and labeling. A step scores all stored labelings of its example, which are the same objects every time.

    Copies and pickles begin empty. Threads may share one: an entry that another thread drops is computed again.
    """

    def __init__(self) -> None:
        # By the labeling's identity, for not all can be hashed; an entry holds its labeling, so that no other has that identity.
        self._entries: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._nbytes = 0

    def __reduce__(self):
        return PsiCache, ()

    def get(self, i: int, y: Any, compute: Callable[[int, Any], Any]):
        """Return what ``compute(i, y)`` returned or returns, not to be written to."""
        key = i, id(y)
        entry = self._entries.get(key)
        if entry is None:
            vector = compute(i, y)
            arrays = (vector.indices, vector.values) if isinstance(vector, SparseVector) else (vector,)
            for array in arrays:
                array.flags.writeable = False
            size = sum(array.nbytes for array in arrays)
            if self._nbytes + size > NBYTES:
                self._entries, self._nbytes = {}, 0
            self._nbytes += size
            self._entries[key] = entry = y, vector
        return entry[1]
