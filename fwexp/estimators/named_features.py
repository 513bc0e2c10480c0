"""Features by name, of positions of sequences: dicts, strings and lists of strings become columns, counted from 1."""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain, count, cycle, repeat
from numbers import Real
from operator import getitem, itemgetter
from typing import TypeAlias

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_floats
from fwexp.errors import ParameterError, shown
from fwexp.files.text_table import TextTable

FORMS = "sequences: arrays, sparse matrices, or lists of one dict, string or list of strings per position"
BY_NAME = "a dict, a string or a list of strings"
VALUES = "a number, a string, a list of strings or a vector of numbers"
TEXTS = (str, bytes)
MAPPINGS, NUMBERS = (dict, Mapping), (int, float, Real, np.bool_)  # common types, which are tested first
SEVERAL, TEXT, TEXTS_AND_FLAGS, DICT = frozenset((list, tuple)), frozenset((str,)), frozenset((str, bool)), frozenset((dict,))
NONE = 0  # the column of a name to be left out; others are counted from 1
MOST_TABLES = 1000  # of keys, which are few if they come from a template; names themselves as keys are many
MOST_UNKNOWN = 1 << 14  # values of a key without a column that are kept


class _Table(dict):
    """The columns of the values of a key, texts, 0 and 1: each looked up once, unless many are unknown."""

    __slots__ = ("find", "key", "prefix")

    def __init__(self, key: str, find: Callable) -> None:
        self.find, self.key, self.prefix = find, key, f"{key}="

    def __missing__(self, value):
        if isinstance(value, str):
            return kept(self, value, self.find(self.prefix + value))
        return kept(self, value, self.find(self.key) if value else NONE)


def kept(columns: dict, name, column: int) -> int:
    """Keep and return the column of a name, unless many are unknown."""
    if column != NONE or len(columns) < MOST_UNKNOWN:
        columns[name] = column
    return column


class Tables(dict):
    """A table for every key. Threads can share it: they add the same entries."""

    __slots__ = ("column_of", "find", "vectors")

    def __init__(self, find: Callable, column_of: Callable) -> None:
        self.find, self.column_of, self.vectors = find, column_of, {}

    def __missing__(self, key):
        if not isinstance(key, str) or len(self) >= MOST_TABLES:
            return None
        table = self[key] = _Table(key, self.find)
        return table

    def of_names(self, names: list) -> Iterable[int] | None:
        """Return the columns of names, or None if one is no text."""
        return map(self.column_of, names) if {*map(type, names)} <= TEXT else None

    def at_once(self, x: list[dict], values: list) -> Iterable[int] | None:
        """Return the columns of all features of a sequence, or None if a key has no table."""
        keys = [*x[0]]
        same = len(x) == 1 or all(map(keys.__eq__, map(list, x)))  # as most often
        tables = [*map(self.__getitem__, keys if same else chain.from_iterable(x))]
        return None if None in tables else map(getitem, cycle(tables) if same else tables, values)


class Learning(Tables):
    """Tables of names that get their columns as they come."""

    __slots__ = ("columns",)

    def __init__(self, known: Sequence[str]) -> None:
        self.columns = defaultdict(count(1 + len(known)).__next__, zip(known, count(1)))
        super().__init__(self.columns.__getitem__, self.columns.__getitem__)

    def columns_of(self, key: str, size: int) -> Collection[int]:
        """Return the columns of the entries of a vector."""
        if key not in self.vectors:
            self.vectors[key] = _columns(key, _known_length(key, self.columns) or size, self.column_of)
        return _of_length(key, size, self.vectors[key])


