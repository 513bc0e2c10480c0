"""Quadratic programs over the simplex, grown by one coordinate at a time, by the method of `fwexp.oracles.simplex_qp`."""

from dataclasses import dataclass, field

import numpy as np

from fwexp.jit.compilation import njit
from fwexp.oracles.simplex_qp import PAIRWISE_STEPS, active_set, factorise, pairwise

ROUNDING = 4e-16  # of sums, relative to their terms

_active_set, _factorise, _pairwise = njit(active_set), njit(factorise), njit(pairwise)


def tolerance(tol: float, b: np.ndarray, M: np.ndarray, a: np.ndarray, products=None) -> float:
    """Return the gap to reach at a: `tol` times max |b|, or the rounding error of M a if that is more."""
    # M a is a sum of terms that cancel. ``products`` are the sizes of further terms, if there are any.
    wanted = tol * np.abs(b).max()
    if products is None and wanted >= ROUNDING * np.diag(M).max():  # an upper bound of the next products
        return wanted
    terms = np.abs(M) @ a + (0.0 if products is None else products)
    return max(wanted, ROUNDING * float(terms.max()))


@dataclass
class SimplexQP:
    """max b'a - 1/2 a'Ma over the simplex; grows and shrinks, and starts from the solution before. A record.

    ``solve`` ends with a gap of at most ``tol * max |b|``, or of what rounding in M a allows. Memory: M and the factor U, which
    have at most 2 size (2 size + 8) numbers each, for the largest size so far.
    """

    tol: float = 1e-10
    size: int = 0
    accuracy: float = 0.0
    M: np.ndarray = field(default_factory=lambda: np.zeros((8, 8)))
    b: np.ndarray = field(default_factory=lambda: np.zeros(8))
    a: np.ndarray = field(default_factory=lambda: np.zeros(8))
    g: np.ndarray = field(default_factory=lambda: np.zeros(8))
    U: np.ndarray = field(default_factory=lambda: np.zeros((8, 8)))
    support: np.ndarray = field(default_factory=lambda: np.zeros(8, dtype=np.int64))
    s: np.ndarray = field(default_factory=lambda: np.zeros(8))
    order: int = 0
    shift: float = 0.0

    def add(self, row: np.ndarray, diagonal: float, b: float) -> None:
        """Add a coordinate: its inner products with the others, with itself, and its linear term."""
        k = self.size
        if k == len(self.b):
            self._grow()
        self.M[k, :k] = self.M[:k, k] = row
        self.M[k, k], self.b[k], self.a[k] = diagonal, b, 0.0
        self.g[k] = b - row @ self.a[:k]
        self.size = k + 1

    def discard(self, j: int) -> None:
        """Remove coordinate j, which must have weight 0; the last one takes its place."""
        last = self.size - 1
        support = self.support[: self.order]
        if self.a[j] != 0.0:
            raise ValueError(f"coordinate {j} has weight {self.a[j]}")
        if j in support:  # with weight 0: rare
            self.order = 0
        support[support == last] = j
        self.M[j, : last + 1] = self.M[last, : last + 1]
        self.M[: last + 1, j] = self.M[: last + 1, last]
        self.M[j, j] = self.M[last, last]
        for values in (self.b, self.a, self.g):
            values[j] = values[last]
        self.size = last

    def solve(self) -> float:
        """Maximise over ``a``; return the gap."""
        size, scale = self.size, np.diag(self.M)[: self.size].max()
        # A shift of another size than M costs digits; the one of M = 0 knows nothing of what comes.
        if self.order == 0 or scale > 4.0 * self.shift or 0.0 < scale < 1e-4 * self.shift:
            self.shift = scale if scale > 0.0 else 1.0
            if self.order == 0 or not _factorise(self.M, self.U, self.support, self.s, self.order, self.shift):
                self._start_afresh()
        gap = self._run()
        if not gap <= self._tolerance():
            self._start_afresh()
            gap = self._run()
        if not gap <= self._tolerance():
            if not np.isfinite(self.a[:size]).all():
                self._start_afresh()
            gap = _pairwise(self.M, self.b, self.a, self.g, size, self._tolerance(), PAIRWISE_STEPS * size)
            self.order = 0
        self.accuracy = max(self._tolerance(), gap)
        return gap

    @property
    def rounds(self) -> bool:
        """True if rounding forced the latest ``solve`` to accept a larger gap than `tol`."""
        return self.accuracy > self.tol * np.abs(self.b[: self.size]).max()

    def _tolerance(self) -> float:
        return tolerance(self.tol, self.b[: self.size], self.M[: self.size, : self.size], self.a[: self.size])

    def _run(self) -> float:
        state = (self.M, self.b, self.a, self.g, self.size, self.U, self.support, self.s, self.order, self.shift)
        gap, self.order = _active_set(*state, self._tolerance(), 100 + 20 * self.size)
        return gap

    def _start_afresh(self) -> None:
        """Put all weight on the best coordinate."""
        self.a[:] = 0.0
        j = int(np.argmax(self.b[: self.size] - 0.5 * np.diag(self.M)[: self.size]))
        self.a[j], self.support[0], self.order = 1.0, j, 1
        self.U[0, 0] = np.sqrt(self.M[j, j] + self.shift)
        self.s[0] = 1.0 / self.U[0, 0]
        self.g[: self.size] = self.b[: self.size] - self.M[: self.size, j]

    def _grow(self) -> None:
        size = len(self.b)
        for name in ("M", "U"):
            larger = np.zeros((2 * size, 2 * size + 8))  # columns far from a power of two apart: those share cache sets
            larger[:size, :size] = getattr(self, name)[:, :size]
            setattr(self, name, larger)
        for name in ("b", "a", "g", "support", "s"):
            setattr(self, name, np.concatenate((getattr(self, name), np.zeros_like(getattr(self, name)))))
