"""Features as people have them: rows of numbers as they are, and names (dicts, strings) by a vocabulary, a column each."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real

import numpy as np
import scipy.sparse as sp

from fwexp.errors import ParameterError, shown
from fwexp.options import check_integer
from fwexp.problems.arrays import as_list
from fwexp.problems.chain import as_matrices
from fwexp.problems.features import DenseFeatures, SparseFeatures, as_features
from fwexp.problems.graphs import stack

FORMS = "sequences: arrays, sparse matrices, or lists of one dict, string or list of strings per position"
BY_NAME = "a dict, a string or a list of strings"


class Vectorizer:
    """Rows of features of the positions of sequences.

    A sequence is a matrix, one row per position, or has the features of every position by name: a string, a list of strings,
    or a dict, in which a number v of key k is the feature k of value v (False and True are 0 and 1), a string v is the feature
    "k=v" of value 1, and so is each of a list of strings.

    Parameters
    ----------
    min_count : int
        Features by name that fewer positions have are left out.

    Attributes
    ----------
    names : list of str or None
        Of the columns; None if the features are columns already.
    num_features : int
        The number of columns.
    """

    def __init__(self, min_count: int = 1) -> None:
        self.min_count = check_integer("min_count", min_count, 1)
        self.restore(None, 0)

    def restore(self, names: list[str] | None, num_features: int) -> None:
        """Take columns that were learned before."""
        self.names, self.num_features = names, num_features
        self._columns = {} if names is None else {name: k for k, name in enumerate(names)}

    def fit_transform(self, X):
        """Learn the columns; return all rows as one matrix, and where sequences begin and end in it, (n + 1,)."""
        X = as_list("X", X, FORMS)
        if not by_name(X):
            rows, ptr = _stacked(X)
            self.restore(None, rows.shape[1])
            return rows, ptr
        columns = defaultdict()
        columns.default_factory = columns.__len__
        features, ptr = _encoded(X, columns.__getitem__)
        names = list(columns)
        for name in names:
            if not isinstance(name, str):
                raise ParameterError(f"names of features in X must be strings, got {type(name).__name__} {shown(name)}")
        rows = _matrix(features, len(names))
        often = np.bincount(rows.indices, minlength=len(names)) >= self.min_count
        if not often.any():
            raise ParameterError(f"X must have a feature that min_count = {self.min_count} positions have, got none")
        self.restore([name for name, kept in zip(names, often.tolist()) if kept], int(often.sum()))
        return rows if often.all() else rows[:, often], ptr

    def transform(self, X):
        """Return the rows of further sequences likewise; names that are not known are left out."""
        if self.names is None:
            return self._rows_of_numbers(X)
        features, ptr = self.encode(X)
        return _matrix(features, self.num_features), ptr

    def encode(self, X) -> tuple[DenseFeatures | SparseFeatures, np.ndarray]:
        """Return the rows of further sequences as kernels take them, and where sequences begin and end."""
        if self.names is not None:
            return _encoded(as_list("X", X, FORMS), self._columns.get)
        rows, ptr = self._rows_of_numbers(X)
        return as_features(rows, copy=False), ptr

    def _rows_of_numbers(self, X):
        rows, ptr = _stacked(X)
        if rows.shape[1] != self.num_features:
            raise ParameterError(f"X must have {self.num_features} features per position, as in fit, got {rows.shape[1]}")
        return rows, ptr


def by_name(X: list) -> bool:
    """Whether sequences have features by name, as the first position that has a feature tells."""
    for x in X:
        if sp.issparse(x) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiub"):
            return False
        for position in x if isinstance(x, Iterable) else ():
            if isinstance(position, str | Mapping):
                return True
            if isinstance(position, list | tuple | set | frozenset) and len(position):
                return isinstance(next(iter(position)), str)
            if not isinstance(position, list | tuple | set | frozenset):
                return False
    return False


def _stacked(X):
    X = as_matrices(X)
    for i, x in enumerate(X):
        if x.ndim != 2 or x.shape[0] == 0 or x.shape[1] != X[0].shape[1]:
            p = X[0].shape[-1] if X[0].ndim == 2 else "p"
            raise ParameterError(f"X[{i}] must have shape (T, {p}) with T >= 1, got {x.shape}")
    return stack(X), np.concatenate(([0], np.cumsum([x.shape[0] for x in X])))


def _matrix(features: SparseFeatures, num_features: int):
    shape = (len(features.indptr) - 1, num_features)
    rows = sp.csr_array((features.values, features.indices, features.indptr), shape=shape)
    rows.sum_duplicates()
    return rows


def _encoded(X: list, column_of: Callable) -> tuple[SparseFeatures, np.ndarray]:
    """Return rows of named features by the column of every name, None for those to be left out."""
    columns, values, ends, ptr = array("i"), array("d"), array("q", [0]), array("q", [0])
    for i, x in enumerate(X):
        if isinstance(x, str | Mapping) or not isinstance(x, Iterable):
            raise ParameterError(f"X[{i}] must be a list of positions, each {BY_NAME}, got {type(x).__name__} {shown(x)}")
        for position in x:
            names, sizes = _named(position)
            found = list(map(column_of, names))
            if None in found:
                known = [(column, size) for column, size in zip(found, sizes) if column is not None]
                found, sizes = [column for column, _ in known], [size for _, size in known]
            columns.extend(found)
            values.extend(sizes)
            ends.append(len(columns))
        if len(ends) - 1 == ptr[-1]:
            raise ParameterError(f"X[{i}] must have at least one position, got none")
        ptr.append(len(ends) - 1)
    rows = SparseFeatures(*(np.frombuffer(numbers, numbers.typecode) for numbers in (ends, columns, values)))
    return rows, np.frombuffer(ptr, ptr.typecode)


def _named(position) -> tuple[Sequence[str], list[float]]:
    """Return the names of the features of a position, and their values."""
    if not isinstance(position, dict | Mapping):  # the first is looked at faster
        names = (position,) if isinstance(position, str) else _strings(position)
        return names, [1.0] * len(names)
    names = [f"{key}={value}" for key, value in position.items() if isinstance(value, str)]
    sizes = [1.0] * len(names)
    if len(names) < len(position):
        for key, value in position.items():
            if isinstance(value, Real | np.bool_):
                names.append(key)
                sizes.append(float(value))
            elif not isinstance(value, str):
                texts = [f"{key}={text}" for text in _strings(value, key)]
                names += texts
                sizes += [1.0] * len(texts)
    return names, sizes


def _strings(value, key=None) -> Collection[str]:
    """Return strings that stand together."""
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(text, str) for text in value):
        return value
    what = f"a position in X must be {BY_NAME}" if key is None else f"feature {key!r} in X must be a number or text, or texts"
    raise ParameterError(f"{what}, got {type(value).__name__} {shown(value)}")
