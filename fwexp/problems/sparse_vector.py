"""Sparse vectors for steps in plain Python: far less work per operation than a scipy.sparse row."""

from dataclasses import dataclass

import numpy as np

from fwexp import lazy_sparse as sp


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


def difference(a, b) -> tuple:
    """Return a - b, as a sparse vector where that is shorter, and ||b||^2, of two vectors that are both dense or both sparse."""
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(a, SparseVector):
            return a - b, b.values @ b.values
        places = (a != b).nonzero()[0]
        return (a - b if 4 * len(places) >= len(b) else SparseVector(places, a[places] - b[places])), b @ b
