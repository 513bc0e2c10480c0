"""Small problems and given choices for tests, all from a seed."""

import numpy as np

from .problem import random_chains, tiny_chain


def chain(seed, n=5, K=3, lengths=(1, 2, 3)):
    """Return a chain problem with two Gaussian inputs per position."""
    return tiny_chain(*random_chains(np.random.default_rng(seed), n, K, 2, lengths), K)


def multiclass(seed, n=6, K=3, p=2):
    """Gaussian inputs (n, p) and labels (n,), as `tiny_multiclass` takes them."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(K, size=n)


def order_of(tp, passes, seed=0):
    """Blocks drawn uniformly with replacement, ``passes * n`` of them."""
    return np.random.default_rng(seed).integers(tp.n, size=passes * tp.n)
