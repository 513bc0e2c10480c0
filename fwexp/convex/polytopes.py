"""More convex sets: polytopes with a linear minimisation of their own, the hull of given points, and a set of your own."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from fwexp.conversion import as_array
from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import REAL, ROUNDING, ConvexSet, epsilon, vector
from fwexp.convex.simple_sets import Sized
from fwexp.errors import ParameterError, shown
from fwexp.options import check_function, check_integer
from fwexp.types import AnyArray, FloatArray, IntArray


class KSparse(Sized):
    """The convex hull of the vectors with k nonzeros of size radius: ``max |x_j| <= radius, sum |x_j| <= k radius``.

    Parameters
    ----------
    dim, k : int
        Number of coordinates, and of nonzeros of an atom.
    radius : float, default 1
    """

    def __init__(self, dim: int, k: int, radius: float = 1.0) -> None:
        super().__init__(dim, radius)
        self.k = check_integer("k", k, 1)
        if k > dim:
            raise ParameterError(f"k must be an integer <= dim = {dim}, got {k}")
        self.diameter = 2.0 * self.radius * math.sqrt(self.k)

    def atom(self, g: FloatArray) -> Atom:
        size = np.abs(g)
        # Of equal entries argpartition takes any; entries above the k-th largest size are in for sure.
        border = np.partition(size, self.dim - self.k)[self.dim - self.k]
        above, ties = np.flatnonzero(size > border), np.flatnonzero(size == border)
        chosen = np.sort(np.concatenate((above, ties[: self.k - len(above)])))
        return Atom(chosen, np.where(g[chosen] > 0.0, -self.radius, self.radius))

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        most = self.radius * (1.0 + ROUNDING)
        return bool(np.abs(x).max() <= most and np.abs(x).sum() <= self.k * most)


class Birkhoff(ConvexSet):
    """The doubly stochastic n x n matrices, row after row: the convex hull of the permutations.

    Parameters
    ----------
    n : int
    """

    def __init__(self, n: int) -> None:
        self.n = check_integer("n", n, 1)
        self.dim = self.n**2
        self.diameter = math.sqrt(2.0 * self.n) if self.n > 1 else 0.0

    def atom(self, g: FloatArray) -> Atom:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(g.reshape(self.n, self.n))
        return Atom(rows * self.n + columns, np.ones(self.n))

    def contains(self, x: Any) -> bool:
        X = self._in(x).reshape(self.n, self.n)
        error = max(np.abs(X.sum(axis=axis) - 1.0).max() for axis in (0, 1))
        return bool(X.min() >= -ROUNDING and error <= ROUNDING * self.n)


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

    def atom(self, g: FloatArray) -> Atom:
        return Atom(None, self.points[int(np.argmin(self.points @ g))])

    def contains(self, x: Any) -> bool:
        from scipy.optimize import nnls

        x = self._in(x)
        if np.isnan(x[0]):
            return False
        scale = max(np.abs(self.points).max(), 1e-300)
        # weights >= 0 with points' weights = x and sum 1, as a least squares problem
        rows = np.vstack((self.points.T / scale, np.ones(len(self.points))))
        return bool(nnls(rows, np.append(x / scale, 1.0))[1] <= 10 * ROUNDING)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        return rng.dirichlet(np.ones(self.num_atoms)) @ self.points

    @property
    def diameter(self) -> float:  # type: ignore[override]
        return float(max(np.linalg.norm(self.points - point, axis=1).max() for point in self.points))

    def atoms(self, numbers: IntArray) -> tuple[AnyArray | None, FloatArray]:
        return None, self.points[numbers]


class UnitFlow(ConvexSet):
    """The flows of one unit from a source to a sink along edges of capacity 1: without cycles, the convex hull of the paths.

    A linear minimisation is a shortest path (Bellman-Ford), also where costs are negative; a cycle of negative cost is refused.

    Parameters
    ----------
    edges : sequence of pairs
        Where each edge begins and ends; x has one coordinate for each.
    source, sink : hashable
        Two of the nodes.

    Examples
    --------
    >>> from fwexp.convex import UnitFlow
    >>> UnitFlow([("a", "b"), ("b", "c"), ("a", "c")], "a", "c").lmo([1.0, 1.0, 3.0])
    array([1., 1., 0.])
    """

    def __init__(self, edges: Sequence[tuple[Hashable, Hashable]], source: Hashable, sink: Hashable) -> None:
        try:
            pairs = [(tail, head) for tail, head in edges]
            numbers = {node: k for k, node in enumerate(dict.fromkeys(node for pair in pairs for node in pair))}
        except (TypeError, ValueError):
            raise ParameterError(f"edges must be pairs of nodes, got {shown(edges)}") from None
        for name, node in (("source", source), ("sink", sink)):
            if node not in numbers or source == sink:
                raise ParameterError(f"{name} must be a node of some edge, and not the other end, got {shown(node)}")
        self.dim, self._source, self._sink = len(pairs), numbers[source], numbers[sink]
        self._tail, self._head = (np.array([numbers[pair[end]] for pair in pairs]) for end in (0, 1))
        self._nodes = len(numbers)
        self.diameter = math.sqrt(self.dim)  # that of the cube
        if self._distances(np.ones(self.dim))[0][self._sink] == np.inf:
            raise ParameterError(f"sink must be reached from the source {shown(source)}, got {shown(sink)}")

    def _distances(self, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distances of the nodes from the source, and the last edge of a shortest path to each."""
        distance, last = np.full(self._nodes, np.inf), np.full(self._nodes, -1)
        distance[self._source] = 0.0
        for _ in range(self._nodes):
            through, best = distance[self._tail] + g, distance.copy()
            np.minimum.at(best, self._head, through)
            better = np.flatnonzero((through == best[self._head]) & (through < distance[self._head]))
            if not len(better):
                return distance, last
            last[self._head[better[::-1]]] = better[::-1]  # of equal edges the first
            distance = best
        raise ParameterError("g must have no cycle of negative cost, got one: negative costs need edges without cycles")

    def atom(self, g: FloatArray) -> Atom:
        last, node, s = self._distances(g)[1], self._sink, np.zeros(self.dim)
        while node != self._source:
            s[last[node]] = 1.0
            node = self._tail[last[node]]
        return Atom(None, s)

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        slack = ROUNDING * self.dim
        if not (x.min() >= -slack and x.max() <= 1.0 + slack):
            return False
        net = np.bincount(self._tail, x, self._nodes) - np.bincount(self._head, x, self._nodes)
        net[self._source] -= 1.0
        net[self._sink] += 1.0
        return bool(np.abs(net).max() <= slack)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        return sum(weight * self.atom(rng.random(self.dim)).values for weight in rng.dirichlet(np.ones(5)))


