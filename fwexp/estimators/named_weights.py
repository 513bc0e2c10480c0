"""Weights by name, as a mapping: what a tagger has learned, for people."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from fwexp.options import check_integer


class NamedWeights(Mapping):
    """The weights of a table that are not 0, by pairs of names: of the row and of the column.

    Parameters
    ----------
    weights : ndarray (R, C)
    rows, columns : str
        What rows and columns are.
    row_names, column_names : sequence
        Their names.
    """

    def __init__(self, weights: np.ndarray, rows: str, row_names: Sequence, columns: str, column_names: Sequence) -> None:
        self._weights, self._kinds, self._names = weights, (rows, columns), (row_names, column_names)

    @cached_property
    def _places(self) -> tuple[dict, dict]:
        return tuple({name: k for k, name in enumerate(names)} for names in self._names)

    def __getitem__(self, pair) -> float:
        try:
            row, column = pair
            weight = self._weights[self._places[0][row], self._places[1][column]]
        except (KeyError, TypeError, ValueError):
            raise KeyError(pair) from None
        if weight == 0:
            raise KeyError(pair)
        return float(weight)

    def __iter__(self) -> Iterator[tuple]:
        rows, columns = self._names
        return ((rows[r], columns[c]) for r, c in np.argwhere(self._weights).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self._weights))

    def __repr__(self) -> str:
        return f"<{len(self)} weights by ({', '.join(self._kinds)}); top(20) returns the largest>"

    def top(self, n: int = 20) -> pd.DataFrame:
        """Return the weights that are largest in absolute value, the largest first.

        Parameters
        ----------
        n : int
            How many, at most.

        Returns
        -------
        DataFrame
            A column for each of the two names, and ``weight``.
        """
        values = np.ascontiguousarray(self._weights).ravel()
        order = np.argsort(-np.abs(values), kind="stable")[: min(len(self), check_integer("n", n, 1))]
        places = np.unravel_index(order, self._weights.shape)
        named = {kind: [names[k] for k in found] for kind, names, found in zip(self._kinds, self._names, places)}
        return pd.DataFrame(named | {"weight": values[order]})