class Known(Tables):
    """Tables of names whose columns are known: their places, counted from 1, or the ``numbers`` of these columns."""

    __slots__ = ("known", "names")

    def __init__(self, names: Iterable[str] = (), numbers: Sequence[int] | None = None) -> None:
        self.names, self.known = TextTable.of(names), (known := {})
        place_of = self.names.find
        find = (lambda name: place_of(name) + 1) if numbers is None else lambda name: numbers[place_of(name) + 1]
        super().__init__(find, lambda name: known[name] if name in known else kept(known, name, find(name)))

    def of_names(self, names: list) -> Iterable[int] | None:
        try:  # All are known as a rule, and then are texts.
            return itemgetter(*names)(self.known) if len(names) > 1 else [self.known[name] for name in names]
        except (KeyError, TypeError):
            places = map(self.known.get, names) if {*map(type, names)} <= TEXT else None
        return places and [self.column_of(name) if place is None else place for name, place in zip(names, places)]

    def columns_of(self, key: str, size: int) -> Collection[int]:
        """Return the columns of the entries of a vector; none where the key is not known."""
        known = self.vectors.get(key) or _columns(key, _known_length(key, self.names), self.column_of)
        if not known:
            return ()
        self.vectors[key] = known
        return _of_length(key, size, known)


def _columns(key: str, size: int, column_of: Callable) -> array:
    """Return the columns of the entries of the vectors of a key."""
    return array("i", [column_of(f"{key}[{j}]") for j in range(size)])


def _known_length(key: str, columns: Container[str]) -> int:
    """Return the length of the vectors of a key whose columns are known, 0 if there are none."""
    return next(j for j in count() if f"{key}[{j}]" not in columns)


def _of_length(key: str, size: int, columns: Collection[int]) -> Collection[int]:
    """Return the columns of a vector after a check of its length."""
    if size != len(columns):
        raise ParameterError(f"feature {key!r} in X must be a vector of {len(columns)} numbers, as in others, got {size}")
    return columns


def check_vectors(found: Mapping[str, array], known: Container[str]) -> None:
    """Reject vectors whose length is not the known one of their key."""
    for key, columns in found.items():
        if length := _known_length(key, known):
            _of_length(key, len(columns), range(length))


def at_once(x: list, tables: Tables) -> Iterable[int] | None:
    """Return the columns of all features of a sequence, or None if it must be read feature by feature."""
    kinds = {*map(type, x)}
    if kinds <= SEVERAL:
        return tables.of_names([*chain.from_iterable(x)])
    if kinds == DICT or all(map(issubclass, kinds, repeat(dict))):  # the first is faster
        values = [*chain.from_iterable(map(dict.values, x))]
        if {*map(type, values)} <= TEXTS_AND_FLAGS or all(
            isinstance(value, NUMBERS) and value in (0, 1) for value in [value for value in values if type(value) is not str]
        ):
            return tables.at_once(x, values)
    return None


def is_by_name(x) -> bool | None:
    """Return whether a sequence has features by name; None if it has none."""
    if sp.issparse(x) or (isinstance(x, np.ndarray) and x.dtype.kind in "fiub"):
        return False
    for position in x if isinstance(x, Iterable) else ():
        if isinstance(position, TEXTS + MAPPINGS):
            return True
        if isinstance(position, list | tuple | set | frozenset) and len(position):
            return isinstance(next(iter(position)), TEXTS)
        if not isinstance(position, list | tuple | set | frozenset):
            return False
    return None


NamedRows: TypeAlias = tuple[array, array, array, dict[int, float], list[tuple[int, np.ndarray]]]
"""Rows of features: their columns one after the other, how many each row has, where sequences begin and end; values other than 1
by place, and those of vectors with the place where they begin. It is a plain tuple, which is made faster than a named one."""


Rows: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]
"""Rows as arrays: their bounds, columns and values (None if all are 1), and the bounds of sequences."""


