"""Bilinear saddle points.

Sought are min over x in X and max over y in Y of

    L(x, y) = x'M y + p'x - q'y + constant,

and a pair is as good as max_y' L(x, y') - min_x' L(x', y) is small: two linear minimisations.
"""

from typing import Any

import numpy as np

from fwexp.convex.feasible_sets import ConvexSet, vector
from fwexp.convex.matrix import Matrix
from fwexp.errors import ParameterError, shown
from fwexp.options import check_number
from fwexp.types import ArrayLike, FloatArray


class Bilinear:
    """L(x, y) = x'M y + p'x - q'y + constant on X times Y.

    Parameters
    ----------
    M : array, sparse matrix or LinearOperator
        One row for each coordinate of x.
    X, Y : ConvexSet
        The sets of the player who minimises and of the player who maximises.
    p, q : sequence of float, optional
        0 by default.
    constant : float
        Constant that is added to the value.
    """

    def __init__(
        self,
        M: Any,
        X: ConvexSet,
        Y: ConvexSet,
        p: ArrayLike | None = None,
        q: ArrayLike | None = None,
        constant: float = 0.0,
    ) -> None:
        for name, side in (("X", X), ("Y", Y)):
            if not isinstance(side, ConvexSet):
                raise ParameterError(f"{name} must be a convex set of fwexp.convex, got {shown(side)}")
        self.matrix, self.X, self.Y = Matrix(M, "M"), X, Y
        if self.matrix.shape != (X.dim, Y.dim):
            raise ParameterError(f"M must have the shape (X.dim, Y.dim) = {X.dim, Y.dim}, got {self.matrix.shape}")
        self.p = np.zeros(X.dim) if p is None else vector("p", p, X.dim)
        self.constant = check_number("constant", constant, "a finite number")
        self.q = np.zeros(Y.dim) if q is None else vector("q", q, Y.dim)

    def gradient_x(self, y: FloatArray) -> FloatArray:
        """Return M y + p."""
        return self.matrix.times(y) + self.p

    def gradient_y(self, x: FloatArray) -> FloatArray:
        """Return M'x - q."""
        return self.matrix.transposed_times(x) - self.q

    def norm(self) -> float:
        """Return the spectral norm of M, by power iteration up to 1 %, from above."""
        y = np.random.default_rng(0).standard_normal(self.Y.dim)
        norm = 0.0
        for _ in range(1000):
            y /= np.linalg.norm(y)
            y = self.matrix.transposed_times(self.matrix.times(y))
            before, norm = norm, float(np.sqrt(np.linalg.norm(y)))
            if norm == 0.0 or norm - before <= 1e-4 * norm:
                break
        return 1.01 * norm
