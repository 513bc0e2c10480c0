"""Some examples of a problem: ``problem.subset(indices)``, ``problem[10:20]`` and ``len(problem)``, for every family."""

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from fwexp.conversion import as_array
from fwexp.errors import ParameterError
from fwexp.options import is_integer
from fwexp.problems.arrays import as_places, pointer
from fwexp.types import SetOfExamples, Weights

PER_EXAMPLE = "each"  # of a field with one row per example


def as_indices(n: int, indices) -> np.ndarray:
    """Return examples, int64, that a slice, integers from -n to n - 1, or a mask of length n chooses: one at least."""
    what = f"be a slice, a mask of length n = {n}, or integers -{n} .. {n - 1}"
    if not isinstance(indices, slice):
        indices = np.atleast_1d(as_array("indices", indices, "iub", what))
    chosen = as_places("indices", indices, n, -n, what)
    if len(chosen) == 0:
        raise ParameterError("indices must choose one example at least, got none")
    return np.where(chosen < 0, chosen + n, chosen)


class Examples:
    """The interface of all problems that are sets of examples."""

    __slots__ = ()

    def subset(self, indices: Weights) -> SetOfExamples:
        """Return the problem of some of the examples, with the same weights.

        Parameters
        ----------
        indices : slice, int array or mask
            The examples, from 0, in this order and as often as they are named; negative ones count from the end.

        Returns
        -------
        problem

        Raises
        ------
        ValueError
            No example, or one that is not there.
        """
        return self._subset(as_indices(self.n, indices))

    def __len__(self) -> int:
        """Return n."""
        return self.n

    def __getitem__(self, indices: int | Weights) -> SetOfExamples:
        """Return ``subset(indices)``; a number is one example."""
        return self.subset([indices] if is_integer(indices) else indices)


class Sliceable(Examples):
    """The base of families of arrays, before a named tuple of these.

    Attributes
    ----------
    rows : mapping
        Of each field with rows of examples how many an example has: `PER_EXAMPLE`, the name of a pointer, or a function from the
        problem to one. The pointers themselves need not be named.
    """

    __slots__ = ()
    rows: ClassVar[Mapping[str, str | Callable]] = {}
    _make = classmethod(tuple.__new__)  # The one of named tuples counts fields by len, which is n here.

    def _subset(self, indices: np.ndarray) -> SetOfExamples:
        pointers = {name: getattr(self, name) for name in {*filter(_is_pointer, self.rows.values()), "part_ptr", "label_ptr"}}
        changed = {name: pointer(np.diff(ptr)[indices]) for name, ptr in pointers.items()}
        for name, rule in self.rows.items():
            if rule == PER_EXAMPLE:
                places = indices
            else:
                places = _places(pointers[rule] if _is_pointer(rule) else rule(self), indices)
            changed[name] = take_rows(getattr(self, name), places)
        return self._replace(n=len(indices), **changed)


def _is_pointer(rule) -> bool:
    return isinstance(rule, str) and rule != PER_EXAMPLE


def _places(ptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return ptr[i] .. ptr[i + 1] of some examples i, one after the other."""
    sizes = np.diff(ptr)[indices]
    return np.arange(sizes.sum()) + np.repeat(ptr[indices] - pointer(sizes)[:-1], sizes)


def take_rows(value, places: np.ndarray):
    """Return some rows of an array or of features; other values are returned as they are."""
    if isinstance(value, np.ndarray):
        return value if len(value) == 0 else np.ascontiguousarray(value[places])
    if not hasattr(value, "indptr"):
        return value._replace(values=take_rows(value.values, places)) if hasattr(value, "values") else value
    entries, kept = _places(value.indptr, places), ("indptr", *getattr(value, "shared", ()))
    rest = {name: take_rows(getattr(value, name), entries) for name in value._fields if name not in kept}
    return value._replace(indptr=pointer(np.diff(value.indptr)[places]), **rest)
