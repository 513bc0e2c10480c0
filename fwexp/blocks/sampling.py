"""The random choices of stochastic solvers, drawn outside the kernels.

Draws come from ``numpy.random.Generator``, so a run depends on its seed alone, and drawing in portions gives the same
sequence as drawing at once: logging more often does not change a run.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Draws:
    """A stream of numbers, of which a kernel may use fewer than it was shown; belongs to a solver's state.

    The rules: example indices ``uniform`` with replacement (the theory), a fresh permutation every pass (``perm``), ``cyclic``,
    drawn in proportion to weights (``lipschitz``), or as ``given``; or uniform ``numbers`` in [0, 1).
    """

    rule: str
    n: int
    rng: np.random.Generator
    cumulative: np.ndarray = field(default_factory=lambda: np.empty(0))
    rest: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    order: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def peek(self, count: int) -> np.ndarray:
        """Return the next ``count`` numbers, or fewer at the end of a finite stream."""
        if count > len(self.rest):
            more = self._more(count - len(self.rest))
            self.rest = np.concatenate((self.rest, more)) if len(self.rest) else more
        return self.rest[:count]

    def drop(self, count: int) -> None:
        """Move on by ``count`` numbers."""
        self.rest = self.rest[count:]

    def take(self, count: int) -> np.ndarray:
        """Return the next ``count`` numbers and move on."""
        numbers = self.peek(count)
        self.drop(count)
        return numbers

    def _more(self, count: int) -> np.ndarray:
        """Return at least the next ``count`` numbers of the stream, or its end."""
        match self.rule:
            case "uniform":
                return self.rng.integers(self.n, size=count)
            case "perm" | "cyclic":
                passes = range(-(-count // self.n))
                portions = [self.rng.permutation(self.n) if self.rule == "perm" else np.arange(self.n) for _ in passes]
                return np.concatenate([np.empty(0, dtype=np.int64), *portions])
            case "lipschitz":
                return np.searchsorted(self.cumulative, self.rng.random(count), side="right")
            case "numbers":
                return self.rng.random(count)
        return np.tile(self.order, -(-count // max(len(self.order), 1)))


def order_draws(rule: str, n: int, seed: int, weights: np.ndarray | None = None) -> Draws:
    """Return example indices 0 .. n-1, int64, by a rule of `Draws`; ``weights`` (n,) are those of ``lipschitz``."""
    draws = Draws(rule, n, np.random.default_rng(seed))
    if rule == "lipschitz":
        draws.cumulative = np.cumsum(weights) / np.sum(weights)
        draws.cumulative[-1] = 1.0
    return draws


def uniform_draws(seed: int) -> Draws:
    """Return uniform numbers in [0, 1)."""
    return Draws("numbers", 0, np.random.default_rng(seed), rest=np.empty(0))


LEAST_WEIGHT = 0.01  # times the mean: the least weight of an example in ``lipschitz_draws``


def at_least_some(curvature: np.ndarray) -> np.ndarray:
    """Return bounds >= 0 on curvatures with those below `LEAST_WEIGHT` times the mean raised to that; 1 where all are 0."""
    return np.maximum(curvature, LEAST_WEIGHT * np.mean(curvature)) if np.any(curvature > 0.0) else np.ones(len(curvature))


def lipschitz_draws(curvature: np.ndarray, seed: int) -> Draws:
    """Return example indices drawn in proportion to bounds >= 0 on their curvature."""
    # An example without curvature may have a gap that one visit closes: those below `LEAST_WEIGHT` times the mean are visited once
    # at first, in order, and drawn as if they were there later.
    weights = at_least_some(curvature)
    draws = order_draws("lipschitz", len(curvature), seed, weights)
    draws.rest = np.flatnonzero(curvature < weights)
    return draws


def fixed_order_draws(order: np.ndarray, repeat: bool = False) -> Draws:
    """Return the indices that the caller gave, one per step, as often as they last or, with ``repeat``, over and over."""
    draws = Draws("given", 0, np.random.default_rng(0))
    draws.rest, draws.order = order, order if repeat else draws.order
    return draws
