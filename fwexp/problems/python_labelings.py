"""Labelings of any type, as functions of other people return them: how they are kept and compared."""

import copy
from collections.abc import Sized
from typing import Any

import numpy as np


def snapshot(y: Any) -> Any:
    """Return a copy of a labeling that may be changed later, and any other as it is.

    What has a hash does not change, by Python's convention.
    """
    try:
        hash(y)
    except TypeError:
        return copy.deepcopy(y)
    return y


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
