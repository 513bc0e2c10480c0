"""Smooth convex functions, as a function of a linear image of the point.

All functions except a user's are f(x) = phi(z) + <c, x>. Methods keep x and the image z = A x: a step along d changes z by A d,
which costs O(rows) if atoms are sparse, and the only product of an iteration is the gradient A' phi'(z).
``A`` is an array, a scipy sparse matrix or a `scipy.sparse.linalg.LinearOperator`.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import EPSILON
from fwexp.errors import OptionError
from fwexp.options import plain
from fwexp.types import FloatArray, IntArray, Weights

EVERYWHERE = slice(None)
SUMS = "LeastSquares, Logistic, LinearSum"  # that have a row for each term
Rows: TypeAlias = IntArray | slice


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
    domain: Callable[[FloatArray], bool] | None = None  # whether f is defined at x; None if it is on the whole set
    _domain_shape: tuple[int, ...] = ()

    def on_domain(self, domain: Callable[[FloatArray], bool], shape: tuple[int, ...]) -> "Function":
        """Return this function with a domain outside of which it is infinite; ``domain`` gets points of a shape."""
        new = copy.copy(self)
        new.domain, new._domain_shape = domain, shape
        return new

    def is_defined(self, x: FloatArray) -> bool:
        """Return whether x lies in the domain."""
        return self.domain is None or bool(plain(self.domain(x.reshape(self._domain_shape).copy())))

    @abstractmethod
    def image(self, x: FloatArray) -> FloatArray:
        """Return the state that methods keep in addition to x."""

    @abstractmethod
    def image_of(self, atom: Atom) -> FloatArray:
        """Return the image of an atom."""

    @abstractmethod
    def value(self, x: FloatArray, z: FloatArray) -> float:
        """Return f(x), given the image z of x."""

    @abstractmethod
    def gradient(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Return the gradient at x."""

    def partial(self, x: FloatArray, z: FloatArray, where: Weights) -> FloatArray:
        """Return some coordinates of the gradient, by a slice or an array of indices."""
        return self.gradient(x, z)[where]

    def sampled(self, x: FloatArray, terms: IntArray) -> FloatArray:
        """Return the estimate of the gradient at x by some of the terms."""
        raise OptionError(f"{type(self).__name__} is no sum of terms; accepted: {SUMS}, FiniteSum")

    def rows(self, terms: IntArray) -> Any:
        """Return the matrix of the rows a_i of some terms, which has ``dot`` and ``T``; of linear sums only."""
        raise OptionError(f"{type(self).__name__} is no sum of functions of <a_i, x>; accepted: {SUMS}")

    def term_slopes(self, z: FloatArray, terms: Rows) -> FloatArray:
        """Return the derivatives of some terms at z_i = <a_i, x>, so that the gradient is A' times all; of linear sums only."""
        raise OptionError(f"{type(self).__name__} is no sum of functions of <a_i, x>; accepted: {SUMS}")

    def image_at(self, d: FloatArray, block: slice) -> FloatArray:
        """Return the image of a direction that has nonzeros in a block only."""
        x = np.zeros(self.dim)
        x[block] = d
        return self.image(x)

    def curvature(self, d: FloatArray | None, dz: FloatArray, block: slice = EVERYWHERE) -> float:
        """Return the second derivative along d in a block, whose image is dz; d may be None unless ``needs_direction``."""
        raise OptionError(f"{type(self).__name__} is not quadratic: there is no best step in closed form")

    def hessian_times(self, dz: FloatArray) -> FloatArray:
        """Return f'' d for the direction with the image dz; of quadratics only."""
        raise NotImplementedError

    def lipschitz(self, block: slice) -> float:
        """Return a Lipschitz constant of the gradient in a block."""
        raise OptionError(f"{type(self).__name__} knows no Lipschitz constants; accepted: LeastSquares, Logistic, Quadratic")

    def _columns(self, block: slice) -> FloatArray:
        """Return the images of the unit vectors of a block, as columns."""
        width = len(range(self.dim)[block])
        return np.column_stack([self.image_at(e, block) for e in np.eye(width)])
