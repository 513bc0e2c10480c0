"""Weights in the form of solvers and in the public form, and which of them are allowed; derived unless a family overrides it."""

import numpy as np

from fwexp.jit.compilation import njit, specialise
from fwexp.problems.protocol.degrees import degree
from fwexp.problems.protocol.derived import scatter_block
from fwexp.types import FloatArray, SolverProblem

UNCONSTRAINED = np.empty(0, dtype=np.int64)  # ``nonnegative`` of a problem without constraints


@degree(0, default=())
def to_public(problem, w):
    """Return a new float64 vector of length d, in the order that the family documents, of internal weights w (plain Python)."""
    return w.copy()


@degree(0, default=())
def from_public(problem, w):
    """Return new internal weights of a public w of length d (plain Python)."""
    return np.array(w, dtype=np.float64)


@degree(0, default=())
def order_of_weights(problem):
    """Return the facts on which the order of internal weights depends in addition to the signature (plain Python)."""
    return None


@degree(0, default=())
def check_weights(problem, w):
    """Refuse a public w at which the oracles cannot find the maximum, such as one with negative entries (plain Python).

    Solvers that are let near such a problem never come there: its ``nonnegative`` says where the others are. Raises
    ``ParameterError``, which names the place and the value.
    """


@degree(0, default=())
def curvatures(problem):
    """Return about the second derivatives of sum_i H_i at w = 0 and temperature 1, one per internal weight (plain Python).

    Returns None if the family does not tell them.
    """
    return None


@degree(0, default=())
def unevenness(problem):
    """Return how much larger the feature with the largest values is than the median one; 1 if unknown (plain Python)."""
    return 1.0


def new_weights(problem: SolverProblem) -> FloatArray:
    """Return internal weights of zero, which start at a cache line, as do the rows of weights of a padded width then.

    A row of 24 lies in 3 lines instead of 4; where d is large and every row a cache miss, a step takes 10 % less.
    """
    room = np.zeros(problem.num_weights + 7)
    start = -(room.ctypes.data // room.itemsize) % 8
    return room[start : start + problem.num_weights]


@njit
def _all_blocks(problem, blocks, c, w):
    for i in range(problem.n):
        scatter_block(problem, i, blocks, c, w)


def blocks_to_weights(problem, blocks, c):
    """Return the internal weights c sum_i F_i' (block i), computed from scratch."""
    w = new_weights(problem)
    specialise(_all_blocks, problem)(problem, blocks, c, w)
    return w
