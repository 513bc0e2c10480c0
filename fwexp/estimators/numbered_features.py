"""Features by name as numbers: what functions return in training is read once, one sequence after the other.

Dicts of all positions would take ten times the memory of the training data.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, count

import numpy as np

from fwexp.estimators.named_features import NONE, Known, Learning, Rows, arrays_of, check_vectors, is_by_name, named_rows

AT_ONCE = 1 << 20  # entries


class Numbering:
    """Sequences whose names have numbers, in the order in which they occur."""

    def __init__(self, X: Iterator) -> None:
        self.tables = Learning([])
        self.rows = arrays_of(named_rows(X, self.tables))

    @cached_property
    def names(self) -> list[str]:
        """The names, of numbers from 1."""
        return [*self.tables.columns]

    def chosen(self, places: list[int]) -> Rows:
        """Return the rows of some of the sequences."""
        ends, columns, values, ptr = self.rows
        if places == [*range(len(ptr) - 1)]:
            return self.rows
        spans = [slice(ptr[i], ptr[i + 1]) for i in places]
        entries = [slice(ends[span.start], ends[span.stop]) for span in spans]
        counts = np.concatenate([np.diff(ends[span.start : span.stop + 1]) for span in spans])
        values = None if values is None else np.concatenate([values[span] for span in entries])
        ptr = np.cumsum([0, *(span.stop - span.start for span in spans)])
        return np.concatenate(([0], np.cumsum(counts))), np.concatenate([columns[span] for span in entries]), values, ptr


class Numbered:
    """A sequence of a numbering."""

    __slots__ = ("numbering", "place")

    def __init__(self, numbering: Numbering, place: int) -> None:
        self.numbering, self.place = numbering, place

    def __len__(self) -> int:
        ptr = self.numbering.rows[3]
        return int(ptr[self.place + 1] - ptr[self.place])


def numbered(X: Iterator) -> list:
    """Return sequences, numbered if their features have names; the first position that has a feature decides."""
    first, has_names = [], None
    for x in X:
        first.append(x)
        has_names = is_by_name(x)
        if has_names is not None:
            break
    if not has_names:
        return [*first, *X]
    numbering = Numbering(chain(first, X))
    return [Numbered(numbering, i) for i in range(len(numbering.rows[3]) - 1)]


def learned(X: list[Numbered], known: Sequence[str]) -> tuple[list[str], Rows]:
    """Return the names of sequences, those that are known first and others as they occur, and the rows of their columns."""
    numbering, rows = _rows_of(X)
    if not known and rows is numbering.rows:
        return numbering.names, rows
    check_vectors(numbering.tables.vectors, dict.fromkeys(known))
    columns, size = rows[1], len(rows[1])
    first = np.full(1 + len(numbering.names), size, dtype=np.int64)  # where a number occurs first
    for start in reversed(range(0, size, AT_ONCE)):
        several = columns[start : start + AT_ONCE]
        first[several[::-1]] = np.arange(start + len(several), start, -1) - 1  # Of equal numbers the last one counts.
    first[NONE] = size
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < size)]
    names = [*dict.fromkeys([*known, *(numbering.names[number - 1] for number in order.tolist())])]
    places = dict(zip(names, count(1)))
    return names, _translated(numbering, rows, lambda name: places.get(name, NONE))


def transformed(X: list[Numbered], tables: Known) -> Rows:
    """Return the rows of sequences whose columns are known, 0 for unknown names."""
    numbering, rows = _rows_of(X)
    check_vectors(numbering.tables.vectors, tables.names)
    return _translated(numbering, rows, tables.column_of)


def _rows_of(X: list[Numbered]) -> tuple[Numbering, Rows]:
    return X[0].numbering, X[0].numbering.chosen([x.place for x in X])


def _translated(numbering: Numbering, rows: Rows, column_of: Callable) -> Rows:
    found = np.array([NONE, *map(column_of, numbering.names)], dtype=np.int32)
    ends, numbers, values, ptr = rows
    return ends, found[numbers], values, ptr
