"""Compact convex sets, given by the minimum of a linear function, which Frank-Wolfe methods call.

Every set has

* ``lmo(g)``, a minimiser of <g, s> over s in the set; ties go to the smallest index, and g = 0 is a tie;
* ``contains(x)``, up to rounding; ``random(rng)``, a point inside; ``diameter``, in the Euclidean norm;
* ``project(x)``, the nearest point, if that is cheap (other sets raise an error).

Methods call ``atom(g)``, which is the same as ``lmo`` with few nonzeros where atoms are sparse.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fwexp.conversion import as_array
from fwexp.convex.atoms import Atom
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import check_integer
from fwexp.types import AnyArray, ArrayLike, FloatArray, IntArray

REAL = "fiub"  # kinds of numpy's numbers
EPSILON, FLOAT64 = float(np.finfo(np.float64).eps), np.dtype(np.float64)
ROUNDING = 1e-9  # how far outside a point may lie, relative to the size of the set
PROJECTED = "Simplex, L1Ball, L2Ball, Box, LInfBall, GroupBall, Permutahedron, CappedSimplex, Spectrahedron, NuclearBall, Product"
NUMBERED, SOFTENED = "Simplex, L1Ball, Hull", "Simplex, ChainPolytope, MatchingPolytope, Product"


def vector(name: str, value, dim: int | None = None, shape: tuple[int, ...] = ()) -> FloatArray:
    """Return finite numbers as a float64 vector of length ``dim``; of an array of ``shape`` the entries, row after row."""
    x = value
    if type(value) is not np.ndarray or value.dtype is not FLOAT64:
        x = as_array(name, value, REAL, "be a vector of real numbers").astype(np.float64, copy=False)
    if x.shape == shape:
        x = x.ravel()
    if x.ndim != 1 or (dim is not None and len(x) != dim):
        length = ("" if dim is None else f" of length {dim}") + (f" or an array of shape {shape}" if len(shape) > 1 else "")
        raise ParameterError(f"{name} must be a vector{length}, got an array of shape {x.shape}")
    finite = np.isfinite(x)
    if np.count_nonzero(finite) < len(x):  # which takes half the time of ``all``
        raise ParameterError(f"{name} must hold finite numbers, got {x[~finite][0]} at index {np.argmin(finite)}")
    return x


def epsilon(*arrays) -> float:
    """Return the relative rounding error of the least precise of some arrays; float64 is the most precise that counts."""
    kinds = [np.asarray(array).dtype for array in arrays if getattr(array, "dtype", None) is not FLOAT64]
    return max([float(np.finfo(kind).eps) for kind in kinds if kind.kind == "f"] + [EPSILON])


class ConvexSet(ABC):
    """A compact convex set in R^dim.

    A subclass has ``dim``, ``atom`` and ``contains``, and for steps that ask for it ``diameter``.

    Attributes
    ----------
    dim : int
        Number of coordinates.
    diameter : float
        The largest distance between two points, or an upper bound.
    num_atoms : int or None
        How many atoms there are, where they are numbered.
    """

    dim: int
    diameter: float
    num_atoms: int | None = None

    @abstractmethod
    def atom(self, g: FloatArray) -> Atom:
        """Return a minimiser of <g, s> over the set."""

    @abstractmethod
    def contains(self, x: Any) -> bool:
        """Return whether x lies in the set, up to rounding."""

    def random(self, rng: "np.random.Generator") -> FloatArray:
        """Return a point of the set: a mixture of five atoms."""
        x = np.zeros(self.dim)
        for weight in rng.dirichlet(np.ones(5)):
            self.atom(rng.standard_normal(self.dim)).add_to(x, weight)
        return x

    _shape: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The public form of points: vectors, unless the set is `shaped`."""
        return self._shape or (self.dim,)

    def shaped(self, *shape: int) -> "ConvexSet":
        """Return this set with its points as arrays of a shape of product ``dim``, whose rows follow each other in the vectors.

        Of this shape are, in `minimize`, x0, what a function of yours gets and may return as its gradient, and x of the result; and
        what ``lmo`` takes and returns, that of an `Oracle` too. Methods themselves go on with vectors.

        >>> import numpy as np
        >>> from fwexp.convex import NuclearBall, minimize
        >>> Y = np.diag([3.0, 1.0])
        >>> ball = NuclearBall(2, 2, radius=2.0).shaped(2, 2)
        >>> result = minimize(lambda X: (0.5 * ((X - Y) ** 2).sum(), X - Y), ball)
        >>> result.x.round(3) + 0.0
        array([[2., 0.],
               [0., 0.]])
        """
        lengths = tuple(check_integer("a length of shape", length, 1) for length in shape)
        if math.prod(lengths) != self.dim:
            raise ParameterError(f"shape must have the product dim = {self.dim}, got {shape}")
        new = copy.copy(self)
        new._shape = lengths
        return new

    def lmo(self, g: ArrayLike) -> FloatArray:
        """Return a minimiser of <g, s> over the set."""
        return self.atom(vector("g", g, self.dim, self.shape)).dense(self.dim).reshape(self.shape)

    def lmo_error(self, g: FloatArray) -> float:
        """Return by how much the minimum of <g, s> may be wrong, relative to the length of s."""
        return ROUNDING * float(np.linalg.norm(g))

    def project(self, x: FloatArray) -> FloatArray:
        """Return the nearest point of the set."""
        raise OptionError(f"{type(self).__name__} has no projection here; sets that have one: {PROJECTED}")

    calls_users_lmo: bool = False  # whether its linear minimisation is a function of a user
    softens: bool = False  # whether it has ``soften``
    mass: float = math.inf  # of such sets: ||x - x'||_1^2 <= 2 mass D(x, x'), D the distance of the entropy

    def soften(self, theta: FloatArray) -> FloatArray:
        """Return argmax <theta, x> + entropy(x), the entropic projection."""
        raise OptionError(f"{type(self).__name__} has no entropic projection; sets that have one: {SOFTENED}")

    def atoms(self, numbers: IntArray) -> tuple[AnyArray | None, FloatArray]:
        """Return the indices and the values, one row each, of numbered atoms."""
        raise OptionError(f"the atoms of {type(self).__name__} are not numbered; those of {NUMBERED} are")

    @property
    def inspected(self) -> int | None:
        """How many atoms a linear minimisation looks at, where that can be said."""
        return self.num_atoms

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.dim})"

    def _in(self, x) -> FloatArray:
        """Return x as a vector; NaN, which fails every comparison, if it cannot be in the set."""
        x = np.asarray(x)
        fits = x.dtype.kind in REAL and x.shape in ((self.dim,), self.shape) and np.isfinite(x).all()
        return x.astype(np.float64, copy=False).ravel() if fits else np.full(self.dim, np.nan)


