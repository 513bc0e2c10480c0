"""Arrays of rows and labels in numpy's format npz."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from fwexp.data.data_files import npz_arrays
from fwexp.errors import DataError, shown


def labelled_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays X (N, p), y (N,) and perhaps ptr (n + 1,) of a file, checked."""
    try:
        arrays = npz_arrays(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path}: cannot be read as npz: {error}") from error
    if not {"X", "y"} <= set(arrays):
        raise DataError(f"{path}: expected arrays X, y and perhaps ptr, got {', '.join(sorted(arrays)) or 'none'}")
    X, y, ptr = arrays["X"], arrays["y"], arrays.get("ptr")
    if y.ndim != 1 or X.ndim != 2 or len(X) != len(y):
        raise DataError(f"{path}: X must have shape (N, p) and y (N,), got {X.shape} and {y.shape}")
    if y.dtype.kind not in "biufU" or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        raise DataError(f"{path}: y must hold finite numbers or text, got {shown(y)}")
    if ptr is not None:
        whole = ptr.ndim == 1 and ptr.dtype.kind in "iu" and len(ptr) > 1 and ptr[0] == 0 and ptr[-1] == len(y)
        if not whole or (np.diff(ptr.astype(np.int64)) <= 0).any():
            raise DataError(f"{path}: ptr must hold increasing whole numbers from 0 to {len(y)}, got {shown(ptr)}")
    return arrays
