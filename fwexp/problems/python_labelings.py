"""Labelings of any type, as functions of other people return them: how they are kept and compared."""

import copy
from collections.abc import Hashable, Sized
from typing import Any

import numpy as np


def snapshot(y: Any) -> Any:
    """Return a copy of a labeling that may be changed later, and any other as it is.

    What has a hash does not change, by Python's convention.
    """
    if type(y) is np.ndarray and not y.dtype.hasobject:
        return y.copy(order="K")
    try:
        hash(y)
    except TypeError:
        return copy.deepcopy(y)
    return y


def key_of(y: Any) -> Hashable | None:
    """Return what labelings that are equal share, and others do not; None where that is not known without comparing."""
    if isinstance(y, np.ndarray):
        return None if y.dtype.hasobject else (np.ndarray, y.dtype.str, y.shape, y.tobytes())
    key = (list, tuple(y)) if isinstance(y, list) else y
    try:
        hash(key)
    except TypeError:
        return None
    return key


class Index:
    """Values by example and labeling. Who adds one holds the labeling, so that no other has its identity."""

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
        """Keep a value; nobody may change y."""
        self._by_identity[i, id(y)] = value
        key = key_of(y)
        if key is None:
            self._others.setdefault(i, []).append((y, value))
        else:
            self._by_key[i, key] = value


def can_be_kept(y: Any) -> bool:
    """Whether y may be a labeling at all: not None, and no iterator, which the first that looks at it uses up."""
    return y is not None and not hasattr(type(y), "__next__")


def same_form(a: Any, b: Any) -> bool:
    """Whether two labelings are of one type and, all the way down, as long as each other."""
    if type(a) is not type(b) or getattr(a, "shape", ()) != getattr(b, "shape", ()):
        return False
    if isinstance(a, (list, tuple, dict)):
        inside = (a.values(), b.values()) if isinstance(a, dict) else (a, b)
        return len(a) == len(b) and all(map(same_form, *inside))
    return not isinstance(a, Sized) or len(a) == len(b)


def equal_labelings(a: Any, b: Any) -> bool:
    """Whether two labelings are equal: objects of any type, arrays, and nested lists, tuples and dicts of these."""
    try:
        hash((a, b))
    except TypeError:
        pass
    else:
        return bool(a == b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal_labelings(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal_labelings, a, b))
    return bool(np.array_equal(a, b))
