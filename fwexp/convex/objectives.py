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
from numpy.typing import ArrayLike

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import EPSILON, ConvexSet, epsilon, vector
from fwexp.convex.matrix import Matrix
from fwexp.errors import OptionError, ParameterError, shown
from fwexp.options import check_function, check_integer, plain
from fwexp.types import Weights

EVERYWHERE = slice(None)
SUMS = "LeastSquares, Logistic, LinearSum"  # that have a row for each term
Rows: TypeAlias = "np.ndarray | slice"
EPSILON_BY_BITS = {
    11: float(np.finfo(np.float16).eps),
    24: float(np.finfo(np.float32).eps),
}  # precisions by the bits of their numbers
ENOUGH_NUMBERS = 64  # numbers with more than half of these bits, and none with more than these, before precision goes by bits


class Function(ABC):
    """A smooth convex function on R^dim.

    A subclass has ``dim``, ``value``, ``gradient``, ``image`` and ``image_of``; quadratics ``curvature``, too.

    Attributes
    ----------
    dim : int
    quadratic : bool
        Whether the best step has a closed form.
    needs_direction : bool
        Whether ``curvature`` needs more of a direction than its image.
    reads_point : bool
        Whether ``value`` reads more of a point than its image.
    terms : int or None
        Number of terms of the sum or the mean, if the function has ``sampled``.
    linear : bool
        Whether term i is a function of <a_i, x> alone, so that the function has ``rows`` and ``term_slopes``.
    doubtful : bool
        Whether the function may be not convex, or the gradient not its own.
    gradient_is_free : bool
        Whether a value comes with its gradient.
    epsilon : float
        The precision of values and gradients.
    precision : tuple
        The observations behind ``epsilon``, if a run collects them.
    domain : callable or None
        ``domain(x)`` returns whether f is defined at x; None if f is defined on the whole set.
    """

    dim: int
    quadratic: bool = False
    needs_direction: bool = False
    reads_point: bool = True
    terms: int | None = None
    linear: bool = False
    doubtful: bool = False
    gradient_is_free: bool = False
    epsilon: float = EPSILON
    precision: tuple = ()
    domain: Callable[[np.ndarray], bool] | None = None
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
        """Return what methods keep in addition to x."""

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
        """Return some coordinates of the gradient: those of a slice or of an array of indices."""
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
        """Return the second derivative along d, whose image is dz; of quadratics only.

        Parameters
        ----------
        d : ndarray or None
            The direction in ``block``, outside of which it is 0; None is enough unless ``needs_direction``.
        dz : ndarray
            Its image.
        block : slice
        """
        raise OptionError(f"{type(self).__name__} is not quadratic: there is no best step in closed form")

    def hessian_times(self, dz: np.ndarray) -> np.ndarray:
        """Return f'' d for the direction with the image dz; of quadratics only."""
        raise OptionError(f"{type(self).__name__} is not quadratic")

    def lipschitz(self, block: slice) -> float:
        """Return a Lipschitz constant of the gradient in a block."""
        raise OptionError(f"{type(self).__name__} knows no Lipschitz constants; accepted: LeastSquares, Logistic, Quadratic")

    def _columns(self, block: slice) -> np.ndarray:
        """Return the images of the unit vectors of a block, as columns."""
        width = len(range(self.dim)[block])
        return np.column_stack([self.image_at(e, block) for e in np.eye(width)])


class _Linear(Function):
    """sum_i phi_i(<a_i, x>), z = A x."""

    matrix: Matrix
    reads_point = False
    linear = True

    def image(self, x: np.ndarray) -> np.ndarray:
        return self.matrix.times(x)

    def image_of(self, atom: Atom) -> np.ndarray:
        return self.matrix.times_atom(atom)

    def image_at(self, d: np.ndarray, block: slice) -> np.ndarray:
        columns = self.matrix.columns(block)
        return super().image_at(d, block) if columns is None else columns @ d

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


class LeastSquares(_Linear):
    """1/2 ||A x - b||^2.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
    b : sequence of float
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


class Logistic(_Linear):
    """1/m sum_i log(1 + exp(-y_i <A_i, x>)) for labels y_i in {-1, 1}.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        One row for each label.
    y : sequence of -1 and 1
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


