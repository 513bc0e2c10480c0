"""More convex sets: polytopes with a linear minimisation of their own, the hull of given points, and a set of your own."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import REAL, ROUNDING, ConvexSet, Sized, epsilon, vector
from fwexp.errors import ParameterError, shown
from fwexp.options import check_function, check_integer
from fwexp.problems.arrays import as_array


class KSparse(Sized):
    """The convex hull of the vectors with k nonzeros of size radius: ``max |x_j| <= radius, sum |x_j| <= k radius``.

    Parameters
    ----------
    dim, k : int
        Number of coordinates, and of nonzeros of an atom.
    radius : float, default 1
        Size of the set.
    """

    def __init__(self, dim: int, k: int, radius: float = 1.0) -> None:
        super().__init__(dim, radius)
        self.k = check_integer("k", k, 1)
        if k > dim:
            raise ParameterError(f"k must be an integer <= dim = {dim}, got {k}")

    def atom(self, g: np.ndarray) -> Atom:
        size = np.abs(g)
        # Of equal entries argpartition takes any; entries above the k-th largest size are in for sure.
        border = np.partition(size, self.dim - self.k)[self.dim - self.k]
        above, ties = np.flatnonzero(size > border), np.flatnonzero(size == border)
        chosen = np.sort(np.concatenate((above, ties[: self.k - len(above)])))
        return Atom(chosen, np.where(g[chosen] > 0.0, -self.radius, self.radius))

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        most = self.radius * (1.0 + ROUNDING)
        return x is not None and bool(np.abs(x).max() <= most and np.abs(x).sum() <= self.k * most)

    def random(self, rng: "np.random.Generator") -> np.ndarray:
        weights, x = rng.dirichlet(np.ones(5)), np.zeros(self.dim)
        for weight in weights:
            self.atom(rng.standard_normal(self.dim)).add_to(x, weight)
        return x

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius * math.sqrt(self.k)


class Birkhoff(ConvexSet):
    """The doubly stochastic n x n matrices, row after row: the convex hull of the permutations.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    """

    def __init__(self, n: int) -> None:
        self.n = check_integer("n", n, 1)
        self.dim = self.n**2

    def atom(self, g: np.ndarray) -> Atom:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(g.reshape(self.n, self.n))
        return Atom(rows * self.n + columns, np.ones(self.n))

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        if x is None or x.min() < -ROUNDING:
            return False
        X = x.reshape(self.n, self.n)
        return bool(max(np.abs(X.sum(axis=0) - 1.0).max(), np.abs(X.sum(axis=1) - 1.0).max()) <= ROUNDING * self.n)

    def random(self, rng: "np.random.Generator") -> np.ndarray:
        x = np.zeros((self.n, self.n))
        for weight in rng.dirichlet(np.ones(5)):
            x[np.arange(self.n), rng.permutation(self.n)] += weight
        return x.ravel()

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0 * self.n) if self.n > 1 else 0.0


class Hull(ConvexSet):
    """The convex hull of given points.

    Parameters
    ----------
    points : sequence of points
        One row each.
    """

    def __init__(self, points: Any) -> None:
        self.points = as_array("points", points, REAL, "be a matrix of real numbers").astype(np.float64)
        if self.points.ndim != 2 or 0 in self.points.shape:
            raise ParameterError(f"points must be a matrix with one row per point, got an array of shape {self.points.shape}")
        if not np.isfinite(self.points).all():
            raise ParameterError("points must hold finite numbers, got one that is not")
        self.num_atoms, self.dim = self.points.shape

    def atom(self, g: np.ndarray) -> Atom:
        return Atom(None, self.points[int(np.argmin(self.points @ g))])

    def contains(self, x: Any) -> bool:
        from scipy.optimize import nnls

        x = self._in(x)
        if x is None:
            return False
        scale = max(np.abs(self.points).max(), 1e-300)
        # weights >= 0 with points' weights = x and sum 1, as a least squares problem
        rows = np.vstack((self.points.T / scale, np.ones(len(self.points))))
        return bool(nnls(rows, np.append(x / scale, 1.0))[1] <= 10 * ROUNDING)

    def random(self, rng: "np.random.Generator") -> np.ndarray:
        return rng.dirichlet(np.ones(self.num_atoms)) @ self.points

    @property
    def diameter(self) -> float:
        return float(max(np.linalg.norm(self.points - point, axis=1).max() for point in self.points))

    def atoms(self, numbers: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        return None, self.points[numbers]


class Oracle(ConvexSet):
    """A set that is known by a function alone, whose answers `minimize` and `saddle_point` compare with one another.

    Parameters
    ----------
    lmo : callable
        ``lmo(g)`` returns a minimiser of <g, s> over the set: a vector, unless the set is `shaped`, or a sparse array of scipy with
        the same entries. Methods keep sparse answers sparse.
    dim : int
        Number of coordinates.
    contains : callable, optional
        ``contains(x)`` returns whether x lies in the set; with it, all results of ``lmo`` are tested.
    """

    def __init__(self, lmo: Callable[[np.ndarray], Any], dim: int, contains: Callable[[np.ndarray], bool] | None = None) -> None:
        self._lmo = check_function("lmo", lmo)
        self.dim = check_integer("dim", dim, 1)
        self._contains = check_function("contains", contains, optional=True)

    calls_users_lmo = True
    epsilon = 0.0  # the precision of the least precise answer so far

    def atom(self, g: np.ndarray) -> Atom:
        answer = self._lmo(g.reshape(self.shape).copy())
        if scipy.sparse.issparse(answer):
            atom, numbers = self._sparse(answer), answer.dtype.type(0)
        else:
            atom, numbers = Atom(None, vector("what lmo(g) returns", answer, self.dim, self.shape).copy()), answer
        self.epsilon = max(self.epsilon, epsilon(numbers))
        if self._contains is not None and not self.contains(s := atom.dense(self.dim)):
            raise ParameterError(f"what lmo(g) returns must lie in the set, got {shown(s.tolist())}")
        return atom

    def _sparse(self, answer) -> Atom:
        """Return the atom of a sparse answer; zeros, repetitions and the order of entries do not count."""
        shapes = ((self.dim,), (1, self.dim), (self.dim, 1), self.shape)
        if answer.shape not in shapes or answer.dtype.kind not in REAL:
            wanted = f"real numbers of shape {self.shape}, ({self.dim},) or (1, {self.dim})"
            raise ParameterError(f"what lmo(g) returns must hold {wanted}, got {answer.dtype} of shape {answer.shape}")
        entries = answer.tocoo(copy=True)
        entries.sum_duplicates()
        coordinates = getattr(entries, "coords", None) or (entries.row, entries.col)
        where, values = np.ravel_multi_index(coordinates, answer.shape), entries.data.astype(np.float64)
        if not np.isfinite(values).all():
            raise ParameterError("what lmo(g) returns must hold finite numbers, got NaN or infinity")
        order = np.argsort(where)
        order = order[values[order] != 0.0]
        return Atom(where[order].astype(np.int64), values[order])

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        return x is not None and (self._contains is None or bool(self._contains(x.reshape(self.shape))))

    def random(self, rng: "np.random.Generator") -> np.ndarray:
        atoms = [self.atom(rng.standard_normal(self.dim)).dense(self.dim) for _ in range(5)]
        return rng.dirichlet(np.ones(5)) @ np.array(atoms)

    @property
    def diameter(self) -> float:
        """Of the box around the set: an upper bound."""
        eye = np.eye(self.dim)
        return float(np.linalg.norm([self.atom(-e).dot(e) - self.atom(e).dot(e) for e in eye]))