class Oracle(ConvexSet):
    """A set that is known by a function alone, whose answers `minimize` and `saddle_point` compare with one another.

    Parameters
    ----------
    lmo : callable
        ``lmo(g)`` returns a minimiser of <g, s> over the set: a vector, unless the set is `shaped`, or a sparse array of scipy with
        the same entries. Methods keep sparse answers sparse.
    dim : int
    contains : callable, optional
        ``contains(x)`` returns whether x lies in the set; with it, all results of ``lmo`` are tested.
    """

    def __init__(self, lmo: Callable[[FloatArray], Any], dim: int, contains: Callable[[FloatArray], bool] | None = None) -> None:
        self._lmo = check_function("lmo", lmo)
        self.dim = check_integer("dim", dim, 1)
        self._contains = check_function("contains", contains, optional=True)

    calls_users_lmo = True
    epsilon = 0.0  # the precision of the least precise answer so far

    def atom(self, g: FloatArray) -> Atom:
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
        return not np.isnan(x[0]) and (self._contains is None or bool(self._contains(x.reshape(self.shape))))

    def random(self, rng: "np.random.Generator") -> FloatArray:
        atoms = [self.atom(rng.standard_normal(self.dim)).dense(self.dim) for _ in range(5)]
        return rng.dirichlet(np.ones(5)) @ np.array(atoms)

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """Of the box around the set: an upper bound."""
        eye = np.eye(self.dim)
        return float(np.linalg.norm([self.atom(-e).dot(e) - self.atom(e).dot(e) for e in eye]))
