"""Balls of further norms, and polytopes whose linear minimisation sorts."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fwexp.convex.atoms import Atom, single
from fwexp.convex.feasible_sets import ROUNDING, ConvexSet, vector
from fwexp.convex.simple_sets import Sized, onto_l1_ball
from fwexp.errors import ParameterError, shown
from fwexp.options import as_real, check_integer, check_positive
from fwexp.types import FloatArray


class LpBall(Sized):
    """The p-norm of x is at most ``radius``.

    Atoms are where Hoelder's inequality is tight: -s_j has the sign of g_j, and is as large as its power q - 1, 1/p + 1/q = 1.

    Parameters
    ----------
    dim : int
    p : float
        At least 1; `math.inf` is the largest coordinate.
    radius : float, default 1
    """

    def __init__(self, dim: int, p: float, radius: float = 1.0) -> None:
        super().__init__(dim, radius)
        self.p = as_real(p)
        if not self.p >= 1.0:
            raise ParameterError(f"p must be a number >= 1 or inf, got {shown(p)}")
        self.diameter = 2.0 * self.radius * self.dim ** max(0.5 - 1.0 / self.p, 0.0)

    def atom(self, g: FloatArray) -> Atom:
        size = np.abs(g)
        j = int(np.argmax(size))
        if self.p == 1.0:
            return single(j, -self.radius if g[j] > 0.0 else self.radius)
        if size[j] == 0.0 and self.p < math.inf:
            return Atom(None, single(0, self.radius).dense(self.dim))
        size = size / (size[j] or 1.0)
        q = self.p / (self.p - 1.0) if self.p < math.inf else 1.0
        with np.errstate(under="ignore"):
            s = size ** (q - 1.0) * (self.radius / (size**q).sum() ** (1.0 / self.p))
        return Atom(None, np.where(g > 0.0, -s, s))

    def _norm(self, x: FloatArray) -> float:
        largest = np.abs(x).max()
        with np.errstate(under="ignore"):
            return float(largest * np.linalg.norm(x / (largest or 1.0), self.p))

    def contains(self, x: Any) -> bool:
        return self._norm(self._in(x)) <= self.radius * (1.0 + ROUNDING)

    def random(self, rng: "np.random.Generator") -> FloatArray:
        direction = rng.standard_normal(self.dim)
        return direction * (self.radius * rng.random() ** (1.0 / self.dim) / self._norm(direction))


class GroupBall(ConvexSet):
    """The sum over groups of the Euclidean norms of their coordinates is at most ``radius``: a ball of the group lasso.

    Parameters
    ----------
    groups : sequence of sequences of int
        The coordinates of each group; every coordinate is in one of them.
    radius : float, default 1
    """

    def __init__(self, groups: Sequence[Sequence[int]], radius: float = 1.0) -> None:
        self.radius = check_positive("radius", radius)
        self.diameter = 2.0 * self.radius
        members = [[check_integer("a coordinate of groups", j, 0) for j in group] for group in groups]
        flat = [j for group in members for j in group]
        if sorted(flat) != list(range(len(flat))) or [] in [flat, *members]:
            raise ParameterError(f"groups must be index lists that have every coordinate 0, 1, ... once, got {shown(groups)}")
        self.dim, self.groups = len(flat), [np.array(group) for group in members]
        self._group = np.empty(self.dim, dtype=np.int64)  # of each coordinate
        for k, group in enumerate(self.groups):
            self._group[group] = k

    def _norms(self, x: FloatArray) -> FloatArray:
        return np.sqrt(np.bincount(self._group, x * x))

    def atom(self, g: FloatArray) -> Atom:
        g = g / (np.abs(g).max() or 1.0)
        norms, s = self._norms(g), np.zeros(self.dim)
        k = int(np.argmax(norms))
        group = self.groups[k]
        if norms[k] > 0.0:
            s[group] = -self.radius / norms[k] * g[group]
        else:
            s[group[0]] = self.radius
        return Atom(None, s)

    def contains(self, x: Any) -> bool:
        return bool(self._norms(self._in(x)).sum() <= self.radius * (1.0 + ROUNDING))

    def random(self, rng: "np.random.Generator") -> FloatArray:
        x, shares = rng.standard_normal(self.dim), rng.dirichlet(np.ones(len(self.groups) + 1))[:-1]
        return x * (self.radius * shares / self._norms(x))[self._group]

    def project(self, x: FloatArray) -> FloatArray:
        norms = self._norms(x)
        return x * (onto_l1_ball(norms, self.radius) / np.where(norms > 0.0, norms, 1.0))[self._group]


class Sorted(ConvexSet):
    """The convex hull of all orders of some numbers, the largest first in ``ordered``; a linear minimisation sorts."""

    ordered: FloatArray

    @property
    def diameter(self) -> float:  # type: ignore[override]
        return float(np.linalg.norm(self.ordered - self.ordered[::-1]))  # all atoms are equally long


class Permutahedron(Sorted):
    """The convex hull of all orders of some numbers.

    Parameters
    ----------
    values : sequence of float
        The numbers whose orders are the atoms.
    """

    def __init__(self, values: Sequence[float]) -> None:
        self.ordered = np.sort(vector("values", values))[::-1].copy()
        self.dim = check_integer("the number of values", len(self.ordered), 1)

    def atom(self, g: FloatArray) -> Atom:
        s = np.empty(self.dim)
        s[np.argsort(g, kind="stable")] = self.ordered
        return Atom(None, s)

    def contains(self, x: Any) -> bool:
        excess = np.cumsum(np.sort(self._in(x))[::-1]) - np.cumsum(self.ordered)  # majorisation
        slack = ROUNDING * self.dim * np.abs(self.ordered).max()
        return bool(excess.max() <= slack and abs(excess[-1]) <= slack)

    def project(self, x: FloatArray) -> FloatArray:
        from scipy.optimize import isotonic_regression  # Blondel, Teboul, Berthet & Djolonga 2020, proposition 3

        order, p = np.argsort(-x, kind="stable"), np.empty(self.dim)
        blocks = isotonic_regression(x[order] - self.ordered, increasing=False).blocks
        starts, sizes = blocks[:-1], np.diff(blocks)
        x = x[order] - np.repeat(x[order][starts], sizes)  # exact where the values are small compared with x
        p[order] = x + np.repeat(np.add.reduceat(self.ordered - x, starts) / sizes, sizes)
        return p


class CappedSimplex(Sorted):
    """0 <= x <= cap, sum x = k.

    Parameters
    ----------
    dim : int
    k : float
        At most ``dim * cap``.
    cap : float, default 1
        Largest value of a coordinate.
    """

    def __init__(self, dim: int, k: float, cap: float = 1.0) -> None:
        self.dim, self.k, self.cap = check_integer("dim", dim, 1), check_positive("k", k), check_positive("cap", cap)
        if self.k > self.dim * self.cap:
            raise ParameterError(f"k must be <= dim cap = {self.dim * self.cap:g}, got {self.k:g}")
        self._support = min(math.ceil(self.k / self.cap), self.dim)
        self.ordered = np.zeros(self.dim)
        self.ordered[: self._support] = self.cap
        self.ordered[self._support - 1] = min(max(self.k - self.cap * (self._support - 1), 0.0), self.cap)

    def atom(self, g: FloatArray) -> Atom:
        chosen = np.argsort(g, kind="stable")[: self._support]
        order = np.argsort(chosen)
        return Atom(chosen[order], self.ordered[: self._support][order])

    def contains(self, x: Any) -> bool:
        x = self._in(x)
        slack = ROUNDING * self.cap
        return bool(x.min() >= -slack and x.max() <= self.cap + slack and abs(x.sum() - self.k) <= ROUNDING * self.dim * self.cap)

    def project(self, x: FloatArray) -> FloatArray:
        x, d = x - x.max(), self.dim  # as for the simplex
        ends = np.concatenate((x - self.cap, x))  # where a coordinate of clip(x - tau, 0, cap) begins to move, and where it ends
        order = np.argsort(ends)
        ends, moving = ends[order], np.cumsum(np.where(order < d, 1, -1))
        taken = np.append(0.0, np.cumsum(moving[:-1] * np.diff(ends)))  # from d cap, by each end
        p = np.clip(x - np.interp(d * self.cap - self.k, taken, ends), 0.0, self.cap)
        between = (p > 0.0) & (p < self.cap)
        p[between] += (self.k - p.sum()) / max(between.sum(), 1)  # rounding, where x is large compared with cap
        return np.clip(p, 0.0, self.cap)
