"""The random choices of stochastic solvers, drawn outside the kernels.

Draws come from ``numpy.random.Generator``, so a run depends on its seed alone, and drawing in portions gives the same
sequence as drawing at once: logging more often does not change a run.
"""

from collections.abc import Callable

import numpy as np

from fwexp.errors import ParameterError


class Draws:
    """A stream of numbers, of which a kernel may use fewer than it was shown.

    Parameters
    ----------
    more : callable
        ``more(count)`` returns at least the next ``count`` numbers of the stream, or what is left of it.
    """

    def __init__(self, more: Callable[[int], np.ndarray]) -> None:
        self._more = more
        self._rest = more(0)

    def peek(self, count: int) -> np.ndarray:
        """Return the next ``count`` numbers, or fewer at the end of a finite stream."""
        if count > len(self._rest):
            self._rest = np.concatenate((self._rest, self._more(count - len(self._rest))))
        return self._rest[:count]

    def drop(self, count: int) -> None:
        """Move on by ``count`` numbers."""
        self._rest = self._rest[count:]

    def put_first(self, numbers: np.ndarray) -> None:
        """Let ``numbers`` come before the rest of the stream."""
        self._rest = np.concatenate((numbers, self._rest))

    def take(self, count: int) -> np.ndarray:
        """Return the next ``count`` numbers and move on."""
        numbers = self.peek(count)
        self.drop(count)
        return numbers


def order_draws(rule: str, n: int, seed: int, weights: np.ndarray | None = None) -> Draws:
    """Return example indices 0 .. n-1, int64.

    Parameters
    ----------
    rule : {"uniform", "perm", "cyclic", "lipschitz"}
        With replacement (the theory), a fresh permutation every pass, 0 .. n-1 again and again, or with replacement in
        proportion to ``weights``.
    n, seed : int
    weights : float array (n,)
        For ``lipschitz``.
    """
    rng = np.random.default_rng(seed)
    if rule == "uniform":
        return Draws(lambda count: rng.integers(n, size=count))
    if rule == "lipschitz":
        cumulative = np.cumsum(weights) / np.sum(weights)
        cumulative[-1] = 1.0
        return Draws(lambda count: np.searchsorted(cumulative, rng.random(count), side="right"))

    def passes(count: int) -> np.ndarray:
        portions = [rng.permutation(n) if rule == "perm" else np.arange(n) for _ in range(-(-count // n))]
        return np.concatenate([np.empty(0, dtype=np.int64), *portions])

    return Draws(passes)


def uniform_draws(seed: int) -> Draws:
    """Return uniform numbers in [0, 1)."""
    return Draws(np.random.default_rng(seed).random)


LEAST = 0.01  # times the mean: the least weight of an example in ``lipschitz_draws``


def lipschitz_draws(curvature: np.ndarray, seed: int) -> Draws:
    """Return example indices drawn in proportion to bounds >= 0 on their curvature.

    An example without curvature may have a gap all the same, and one visit may close it: examples below `LEAST` times the
    mean are visited once at first, in order, and drawn as if they were there later. Without any curvature all are alike.
    """
    least = LEAST * np.mean(curvature)
    if least > 0.0:
        draws = order_draws("lipschitz", len(curvature), seed, np.maximum(curvature, least))
        draws.put_first(np.flatnonzero(curvature < least))
        return draws
    draws = order_draws("uniform", len(curvature), seed)
    draws.put_first(np.arange(len(curvature)))
    return draws


def given_draws(order: np.ndarray, repeat: bool = False) -> Draws:
    """Return the indices that the caller gave, one per step, as often as they last or, with ``repeat``, over and over."""
    if repeat and len(order) > 0:
        return Draws(lambda count: np.tile(order, -(-count // len(order))))
    rest = [order]
    return Draws(lambda count: rest.pop() if count and rest else np.empty(0, dtype=np.int64))


def check_order(order, n: int, steps: int) -> np.ndarray:
    """Return a given order as int64 indices 0 .. n-1, at least ``steps`` of them."""
    indices = np.asarray(order)
    if indices.ndim != 1 or (indices.dtype.kind not in "iu" and len(indices)):
        raise ParameterError(f"order must be a vector of integers, got shape {indices.shape}, {indices.dtype}")
    if len(indices) < steps:
        raise ParameterError(f"order must hold at least max_passes * n = {steps} indices, got {len(indices)}")
    outside = indices[(indices < 0) | (indices >= n)]
    if len(outside):
        raise ParameterError(f"order must hold indices 0 .. {n - 1}, got {outside[0]}")
    return indices.astype(np.int64)
