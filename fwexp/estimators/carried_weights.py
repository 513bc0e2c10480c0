"""Weights of a former training under the names of the present one: the start of warm starts and `partial_fit`."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np


class Names(NamedTuple):
    """Names of the weights of an estimator, a table with a row per feature (or score of an end or transition)."""

    rows: list[Hashable]
    columns: list[Hashable]  # the labels


def feature_rows(names: Sequence[str] | None, num_features: int) -> list[Hashable]:
    """Return the names of the rows of features; columns of numbers have their place among as many."""
    return [*names] if names is not None else [(k, num_features) for k in range(num_features)]


def carried(weights: np.ndarray, names: Names, wanted: Names) -> np.ndarray:
    """Return weights under other names: the known rows and columns, and 0 elsewhere."""
    found = np.zeros((len(wanted.rows), len(wanted.columns)))
    old_rows, new_rows = _places(names.rows, wanted.rows)
    old_columns, new_columns = _places(names.columns, wanted.columns)
    table = weights.reshape(len(names.rows), len(names.columns))
    found[np.ix_(new_rows, new_columns)] = table[np.ix_(old_rows, old_columns)]
    return found.ravel()


def _places(names: list, wanted: list) -> tuple[list[int], list[int]]:
    """Return where the common names are in both lists."""
    place = {name: k for k, name in enumerate(names)}
    pairs = [(place[name], k) for k, name in enumerate(wanted) if name in place]
    return [old for old, _ in pairs], [new for _, new in pairs]
