"""Weights that must not be negative: how users name them, and where they are among the internal weights."""

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.problems import protocol
from fwexp.problems.arrays import as_array


def constrained(problem, nonnegative):
    """Return a problem with the field ``nonnegative`` that a constructor's argument of this name asks for."""
    return problem if nonnegative is None else problem._replace(nonnegative=internal_indices(problem, nonnegative))


def internal_indices(problem, nonnegative) -> np.ndarray:
    """Return the indices of internal weights, int64 and ascending, of a mask, a slice or integers for the public w."""
    chosen = np.zeros(problem.d)
    chosen[_public(nonnegative, problem.d)] = 1.0
    return np.flatnonzero(protocol.from_public(problem, chosen)).astype(np.int64)


def public_indices(problem) -> np.ndarray:
    """Return the indices of the public w that must not be negative."""
    indices = getattr(problem, "nonnegative", protocol.UNCONSTRAINED)
    if len(indices) == 0:
        return indices
    chosen = np.zeros(problem.num_weights)
    chosen[indices] = 1.0
    return np.flatnonzero(protocol.to_public(problem, chosen))


def feasible(problem, w: np.ndarray) -> np.ndarray:
    """Return internal weights w with those that must not be negative clipped at 0."""
    indices = getattr(problem, "nonnegative", protocol.UNCONSTRAINED)
    w = w.copy()
    w[indices] = np.maximum(w[indices], 0.0)
    return w


def _public(chosen, d: int) -> np.ndarray:
    what = f"be a mask of length d = {d}, a slice, or integers 0 .. {d - 1}"
    if isinstance(chosen, slice):
        try:
            return np.arange(d)[chosen]
        except (TypeError, ValueError, IndexError):
            raise ParameterError(f"nonnegative must {what}, got {shown(chosen)}") from None
    indices = as_array("nonnegative", chosen, "iub", what)
    mask = indices.dtype.kind == "b"
    if indices.ndim != 1 or (mask and len(indices) != d):
        raise ParameterError(f"nonnegative must {what}, got {indices.dtype} of shape {indices.shape}")
    if mask:
        return np.flatnonzero(indices)
    outside = (indices < 0) | (indices >= d)
    if outside.any():
        raise ParameterError(f"nonnegative must {what}, got {indices[outside][0]}")
    return indices.astype(np.int64)
