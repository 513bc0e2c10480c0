"""Inputs that can be exchanged, for kernelised methods."""

import numpy as np

from fwexp.jit.compilation import dispatched


@dispatched
def with_inputs(problem, x, num_features):
    """Return the same examples with other inputs, one row each where there was one (plain Python).

    ``x`` has rows of length ``num_features``, as `fwexp.problems.features` keeps them.
    """


@dispatched
def inner(problem, u, v):
    """Return <u, v> of internal weights (plain Python); the plain product unless a family overrides it."""


@inner.register(object)
def _(problem, u, v):
    return product(u, v)


def product(u: np.ndarray, v: np.ndarray) -> float:
    """Return the plain product of two vectors: not by BLAS, where the last digits depend on the number of threads."""
    return float(np.einsum("i,i", u, v))
