"""The convex hull of some corners of the dual domain, and the best point in it, for cutting planes and FCFW.

A corner (w_s, ell_s) is what a batch of n oracle answers adds up to. For the 1-slack cutting plane it is the constraint
<w, lam w_s> >= ell_s - xi. Maximising over the multipliers of these constraints, or over the weights of the corners as
fully corrective Frank-Wolfe does, is the same quadratic program over the simplex,

    max_a  sum_j a_j ell_j - lam/2 ||sum_j a_j w_j||^2,    and then  w = sum_j a_j w_j,  ell = sum_j a_j ell_j.

Where some weights must not be negative, w = max(sum_j a_j w_j, 0) there, in both (``clipped_qp``).

Memory for m corners: 8 d bytes each, m rounded up to a multiple of ``ROWS``, and at most 64 m (m + 4) bytes (m >= 8) for the
two matrices of ``SimplexQP``; m is the largest number of corners that there ever were. While a maximum under constraints is
sought, four more such matrices, and the constrained coordinates of the corners once or twice more.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fwexp.blocks.projections import clip
from fwexp.jit.compilation import njit
from fwexp.problems.constraints import public_indices
from fwexp.problems.protocol import from_public, new_weights, product, to_public
from fwexp.solvers import clipped_qp
from fwexp.solvers.growing_qp import SimplexQP

ROWS = 16  # corners that lie side by side, a multiple of 4; memory grows by so many, without copying


@njit(fastmath=True)
def _products(rows, count, v, out):
    """Set ``out`` to the inner products of the first ``count`` rows with v, four rows at a time."""
    k = 0
    while k < count:
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for j in range(len(v)):
            t0 += r0[j] * v[j]
            t1 += r1[j] * v[j]
            t2 += r2[j] * v[j]
            t3 += r3[j] * v[j]
        out[k], out[k + 1], out[k + 2], out[k + 3] = t0, t1, t2, t3
        k += 4


@njit
def _combine(rows, count, a, out):
    """Add the combination of the first ``count`` rows with weights a to ``out``, four rows at a time."""
    k = 0
    while k < count:
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        a0, a1, a2, a3 = a[k], a[k + 1], a[k + 2], a[k + 3]
        for j in range(len(out)):
            out[j] += (a0 * r0[j] + a1 * r1[j]) + (a2 * r2[j] + a3 * r3[j])
        k += 4


@dataclass
class Corners:
    """All that a hull changes; belongs to a solver's state."""

    w: np.ndarray  # the best point as of the latest ``maximise``, as internal weights
    ell: float
    qp: SimplexQP
    chunks: list[np.ndarray] = field(default_factory=list)  # the corners, ROWS x d each


def new_corners(problem, tol: float) -> Corners:
    """Return no corners yet; the quadratic program is to be solved to a gap of at most ``tol`` times the largest ell."""
    return Corners(new_weights(problem), 0.0, SimplexQP(tol))


class Hull:
    """Corners, added one at a time, and the maximum of the dual over their convex hull: w (internal weights) and ell."""

    def __init__(self, problem, lam: float, corners: Corners) -> None:
        self.problem, self.lam, self.corners = problem, lam, corners
        self._index = public_indices(problem)  # of the weights that must not be negative

    @property
    def w(self) -> np.ndarray:
        return self.corners.w

    @property
    def ell(self) -> float:
        return self.corners.ell

    @property
    def qp(self) -> SimplexQP:
        """The quadratic program over the weights of the corners."""
        return self.corners.qp

    def __len__(self) -> int:
        return self.qp.size

    @property
    def weights(self) -> np.ndarray:
        """Weights of the corners at the maximum, float64 (len,)."""
        return self.qp.a[: len(self)]

    @property
    def dual(self) -> float:
        """D = ell - lam/2 ||w||^2."""
        return self.ell - 0.5 * self.lam * product(self.w, self.w)

    @property
    def slack(self) -> float:
        """xi = max_j ell_j - lam <w_j, w>, taken on by all corners with weight."""
        return self.ell - self.lam * product(self.w, self.w)

    @property
    def accuracy(self) -> float:
        """The gap to which the quadratic program is solved."""
        return self.qp.accuracy

    @property
    def rounds(self) -> bool:
        """True if rounding prevents the quadratic program from being solved to its tolerance."""
        return len(self) > 0 and self.qp.rounds

    def violation(self, w_s: np.ndarray, ell_s: float) -> float:
        """Return by how much a corner exceeds the slack: the Frank-Wolfe gap in its direction."""
        return ell_s - self.lam * product(w_s, self.w) - self.slack

    def add_start(self) -> None:
        """Add the corner w = 0, ell = 0 of the true labelings, the constraint xi >= 0."""
        self._append(np.zeros(self.problem.d), 0.0)
        self.maximise()

    def add(self, w_s: np.ndarray, ell_s: float) -> bool:
        """Add a corner, to be used by ``maximise``, unless it is violated by no more than ``accuracy``."""
        if len(self) > 0 and self.violation(w_s, ell_s) <= self.accuracy:
            return False
        self._append(to_public(self.problem, w_s), ell_s)
        return True

    def discard(self, k: int) -> None:
        """Remove a corner of weight 0; the last one takes its place."""
        self._row(k)[:] = self._row(len(self) - 1)
        self.qp.discard(k)
        del self.corners.chunks[-(-len(self) // ROWS) :]

    def maximise(self) -> None:
        """Move to the best point."""
        if len(self._index) > 0:
            rows = [rows[:count, self._index] for _, count, rows in self._used()]
            clipped_qp.maximise(self.qp, np.concatenate(rows), self.lam)
        else:
            self.qp.solve()
        a = np.zeros(ROWS * len(self.corners.chunks))
        a[: len(self)] = self.weights
        w = np.zeros(self.problem.d)
        for start, count, rows in self._used():
            _combine(rows, count, a[start:], w)
        self.corners.w = from_public(self.problem, clip(self._index, w))
        self.corners.ell = float(self.weights @ self.qp.b[: len(self)])

    def rescaled(self, lam: float) -> "Hull":
        """Return the hull of the same corners at another lam, at its best point: w_s is proportional to 1/lam."""
        other = Hull(self.problem, lam, new_corners(self.problem, self.qp.tol))
        for k in range(len(self)):
            other._append(self._row(k) * (self.lam / lam), self.qp.b[k])
        if len(other) > 0:
            other.maximise()
        return other

    def compile(self) -> None:
        """Compile what the methods need."""
        other = Hull(self.problem, self.lam, new_corners(self.problem, self.qp.tol))
        for _ in range(2):
            other._append(np.zeros(self.problem.d), 0.0)
            other.maximise()

    def _append(self, w_s: np.ndarray, ell_s: float) -> None:
        k = len(self)
        if k == ROWS * len(self.corners.chunks):
            self.corners.chunks.append(np.zeros((ROWS, self.problem.d)))
        products, free = np.empty(ROWS * len(self.corners.chunks)), w_s
        if len(self._index) > 0:
            free = w_s.copy()
            free[self._index] = 0.0
        for start, count, rows in self._used():
            _products(rows, count, free, products[start:])
        self._row(k)[:] = w_s
        self.qp.add(self.lam * products[:k], self.lam * product(free, free), ell_s)

    def _row(self, k: int) -> np.ndarray:
        return self.corners.chunks[k // ROWS][k % ROWS]

    def _used(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield (number of its first corner, corners in it, rows) of every chunk."""
        for start, rows in zip(range(0, len(self), ROWS), self.corners.chunks, strict=False):
            yield start, min(ROWS, len(self) - start), rows
