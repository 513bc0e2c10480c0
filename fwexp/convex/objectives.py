"""Functions of a matrix: least squares, logistic regression, sums of a user's terms, and quadratic functions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import ConvexSet, vector
from fwexp.convex.functions import EVERYWHERE, Function, Rows
from fwexp.convex.matrix import Matrix
from fwexp.convex.user_functions import Observed
from fwexp.errors import ParameterError, shown
from fwexp.options import check_function
from fwexp.types import ArrayLike, FloatArray, IntArray, Weights


class OfMatrix(Function):
    """A function of x and z = A x."""

    matrix: Matrix

    def image(self, x: FloatArray) -> FloatArray:
        return self.matrix.times(x)

    def image_of(self, atom: Atom) -> FloatArray:
        return self.matrix.times_atom(atom)

    def image_at(self, d: FloatArray, block: slice) -> FloatArray:
        columns = self.matrix.columns(block)
        return super().image_at(d, block) if columns is None else columns @ d


class Linear(OfMatrix):
    """sum_i phi_i(<a_i, x>), z = A x."""

    reads_point = False
    linear = True

    def gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self.matrix.transposed_times(self.term_slopes(z, EVERYWHERE))

    def partial(self, x: FloatArray, z: FloatArray, where: Weights) -> FloatArray:
        columns = self.matrix.columns(where)
        return self.gradient(x, z)[where] if columns is None else columns.T @ self.term_slopes(z, EVERYWHERE)

    @property
    def terms(self) -> int:  # type: ignore[override]
        """One for each row."""
        return self.matrix.shape[0]

    def sampled(self, x: FloatArray, terms: IntArray) -> FloatArray:
        rows = self.rows(terms)
        return rows.T.dot(self.term_slopes(rows.dot(x), terms) * (self.terms / len(terms)))

    def rows(self, terms: IntArray) -> Any:
        return self.matrix.rows(terms)

    @abstractmethod
    def term_slopes(self, z: FloatArray, terms: Rows) -> FloatArray: ...


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

    def value(self, x: FloatArray, z: FloatArray) -> float:
        r = z - self.b
        return 0.5 * float(r @ r)

    def term_slopes(self, z: FloatArray, terms: Rows) -> FloatArray:
        return z - self.b[terms]

    def curvature(self, d: FloatArray | None, dz: FloatArray, block: slice = EVERYWHERE) -> float:
        return float(dz @ dz)

    def hessian_times(self, dz: FloatArray) -> FloatArray:
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
        from scipy.special import expit  # slow to load

        self.matrix, self._expit = Matrix(A), expit
        self.y = vector("y", y, self.matrix.shape[0])
        if (wrong := self.y[np.abs(self.y) != 1.0]).size:
            raise ParameterError(f"y must hold the labels -1 and 1, got {wrong[0]:g}")
        self.dim = self.matrix.shape[1]

    def value(self, x: FloatArray, z: FloatArray) -> float:
        return float(np.logaddexp(0.0, -self.y * z).mean())

    def term_slopes(self, z: FloatArray, terms: Rows) -> FloatArray:
        y = -self.y[terms]
        return y * self._expit(y * z) / len(self.y)

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

    def value(self, x: FloatArray, z: FloatArray) -> float:
        return float(x @ (0.5 * z + self.c))

    def gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return z + self.c

    def partial(self, x: FloatArray, z: FloatArray, where: Weights) -> FloatArray:
        return z[where] + self.c[where]

    def curvature(self, d: FloatArray | None, dz: FloatArray, block: slice = EVERYWHERE) -> float:
        assert d is not None  # guaranteed by needs_direction
        curvature = float(d @ dz[block])
        self._check_curvature(curvature, float(np.linalg.norm(d) * np.linalg.norm(dz[block])))
        return curvature

    def hessian_times(self, dz: FloatArray) -> FloatArray:
        return dz

    def lipschitz(self, block: slice) -> float:
        return float(np.linalg.norm(self._columns(block)[block], 2))


class LinearSum(Observed, Linear):
    """A mean of terms of a user's, each a function of one product: 1/n sum_i phi_i(<a_i, x>).

    Methods compute products with rows and columns of ``A``, so that a step costs less than with a `FiniteSum`.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        One row for each term.
    fun : callable
        ``fun(z, terms)`` returns two arrays, the values and the derivatives of phi_i at z_i for the numbers i in ``terms``.

    Examples
    --------
    The Huber loss of regression:

    >>> import numpy as np
    >>> from fwexp.convex import L1Ball, LinearSum, minimize
    >>> A, b = np.eye(3), np.array([0.5, 9.0, -0.2])
    >>> def huber(z, terms):
    ...     r = z - b[terms]
    ...     return np.where(np.abs(r) < 1, r**2 / 2, np.abs(r) - 0.5), np.clip(r, -1, 1)
    >>> result = minimize(LinearSum(A, huber), L1Ball(3, radius=2.0), gap_tol=1e-9)
    >>> result.x.round(3) + 0.0, round(result.value, 4)
    (array([0., 2., 0.]), 2.215)
    """

    doubtful = True

    def __init__(self, A: Any, fun: Callable[..., Any]) -> None:
        super().__init__()
        self.matrix, self._fun = Matrix(A), check_function("fun", fun)
        self.dim = self.matrix.shape[1]
        self._all = np.arange(self.terms)

    def value(self, x: FloatArray, z: FloatArray) -> float:
        return float(self._asked(z, self._all)[0].mean())

    def term_slopes(self, z: FloatArray, terms: Rows) -> FloatArray:
        return self._asked(z, self._all[terms])[1] / self.terms

    def _asked(self, z: FloatArray, terms: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the checked answer of ``fun``, which may be buffers of its own."""
        answer = self._fun(z.copy(), terms.copy())
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ParameterError(f"fun(z, terms) must return the values and the derivatives, got {shown(answer)}")
        values = vector("the values that fun(z, terms) returns", answer[0], len(terms))
        slopes = vector("the derivatives that fun(z, terms) returns", answer[1], len(terms))
        self._see_precision(*answer)
        return values, slopes


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
