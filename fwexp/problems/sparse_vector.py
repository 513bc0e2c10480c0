"""Sparse vectors for steps in plain Python: far less work per operation than a scipy.sparse row."""

from dataclasses import dataclass

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.jit.compilation import njit
from fwexp.jit.vectors import EIGHT, above8, first_bit, full8, load8, sum8


@dataclass(slots=True, eq=False)  # so a state that holds some is a record
class SparseVector:
    """A vector as sorted distinct int64 ``indices`` and float64 ``values``, with just the arithmetic that steps need."""

    indices: np.ndarray
    values: np.ndarray

    @classmethod
    def from_row(cls, row) -> "SparseVector":
        """Make one from a scipy.sparse row."""
        row = sp.csr_array(row, dtype=np.float64)
        if not row.has_canonical_format:
            row = row.copy()  # the caller's own may be at hand
            row.sum_duplicates()
        return cls(row.indices.astype(np.int64), row.data)

    def dense(self, d: int) -> np.ndarray:
        """Return the same as an array (d,)."""
        vector = np.zeros(d)
        vector[self.indices] = self.values
        return vector

    def __add__(self, other: "SparseVector") -> "SparseVector":
        indices, place = np.unique(np.concatenate((self.indices, other.indices)), return_inverse=True)
        return SparseVector(indices, np.bincount(place, np.concatenate((self.values, other.values)), len(indices)))

    def __rmul__(self, c: float) -> "SparseVector":
        return SparseVector(self.indices, c * self.values)

    def __sub__(self, other: "SparseVector") -> "SparseVector":
        return self + -1.0 * other

    def __abs__(self) -> "SparseVector":
        return SparseVector(self.indices, np.abs(self.values))

    def __matmul__(self, dense: np.ndarray) -> float:
        return float(self.values @ dense[self.indices])


def values_of(vector) -> np.ndarray:
    """Return the entries of a dense or sparse vector, without the zeros of a sparse one."""
    return vector.values if isinstance(vector, SparseVector) else vector


def add_to(w: np.ndarray, c: float, vector) -> None:
    """Add c times a dense or sparse vector to w."""
    if isinstance(vector, SparseVector):
        w[vector.indices] += c * vector.values
    else:
        w += c * vector


@njit
def _entries(a, b, indices, values):
    """Write the entries of a - b that are not 0; return how many they are, and ||b||^2."""
    count, squares, end = 0, full8(0.0), len(b) // EIGHT * EIGHT
    for start in range(0, end, EIGHT):
        left, right = load8(a, start), load8(b, start)
        squares = squares + right * right
        differ = above8(left, right) | above8(right, left)
        while differ:
            k = start + first_bit(differ)
            indices[count], values[count] = k, a[k] - b[k]
            count, differ = count + 1, differ & (differ - 1)
    size_sq = sum8(squares)
    for k in range(end, len(b)):
        size_sq += b[k] * b[k]
        indices[count], values[count] = k, a[k] - b[k]
        count += values[count] != 0.0
    return count, size_sq


def difference(a, b) -> tuple:
    """Return a - b, as a sparse vector where that is shorter, and ||b||^2, of two vectors that are both dense or both sparse."""
    if isinstance(a, SparseVector):
        with np.errstate(over="ignore", invalid="ignore"):
            return a - b, b.values @ b.values
    indices, values = np.empty(len(b), dtype=np.int64), np.empty(len(b))
    count, size_sq = _entries(a, b, indices, values)
    return (a - b if 4 * count >= len(b) else SparseVector(indices[:count].copy(), values[:count].copy())), size_sq
