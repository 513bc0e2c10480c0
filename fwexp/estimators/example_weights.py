"""Weights of examples or of their parts (positions, nodes), as ``sample_weight`` gives them."""

from typing import Any

import numpy as np

from fwexp.errors import ParameterError
from fwexp.problems.arrays import as_floats
from fwexp.problems.weighted import weighted_problem


def check_weights(weights, n: int) -> np.ndarray:
    """Return the weights of n examples as an array."""
    weights = as_floats("sample_weight", weights, "hold one number per example")
    if weights.shape != (n,):
        raise ParameterError(f"sample_weight must have shape ({n},), one per example, got {weights.shape}")
    return weights


def part_weights(given: Any, lengths: np.ndarray) -> np.ndarray | list[np.ndarray] | None:
    """Return weights of sequences, an array, or of their positions, an array per sequence; None if none are given."""
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not given or any(np.ndim(weights) != 1 for weights in given):
        return check_weights(given, len(lengths))
    found = [as_floats(f"sample_weight[{i}]", weights, "hold a number per position") for i, weights in enumerate(given)]
    if [len(weights) for weights in found] != lengths.tolist():
        raise ParameterError("sample_weight must hold a number per sequence, or an array (T,) per sequence, like y")
    return found


def at_positions(weights, lengths: np.ndarray) -> np.ndarray:
    """Return the weights of all positions, of checked weights of sequences or of their positions."""
    return np.concatenate(weights) if isinstance(weights, list) else np.repeat(weights, lengths)


def counted(weights: np.ndarray | None, *rows) -> tuple:
    """Return the weights that are not 0, and of each of ``rows`` those of the same examples: 0 leaves an example out."""
    if weights is None or weights.min(initial=1.0) > 0.0:
        return weights, *rows
    if weights.min() < 0.0:
        raise ParameterError(f"sample_weight must be >= 0, got sample_weight[{weights.argmin()}] = {weights.min():g}")
    if not (kept := np.flatnonzero(weights)).size:
        raise ParameterError("sample_weight must be > 0 for one example at least, got only 0")
    return weights[kept], *(some(of_one, kept) for of_one in rows)


def some(values, indices: np.ndarray) -> Any:
    """Return the elements of an array, a matrix or a sequence at the indices, as one of its kind; None of None."""
    if values is None:
        return None
    return values[indices] if hasattr(values, "shape") else [values[i] for i in indices]


def weighted(problem, weights: np.ndarray | None):
    """Return a problem whose examples have weights, if there are any."""
    return problem if weights is None else weighted_problem(problem, weights)
