"""Lists and arrays of users, converted to one form; a wrong one raises one line that names its place."""

import re
from collections.abc import Mapping

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.errors import ParameterError, shown

LINK = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
NAMES = "give every feature name a column of its own, for instance with DictVectorizer of scikit-learn"


def as_list(name: str, value, of: str) -> list:
    """Return a sequence as a list; ``of`` describes its required elements."""
    if type(value) is list:  # as most often, and predictions of single inputs are fast
        return value.copy()
    frame = hasattr(value, "columns")  # of pandas and others, whose names it would be
    if value is None or frame or isinstance(value, str | bytes | Mapping | set | frozenset) or sp.issparse(value):
        raise ParameterError(f"{name} must be a list of {of}, got {_kind(value)}")
    try:
        return list(value)
    except TypeError:
        raise ParameterError(f"{name} must be a list of {of}, got {_kind(value)}") from None


def as_array(name: str, value, kinds: str, what: str) -> np.ndarray:
    """Return an array of numpy's ``kinds`` of numbers; ``what`` describes the required array."""
    if _is_masked(value):
        raise ParameterError(f"{name} must have no masked entries; fill them first, for instance with {name}.filled(0)")
    try:
        array = np.asarray(value)
    except Exception as error:  # a foreign class may raise anything
        raise ParameterError(f"{name} must {what}, got {_ragged(value) or _kind(value)}") from error
    if array.dtype.kind not in kinds and array.size > 0:
        raise ParameterError(f"{name} must {what}, got {_why_not(value, array, kinds)}")
    return array


def as_floats(name: str, value, what: str) -> np.ndarray:
    """Return finite real numbers as a float64 array."""
    array = as_array(name, value, "fiub", what).astype(np.float64, copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        place = np.argwhere(~finite)[0].tolist()
        raise ParameterError(f"{name.partition('[')[0]} must be finite, got NaN or infinity ({name} at {place})")
    return array


def links_in(name: str, text: str) -> np.ndarray:
    """Return the links (row, column) that a text such as "0-0 1-2" names, an int64 array (m, 2)."""
    found = [LINK.fullmatch(link) for link in text.split()]
    if None in found:
        wrong = text.split()[found.index(None)]
        raise ParameterError(f"{name} must be links ROW-COLUMN from 0 between spaces, as in '0-0 1-2', got {shown(wrong)}")
    return np.array([link.groups() for link in found], dtype=np.int64).reshape(-1, 2)


def _is_masked(value) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, np.ma.MaskedArray) and np.ma.is_masked(item) for item in value)
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def _kind(value) -> str:
    return "None" if value is None else f"{type(value).__name__} {shown(value)}"


def _ragged(value) -> str:
    """Return which rows have different lengths, as text; empty if all are equal."""
    if not isinstance(value, list | tuple):
        return ""
    lengths = [len(row) if hasattr(row, "__len__") else None for row in value]
    other = next((t for t, length in enumerate(lengths) if length != lengths[0]), None)
    return "" if other is None else f"rows of different lengths, {lengths[0]} in row 0 and {lengths[other]} in row {other}"


def _why_not(value, array: np.ndarray, kinds: str) -> str:
    """Return a description of an array that does not hold the wanted numbers, and the remedy, as text."""
    if array.dtype.kind == "O":
        item = next((item for item in array.flat if not isinstance(item, int | float)), array.flat[0])
        if isinstance(item, Mapping):
            return f"{_kind(item)}: {NAMES}"
        return _kind(item) if array.ndim == 0 else f"objects such as {shown(item)}: convert them to numbers first"
    if array.dtype.kind in "US":
        if array.ndim == 0:  # no features or labels, but a word in the place of an array
            return _kind(value)
        hint = f": {NAMES}" if "f" in kinds else ": number them first, from 0"
        return f"text such as {shown(str(array.flat[0]))}{hint}"
    return f"{array.dtype}" + (f" of shape {array.shape}" if array.ndim != 1 else "")
