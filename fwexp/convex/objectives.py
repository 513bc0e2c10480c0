"""Smooth convex functions, as a function of a linear image of the point.

All functions except a user's are f(x) = phi(z) + <c, x>. Methods keep x and the image z = A x: a step along d changes z by A d,
which costs O(rows) if atoms are sparse, and the only product of an iteration is the gradient A' phi'(z).
``A`` is an array, a scipy sparse matrix or a `scipy.sparse.linalg.LinearOperator`.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import EPSILON, ConvexSet, vector
from fwexp.convex.matrix import Matrix
from fwexp.errors import OptionError, ParameterError
from fwexp.options import plain
from fwexp.types import ArrayLike, Weights

EVERYWHERE = slice(None)
SUMS = "LeastSquares, Logistic, LinearSum"  # that have a row for each term
Rows: TypeAlias = "np.ndarray | slice"


class Function(ABC):
    """A smooth convex function on R^dim.

    A subclass has ``dim``, ``value``, ``gradient``, ``image`` and ``image_of``; quadratics ``curvature``, too.

    Attributes
    ----------
    dim : int
        Number of coordinates.
    """

    dim: int
    quadratic: bool = False  # whether the best step has a closed form
    needs_direction: bool = False  # whether ``curvature`` needs more of a direction than its image
    reads_point: bool = True  # whether ``value`` reads more of a point than its image
    terms: int | None = None  # of the sum or the mean, if the function has ``sampled``
    linear: bool = False  # whether term i is a function of <a_i, x> alone, so that there are ``rows`` and ``term_slopes``
    doubtful: bool = False  # whether the function may be not convex, or the gradient not its own
    gradient_is_free: bool = False  # whether a value comes with its gradient
    epsilon: float = EPSILON  # the precision of values and gradients
    precision: tuple = ()  # the observations behind ``epsilon``, if a run collects them
    domain: Callable[[np.ndarray], bool] | None = None  # whether f is defined at x; None if it is on the whole set
    _domain_shape: tuple[int, ...] = ()

    def on_domain(self, domain: Callable[[np.ndarray], bool], shape: tuple[int, ...]) -> "Function":
        """Return this function with a domain outside of which it is infinite; ``domain`` gets points of a shape."""
        new = copy.copy(self)
        new.domain, new._domain_shape = domain, shape
        return new

    def is_defined(self, x: np.ndarray) -> bool:
        """Return whether x lies in the domain."""
        return self.domain is None or bool(plain(self.domain(x.reshape(self._domain_shape).copy())))

    @abstractmethod
    def image(self, x: np.ndarray) -> np.ndarray:
        """Return the state that methods keep in addition to x."""

    @abstractmethod
    def image_of(self, atom: Atom) -> np.ndarray:
        """Return the image of an atom."""

    @abstractmethod
    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return f(x), given the image z of x."""

    @abstractmethod
    def gradient(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gradient at x."""

    def partial(self, x: np.ndarray, z: np.ndarray, where: Weights) -> np.ndarray:
        """Return some coordinates of the gradient, by a slice or an array of indices."""
        return self.gradient(x, z)[where]

    def sampled(self, x: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """Return the estimate of the gradient at x by some of the terms."""
        raise OptionError(f"{type(self).__name__} is no sum of terms; accepted: {SUMS}, FiniteSum")

    def rows(self, terms: np.ndarray) -> Any:
        """Return the matrix of the rows a_i of some terms, a factor of ``@``; of linear sums only."""
        raise OptionError(f"{type(self).__name__} is no sum of functions of <a_i, x>; accepted: {SUMS}")

    def term_slopes(self, z: np.ndarray, terms: Rows) -> np.ndarray:
        """Return the derivatives of some terms at z_i = <a_i, x>, so that the gradient is A' times all; of linear sums only."""
        raise OptionError(f"{type(self).__name__} is no sum of functions of <a_i, x>; accepted: {SUMS}")

    def image_at(self, d: np.ndarray, block: slice) -> np.ndarray:
        """Return the image of a direction that has nonzeros in a block only."""
        x = np.zeros(self.dim)
        x[block] = d
        return self.image(x)

    def curvature(self, d: np.ndarray | None, dz: np.ndarray, block: slice = EVERYWHERE) -> float:
        """Return the second derivative along d in a block, whose image is dz; d may be None unless ``needs_direction``."""
        raise OptionError(f"{type(self).__name__} is not quadratic: there is no best step in closed form")

    def hessian_times(self, dz: np.ndarray) -> np.ndarray:
        """Return f'' d for the direction with the image dz; of quadratics only."""
        raise NotImplementedError

    def lipschitz(self, block: slice) -> float:
        """Return a Lipschitz constant of the gradient in a block."""
        raise OptionError(f"{type(self).__name__} knows no Lipschitz constants; accepted: LeastSquares, Logistic, Quadratic")

    def _columns(self, block: slice) -> np.ndarray:
        """Return the images of the unit vectors of a block, as columns."""
        width = len(range(self.dim)[block])
        return np.column_stack([self.image_at(e, block) for e in np.eye(width)])


class OfMatrix(Function):
    """A function of x and z = A x."""

    matrix: Matrix

    def image(self, x: np.ndarray) -> np.ndarray:
        return self.matrix.times(x)

    def image_of(self, atom: Atom) -> np.ndarray:
        return self.matrix.times_atom(atom)

    def image_at(self, d: np.ndarray, block: slice) -> np.ndarray:
        columns = self.matrix.columns(block)
        return super().image_at(d, block) if columns is None else columns @ d


class Linear(OfMatrix):
    """sum_i phi_i(<a_i, x>), z = A x."""

    reads_point = False
    linear = True

    def gradient(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.matrix.transposed_times(self.term_slopes(z, EVERYWHERE))

    def partial(self, x: np.ndarray, z: np.ndarray, where: Weights) -> np.ndarray:
        columns = self.matrix.columns(where)
        return self.gradient(x, z)[where] if columns is None else columns.T @ self.term_slopes(z, EVERYWHERE)

    @property
    def terms(self) -> int:  # type: ignore[override]
        """One for each row."""
        return self.matrix.shape[0]

    def sampled(self, x: np.ndarray, terms: np.ndarray) -> np.ndarray:
        rows = self.rows(terms)
        return rows.T @ (self.term_slopes(rows @ x, terms) * (self.terms / len(terms)))

    def rows(self, terms: np.ndarray) -> Any:
        return self.matrix.rows(terms)

    @abstractmethod
    def term_slopes(self, z: np.ndarray, terms: Rows) -> np.ndarray: ...


class LeastSquares(Linear):
    """1/2 ||A x - b||^2.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        The matrix, a row per residual.
    b : sequence of float
        The right-hand side, a number per row of A.
    """

    quadratic = True

    def __init__(self, A: Any, b: ArrayLike) -> None:
        self.matrix = Matrix(A)
        self.b = vector("b", b, self.matrix.shape[0])
        self.dim = self.matrix.shape[1]

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        r = z - self.b
        return 0.5 * float(r @ r)

    def term_slopes(self, z: np.ndarray, terms: Rows) -> np.ndarray:
        return z - self.b[terms]

    def curvature(self, d: np.ndarray | None, dz: np.ndarray, block: slice = EVERYWHERE) -> float:
        return float(dz @ dz)

    def hessian_times(self, dz: np.ndarray) -> np.ndarray:
        return self.matrix.transposed_times(dz)

    def lipschitz(self, block: slice) -> float:
        return float(np.linalg.norm(self._columns(block), 2)) ** 2


class Logistic(Linear):
    """1/m sum_i log(1 + exp(-y_i <A_i, x>)) for labels y_i in {-1, 1}.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        One row for each label.
    y : sequence of -1 and 1
        The class of every row of A.
    """

    def __init__(self, A: Any, y: ArrayLike) -> None:
        self.matrix = Matrix(A)
        self.y = vector("y", y, self.matrix.shape[0])
        if (wrong := self.y[np.abs(self.y) != 1.0]).size:
            raise ParameterError(f"y must hold the labels -1 and 1, got {wrong[0]:g}")
        self.dim = self.matrix.shape[1]

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -self.y * z).mean())

    def term_slopes(self, z: np.ndarray, terms: Rows) -> np.ndarray:
        from scipy.special import expit

        y = self.y[terms]
        return -y * expit(-y * z) / len(self.y)

    def lipschitz(self, block: slice) -> float:
        return float(np.linalg.norm(self._columns(block), 2)) ** 2 / (4 * len(self.y))


