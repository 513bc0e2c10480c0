"""Sequences of users, and the features of their positions and transitions."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_list
from fwexp.errors import ParameterError, shown
from fwexp.estimators.named_features import FORMS
from fwexp.estimators.numbered_features import numbered
from fwexp.templates import Template

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


def inputs_of(X, features, transition_features, is_training: bool = False) -> Inputs:
    """Return the features of sequences, and of their transitions, as the parameters of an estimator say."""
    # In training, features by name that a function returns become `Numbered`.
    given = as_list("X", X, FORMS)
    if callable(features):
        given = [list(x) if isinstance(x, Iterator) else x for x in given]
        found = (x if isinstance(x, list) else _sequence(x) for x in map(features, given))
        has_others = transition_features is not None or getattr(features, "transitions", None) is not None
        X = numbered(found) if is_training and not has_others else list(found)
    elif isinstance(features, str) and features == "auto":
        X = given = [x if isinstance(x, list) else _sequence(x) for x in given]
    else:
        raise ParameterError(f'features must be "auto" or a function of a sequence, got {shown(features)}')
    X = Inputs(X)
    X.given, X.places = given, range(len(X))
    if transition_features is None and isinstance(features, Template):
        transition_features = features.transitions
    if transition_features is not None and all(size_of(x) is not None for x in X):  # others reject the rest
        X.edges = transitions_of(transition_features, given, X)
    return X


def _sequence(x):
    """Return a sequence as it is, or of a frame its rows: numbers, or dicts where there are texts; of an iterator a list."""
    pd = sys.modules.get("pandas")  # Without it there are no frames.
    if pd is not None and isinstance(x, pd.DataFrame):
        numbers = all(map(pd.api.types.is_numeric_dtype, x.dtypes))
        return x.to_numpy(np.float64, na_value=np.nan) if numbers else x.to_dict("records")
    return list(x) if isinstance(x, Iterator) else x
