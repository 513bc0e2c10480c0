"""Weights of sequences or of their positions, and the parts of sequences that have labels."""

from typing import Any

import numpy as np

from fwexp.errors import ParameterError
from fwexp.estimators.example_weights import check_weights
from fwexp.problems.arrays import as_floats


def checked_weights(given: Any, lengths: np.ndarray) -> np.ndarray | list[np.ndarray] | None:
    """Return weights of sequences, an array, or of their positions, an array per sequence; None if none are given.

    Parameters
    ----------
    given : array or list
        As the parameter ``sample_weight``.
    lengths : int array (n,)
        Of the sequences.
    """
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not given or any(np.ndim(weights) != 1 for weights in given):
        return check_weights(given, len(lengths))
    found = [as_floats(f"sample_weight[{i}]", weights, "hold a number per position") for i, weights in enumerate(given)]
    if [len(weights) for weights in found] != lengths.tolist():
        raise ParameterError("sample_weight must hold a number per sequence, or an array (T,) per sequence, like y")
    return found


def at_positions(weights: np.ndarray | list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """Return the weights of all positions, of checked weights of sequences or of their positions."""
    return np.concatenate(weights) if isinstance(weights, list) else np.repeat(weights, lengths)


def weights_at(weights: Any, chosen: np.ndarray) -> Any:
    """Return the weights of some sequences, or of their positions."""
    if weights is None:
        return None
    return [weights[i] for i in chosen] if isinstance(weights, list) else weights[chosen]


def labelled_runs(kept: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the longest runs of kept positions within sequences.

    Parameters
    ----------
    kept : bool array (positions,)
    ptr : int array (n + 1,)
        Sequence i holds the positions ``ptr[i] .. ptr[i+1]``.

    Returns
    -------
    tuple
        Where the runs begin and end among the positions that are kept, (m + 1,); whether their beginning and their end are cuts
        through a sequence, bool (m, 2); and their sequences, (m,).
    """
    is_first, is_last = np.zeros(len(kept), dtype=bool), np.zeros(len(kept), dtype=bool)
    is_first[ptr[:-1]], is_last[ptr[1:] - 1] = True, True
    before, after = np.concatenate(([False], kept[:-1])), np.concatenate((kept[1:], [False]))
    begins, ends = np.flatnonzero(kept & (is_first | ~before)), np.flatnonzero(kept & (is_last | ~after))
    runs = np.concatenate(([0], np.cumsum(ends - begins + 1)))
    return runs, np.column_stack([~is_first[begins], ~is_last[ends]]), np.searchsorted(ptr, begins, side="right") - 1
