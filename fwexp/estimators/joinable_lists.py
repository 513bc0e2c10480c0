"""Predictions as lists, which scikit-learn can join and reorder."""

from itertools import chain
from typing import Any

import numpy as np

from fwexp.estimators.json_values import as_array_of


class Labelings(list):
    """A list of labelings.

    `cross_val_predict` of scikit-learn passes the predictions of all folds to `numpy.concatenate` and indexes the result. numpy
    cannot join lists of sequences of several lengths, so lists of this class are joined to a vector of objects, one per input.
    """

    __slots__ = ()

    def __array_function__(self, func, types, args, kwargs) -> Any:
        if func is np.concatenate and not kwargs and len(args) == 1 and all(isinstance(part, Labelings) for part in args[0]):
            return as_array_of([*chain.from_iterable(args[0])])
        return func(*_plain(args), **{name: _plain(value) for name, value in kwargs.items()})


def _plain(value: Any) -> Any:
    """Return a value in which labelings are lists of Python, as functions of numpy take them."""
    if isinstance(value, Labelings):
        return list(value)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value
