"""Features of users: rows of numbers as they are, and names (dicts, strings) by a vocabulary, a column each."""

from array import array
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_list
from fwexp.errors import ParameterError
from fwexp.estimators import numbered_features
from fwexp.estimators.named_features import FORMS, NONE, Known, Learning, NamedRows, arrays_of, encoded, is_by_name, named_rows
from fwexp.estimators.numbered_features import Numbered
from fwexp.files.text_table import TextTable
from fwexp.options import check_integer

if TYPE_CHECKING:
    from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures


class Vectorizer:
    """Rows of features of the positions of sequences.

    A sequence is a matrix, one row per position, or has the features of every position by name, in the forms that `ChainSVM`
    describes; ``names`` of the columns are None for matrices. Features by name that fewer than ``min_count`` positions have are
    left out, and messages name their ``source``.
    """

    def __init__(self, min_count: int = 1, source: str = "X") -> None:
        self.min_count, self.source = check_integer("min_count", min_count, 1), source
        self.restore(None, 0)

    def restore(self, names: Iterable[str] | None, num_features: int) -> None:
        """Restore columns that were learned before."""
        names = None if names is None else TextTable.of(names)
        check_named(names, num_features)
        self.names, self.num_features = names, num_features
        vars(self).pop("tables", None)

    @cached_property
    def tables(self) -> Known:
        """The columns of names, looked up as inputs have them."""
        return Known(self.names or ())

    def with_columns(self, used: np.ndarray) -> "Vectorizer":
        """Return a vectorizer of the columns that are ``used``, bool (p,), alone."""
        found, numbers = Vectorizer(), np.concatenate(([NONE], np.where(used, np.cumsum(used), NONE)))
        found.names, found.num_features = self.names, int(np.count_nonzero(used))
        vars(found)["tables"] = Known(self.names, array("i", numbers.astype(np.int32).tobytes()))
        return found

    def __getstate__(self):
        return self.min_count, self.source, self.names, self.num_features

    def __setstate__(self, state):
        self.min_count, self.source, *learned = state
        self.restore(*learned)

    def fit_transform(self, X, weights: np.ndarray | None = None, former: "Vectorizer | None" = None):
        """Learn the columns; return all rows as one matrix, and where sequences begin and end in it, (n + 1,)."""
        # A position counts for ``min_count`` as often as ``weights`` say, which are one per row. Columns of a ``former`` vectorizer
        # stay, and come first.
        X = as_list("X", X, FORMS)
        if former is not None and former.names is None:
            self.restore(None, former.num_features)
            return self.transform(X)
        if former is not None or by_name(X):
            return self._learn(X, former.names if former is not None else [], weights)
        rows, ptr = _stacked(X)
        _check_lengths(ptr)
        self.restore(None, rows.shape[1])
        return rows, ptr

    def _learn(self, X: list, known: list[str], weights: np.ndarray | None):
        if X and isinstance(X[0], Numbered):
            names, (*features, ptr) = numbered_features.learned(X, known)
        else:
            tables = Learning(known)
            *features, ptr = encoded(X, tables)
            names = list(tables.columns)
        _check_lengths(ptr)
        rows = _matrix(*features, len(names))
        often = np.ones(len(names), dtype=bool)
        if self.min_count > 1:
            weights = None if weights is None else np.repeat(weights, np.diff(rows.indptr))
            often = np.bincount(rows.indices, weights, minlength=len(names)) >= self.min_count
            often[: len(known)] = True
        if not often.any():
            if self.min_count > 1:
                raise ParameterError(f"min_count={self.min_count} removes every feature of {self.source}; lower min_count")
            raise ParameterError(f"{self.source} must have a feature at some position, got none; check the names of features")
        self.restore([name for name, kept in zip(names, often.tolist()) if kept], int(often.sum()))
        return rows if often.all() else rows[:, often], ptr

    def transform(self, X):
        """Return the rows of further sequences; unknown names are left out."""
        if self.names is None:
            rows, ptr = self._rows_of_numbers(X)
        else:
            X = as_list("X", X, FORMS)
            read = numbered_features.transformed if X and isinstance(X[0], Numbered) else encoded
            *features, ptr = read(X, self.tables)
            rows = _matrix(*features, self.num_features)
        _check_lengths(ptr)
        return rows, ptr

    def encode(self, X, rows: NamedRows | None = None) -> "tuple[DenseFeatures | SparseFeatures | BinaryFeatures, np.ndarray]":
        """Return the rows of further sequences, or ``rows`` that were read before, for kernels, and where sequences begin."""
        from fwexp.problems.features import BinaryFeatures, SparseFeatures, as_features

        if self.names is not None:
            ends, columns, values, ptr = arrays_of(rows or named_rows(as_list("X", X, FORMS), self.tables))
            return BinaryFeatures(ends, columns) if values is None else SparseFeatures(ends, columns, values), ptr
        none = np.zeros((0, self.num_features))
        rows, ptr = self._rows_of_numbers([none if isinstance(x, list) and not x else x for x in as_list("X", X, FORMS)])
        return as_features(rows, copy=False), ptr

    def read(self, X: list) -> NamedRows | None:
        """Return the rows of further sequences if their features have names; columns are counted from 1, 0 is for unknown names."""
        return None if self.names is None else named_rows(X, self.tables)

    def _rows_of_numbers(self, X):
        rows, ptr = _stacked(X)
        if rows.shape[1] != self.num_features:
            raise ParameterError(
                f"{self.source} must have {self.num_features} features per position, as in fit, got {rows.shape[1]}"
            )
        return rows, ptr


def check_named(names, num_features: int) -> None:
    """Reject names that are not as many as the features."""
    if names is not None and len(names) != num_features:
        raise ValueError(f"{len(names)} names are those of {num_features} features")


def by_name(X: list) -> bool:
    """Return whether sequences have features by name; the first position that has a feature decides."""
    found = (isinstance(x, Numbered) or is_by_name(x) for x in X)
    return next((has_names for has_names in found if has_names is not None), False)


def _stacked(X):
    from fwexp.problems.chain import as_matrices  # here, since what has names needs no problem
    from fwexp.problems.features import stack

    X = as_matrices(X)
    for i, x in enumerate(X):
        if x.ndim != 2 or x.shape[1] != X[0].shape[1]:
            p = X[0].shape[-1] if X[0].ndim == 2 else "p"
            raise ParameterError(f"X[{i}] must have shape (T, {p}), got {x.shape}")
    return stack(X), np.concatenate(([0], np.cumsum([x.shape[0] for x in X])))


def _check_lengths(ptr: np.ndarray) -> None:
    empty = np.flatnonzero(ptr[1:] == ptr[:-1])
    if len(empty):
        raise ParameterError(f"X[{empty[0]}] must have at least one position, got none")


def _matrix(ends: np.ndarray, columns: np.ndarray, values: np.ndarray | None, num_features: int):
    found = columns != NONE
    if not found.all():
        columns, ends = columns[found], np.concatenate(([0], np.cumsum(found)))[ends]
        values = None if values is None else values[found]
    # Sums of few ones are exact. Rows are sorted in place, and others may read the values again.
    values = np.ones(len(columns), dtype=np.float32) if values is None else values.copy()
    ends = ends.astype(np.int32) if len(columns) < 2**31 else ends  # The indices get the larger type.
    rows = sp.csr_array((values, columns - 1, ends), shape=(len(ends) - 1, num_features))
    rows.sum_duplicates()
    return rows
