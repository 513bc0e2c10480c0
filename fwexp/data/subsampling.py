"""A part of a training set: for experiments that need it smaller."""

import numpy as np

from fwexp.errors import ParameterError


def sample(examples: np.ndarray, n: int, dataset: str, what: str) -> np.ndarray:
    """Return the mask of n random ones of the examples where a mask is true; a larger n contains the smaller ones."""
    chosen = np.flatnonzero(examples)
    if n > len(chosen):
        raise ParameterError(f"dataset {dataset}: n must be at most {len(chosen)}, the number of training {what}, got {n}")
    mask = np.zeros_like(examples)
    mask[np.random.default_rng(0).permutation(chosen)[:n]] = True
    return mask
