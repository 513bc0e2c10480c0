"""Functions of users: a value and a gradient, a mean of terms, and the precision of their numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import EPSILON, epsilon, vector
from fwexp.convex.functions import Function
from fwexp.errors import ParameterError, shown
from fwexp.options import check_function, check_integer, plain
from fwexp.types import FloatArray, IntArray

EPSILON_BY_BITS = {
    11: float(np.finfo(np.float16).eps),
    24: float(np.finfo(np.float32).eps),
}  # precisions by the bits of their numbers
ENOUGH_NUMBERS = 64  # numbers with more than half of these bits, and none with more than these, before precision goes by bits


class Observed(Function):
    """A function with the precision of the numbers that it has returned so far."""

    def __init__(self) -> None:
        self.precision = EPSILON, 0, *(0 for _ in EPSILON_BY_BITS)  # of the types, bits of numbers, long numbers of each precision

    @property
    def epsilon(self) -> float:  # type: ignore[override]
        """The precision of the types of numbers, or a lower one if all numbers so far are as short."""
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
        """Record the precision of answers: the precision of their types, and how many bits their numbers have."""
        declared, most, *long = self.precision
        declared = max(declared, epsilon(*answers))
        if declared == EPSILON and most <= max(EPSILON_BY_BITS):
            numbers = np.frexp(np.concatenate([np.ravel(np.asarray(answer, dtype=np.float64)) for answer in answers]))[0]
            most = max([most, *(bits + 1 for bits in EPSILON_BY_BITS if (np.ldexp(numbers, bits) % 1.0).any())])
            long = [
                n + int(((np.ldexp(numbers, bits // 2) % 1.0) != 0.0).sum()) for n, bits in zip(long, EPSILON_BY_BITS, strict=True)
            ]
        self.precision = declared, most, *long


class UserFunction(Observed):
    """A user's ``fun(x)``, value and gradient, which may use one buffer for all gradients; the image of x is x."""

    reads_point = False
    doubtful = gradient_is_free = True

    def __init__(self, fun: Callable[..., Any], dim: int, shape: tuple[int, ...] | None = None) -> None:
        self._fun, self.dim = check_function("fun", fun), check_integer("dim", dim, 1)
        super().__init__()
        self._shape = shape or (dim,)
        self._at: FloatArray | None = None

    def image(self, x: FloatArray) -> FloatArray:
        return x.copy()

    def image_of(self, atom: Atom) -> FloatArray:
        return atom.dense(self.dim)

    def value(self, x: FloatArray, z: FloatArray) -> float:
        return self._both(z)[0]

    def gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        return self._both(z)[1]

    def _both(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient, asked for once per point."""
        if self._at is None or not np.array_equal(self._at, x):
            self._known = self._asked(x)
            self._at = x.copy()
        return self._known

    def _asked(self, x: FloatArray, *more) -> tuple[float, FloatArray]:
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
        Number of coordinates.
    shape : tuple of int, optional
        Shape of x, as for a set that is ``shaped``.

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

    def sampled(self, x: FloatArray, terms: IntArray) -> FloatArray:
        return self._asked(x, terms)[1]


def as_function(f, dim: int, shape: tuple[int, ...] | None = None) -> Function:
    """Return the function to minimise: a `Function`, or a user's (value, gradient)."""
    if not isinstance(f, Function):
        if not callable(f):
            raise ParameterError(f"f must be a function of fwexp.convex or fun(x) -> (value, gradient), got {shown(f)}")
        return UserFunction(f, dim, shape)
    if f.dim != dim:
        raise ParameterError(f"f and the set must have one dimension, got {f.dim} and {dim}")
    return f
