"""Features of the transitions between the labels of a sequence: from users' inputs to rows for problems and kernels."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import scipy.sparse as sp

from fwexp.errors import ParameterError, shown
from fwexp.estimators.feature_matrices import Vectorizer
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures, as_features
from fwexp.problems.transitions import ByPosition, Shared, Transitions

ACCEPTED = "None, a list of names of features in X, or a function of a sequence"


class Inputs(list):
    """Features of sequences.

    The sequences themselves, as users pass them, are ``given``, and ``places`` are their numbers in X. The features of their
    transitions, from the second position on, are ``edges``, or None if there are none.
    """

    given: list
    places: Sequence[int]
    edges: list | None = None

    def at(self, places: Iterable[int]) -> "Inputs":
        """Return some of the sequences, with their transitions."""
        places = [int(i) for i in places]
        found = Inputs(self[i] for i in places)
        found.given, found.places = [self.given[i] for i in places], [self.places[i] for i in places]
        found.edges = None if self.edges is None else [self.edges[i] for i in places]
        return found


def transitions_of(wanted: Any, given: list, X: list) -> list | None:
    """Return the features of the transitions of sequences ``given`` by users, whose positions have the features X."""
    if wanted is None:
        return None
    if callable(wanted):
        found = [_checked(wanted(one), x, i) for i, (one, x) in enumerate(zip(given, X, strict=True))]
        return [x[1:] for x in found]
    if isinstance(wanted, str) or not isinstance(wanted, list | tuple | set | frozenset | np.ndarray) or not len(wanted):
        raise ParameterError(f"transition_features must be {ACCEPTED}, got {shown(wanted)}")
    names = list(wanted)
    if not all(isinstance(name, str | int | np.integer) for name in names):
        raise ParameterError(f"transition_features must be {ACCEPTED}, got {shown(wanted)}")
    return [_selected(x, names) for x in X]


def _checked(found, x, i: int):
    """Return the features that a function returned for sequence i, if there are as many as positions."""
    found = found if hasattr(found, "shape") or not isinstance(found, Iterable) else list(found)
    size, wanted = (found.shape[0] if hasattr(found, "shape") else len(found) if isinstance(found, Sized) else None), length(x)
    if size != wanted:
        got = type(found).__name__ if size is None else size
        raise ParameterError(f"transition_features must return features for all {wanted} positions of X[{i}], got {got}")
    return sp.csr_array(found) if sp.issparse(found) else found


def size_of(x) -> int | None:
    """Return the number of positions of a sequence; None for any other object."""
    if hasattr(x, "shape"):
        matrix = len(x.shape) == 2 or (len(x.shape) == 1 and (x.shape[0] == 0 or x.dtype.kind not in "biufc"))
        return x.shape[0] if matrix else None
    return len(x) if isinstance(x, Sized) and not isinstance(x, str | Mapping) else None


def length(x) -> int:
    """Return the number of positions of a sequence."""
    return x.shape[0] if hasattr(x, "shape") else len(x)


def _selected(x, names: list):
    """Return the features with the given names, or the columns, of all positions but the first."""
    if hasattr(x, "shape"):
        x = sp.csr_array(x) if sp.issparse(x) else np.asarray(x)
        if x.ndim == 2:
            if not all(isinstance(k, int | np.integer) and 0 <= k < x.shape[1] for k in names):
                raise ParameterError(f"transition_features must be columns of X, 0 .. {x.shape[1] - 1}, got {shown(names)}")
            return x[1:][:, names]
    wanted = frozenset(names)
    return [_of_position(position, wanted) for position in list(x)[1:]]


def _of_position(position, wanted: frozenset):
    if isinstance(position, Mapping):
        return {key: value for key, value in position.items() if key in wanted}
    texts = [position] if isinstance(position, str) else position
    if not isinstance(texts, list | tuple | set | frozenset):
        return {}  # others reject it
    return [text for text in texts if isinstance(text, str) and (text in wanted or text.partition("=")[0] in wanted)]


def learn(vectorizer: Vectorizer, edges: list, ptr: np.ndarray, weights: np.ndarray | None, former: Vectorizer | None):
    """Learn the columns and return `rows`; positions count as often as ``weights`` say, and columns of ``former`` stay."""
    if former is not None:
        vectorizer.restore(former.names, former.num_features)
    elif not any(hasattr(x, "shape") for x in edges):
        vectorizer.restore([], 0)  # Names are expected, though there may be none.
        former = vectorizer
    of_rows = None if weights is None else weights[_follows(ptr)]
    return rows(vectorizer, edges, ptr, lambda several: vectorizer.fit_transform(several, of_rows, former))


def encode(vectorizer: Vectorizer | None, edges: list | None, ptr: np.ndarray) -> Transitions:
    """Return the features of the transitions of further sequences, as kernels take them."""
    if vectorizer is None or edges is None:
        return Shared()
    found = as_features(rows(vectorizer, edges, ptr), copy=False)
    # Few classes of rows mean few kernels.
    if not isinstance(found, DenseFeatures):
        values = np.ones(len(found.indices)) if isinstance(found, BinaryFeatures) else found.values
        found = SparseFeatures(found.indptr, found.indices, values)
    return ByPosition(found, vectorizer.num_features)


def rows(vectorizer: Vectorizer, edges: list, ptr: np.ndarray, transform: Callable | None = None):
    """Return a row for every position, 0 for the first ones, as a matrix; sequences begin and end at ``ptr``."""
    several = [x for x in edges if length(x)]
    if not several:
        return sp.csr_array((int(ptr[-1]), vectorizer.num_features))
    found = (transform or vectorizer.transform)(several)[0]
    follows = _follows(ptr)
    if not sp.issparse(found):
        spread = np.zeros((len(follows), found.shape[1]))
        spread[follows] = found
        return spread
    found = sp.csr_array(found)
    ends = found.indptr[np.concatenate(([0], np.cumsum(follows)))]
    return sp.csr_array((found.data, found.indices, ends), shape=(len(follows), found.shape[1]))


def _follows(ptr: np.ndarray) -> np.ndarray:
    """Return whether a position comes after another one of its sequence, bool (positions,)."""
    follows = np.ones(int(ptr[-1]), dtype=bool)
    follows[ptr[:-1][np.diff(ptr) > 0]] = False
    return follows