class Product(ConvexSet):
    """The product of sets, whose points are put one after the other.

    Parameters
    ----------
    factors : sequence of sets
        The sets of the blocks, in order.
    """

    def __init__(self, factors: Sequence[ConvexSet]) -> None:
        self.factors = list(factors)
        for factor in self.factors:
            if not isinstance(factor, ConvexSet):
                raise ParameterError(f"factors must be convex sets, got {shown(factor)}")
        if not self.factors:
            raise ParameterError("factors must be convex sets, got none")
        ends = np.cumsum([0, *(factor.dim for factor in self.factors)])
        self.blocks = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.dim = int(ends[-1])

    def atom(self, g: FloatArray) -> Atom:
        return self.join([factor.atom(g[block]) for factor, block in zip(self.factors, self.blocks, strict=True)])

    def join(self, pieces: Sequence[Atom]) -> Atom:
        """Return the atom that has these in the factors."""
        places = zip(pieces, self.blocks, strict=True)
        indices = [piece.indices + block.start for piece, block in places if piece.indices is not None]
        if len(indices) < len(pieces):
            pairs = zip(pieces, self.factors, strict=True)
            return Atom(None, np.concatenate([piece.dense(factor.dim) for piece, factor in pairs]))
        return Atom(np.concatenate(indices), np.concatenate([piece.values for piece in pieces]))

    def lmo_error(self, g: FloatArray) -> float:
        return max(factor.lmo_error(g) for factor in self.factors)

    def _pieces(self, x):
        return [(factor, x[block]) for factor, block in zip(self.factors, self.blocks, strict=True)]

    def contains(self, x: Any) -> bool:
        return all(factor.contains(piece) for factor, piece in self._pieces(self._in(x)))

    def random(self, rng: "np.random.Generator") -> FloatArray:
        return np.concatenate([factor.random(rng) for factor in self.factors])

    @property
    def inspected(self) -> int | None:
        counts = [factor.inspected for factor in self.factors]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """That of the factors together."""
        return math.hypot(*(factor.diameter for factor in self.factors))

    def project(self, x: FloatArray) -> FloatArray:
        return np.concatenate([factor.project(piece) for factor, piece in self._pieces(x)])

    @property
    def softens(self) -> bool:  # type: ignore[override]
        """True if all factors have ``soften``."""
        return all(factor.softens for factor in self.factors)

    @property
    def mass(self) -> float:  # type: ignore[override]
        """The sum over the factors."""
        return sum(factor.mass for factor in self.factors)

    def soften(self, theta: FloatArray) -> FloatArray:
        return np.concatenate([factor.soften(piece) for factor, piece in self._pieces(theta)])
