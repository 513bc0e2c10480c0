"""Arrays that people pass: what is taken, in one form, and one line about what is not, which names the place.

What comes out may be a view of what went in; a problem that keeps it copies it.
"""

from collections.abc import Callable, Mapping

import numpy as np
import scipy.sparse as sp

from fwexp.checks import check_integer
from fwexp.errors import ParameterError, shown

MANY_NUMBERS = 2**27  # 1 GiB: more weights than this must be meant
TOO_MANY_NUMBERS = 2**34
NAMES = "give every feature name a column of its own, for instance with DictVectorizer of scikit-learn"


def as_list(name: str, value, of: str) -> list:
    """Return a sequence as a list; ``of`` says in words what it must hold."""
    if value is None or isinstance(value, str | bytes | Mapping | set | frozenset) or sp.issparse(value):
        raise ParameterError(f"{name} must be a list of {of}, got {_kind(value)}")
    try:
        return list(value)
    except TypeError:
        raise ParameterError(f"{name} must be a list of {of}, got {_kind(value)}") from None


def as_array(name: str, value, kinds: str, what: str) -> np.ndarray:
    """Return an array of numpy's ``kinds`` of numbers; ``what`` says in words what it must hold or be."""
    if _is_masked(value):
        raise ParameterError(f"{name} must have no masked entries; fill them first, for instance with {name}.filled(0)")
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever a foreign class raises
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


def as_matrix(name: str, value, what: str):
    """Return inputs as a float64 array, or as the scipy.sparse matrix that they are."""
    if not sp.issparse(value):
        return as_floats(name, value, what)
    if value.dtype.kind not in "fiub" or value.ndim != 2 or value.shape[1] >= 2**31:
        raise ParameterError(f"{name} must {what}, got {value.dtype} of shape {value.shape}")
    if not np.isfinite((value if value.format in ("csr", "csc", "coo") else value.tocsr()).data).all():
        raise ParameterError(f"{name.partition('[')[0]} must be finite, got NaN or infinity (in {name})")
    return value


def as_labels(name: str, value, what: str = "hold integers") -> np.ndarray:
    """Return integers, of any shape, as an int64 array."""
    array = as_array(name, value, "iu", what)
    if array.dtype.kind not in "iu":  # empty
        return array.astype(np.int64)
    if array.size and array.max() >= 2**31:
        raise ParameterError(f"labels in {name.partition('[')[0]} must be less than 2^31, got {array.max()} in {name}")
    return array.astype(np.int64)


def check_num_labels(name: str, given, labels: np.ndarray, size: Callable[[int], int]) -> int:
    """Return the number of labels K: ``given``, or the largest label plus one.

    Parameters
    ----------
    name : str
        The parameter.
    given : int, optional
    labels : int array
    size : callable
        ``size(K)`` is how many numbers a problem with K labels needs at once.
    """
    K = max(int(labels.max()) + 1, 1) if given is None else check_integer(name, given, 1)
    if size(K) > (MANY_NUMBERS if given is None else TOO_MANY_NUMBERS):
        GiB = size(K) >> 27
        if given is not None:
            raise ParameterError(f"{name} must be smaller, got {shown(K)}, which needs {shown(GiB)} GiB")
        meant = f"; if that is meant, say {name}={K}" if size(K) <= TOO_MANY_NUMBERS else ""
        raise ParameterError(f"labels in y must be numbered from 0 without gaps, got {K - 1}: {name} = {K} needs {GiB} GiB{meant}")
    return K


def check_labels(kind: str, labels: np.ndarray, lowest: int, num_labels: int) -> None:
    """Refuse labels outside ``lowest`` .. ``num_labels - 1``."""
    if labels.min() < lowest or labels.max() >= num_labels:
        bad = labels.min() if labels.min() < lowest else labels.max()
        raise ParameterError(f"{kind} in y must be in 0 .. {num_labels - 1}, got {bad}")


def _is_masked(value) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, np.ma.MaskedArray) and np.ma.is_masked(item) for item in value)
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def _kind(value) -> str:
    return "None" if value is None else f"{type(value).__name__} {shown(value)}"


def _ragged(value) -> str:
    """Say which rows have different lengths, or nothing."""
    if not isinstance(value, list | tuple):
        return ""
    lengths = [len(row) if hasattr(row, "__len__") else None for row in value]
    other = next((t for t, length in enumerate(lengths) if length != lengths[0]), None)
    return "" if other is None else f"rows of different lengths, {lengths[0]} in row 0 and {lengths[other]} in row {other}"


def _why_not(value, array: np.ndarray, kinds: str) -> str:
    """Say what an array that is none of the wanted numbers holds instead, and what to do about it."""
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
