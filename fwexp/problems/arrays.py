"""Matrices, labels and costs of users, converted to one form; a wrong one raises one line that names its place.

The result may be a view of the argument; a problem that keeps it copies it.
"""

from collections.abc import Callable
from itertools import chain

import numpy as np

from fwexp import lazy_sparse as sp
from fwexp.conversion import as_array, as_floats
from fwexp.errors import ParameterError, shown
from fwexp.options import check_integer, check_scale

MANY_NUMBERS = 2**27  # 1 GiB: more weights than this must be meant
TOO_MANY_NUMBERS = 2**34
INDEX_TYPES = {np.dtype(np.int32), np.dtype(np.int64)}  # of scipy


def check_scale_of(name: str, values: np.ndarray) -> None:
    """Refuse numbers whose squares and products are no floats any more, judged by the largest of them."""
    size = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(size):
        raise ParameterError(f"{name} must be finite, got NaN or infinity")
    check_scale(name, size)


def as_matrix(name: str, value, what: str):
    """Return inputs as a float64 array, or where they are sparse as `as_sparse` does."""
    if not sp.issparse(value):
        return as_floats(name, value, what)
    if value.ndim == 2 and value.shape[1] < 2**31:
        value = as_sparse(name, value)
    if value.dtype.kind not in "fiub" or value.ndim != 2 or value.shape[1] >= 2**31:
        raise ParameterError(f"{name} must {what}, got {value.dtype} of shape {value.shape}")
    if not np.isfinite(value.data).all():
        raise ParameterError(f"{name.partition('[')[0]} must be finite, got NaN or infinity (in {name})")
    return value


def as_sparse(name: str, value):
    """Return a sparse matrix in csr, csc or coo, without a copy if it is one of these and has no fault; a vector is one row."""
    # Routines in C, scipy's and ours, read and write wherever indices point. Its constructors check few of them, and no indices
    # that are put into a matrix later. ``check_format`` is for csr, csc and bsr alone, lets an ``indptr`` pass that falls to
    # an end of 0 or whose differences overflow, and takes as long as building a problem of many small matrices.
    try:
        return _compressed(value) if value.format in ("csr", "csc", "bsr") else _coordinates(value)
    except Exception as error:  # ours, and any error of numpy about a value that is no array
        raise ParameterError(f"{name} must be a well-formed sparse matrix, got {type(value).__name__} with {error}") from None


def _compressed(value):
    """Return a sound matrix in csr or csc, or one in bsr as csr."""
    numbers, indices, indptr, blocks = value.data, value.indices, value.indptr, value.format == "bsr"
    rows, columns = shape = value.shape if value.ndim == 2 else (1, *value.shape)
    height, width = numbers.shape[1:] if blocks else (1, 1)
    major, minor = (columns, rows) if value.format == "csc" else (rows // height, columns // width)
    fits = numbers.ndim == (3 if blocks else 1) and rows % height == columns % width == 0
    if not fits or indices.shape != numbers.shape[:1] or indptr.shape != (major + 1,):
        raise ValueError(f"data, indices and indptr of shapes {numbers.shape}, {indices.shape} and {indptr.shape}")
    end = indptr[-1]
    if indptr.dtype.kind not in "iu" or indptr[0] != 0 or end > len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"indptr that does not rise from 0 to at most {len(indices)}")
    used = indices if end == len(indices) else indices[:end]
    _check_range(used, minor)
    if used is not indices or indptr.dtype != indices.dtype or indptr.dtype not in INDEX_TYPES or shape is not value.shape:
        value = getattr(sp, f"{value.format}_array")((numbers[:end], used, indptr), shape=shape)
    return value.tocsr() if blocks else value


