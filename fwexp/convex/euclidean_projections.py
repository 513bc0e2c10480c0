"""Euclidean projections onto convex sets, each O(d log d) or a decomposition."""

import numpy as np


def onto_simplex(x: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the point with nonnegative coordinates that sum to ``radius`` which is nearest to x."""
    x = x - x.max()  # the sum stays exact where the radius is small compared with x
    u = np.sort(x)[::-1]
    excess = (np.cumsum(u) - radius) / np.arange(1, len(x) + 1)
    return np.maximum(x - excess[np.flatnonzero(u > excess)[-1]], 0.0)


def onto_l1_ball(x: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the point with ``sum |x_j| <= radius`` which is nearest to x."""
    size = np.abs(x)
    return x.copy() if size.sum() <= radius else np.sign(x) * onto_simplex(size, radius)


def onto_l2_ball(x: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """Return the point with ||x|| <= ``radius`` which is nearest to x."""
    norm = np.linalg.norm(x)
    return x.copy() if norm <= radius else x * (radius / norm)
