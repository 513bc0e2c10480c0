"""Sets of one dimension and one radius, and boxes."""

import math
from typing import Any

import numpy as np

from fwexp.convex.atoms import Atom, single
from fwexp.convex.feasible_sets import ROUNDING, ConvexSet, vector
from fwexp.errors import ParameterError
from fwexp.options import check_integer, check_positive
from fwexp.types import AnyArray, ArrayLike, FloatArray, IntArray


class Sized(ConvexSet):
    """A set with a dimension and a radius."""

    def __init__(self, dim: int, radius: float = 1.0) -> None:
        self.dim, self.radius = check_integer("dim", dim, 1), check_positive("radius", radius)
        self.diameter = 2.0 * self.radius

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dim}, radius={self.radius:g})"


class Simplex(Sized):
    """x >= 0, sum x = radius.

    Parameters
    ----------
    dim : int
    radius : float, default 1
    """

    softens = True

    def __init__(self, dim: int, radius: float = 1.0) -> None:
        super().__init__(dim, radius)
        self.num_atoms, self.mass = self.dim, self.radius  # the mass by Pinsker
        self.diameter = math.sqrt(2.0) * self.radius if self.dim > 1 else 0.0

    def atom(self, g: FloatArray) -> Atom:
        return single(int(g.argmin()), self.radius)

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        slack = ROUNDING * self.radius
        return bool(x.min() >= -slack and abs(x.sum() - self.radius) <= slack)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        return self.radius * rng.dirichlet(np.ones(self.dim))

    def project(self, x: FloatArray) -> FloatArray:
        return onto_simplex(x, self.radius)

    def soften(self, theta: FloatArray) -> FloatArray:
        weights = np.exp(theta - theta.max())
        return weights * (self.radius / weights.sum())

    def atoms(self, numbers: IntArray) -> tuple[AnyArray | None, FloatArray]:
        return numbers[:, None], np.full((len(numbers), 1), self.radius)


class L1Ball(Sized):
    """``sum |x_j| <= radius``.

    Parameters
    ----------
    dim : int
    radius : float, default 1
    """

    def __init__(self, dim: int, radius: float = 1.0) -> None:
        super().__init__(dim, radius)
        self.num_atoms = 2 * self.dim

    def atom(self, g: FloatArray) -> Atom:
        high, low = int(g.argmax()), int(g.argmin())  # without |g|, a vector of its own
        j = high if (g[high], low) > (-g[low], high) else low
        return single(j, -self.radius if g[j] > 0.0 else self.radius)

    def contains(self, x: Any) -> bool:
        return bool(np.abs(self._in(x)).sum() <= self.radius * (1.0 + ROUNDING))

    def random(self, rng: "np.random.Generator") -> FloatArray:
        size = rng.dirichlet(np.ones(self.dim + 1))[:-1]  # the last one is the rest of the radius
        return self.radius * size * rng.choice([-1.0, 1.0], self.dim)

    def project(self, x: FloatArray) -> FloatArray:
        return onto_l1_ball(x, self.radius)

    def atoms(self, numbers: IntArray) -> tuple[AnyArray | None, FloatArray]:
        return (numbers % self.dim)[:, None], np.where(numbers < self.dim, self.radius, -self.radius)[:, None]


class L2Ball(Sized):
    """||x|| <= radius.

    Parameters
    ----------
    dim : int
    radius : float, default 1
    """

    def atom(self, g: FloatArray) -> Atom:
        norm = np.linalg.norm(g)
        return Atom(None, g * (-self.radius / norm)) if norm > 0.0 else Atom(None, single(0, self.radius).dense(self.dim))

    def contains(self, x: Any) -> bool:
        return bool(np.linalg.norm(self._in(x)) <= self.radius * (1.0 + ROUNDING))

    def random(self, rng: "np.random.Generator") -> FloatArray:
        direction = rng.standard_normal(self.dim)
        return direction * (self.radius * rng.random() ** (1.0 / self.dim) / np.linalg.norm(direction))

    def project(self, x: FloatArray) -> FloatArray:
        norm = np.linalg.norm(x)
        return x.copy() if norm <= self.radius else x * (self.radius / norm)


class Box(ConvexSet):
    """lower <= x <= upper.

    Parameters
    ----------
    lower, upper : sequence of float
        One for each coordinate.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        self.lower = vector("lower", lower)
        self.upper = vector("upper", upper, len(self.lower))
        self.dim = check_integer("dim", len(self.lower), 1)
        if (self.lower > self.upper).any():
            j = int(np.argmax(self.lower > self.upper))
            raise ParameterError(f"lower must be <= upper, got {self.lower[j]:g} > {self.upper[j]:g} at index {j}")
        self.diameter = float(np.linalg.norm(self.upper - self.lower))

    def atom(self, g: FloatArray) -> Atom:
        return Atom(None, np.where(g > 0.0, self.lower, self.upper))

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        slack = ROUNDING * max(np.abs(self.lower).max(), np.abs(self.upper).max())
        return bool((x >= self.lower - slack).all() and (x <= self.upper + slack).all())

    def random(self, rng: "np.random.Generator") -> FloatArray:
        return rng.uniform(self.lower, self.upper)

    def project(self, x: FloatArray) -> FloatArray:
        return np.clip(x, self.lower, self.upper)


class LInfBall(Box):
    """``max |x_j| <= radius``.

    Parameters
    ----------
    dim : int
    radius : float, default 1
    """

    def __init__(self, dim: int, radius: float = 1.0) -> None:
        ones = np.full(check_integer("dim", dim, 1), check_positive("radius", radius))
        super().__init__(-ones, ones)


def onto_simplex(x: FloatArray, radius: float = 1.0) -> FloatArray:
    """Return the point with nonnegative coordinates that sum to ``radius`` which is nearest to x."""
    x = x - x.max()  # the sum stays exact where the radius is small compared with x
    u = np.sort(x)[::-1]
    excess = (np.cumsum(u) - radius) / np.arange(1, len(x) + 1)
    return np.maximum(x - excess[np.flatnonzero(u > excess)[-1]], 0.0)


def onto_l1_ball(x: FloatArray, radius: float = 1.0) -> FloatArray:
    """Return the point with ``sum |x_j| <= radius`` which is nearest to x."""
    size = np.abs(x)
    return x.copy() if size.sum() <= radius else np.sign(x) * onto_simplex(size, radius)
