"""Weights by name, as a mapping: a readable view of a tagger's weights."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fwexp.errors import ParameterError, shown, unknown
from fwexp.options import check_integer

if TYPE_CHECKING:
    import pandas as pd


class NamedWeights(Mapping):
    """The weights of a table that are not 0, by tuples of names: one of each axis, which has a title and names."""

    def __init__(self, weights: np.ndarray, *axes: tuple[str, Sequence]) -> None:
        self._weights, self._kinds, self._names = weights, *zip(*axes)

    @cached_property
    def _places(self) -> tuple[dict, ...]:
        return tuple({name: k for k, name in enumerate(names)} for names in self._names)

    def __getitem__(self, names) -> float:
        try:
            weight = self._weights[tuple(place[name] for place, name in zip(self._places, names, strict=True))]
        except (KeyError, TypeError, ValueError):
            raise KeyError(names) from None
        if weight == 0:
            raise KeyError(names)
        return float(weight)

    def __iter__(self) -> Iterator[tuple]:
        places = np.argwhere(self._weights).tolist()
        return (tuple(names[k] for names, k in zip(self._names, place)) for place in places)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._weights))

    def __repr__(self) -> str:
        return f"<{len(self)} weights by ({', '.join(self._kinds)}); top(20) returns the largest>"

    def top(self, n: int = 20, **names: Hashable) -> "pd.DataFrame":
        """Return the weights that are largest in absolute value, the largest first.

        Parameters
        ----------
        n : int
            How many, at most.
        **names
            Names to keep, by their title: ``top(label="NOUN")`` returns the largest weights of one label.

        Returns
        -------
        DataFrame
            A column for each of the names, and ``weight``.
        """
        sizes = np.abs(self._weights)
        for kind, name in names.items():
            if kind not in self._kinds:
                raise ParameterError(unknown("title", kind, self._kinds))
            axis = self._kinds.index(kind)
            if name not in self._places[axis]:
                raise ParameterError(f"{kind} must be a name of these weights, got {shown(name)}")
            others = np.arange(sizes.shape[axis]) != self._places[axis][name]
            sizes[(slice(None),) * axis + (others,)] = 0.0
        values = np.ascontiguousarray(self._weights).ravel()
        order = np.argsort(-sizes.ravel(), kind="stable")[: min(np.count_nonzero(sizes), check_integer("n", n, 1))]
        places = np.unravel_index(order, self._weights.shape)
        named = {kind: [names[k] for k in found] for kind, names, found in zip(self._kinds, self._names, places)}
        import pandas as pd  # here, because it takes longer to import than a tagger to predict

        return pd.DataFrame(named | {"weight": values[order]})