class Quadratic(OfMatrix):
    """1/2 x'Qx + c'x with Q symmetric, positive semidefinite; the image is Q x.

    Parameters
    ----------
    Q : array, sparse matrix or LinearOperator
        Where it has a negative eigenvalue there is no certificate: that is seen at once up to dimension 300, and else when a
        method moves in a direction of negative curvature.
    c : sequence of float, optional
        0 by default.
    """

    quadratic = True
    needs_direction = True
    largest_decomposed = 300

    @property
    def doubtful(self) -> bool:  # type: ignore[override]
        """Return whether its eigenvalues are unknown."""
        return self.dim > self.largest_decomposed

    def __init__(self, Q: Any, c: ArrayLike | None = None) -> None:
        self.matrix = Matrix(Q, "Q")
        self.dim = self.matrix.shape[1]
        if self.matrix.shape[0] != self.dim:
            raise ParameterError(f"Q must be a square matrix, got one of shape {self.matrix.shape}")
        self.c = np.zeros(self.dim) if c is None else vector("c", c, self.dim)
        x = np.random.default_rng(0).standard_normal(self.dim)
        forth, back = self.matrix.times(x), self.matrix.transposed_times(x)
        if np.abs(forth - back).max() > 1e-8 * max(np.abs(forth).max(), 1e-300):
            raise ParameterError("Q must be symmetric, got a matrix that is not")
        if self.dim <= self.largest_decomposed:
            eigenvalues = np.linalg.eigvalsh(self._columns(EVERYWHERE))
            self._check_curvature(eigenvalues[0], np.abs(eigenvalues).max())

    @staticmethod
    def _check_curvature(curvature: float, scale: float) -> None:
        if curvature < -1e-10 * scale:
            raise ParameterError(f"Q must be positive semidefinite, got curvature {curvature:.3g} in some direction")

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(x @ (0.5 * z + self.c))

    def gradient(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z + self.c

    def partial(self, x: np.ndarray, z: np.ndarray, where: Weights) -> np.ndarray:
        return z[where] + self.c[where]

    def curvature(self, d: np.ndarray | None, dz: np.ndarray, block: slice = EVERYWHERE) -> float:
        assert d is not None  # guaranteed by needs_direction
        curvature = float(d @ dz[block])
        self._check_curvature(curvature, float(np.linalg.norm(d) * np.linalg.norm(dz[block])))
        return curvature

    def hessian_times(self, dz: np.ndarray) -> np.ndarray:
        return dz

    def lipschitz(self, block: slice) -> float:
        return float(np.linalg.norm(self._columns(block)[block], 2))


class Minimisation(NamedTuple):
    """A function on a set, as a data set of the kind ``convex`` returns it.

    Attributes
    ----------
    f : Function
        The function to minimise.
    set : ConvexSet
        The feasible set.
    """

    f: Function
    set: ConvexSet
