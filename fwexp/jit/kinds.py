"""What kernels know of their arguments before they run, and rows: what they are given instead of named tuples.

A row is the address of a run of 64-bit words, `WORDS` for every field of a named tuple: a number is the first of them; of an array
they are its address and its shape, and of a named tuple the address of its row. Kernels are compiled for kinds, not for values:
the class of a tuple and the kinds of its fields. Booleans are known when a kernel is compiled, and so are the fields that a class
lists in its attribute ``compiled``: integers, and whether arrays are empty. Of a problem it is known of every array whether it is
empty.

What a method knows of a family of problems is less (`Erased`): the fields that all families have, at the same places for each.
"""

import array as arrays
import contextlib
import ctypes
import struct
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

WORDS = 4
ERASED = ("problem", "direction", "blocks")  # what is called so is of a type of its own in every family
COMMON = ("n", "d", "num_weights", "part_ptr", "label_ptr")  # fields of problems, which come first in their rows
MOST_DIMENSIONS = WORDS - 1
DTYPES = {np.dtype(name): name for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
DTYPES |= {np.dtype(name): name for name in ("float32", "float64")}
PADDING = [(0,) * (WORDS - 1 - ndim) for ndim in range(WORDS)]  # behind the address and the shape of an array
NOTHING = (0,) * WORDS
_float, _word = struct.Struct("d"), struct.Struct("q")


class Kind:
    """What is known of a value; equal kinds are the same object."""

    __slots__ = ()


class Number(Kind):
    """A number that is known when the kernel runs, "int64" or "float64"."""

    __slots__ = ("type",)

    def __init__(self, type_: str) -> None:
        self.type = type_


class Constant(Kind):
    """A value that is known when the kernel is compiled: a boolean, an integer or None."""

    __slots__ = ("value",)

    def __init__(self, value) -> None:
        self.value = value


class Array(Kind):
    """A contiguous array."""

    __slots__ = ("dtype", "is_empty", "ndim")

    def __init__(self, dtype: str, ndim: int, is_empty: bool = False) -> None:
        self.dtype, self.ndim, self.is_empty = dtype, ndim, is_empty


class Row(Kind):
    """A named tuple."""

    __slots__ = ("cls", "fields", "first")

    def __init__(self, cls: type, kinds: tuple[Kind, ...], first: int) -> None:
        self.cls, self.first = cls, first
        self.fields = {name: (WORDS * (first + k), kind) for k, (name, kind) in enumerate(zip(cls._fields, kinds, strict=True))}


class Erased(Kind):
    """A value of a family's own type: a problem, of which some fields can be read, or the address of a place that holds it."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: tuple[tuple[str, Kind], ...] = ()) -> None:
        self.name = name
        self.fields = {field: (WORDS * place, kind) for place, (field, kind) in enumerate(fields) if kind is not None}


INT, REAL, NONE = Number("int64"), Number("float64"), Constant(None)
array, row, erased = cache(Array), cache(Row), cache(Erased)
_booleans = {True: Constant(True), False: Constant(False)}
_integers = cache(Constant)
fixed: dict[str, Callable] = {}  # functions of a problem whose result all families keep in their rows, an array each, by name


def is_named_tuple(value) -> bool:
    """Return whether a value is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


@cache
def is_problem(cls: type) -> bool:
    """Return whether named tuples of a class are problems."""
    return {"n", "d", "num_weights"} <= set(cls._fields)


class Packed:
    """The row of a named tuple, with what it was made of, of which it keeps no array alive."""

    __slots__ = ("_cls", "_gone", "_identities", "_inner", "_kept", "address", "family", "kind", "kind_in_methods", "words")

    def __init__(self, value) -> None:
        self._cls, self._identities, self._gone = type(value), tuple(map(id, value)), []
        self._inner: list[tuple[int, Packed]] = []  # the rows of named tuples among the fields, by place
        self._kept: list = []
        self.family = None  # of a problem: the functions that methods call, once they are known
        common = _common(value) if is_problem(self._cls) else ()
        words: list[int] = []
        in_methods = []
        for name, entry in common:
            if entry is None:  # a field that this problem lacks
                words += NOTHING
            in_methods.append(None if entry is None else self._fill(words, name, entry, value)[1])
        found = [self._fill(words, name, entry, value) for name, entry in zip(value._fields, tuple.__iter__(value), strict=True)]
        self.words = arrays.array("q", words or NOTHING)  # len(problem) is n
        self.address, _ = self.words.buffer_info()
        self.kind = row(self._cls, tuple(kind for kind, _ in found), len(common))
        if common:
            names = (name for name, _ in common)
            self.kind_in_methods = erased("problem", tuple(zip(names, in_methods, strict=True)))
        else:
            self.kind_in_methods = row(self._cls, tuple(kind for _, kind in found), 0)

    def _fill(self, words: list[int], name: str, entry, owner) -> tuple[Kind, Kind]:
        """Add the words of a field; return its kinds in code that is compiled for a family, and in that of methods."""
        if isinstance(entry, np.ndarray):
            dtype, data = array_of(entry, name, owner)
            words += (data, *entry.shape, *PADDING[entry.ndim])
            if name in fixed and not any(entry is field for field in owner):
                self._kept.append(entry)  # no field of the problem does
            else:
                self._kept.append(weakref.ref(entry, self._gone.append))
            known = name in getattr(owner, "compiled", ()) or is_problem(self._cls)
            kind = array(dtype, entry.ndim, known and len(entry) == 0)
            return kind, erased(name) if name in ERASED else kind
        if is_named_tuple(entry):
            inner = packed(entry)
            words += (inner.address, *PADDING[0])
            self._inner.append((owner._fields.index(name), inner))
            return inner.kind, erased(name) if name in ERASED else inner.kind_in_methods
        self._kept.append(entry)
        kind = number(entry)
        if kind is None:
            raise TypeError(f"kernels take no {type(entry).__name__}, which {type(owner).__name__}.{name} is")
        words += (as_word(entry) if isinstance(kind, Number) else 0, *PADDING[0])
        if kind is INT and name in getattr(owner, "compiled", ()):
            kind = _integers(int(entry))
        return kind, kind

    def is_of(self, value) -> bool:
        """Return whether this is the row of a value: all that it is made of is alive, and the same."""
        return (
            type(value) is self._cls
            and not self._gone
            and tuple(map(id, value)) == self._identities
            and (not self._inner or all(inner.is_of(tuple.__getitem__(value, k)) for k, inner in self._inner))
        )


def _common(problem) -> list[tuple[str, Any]]:
    """Return the fields that all problems have, None for those that this one lacks."""
    found = {name: getattr(problem, name, None) for name in (*COMMON, *fixed)}
    for name, function in fixed.items():
        with contextlib.suppress(TypeError, AttributeError):  # not every family has it
            found[name] = function(problem)
    return list(found.items())


def array_of(value: np.ndarray, name: str, owner=None) -> tuple[str, int]:
    """Return the type of the entries of an array, a field of the owner if there is one, and where it is."""
    dtype = DTYPES.get(value.dtype)
    if dtype is not None and 0 < value.ndim <= MOST_DIMENSIONS and value.flags.c_contiguous:
        return dtype, address_of(value)  # arrays of other processes need not be aligned, which processors do not mind
    what = name if owner is None else f"{type(owner).__name__}.{name}"
    if not value.flags.c_contiguous:
        raise TypeError(f"{what} must be a C-contiguous array")
    raise TypeError(f"{what} must be an array of numbers of 1 to {MOST_DIMENSIONS} dimensions, got {value.dtype}, {value.ndim}")


def address_of(value: np.ndarray) -> int:
    """Return where the entries of an array are."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(value))
    except (TypeError, ValueError):  # read-only or empty; numpy's own way takes three times as long
        return value.__array_interface__["data"][0]


def number(value) -> Kind | None:
    """Return the kind of a value that is neither an array nor a named tuple, None if kernels do not take it."""
    if value is None:
        return NONE
    if isinstance(value, (bool, np.bool_)):
        return _booleans[bool(value)]
    if isinstance(value, (int, np.integer)):
        return INT
    return REAL if isinstance(value, (float, np.floating)) else None


def as_word(value) -> int:
    """Return a number as a word."""
    return _word.unpack(_float.pack(value))[0] if isinstance(value, (float, np.floating)) else int(value)


_packed: dict[int, Packed] = {}  # by the identity of the tuple
KEEP = 256  # rows, of some hundred bytes each


def packed(value) -> Packed:
    """Return the row of a named tuple: the one of before if that is still right."""
    found = _packed.get(id(value))
    if found is None or not found.is_of(value):
        if len(_packed) >= KEEP:
            _packed.clear()
        found = _packed[id(value)] = Packed(value)
    return found
