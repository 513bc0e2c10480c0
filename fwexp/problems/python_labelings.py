"""Labelings of any type, as users' functions return them: how they are kept and compared."""

import copy
import dataclasses
from collections.abc import Hashable, Sized
from contextlib import suppress
from typing import Any

import numpy as np

from fwexp.errors import ParameterError
from fwexp.problems import lazy_sparse as sp


def snapshot(y: Any) -> Any:
    """Return a copy of a labeling that may be changed later, and any other as it is.

    Hashable objects do not change, by Python's convention.
    """
    if type(y) is np.ndarray and not y.dtype.hasobject:
        return y.copy(order="K")
    try:
        hash(y)
    except TypeError:
        return copy.deepcopy(y)
    return y


def key_of(y: Any) -> Hashable | None:
    """Return a value that equal labelings share, and others do not; None if only a comparison can tell."""
    try:
        return _key(y)
    except TypeError:  # an object without a hash
        return None


def _key(y: Any) -> Hashable:
    if isinstance(y, np.ndarray) and not y.dtype.hasobject:
        return np.ndarray, y.dtype, y.shape, y.tobytes()
    key = (list, tuple(y)) if isinstance(y, list) else y
    if _has_hash(key):
        return key
    if sp.issparse(y):
        row = _as_row(y)
        row.sum_duplicates()
        row.eliminate_zeros()
        return sp.csr_array, y.shape, row.indices.tobytes(), row.data.dtype.str, row.data.tobytes()
    if isinstance(y, list):
        return (list, *map(_key, y))
    if isinstance(y, tuple):
        return (tuple, *map(_key, y))
    if isinstance(y, dict):
        return dict, frozenset((name, _key(part)) for name, part in y.items())
    if _is_record(y):
        return (type(y), *map(_key, _fields(y)))
    raise TypeError


def _has_hash(y: Any) -> bool:
    try:
        hash(y)
    except TypeError:
        return False
    return True


def _is_record(y: Any) -> bool:
    """Return whether a labeling is a dataclass that has no hash, whose fields are compared one by one."""
    return dataclasses.is_dataclass(y) and not _has_hash(y)


def _fields(y: Any) -> list:
    return [getattr(y, field.name) for field in dataclasses.fields(y) if field.compare]


def _as_row(y: Any):
    """Return a sparse matrix of any format as a new one of one row, in csr."""
    return sp.csr_array(y.reshape(1, -1)).copy()


class Index:
    """Values by example and labeling. Whichever function adds one holds the labeling, so that no other has its identity."""

    def __init__(self) -> None:
        self._by_identity: dict[tuple[int, int], Any] = {}
        self._by_key: dict[tuple[int, Hashable], Any] = {}
        self._others: dict[int, list[tuple[Any, Any]]] = {}  # of each example, those without a key

    def find(self, i: int, y: Any) -> Any:
        """Return the value of a labeling that is equal to y, None if there is none."""
        value = self._by_identity.get((i, id(y)))
        if value is not None:
            return value
        key = key_of(y)
        if key is not None:
            return self._by_key.get((i, key))
        return next((value for other, value in self._others.get(i, ()) if equal_labelings(other, y)), None)

    def add(self, i: int, y: Any, value: Any) -> None:
        """Keep a value; y must not change any more."""
        self._by_identity[i, id(y)] = value
        key = key_of(y)
        if key is None:
            self._others.setdefault(i, []).append((y, value))
        else:
            self._by_key[i, key] = value


def can_be_kept(y: Any) -> bool:
    """Return whether y may be a labeling: not None, and no iterator, which can be read only once."""
    return y is not None and not hasattr(type(y), "__next__")


def same_form(a: Any, b: Any) -> bool:
    """Return whether two labelings have the same type and, at all depths, the same length."""
    if type(a) is not type(b) or getattr(a, "shape", ()) != getattr(b, "shape", ()):
        return False
    if sp.issparse(a):
        return True
    if _is_record(a):
        return all(map(same_form, _fields(a), _fields(b)))
    if isinstance(a, (list, tuple, dict)):
        inside = (a.values(), b.values()) if isinstance(a, dict) else (a, b)
        return len(a) == len(b) and all(map(same_form, *inside))
    return not isinstance(a, Sized) or len(a) == len(b)


def equal_labelings(a: Any, b: Any) -> bool:
    """Return whether two labelings are equal: objects of any type, arrays, and nested lists and the like."""
    with suppress(Exception):  # of foreign classes; arrays have no hash
        if _has_hash((a, b)) and isinstance(equal := a == b, bool):
            return equal
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if not (a.dtype.hasobject and b.dtype.hasobject):
            return bool(np.array_equal(a, b))
        return a.shape == b.shape and all(map(equal_labelings, a.ravel(), b.ravel()))
    if sp.issparse(a) or sp.issparse(b):
        alike = sp.issparse(a) and sp.issparse(b) and a.shape == b.shape
        return alike and (_as_row(a) != _as_row(b)).nnz == 0
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal_labelings(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal_labelings, a, b))
    if _is_record(a):
        return type(a) is type(b) and all(map(equal_labelings, _fields(a), _fields(b)))
    try:
        return bool(np.array_equal(a, b))
    except Exception as error:  # of foreign classes
        known = "numbers, texts, arrays, sparse matrices, dataclasses, or lists, tuples and dicts of these"
        what = f"labelings must be {known}, or of a class whose == returns a bool"
        raise ParameterError(f"{what}, got {type(a).__name__}, whose == fails: {' '.join(str(error).split())}") from error