class Quadratic(Function):
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
        self._check_symmetric()
        if self.dim <= self.largest_decomposed:
            eigenvalues = np.linalg.eigvalsh(self._columns(EVERYWHERE))
            self._check_curvature(eigenvalues[0], np.abs(eigenvalues).max())

    @staticmethod
    def _check_curvature(curvature: float, scale: float) -> None:
        if curvature < -1e-10 * scale:
            raise ParameterError(f"Q must be positive semidefinite, got curvature {curvature:.3g} in some direction")

    def _check_symmetric(self) -> None:
        x = np.random.default_rng(0).standard_normal(self.dim)
        forth, back = self.matrix.times(x), self.matrix.transposed_times(x)
        if np.abs(forth - back).max() > 1e-8 * max(np.abs(forth).max(), 1e-300):
            raise ParameterError("Q must be symmetric, got a matrix that is not")

    def image(self, x: np.ndarray) -> np.ndarray:
        return self.matrix.times(x)

    def image_of(self, atom: Atom) -> np.ndarray:
        return self.matrix.times_atom(atom)

    def image_at(self, d: np.ndarray, block: slice) -> np.ndarray:
        columns = self.matrix.columns(block)
        return super().image_at(d, block) if columns is None else columns @ d

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(x @ (0.5 * z + self.c))

    def gradient(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return z + self.c

    def partial(self, x: np.ndarray, z: np.ndarray, where: Weights) -> np.ndarray:
        return z[where] + self.c[where]

    def curvature(self, d: np.ndarray | None, dz: np.ndarray, block: slice = EVERYWHERE) -> float:
        assert d is not None  # as needs_direction says
        curvature = float(d @ dz[block])
        self._check_curvature(curvature, float(np.linalg.norm(d) * np.linalg.norm(dz[block])))
        return curvature

    def hessian_times(self, dz: np.ndarray) -> np.ndarray:
        return dz

    def lipschitz(self, block: slice) -> float:
        return float(np.linalg.norm(self._columns(block)[block], 2))


class Observed(Function):
    """A function whose precision is that of the numbers that it has returned so far."""

    def __init__(self) -> None:
        self.precision = EPSILON, 0, *(0 for _ in EPSILON_BY_BITS)  # of the types, bits of numbers, long numbers of each precision

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """That of the types of numbers; if numbers so far are as short as those of a lower precision, that."""
        declared, most, *long = self.precision
        if declared > EPSILON:
            return declared
        fitting = (
            eps
            for (bits, eps), count in zip(EPSILON_BY_BITS.items(), long, strict=True)
            if most <= bits and count >= ENOUGH_NUMBERS
        )
        return next(fitting, EPSILON)

    def _see_precision(self, *answers) -> None:
        """Record the precision of answers: that of their types, and how many bits their numbers have."""
        declared, most, *long = self.precision
        declared = max(declared, epsilon(*answers))
        if declared == EPSILON and most <= max(EPSILON_BY_BITS):
            numbers = np.frexp(np.concatenate([np.ravel(np.asarray(answer, dtype=np.float64)) for answer in answers]))[0]
            most = max([most, *(bits + 1 for bits in EPSILON_BY_BITS if (np.ldexp(numbers, bits) % 1.0).any())])
            long = [
                n + int(((np.ldexp(numbers, bits // 2) % 1.0) != 0.0).sum()) for n, bits in zip(long, EPSILON_BY_BITS, strict=True)
            ]
        self.precision = declared, most, *long


class LinearSum(Observed, _Linear):
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

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(self._asked(z, self._all)[0].mean())

    def term_slopes(self, z: np.ndarray, terms: Rows) -> np.ndarray:
        return self._asked(z, self._all[terms])[1] / self.terms

    def _asked(self, z: np.ndarray, terms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the checked answer of ``fun``."""
        answer = self._fun(z.copy(), terms.copy())
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ParameterError(f"fun(z, terms) must return the values and the derivatives, got {shown(answer)}")
        names = ("the values that fun(z, terms) returns", "the derivatives that fun(z, terms) returns")
        values, slopes = (vector(name, each, len(terms)).copy() for name, each in zip(names, answer, strict=True))
        self._see_precision(*answer)
        return values, slopes


class UserFunction(Observed):
    """A user's function; the image of x is x.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns the value and the gradient. It may use one buffer for all gradients.
    dim : int
    shape : tuple of int, optional
        That of its x, and of its gradient unless that is a vector; (dim,) by default.
    """

    reads_point = False
    doubtful = gradient_is_free = True

    def __init__(self, fun: Callable[..., Any], dim: int, shape: tuple[int, ...] | None = None) -> None:
        self._fun, self.dim = check_function("fun", fun), check_integer("dim", dim, 1)
        super().__init__()
        self._shape = shape or (dim,)
        self._at: np.ndarray | None = None

    def image(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def image_of(self, atom: Atom) -> np.ndarray:
        return atom.dense(self.dim)

    def value(self, x: np.ndarray, z: np.ndarray) -> float:
        return self._both(z)[0]

    def gradient(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self._both(z)[1]

    def _both(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient, asked for once per point."""
        if self._at is None or not np.array_equal(self._at, x):
            self._known = self._asked(x)
            self._at = x.copy()
        return self._known

    def _asked(self, x: np.ndarray, *more) -> tuple[float, np.ndarray]:
        """Return the checked answer of ``fun``."""
        answer = self._fun(x.reshape(self._shape).copy(), *more)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ParameterError(f"fun(x) must return the value and the gradient, got {shown(answer)}")
        try:
            value = float(plain(answer[0]))
        except (TypeError, ValueError):
            raise ParameterError(f"fun(x) must return a number as its value, got {shown(answer[0])}") from None
        if not np.isfinite(value):
            raise ParameterError(f"fun(x) must return a finite value, got {value}")
        g = vector("the gradient that fun(x) returns", answer[1], self.dim, self._shape).copy()
        self._see_precision(*answer)
        return value, g


class FiniteSum(UserFunction):
    """A mean of terms of a user's, of which methods may take samples.

    Parameters
    ----------
    fun : callable
        ``fun(x, terms)`` returns the mean value and the mean gradient of the terms with these numbers, an array.
    terms : int
        How many there are: 0, 1, ..., terms - 1.
    dim : int
    shape : tuple of int, optional
        That of x, as for a set that is ``shaped``.

    Examples
    --------
    >>> import numpy as np
    >>> from fwexp.convex import FiniteSum, Simplex, minimize
    >>> points = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> def distances(x, terms):
    ...     apart = x - points[terms]
    ...     return 0.5 * (apart**2).sum() / len(terms), apart.mean(axis=0)
    >>> f = FiniteSum(distances, terms=3, dim=2)
    >>> minimize(f, Simplex(2), method="stochastic", batch=1, gap_tol=0.1).status
    'converged'
    """

    def __init__(self, fun: Callable[..., Any], terms: int, dim: int, shape: tuple[int, ...] | None = None) -> None:
        super().__init__(fun, dim, shape)
        self.terms = check_integer("terms", terms, 1)
        self._all = np.arange(self.terms)

    def _asked(self, x, *more):
        return super()._asked(x, *(more or (self._all,)))

    def sampled(self, x: np.ndarray, terms: np.ndarray) -> np.ndarray:
        return self._asked(x, terms)[1]


class Minimisation(NamedTuple):
    """A function on a set: what a data set of the kind ``convex`` gives.

    Attributes
    ----------
    f : Function
    set : ConvexSet
    """

    f: Function
    set: ConvexSet


def as_function(f, dim: int, shape: tuple[int, ...] | None = None) -> Function:
    """Return what is to be minimised: a `Function`, or a user's (value, gradient).

    Raises
    ------
    ParameterError
        It is neither, or of another dimension than the set.
    """
    if not isinstance(f, Function):
        if not callable(f):
            raise ParameterError(f"f must be a function of fwexp.convex or fun(x) -> (value, gradient), got {shown(f)}")
        return UserFunction(f, dim, shape)
    if f.dim != dim:
        raise ParameterError(f"f and the set must have one dimension, got {f.dim} and {dim}")
    return f
