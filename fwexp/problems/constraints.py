"""Weights that must not be negative: how users name them, and where they are among the internal weights."""

import numpy as np

from fwexp.problems import protocol
from fwexp.problems.arrays import as_places


def constrained(problem, nonnegative):
    """Return a problem with the field ``nonnegative`` that a constructor's argument of this name asks for."""
    return problem if nonnegative is None else problem._replace(nonnegative=internal_indices(problem, nonnegative))


def internal_indices(problem, nonnegative) -> np.ndarray:
    """Return the indices of internal weights, int64 and ascending, of a mask, a slice or integers for the public w."""
    chosen, what = np.zeros(problem.d), f"be a mask of length d = {problem.d}, a slice, or integers 0 .. {problem.d - 1}"
    chosen[as_places("nonnegative", nonnegative, problem.d, 0, what)] = 1.0
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
