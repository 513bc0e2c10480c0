"""A part of a training set: for experiments that need it smaller."""

import numpy as np

from fwexp.errors import ParameterError


def sample(examples: np.ndarray, n: int, dataset: str, what: str) -> np.ndarray:
    """Return the mask of n examples at random of those where the mask ``examples`` is true; a larger n contains the smaller ones.

    Raises
    ------
    ParameterError
        If there are fewer than n; the message is about option ``n`` of ``dataset``, whose training examples are called ``what``.
    """
    chosen = np.flatnonzero(examples)
    if n > len(chosen):
        raise ParameterError(f"dataset {dataset}: n must be at most {len(chosen)}, the number of training {what}, got {n}")
    mask = np.zeros_like(examples)
    mask[np.random.default_rng(0).permutation(chosen)[:n]] = True
    return mask
