"""Weights that must not be negative: how people name them, and where they are among the internal weights."""

import numpy as np

from fwexp.errors import ParameterError, shown
from fwexp.problems import protocol
from fwexp.problems.arrays import as_array


def constrained(problem, nonnegative):
    """Return a problem with the field ``nonnegative`` that a constructor's argument of this name asks for."""
    return problem if nonnegative is None else problem._replace(nonnegative=internal_places(problem, nonnegative))


def internal_places(problem, nonnegative) -> np.ndarray:
    """Return the places of internal weights, int64 and ascending, of a mask, a slice or integers for the public w."""
    chosen = np.zeros(problem.d)
    chosen[_public(nonnegative, problem.d)] = 1.0
    return np.flatnonzero(protocol.from_public(problem, chosen)).astype(np.int64)


def public_places(problem) -> np.ndarray:
    """Return the places of the public w that must not be negative."""
    places = getattr(problem, "nonnegative", protocol.UNCONSTRAINED)
    if len(places) == 0:
        return places
    chosen = np.zeros(problem.num_weights)
    chosen[places] = 1.0
    return np.flatnonzero(protocol.to_public(problem, chosen))


def _public(given, d: int) -> np.ndarray:
    what = f"be a mask of length d = {d}, a slice, or integers 0 .. {d - 1}"
    if isinstance(given, slice):
        try:
            return np.arange(d)[given]
        except (TypeError, ValueError, IndexError):
            raise ParameterError(f"nonnegative must {what}, got {shown(given)}") from None
    places = as_array("nonnegative", given, "iub", what)
    mask = places.dtype.kind == "b"
    if places.ndim != 1 or (mask and len(places) != d):
        raise ParameterError(f"nonnegative must {what}, got {places.dtype} of shape {places.shape}")
    if mask:
        return np.flatnonzero(places)
    outside = (places < 0) | (places >= d)
    if outside.any():
        raise ParameterError(f"nonnegative must {what}, got {places[outside][0]}")
    return places.astype(np.int64)
