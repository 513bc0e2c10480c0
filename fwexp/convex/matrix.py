"""Matrices of any kind by their products: arrays, sparse matrices, operators."""

from functools import cached_property

import numpy as np
import scipy.sparse

from fwexp.conversion import as_array
from fwexp.convex.atoms import Atom
from fwexp.convex.feasible_sets import REAL, epsilon
from fwexp.errors import ParameterError
from fwexp.problems.arrays import as_sparse

MATRIX = "be a matrix of real numbers"


class Matrix:
    """A matrix by its products; columns are taken from it where it has them."""

    def __init__(self, A, name: str = "A") -> None:
        from scipy.sparse.linalg import LinearOperator  # slow to load

        self._is_operator = isinstance(A, LinearOperator)
        if scipy.sparse.issparse(A):
            A = as_sparse(name, A)
            _check_real(name, A.dtype)
            self.A = scipy.sparse.csc_array(A, dtype=np.float64)  # whose columns cost nothing
            entries = self.A.data
        elif self._is_operator:
            _check_real(name, A.dtype)
            self.A, entries = A, np.zeros(0)
        else:
            self.A = entries = as_array(name, A, REAL, MATRIX).astype(np.float64, copy=False)
        if len(self.A.shape) != 2 or 0 in self.A.shape:
            raise ParameterError(f"{name} must be a matrix that is not empty, got an array of shape {self.A.shape}")
        if not np.isfinite(entries).all():
            raise ParameterError(f"{name} must hold finite numbers, got one that is not")
        self.shape = self.A.shape
        if self._is_operator:
            self._check_adjoint(name)
        # Products with a wide sparse matrix take a third of the time by its rows, which are fewer.
        self._products = self.A.tocsr() if scipy.sparse.issparse(self.A) and self.shape[0] < self.shape[1] else self.A
        self._transposed = self._products.T

    def _check_adjoint(self, name: str) -> None:
        """Refuse an operator whose transposed products belong to another matrix."""
        rng = np.random.default_rng(0)
        x, z = rng.standard_normal(self.shape[1]), rng.standard_normal(self.shape[0])
        try:
            image, back = self.A @ x, self.A.T @ z
        except NotImplementedError:
            raise ParameterError(f"{name} must have transposed products, got an operator without rmatvec") from None
        for product in (image, back):
            _check_real(name, product.dtype)
        size = np.linalg.norm(image) * np.linalg.norm(z) + np.linalg.norm(back) * np.linalg.norm(x)
        one, other = float(image @ z), float(back @ x)
        if abs(one - other) > max(1e-7, 64.0 * epsilon(image, back)) * size:
            found = f"got <A x, z> = {one:.6g} and <x, A'z> = {other:.6g}"
            raise ParameterError(f"{name} must be an operator whose rmatvec is the adjoint of its matvec, {found}")

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return A x."""
        return self._products @ x

    def transposed_times(self, z: np.ndarray) -> np.ndarray:
        """Return A'z."""
        return self._transposed @ z

    def rows(self, where: np.ndarray):
        """Return some rows, which have ``dot`` and ``T``; of an operator, by products with all rows."""
        if not self._is_operator:
            return self._rows.take(where, axis=0) if isinstance(self._rows, np.ndarray) else self._rows[where]
        from scipy.sparse.linalg import LinearOperator

        def transposed(z: np.ndarray) -> np.ndarray:
            whole = np.zeros(self.shape[0])
            np.add.at(whole, where, z.ravel())
            return self.A.T @ whole

        shape = (len(where), self.shape[1])
        return LinearOperator(shape, matvec=lambda x: (self.A @ x)[where], rmatvec=transposed, dtype=np.float64)

    @cached_property
    def _rows(self):
        """The matrix whose rows cost nothing."""
        return self.A.tocsr() if scipy.sparse.issparse(self.A) else self.A

    def times_atom(self, atom: Atom) -> np.ndarray:
        """Return A s."""
        if atom.indices is None or self._is_operator:
            return self.A @ atom.dense(self.shape[1])
        if scipy.sparse.issparse(self.A):
            z = np.zeros(self.shape[0])
            A = self.A
            for j, value in zip(atom.indices.tolist(), atom.values.tolist(), strict=True):
                column = slice(A.indptr[j], A.indptr[j + 1])
                np.add.at(z, A.indices[column], value * A.data[column])
            return z
        if len(atom.indices) == 1:
            return self.A[:, atom.indices[0]] * atom.values[0]
        return self.A[:, atom.indices] @ atom.values

    def columns(self, where):
        """Return some columns as a matrix; of an operator, None."""
        return None if self._is_operator else self.A[:, where]


def _check_real(name: str, dtype) -> None:
    if dtype is not None and dtype.kind not in REAL:
        raise ParameterError(f"{name} must {MATRIX}, got {dtype}")
