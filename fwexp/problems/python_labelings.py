"""Problems of Python functions: their base, and labelings as functions return them, how they are kept and compared."""

import copy
import reprlib
from collections.abc import Callable, Hashable, Sized
from typing import Any

import numpy as np

from fwexp.errors import ParameterError
from fwexp.problems.subsets import Examples


def snapshot(y: Any) -> Any:
    """Return a copy of a labeling that may be changed later, and any other as it is.

    Hashable objects do not change, by Python's convention.
    """
    if type(y) is np.ndarray and not y.dtype.hasobject:
        return y.copy(order="K")
    return y if has_hash(y) else copy.deepcopy(y)


def has_hash(y: Any) -> bool:
    """Return whether an object is hashable."""
    try:
        hash(y)
    except TypeError:
        return False
    return True


def key_of(y: Any) -> Hashable:
    """Return a value that equal labelings share, and others do not."""
    if isinstance(y, np.ndarray) and not y.dtype.hasobject:
        return np.ndarray, y.dtype, y.shape, y.tobytes()
    key = (list, tuple(y)) if isinstance(y, list) else y
    if has_hash(key):
        return key
    if isinstance(y, (list, tuple)):
        return (type(y), *map(key_of, y))
    known = "hashable, arrays of numbers or texts, or lists or tuples of these"
    makes = "key= of CallbackProblem, or a method key(y) of a model, makes others so"
    raise ParameterError(f"labelings must be {known}, got {type(y).__name__}; {makes}")


def equal_labelings(a: Any, b: Any, key: Callable[[Any], Hashable] = key_of) -> bool:
    """Return whether two labelings are equal, where ``key`` makes them hashable; arrays may be of other types of numbers."""
    if key is key_of and (isinstance(a, np.ndarray) or isinstance(b, np.ndarray)):
        return bool(np.array_equal(a, b))
    return key(a) in {key(b)}  # as an index does


def same_form(a: Any, b: Any) -> bool:
    """Return whether two labelings have the same type and, at all depths, the same length."""
    if type(a) is not type(b):
        return False
    if hasattr(a, "shape"):
        return a.shape == b.shape
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_form, a, b))
    return not isinstance(a, Sized) or len(a) == len(b)


def can_be_kept(y: Any) -> bool:
    """Return whether y may be a labeling: not None, and no iterator, which can be read only once."""
    return y is not None and not hasattr(type(y), "__next__")


class Index:
    """Values by example and labeling. Whichever function adds one holds the labeling, so that no other has its identity."""

    def __init__(self, key: Callable[[Any], Hashable]) -> None:
        self._key = key
        self._by_identity: dict[tuple[int, int], Any] = {}
        self._by_key: dict[tuple[int, Hashable], Any] = {}

    def find(self, i: int, y: Any) -> Any:
        """Return the value of a labeling that is equal to y, None if there is none."""
        value = self._by_identity.get((i, id(y)))
        return self._by_key.get(self._place(i, y)) if value is None else value

    def add(self, i: int, y: Any, value: Any) -> None:
        """Keep a value; y must not change any more."""
        self._by_identity[i, id(y)] = self._by_key[self._place(i, y)] = value

    def _place(self, i: int, y: Any) -> tuple[int, Hashable]:
        key = self._key(y)
        if self._key is not key_of and not has_hash(key):
            raise ParameterError(f"key must return a hashable value for every labeling, got {short(key)}")
        return i, key


class PythonProblem(Examples):
    """The base of problems whose labelings have no parts, and whose oracles Python calls.

    A class states its ``tiers``, has the fields of all problems, ``y`` (the true labelings) and ``label_ptr`` (`arange(n + 1)`: a
    labeling is one object). Its methods are ``known(i, y)``, which returns a labeling with ``loss`` and ``psi``,
    ``augmented(i, w)``, ``predicted(i, w)`` and ``phi(i, y)``.
    """

    key: Callable[[Any], Hashable] = staticmethod(key_of)

    def psi(self, i: int, y: Any) -> Any:
        """Return psi_i(y)."""
        return self.known(i, y).psi

    def task_loss(self, i: int, y: Any) -> float:
        """Return L_i(y)."""
        return self.known(i, y).loss

    def forget(self) -> None:
        """Ask anew from here on."""


def read_only(w: np.ndarray) -> np.ndarray:
    """Return weights for users' functions, which get an error if they write to them."""
    w = w.view()
    w.flags.writeable = False
    return w


def short(value: Any) -> str:
    return " ".join(reprlib.repr(value).split())
