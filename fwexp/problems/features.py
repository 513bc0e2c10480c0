"""Input vectors x_t as rows of a matrix: dense, sparse, or sparse with unit values.

Weights of a family that scores labels from inputs are rows of ``width`` contiguous numbers, one row per feature: the K
scores of a label, padded with zeros so that rows fill whole vector registers. A family knows its inputs only through
the functions of `fwexp.problems.rows`; the choice between dense and sparse is made there, once.
"""

from typing import NamedTuple

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.problems.arrays import check_scale_of

CONSTANT = 1e-9  # of a sum of squares: a smaller share may be rounding


class DenseFeatures(NamedTuple):
    """Rows of a (tokens, p) float64 array."""

    values: np.ndarray


class SparseFeatures(NamedTuple):
    """CSR rows: int64 ``indptr``, int32 ``indices``, float64 ``values``."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


class BinaryFeatures(NamedTuple):
    """CSR rows whose values are all 1, so no multiplication is needed."""

    indptr: np.ndarray
    indices: np.ndarray


Features = DenseFeatures | SparseFeatures | BinaryFeatures


class NoFeatures(NamedTuple):
    """No rows at all."""


def padded_width(num_labels: int) -> int:
    """Return the length of a weight row: a power of two up to 8, then a multiple of 8."""
    return 1 << (num_labels - 1).bit_length() if num_labels <= 8 else -(-num_labels // 8) * 8


def as_features(x, name: str = "X", *, copy: bool = True):
    """Return ``x``, a float array or sparse matrix (tokens, p), as one of the classes above; without ``copy`` they share memory."""
    if not sp.issparse(x):
        values = np.array(x, dtype=np.float64, order="C", copy=copy or None)
        check_scale_of(name, values)
        return DenseFeatures(values)
    if copy or x.format != "csr" or x.dtype.kind != "f" or not x.has_canonical_format:
        x = sp.csr_array(x.astype(np.float64))  # first: in its own type, a sum of entries at one place may overflow
        x.sum_duplicates()
    check_scale_of(name, x.data)
    indptr, indices = x.indptr.astype(np.int64), np.ascontiguousarray(x.indices, dtype=np.int32)
    if (x.data == 1.0).all():
        return BinaryFeatures(indptr, indices)
    return SparseFeatures(indptr, indices, np.ascontiguousarray(x.data, dtype=np.float64))


def stack(matrices: list):
    """Return matrices as one, sparse if one of them is."""
    return sp.vstack(matrices, format="csr") if any(map(sp.issparse, matrices)) else np.concatenate(matrices)


def num_entries(x) -> int:
    """Return how many entries are stored."""
    return x.values.size if isinstance(x, DenseFeatures) else len(x.indices)


def column_sums(x, num_features: int, power: int) -> np.ndarray:
    """Return sum_t x_t^power of every column (plain Python); power 0 counts the entries that are not 0."""
    if isinstance(x, DenseFeatures):
        return np.einsum("tf,tf->f", x.values, x.values) if power == 2 else (x.values if power else x.values != 0.0).sum(axis=0)
    values = getattr(x, "values", ())
    weights = values**power if len(values) else None
    return np.bincount(x.indices, weights, minlength=num_features)


def spreads(x, num_features: int) -> np.ndarray:
    """Return sum_t (x_t - mean)^2 of every column, and sum_t x_t^2 of those that are constant (plain Python)."""
    # The mean row makes one steep direction of an objective, and the rest makes as many as there are columns.
    rows = len(x.values) if isinstance(x, DenseFeatures) else len(x.indptr) - 1
    first, second = (column_sums(x, num_features, power) for power in (1, 2))
    spread = second - first**2 / rows
    return np.where(spread > CONSTANT * second, spread, second)


def unevenness(x, num_features: int) -> float:
    """Return by how much the column with the largest entries exceeds the median, as root mean squares of entries that are not 0."""
    counts, squares = (column_sums(x, num_features, power) for power in (0, 2))
    used = counts > 0
    scales = np.sqrt(squares[used] / counts[used])
    return float(scales.max() / np.median(scales)) if len(scales) else 1.0


def row_entries(x, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the int64 columns and the values of row t (plain Python)."""
    if isinstance(x, DenseFeatures):
        columns = np.flatnonzero(x.values[t])
        return columns, x.values[t, columns]
    row = slice(x.indptr[t], x.indptr[t + 1])
    columns = x.indices[row].astype(np.int64)
    return columns, np.ones(len(columns)) if isinstance(x, BinaryFeatures) else x.values[row]