def named_rows(X: Iterable, tables: Tables) -> NamedRows:
    """Return the rows of sequences whose features have names."""
    columns, lengths, ptr = array("i"), array("q"), array("q", [0])
    others: dict[int, float] = {}
    vectors: list[tuple[int, np.ndarray]] = []
    for i, x in enumerate(X):
        if not isinstance(x, list):
            if isinstance(x, str | Mapping) or not isinstance(x, Iterable):
                raise ParameterError(f"X[{i}] must be a list of positions, each {BY_NAME}, got {type(x).__name__} {shown(x)}")
            x = list(x)
        if (found := at_once(x, tables)) is not None:
            columns.fromlist([*found])  # faster than extend
            lengths.extend(map(len, x))
        else:
            for position in x:
                before = len(columns)
                if isinstance(position, MAPPINGS):
                    _read(position, tables, columns, others, vectors)
                else:
                    names = (as_text(position),) if isinstance(position, TEXTS) else _strings(position)
                    columns.extend(map(tables.column_of, names))
                lengths.append(len(columns) - before)
        ptr.append(len(lengths))
    return columns, lengths, ptr, others, vectors


def encoded(X: list, tables: Tables) -> Rows:
    """Return the rows of sequences whose features have names, as arrays."""
    return arrays_of(named_rows(X, tables))


def arrays_of(rows: NamedRows) -> Rows:
    """Return rows as arrays."""
    found, lengths, ptr, others, vectors = rows
    columns, ends = np.asarray(found), np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    if not others and not vectors:
        return ends, columns, None, np.asarray(ptr)
    values = np.ones(len(columns))
    values[list(others)] = list(others.values())
    for place, vector in vectors:
        values[place : place + len(vector)] = vector
    return ends, columns, values, np.asarray(ptr)


def _read(position: Mapping, tables: Tables, columns: array, others: dict[int, float], vectors: list) -> None:
    """Add the columns of the features of a position; note the places of values that are not 1, and of vectors."""
    column_of = tables.column_of
    for key, value in position.items():
        key = as_text(key)
        if isinstance(value, TEXTS):
            columns.append(column_of(f"{key}=" + as_text(value)))
        elif isinstance(key, str) and (vector := _vector(key, value)) is not None:
            found = tables.columns_of(key, len(vector))
            if found:
                vectors.append((len(columns), vector))
                columns.extend(found)
        elif not isinstance(value, NUMBERS):
            columns.extend(column_of(f"{key}=" + text) for text in _strings(value, key))
        elif not isinstance(key, str):
            raise ParameterError(f"names of features in X must be strings, got {type(key).__name__} {shown(key)}")
        elif not math.isfinite(value):
            raise ParameterError(f"feature {key!r} in X must be finite, got {value}")
        elif value != 0:
            column = column_of(key)
            if value != 1 and column != NONE:
                others[len(columns)] = float(value)
            columns.append(column)


def as_text(name):
    """Return bytes as the text in UTF-8 that they are, as CRFsuite does; anything else as it is."""
    if not isinstance(name, bytes):
        return name
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ParameterError(f"bytes in X must be text in UTF-8, got {shown(name)}; decode them first") from None


def _vector(key: str, value) -> np.ndarray | None:
    """Return a vector of numbers as an array, or None if a value is something else."""
    if not (isinstance(value, np.ndarray) or (isinstance(value, list | tuple) and value and isinstance(value[0], NUMBERS))):
        return None
    vector = as_floats(f"feature {key!r} in X", value, f"be {VALUES}")
    if vector.ndim != 1 or not len(vector):
        raise ParameterError(f"feature {key!r} in X must be {VALUES}, got an array of shape {vector.shape}")
    return vector


def _strings(value, key=None) -> Collection[str]:
    """Return a list of strings, or raise an error that names its place."""
    several = isinstance(value, list | tuple | set | frozenset)
    if several and ({*map(type, value)} <= {str} or all(isinstance(text, str) for text in value)):  # the first is faster
        return value
    if several and all(isinstance(text, TEXTS) for text in value):
        return [*map(as_text, value)]
    what = f"a position in X must be {BY_NAME}" if key is None else f"feature {key!r} in X must be {VALUES}"
    raise ParameterError(f"{what}, got {type(value).__name__} {shown(value)}")
