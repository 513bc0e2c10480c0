"""Inputs that can be exchanged, for kernelised methods."""

import numpy as np

from fwexp.problems.protocol.degrees import degree


def _with_inputs_and_weights(function):
    return lambda problem, x, num_features: problem.around(function(problem.unweighted, x, num_features))


@degree(by=_with_inputs_and_weights)
def with_inputs(problem, x, num_features):
    """Return the same examples with other inputs, one row each where there was one (plain Python).

    ``x`` has rows of length ``num_features``, as `fwexp.problems.features` keeps them.
    """


@degree(0)
def inner(problem, u, v):
    """Return <u, v> of internal weights (plain Python); the plain product unless a family overrides it."""


@inner.register(object)
def _(problem, u, v):
    return product(u, v)


def product(u: np.ndarray, v: np.ndarray) -> float:
    """Return the plain product of two vectors: not by BLAS, where the last digits depend on the number of threads."""
    return float(np.einsum("i,i", u, v))
