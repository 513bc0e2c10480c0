"""Weights most of which are 0, as files hold them: the others, and the bits that say where these are."""

from typing import Any, NamedTuple

import numpy as np

from fwexp.options import is_integer

LARGEST = 2**30  # bytes that packed files unpack to, at most, since a few kB can claim far more; larger models are not packed
AT_ONCE = 1 << 14  # rows, a multiple of 8


class SparseRows(NamedTuple):
    """Rows of numbers without those that are 0: where each begins, and columns and values."""

    begins: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    def take(self, places: np.ndarray, axis: int = 0) -> np.ndarray:
        """Return some rows as `numpy.take` returns those of an array."""
        starts = self.begins[places]
        counts = self.begins[places + 1] - starts
        ends = np.cumsum(counts)
        entries = np.repeat(starts - ends + counts, counts) + np.arange(counts.sum())
        found = np.zeros((len(places), self.shape[1]))
        found[np.repeat(np.arange(len(places)), counts), self.columns[entries]] = self.values[entries]
        return found


class PackedWeights:
    """The weights that are not 0, and the bits that say which of ``size`` weights these are."""

    def __init__(self, values: np.ndarray, places: np.ndarray, size: Any) -> None:
        if places.dtype != np.uint8 or not is_integer(size) or places.shape != ((size + 7) // 8,) or 8 * size > LARGEST:
            raise ValueError(f"the places of its weights are {places.dtype} of shape {places.shape}")
        if values.shape != (used := int(np.bitwise_count(places).sum(dtype=np.int64)),):
            raise ValueError(f"its weights are {len(values)}, not {used}")
        self.values, self.places, self.size, self.writeable = values, places, size, True  # as unpacked

    @classmethod
    def of(cls, w: np.ndarray) -> "PackedWeights | None":
        """Return weights packed, or None if fewer than half of them are 0."""
        used = w != 0.0
        if w.nbytes > LARGEST or 2 * np.count_nonzero(used) > len(used):
            return None
        return cls(w[used], np.packbits(used), len(w))

    def unpacked(self) -> np.ndarray:
        """Return all weights."""
        found = np.zeros(self.size, dtype=self.values.dtype)
        found[np.unpackbits(self.places, count=self.size).view(bool)] = self.values
        found.flags.writeable = self.writeable
        return found

    def rows(self, width: int) -> SparseRows:
        """Return the weights as rows of as many."""
        n = self.size // width
        begins, columns = np.zeros(n + 1, dtype=np.int32), np.empty(len(self.values), dtype=np.min_scalar_type(width))
        for start in range(0, n, AT_ONCE):
            size = min(AT_ONCE, n - start)
            used = np.unpackbits(self.places[start * width // 8 :], count=size * width).view(bool)
            rows, of_rows = np.divmod(np.flatnonzero(used), width)
            ends = begins[start + 1 : start + size + 1]
            np.cumsum(np.bincount(rows, minlength=size), out=ends)
            ends += begins[start]
            columns[begins[start] : ends[-1]] = of_rows
        return SparseRows(begins, columns, self.values, (n, width))
