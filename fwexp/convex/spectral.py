"""Sets of matrices, row after row, whose linear minimisation is an extreme eigenvector or singular pair (Lanczos, from scipy)."""

import math
from typing import Any

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import ROUNDING, ConvexSet
from fwexp.convex.simple_sets import onto_l1_ball, onto_simplex
from fwexp.options import check_integer, check_positive
from fwexp.types import FloatArray

DENSE = 32  # up to this size a full decomposition is faster, and exact


def _start(n: int) -> FloatArray:
    """Return where Lanczos starts: always there, and in no direction that a structured matrix singles out."""
    return np.random.default_rng(0).standard_normal(n)


class Spectrahedron(ConvexSet):
    """The symmetric positive semidefinite n x n matrices of trace ``radius``.

    Parameters
    ----------
    n : int
    radius : float, default 1
    """

    def __init__(self, n: int, radius: float = 1.0) -> None:
        self.n, self.radius = check_integer("n", n, 1), check_positive("radius", radius)
        self.dim = n * n
        self.diameter = math.sqrt(2.0) * self.radius if n > 1 else 0.0

    def atom(self, g: FloatArray) -> Atom:
        G = g.reshape(self.n, self.n)
        G = 0.5 * (G + G.T)
        if self.n <= DENSE or not G.any():
            v = np.linalg.eigh(G)[1][:, 0]
        else:
            from scipy.sparse.linalg import eigsh  # slow to load

            v = eigsh(G, k=1, which="SA", v0=_start(self.n), tol=1e-12)[1][:, 0]
        return Atom(None, self.radius * np.outer(v, v).ravel())

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        X, slack = x.reshape(self.n, self.n), ROUNDING * self.radius
        fits = np.abs(X - X.T).max() <= slack and abs(np.trace(X) - self.radius) <= slack
        return bool(fits and np.linalg.eigvalsh(0.5 * (X + X.T))[0] >= -slack)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        factor = rng.standard_normal((self.n, self.n))
        X = factor @ factor.T
        return (X * (self.radius / np.trace(X))).ravel()

    def project(self, x: FloatArray) -> FloatArray:
        X = x.reshape(self.n, self.n)
        values, vectors = np.linalg.eigh(0.5 * (X + X.T))
        return ((vectors * onto_simplex(values, self.radius)) @ vectors.T).ravel()


class NuclearBall(ConvexSet):
    """The m x n matrices whose singular values sum to at most ``radius``.

    Parameters
    ----------
    m, n : int
    radius : float, default 1
    """

    def __init__(self, m: int, n: int, radius: float = 1.0) -> None:
        self.m, self.n = check_integer("m", m, 1), check_integer("n", n, 1)
        self.radius = check_positive("radius", radius)
        self.dim = m * n
        self.diameter = 2.0 * self.radius

    def atom(self, g: FloatArray) -> Atom:
        G = g.reshape(self.m, self.n)
        if min(G.shape) <= DENSE or not G.any():
            U, _, V = np.linalg.svd(G, full_matrices=False)
        else:
            from scipy.sparse.linalg import svds  # slow to load

            U, _, V = svds(G, k=1, v0=_start(min(G.shape)), tol=1e-12)
        return Atom(None, -self.radius * np.outer(U[:, 0], V[0]).ravel())

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        return not np.isnan(x[0]) and bool(self._singular(x).sum() <= self.radius * (1.0 + ROUNDING))

    def _singular(self, x):
        return np.linalg.svd(x.reshape(self.m, self.n), compute_uv=False)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        x = rng.standard_normal(self.dim)
        return x * (self.radius * rng.random() / self._singular(x).sum())

    def project(self, x: FloatArray) -> FloatArray:
        U, values, V = np.linalg.svd(x.reshape(self.m, self.n), full_matrices=False)
        return ((U * onto_l1_ball(values, self.radius)) @ V).ravel()