def _coordinates(value):
    """Return a sound matrix in coo, of one in coo, dia, dok or lil."""
    if value.format == "lil":
        lengths = [len(row) for row in value.rows]
        if lengths != [len(row) for row in value.data]:
            raise ValueError("rows and data of different lengths")
        numbers, places = list(chain(*value.data)), (np.repeat(np.arange(len(lengths)), lengths), list(chain(*value.rows)))
    elif value.format == "dok":
        numbers, places = list(value.values()), np.array(list(value.keys())).reshape(-1, value.ndim).T
    elif value.format == "dia":
        if value.data.ndim != 2 or value.offsets.shape != value.data.shape[:1]:
            raise ValueError(f"data and offsets of shapes {value.data.shape} and {value.offsets.shape}")
        columns = np.broadcast_to(np.arange(value.data.shape[1]), value.data.shape)
        rows = columns - value.offsets[:, None]
        within = (rows >= 0) & (rows < value.shape[0]) & (columns < value.shape[1]) & (value.data != 0)
        numbers, places = value.data[within], (rows[within], columns[within])
    else:
        numbers, places = value.data, value.coords
    places = [np.asarray(indices) for indices in places]
    for indices, size in zip(places, value.shape, strict=True):
        _check_range(indices, size)
    numbers = np.asarray(numbers, dtype=value.dtype)
    if value.ndim == 1:
        places.insert(0, np.zeros_like(places[0]))
    return sp.coo_array((numbers, tuple(places)), shape=(1, *value.shape)[-2:])  # which looks at lengths


def _check_range(indices: np.ndarray, end: int) -> None:
    """Refuse numbers other than integers 0 .. end - 1."""
    if indices.size == 0:
        return
    if indices.dtype.kind not in "iu":
        raise ValueError(f"indices of {indices.dtype}")
    least, most = indices.min(), indices.max()
    if least < 0 or most >= end:
        raise ValueError(f"index {least if least < 0 else most} outside 0 .. {end - 1}")


def as_places(name: str, value, size: int, lowest: int, what: str) -> np.ndarray:
    """Return the int64 places among ``size`` that a slice, a mask or integers >= ``lowest`` choose."""
    if isinstance(value, slice):
        try:
            return np.arange(size)[value]
        except (TypeError, ValueError, IndexError):
            raise ParameterError(f"{name} must {what}, got {shown(value)}") from None
    places = as_array(name, value, "iub", what)
    if places.ndim != 1 or (places.dtype.kind == "b" and len(places) != size):
        raise ParameterError(f"{name} must {what}, got {places.dtype} of shape {places.shape}")
    if places.dtype.kind == "b":
        return np.flatnonzero(places)
    outside = (places < lowest) | (places >= size)
    if outside.any():
        raise ParameterError(f"{name} must {what}, got {places[outside][0]}")
    return places.astype(np.int64)


def pointer(sizes) -> np.ndarray:
    """Return where runs of these sizes begin, one after the other, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def as_labels(name: str, value, what: str = "hold integers") -> np.ndarray:
    """Return integers, of any shape, as an int64 array."""
    array = as_array(name, value, "iu", what)
    if array.dtype.kind not in "iu":  # empty
        return array.astype(np.int64)
    if array.size and array.max() >= 2**31:
        raise ParameterError(f"labels in {name.partition('[')[0]} must be less than 2^31, got {array.max()} in {name}")
    return array.astype(np.int64)


def check_num_labels(name: str, given, labels: np.ndarray, size: Callable[[int], int]) -> int:
    """Return the number of labels K: ``given``, or the largest label plus one; ``size(K)`` numbers must be possible at once."""
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


def check_costs(costs, num_classes: int) -> np.ndarray:
    """Return costs (K, K) of every label where another is true: >= 0 and 0 on the diagonal; 0/1 where none are given."""
    if costs is None:
        return 1.0 - np.eye(num_classes)
    costs = as_floats("costs", costs, "be a (K, K) array of numbers").copy(order="C")
    if costs.shape != (num_classes, num_classes):
        raise ParameterError(f"costs must have shape ({num_classes}, {num_classes}), got {costs.shape}")
    wrong = np.argwhere((costs < 0) | ((costs != 0) & np.eye(num_classes, dtype=bool)))
    if len(wrong):
        true, predicted = wrong[0].tolist()
        got = f"costs[{true}, {predicted}] = {costs[true, predicted]:g}"
        raise ParameterError(f"costs must be finite and >= 0 with zeros on the diagonal, got {got}")
    check_scale_of("costs", costs)
    return costs
