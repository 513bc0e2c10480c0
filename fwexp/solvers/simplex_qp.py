"""Quadratic programs over the simplex, grown by one coordinate at a time.

    max_a  b'a - 1/2 a'Ma    s.t.  a >= 0, sum a = 1          (sum a <= 1: add a coordinate with M = 0 and b = 0)

with M a Gram matrix, possibly singular (planes may repeat or depend on each other affinely). At the optimum the gradient
g = b - M a is the same on the support of a and nowhere larger, so ``gap = max g - a'g`` is the test for optimality; it
bounds the distance to the optimal value.

The method is a primal active-set method. a is optimal on its support S, and the coordinate j with the largest g_j enters:
z is the direction with z_j = 1, sum z = 0 along which the gradient stays equal on S, and the step along it ends at its
maximum (then j joins S) or where a coordinate of S becomes 0 (which leaves S; a new z follows). Every step raises the
objective, and no singular system is ever solved: j joins only where the objective is strictly concave along z. The
directions come from a triangular factor U'U = M_SS + c 11', which has full rank when the planes of S are affinely
independent (c > 0 changes nothing where sum z = 0), updated in O(|S|^2) as coordinates come and go, and from the solution s
of U's = 1, which is updated with it.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from fwexp.jit.kernels import njit, register_jitable

PAIRWISE_STEPS = 1000  # per coordinate, where the active-set method fails


@register_jitable
def _gradient(M, b, a, size, g):
    g[:size] = b[:size]
    for k in range(size):
        if a[k] != 0.0:
            weight, row = a[k], M[k]
            for j in range(size):
                g[j] -= weight * row[j]


@register_jitable
def _gap(a, g, size):
    """Return (max g - a'g, argmax g)."""
    best, mean = 0, 0.0
    for j in range(size):
        mean += a[j] * g[j]
        if g[j] > g[best]:
            best = j
    return g[best] - mean, best


@register_jitable
def _forward(U, m, x):
    """Solve U'y = x in place; U is upper triangular of order m."""
    for i in range(m):
        x[i] /= U[i, i]
        value, row = x[i], U[i]
        for j in range(i + 1, m):
            x[j] -= value * row[j]


@register_jitable
def _backward(U, m, x):
    """Solve U y = x in place."""
    for i in range(m - 1, -1, -1):
        row = U[i]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0  # four sums, for speed
        j = i + 1
        while j + 4 <= m:
            t0 += row[j] * x[j]
            t1 += row[j + 1] * x[j + 1]
            t2 += row[j + 2] * x[j + 2]
            t3 += row[j + 3] * x[j + 3]
            j += 4
        while j < m:
            t0 += row[j] * x[j]
            j += 1
        x[i] = (x[i] - ((t0 + t1) + (t2 + t3))) / row[i]


@register_jitable
def _append(U, support, s, m, j, r, square):
    """Extend the factor by coordinate j, with U'r = its column and ``square`` its diagonal entry."""
    product = 0.0
    for i in range(m):
        U[i, m] = r[i]
        square -= r[i] * r[i]
        product += r[i] * s[i]
    U[m, m] = math.sqrt(square) if square > 0.0 else np.nan
    s[m] = (1.0 - product) / U[m, m]
    support[m] = j


@register_jitable
def _drop(U, support, s, r, m, k):
    """Remove the k-th coordinate of the support from the factor of order m; s and r turn with it."""
    for j in range(k, m - 1):
        support[j] = support[j + 1]
    for i in range(m):
        row = U[i]
        for j in range(max(k, i - 1), m - 1):
            row[j] = row[j + 1]
    # Column j >= k now reaches one row below the diagonal: rotate rows j and j + 1.
    for j in range(k, m - 1):
        h = math.hypot(U[j, j], U[j + 1, j])
        cosine, sine = U[j, j] / h, U[j + 1, j] / h
        upper, lower = U[j], U[j + 1]
        upper[j] = h
        for i in range(j + 1, m - 1):
            x, y = upper[i], lower[i]
            upper[i] = cosine * x + sine * y
            lower[i] = cosine * y - sine * x
        for v in (s, r):
            x, y = v[j], v[j + 1]
            v[j] = cosine * x + sine * y
            v[j + 1] = cosine * y - sine * x


@register_jitable
def _move(a, support, m, z, limit):
    """Add t z to a on the support, t <= limit as large as a >= 0 allows; return t and the place that became 0 (or -1)."""
    blocking = -1
    for k in range(m):
        if z[k] < 0.0 and a[support[k]] < -z[k] * limit:
            limit, blocking = a[support[k]] / -z[k], k
    for k in range(m):
        a[support[k]] = max(a[support[k]] + limit * z[k], 0.0)
    if blocking >= 0:
        a[support[blocking]] = 0.0
    return limit, blocking


@register_jitable
def _squares(s, r, m):
    """Return (s's, s'r, r'r)."""
    ss, sr, rr = 0.0, 0.0, 0.0
    for k in range(m):
        ss += s[k] * s[k]
        sr += s[k] * r[k]
        rr += r[k] * r[k]
    return ss, sr, rr


@register_jitable
def _enter(M, a, g, j, U, support, m, shift, s, r, z):
    """Let coordinate j enter; return the new order of the factor."""
    square = M[j, j] + shift
    for k in range(m):
        r[k] = M[j, support[k]] + shift
    _forward(U, m, r)
    slope = np.nan
    while m > 0:
        ss, sr, rr = _squares(s, r, m)
        multiplier = (sr - 1.0) / ss
        for k in range(m):
            z[k] = multiplier * s[k] - r[k]
        _backward(U, m, z)
        if math.isnan(slope):
            slope = g[j]
            for k in range(m):
                slope += z[k] * g[support[k]]
        curvature = square - rr + multiplier * multiplier * ss
        t, blocking = _move(a, support, m, z, slope / curvature if curvature > 0.0 else np.inf)
        a[j] += t
        if blocking < 0:
            break
        # The gradient is still the same on what remains of the support.
        slope -= t * curvature
        _drop(U, support, s, r, m, blocking)
        m -= 1
    if m == 0:
        a[j] = 1.0
    _append(U, support, s, m, j, r, square)
    return m + 1


@register_jitable
def _correct(a, g, U, support, m, s, r, z):
    """Take a Newton step on the support, which undoes what rounding did; return the new order of the factor."""
    for k in range(m):
        r[k] = g[support[k]]
    _forward(U, m, r)
    ss, sr, _ = _squares(s, r, m)
    for k in range(m):
        z[k] = r[k] - sr / ss * s[k]
    _backward(U, m, z)
    _, blocking = _move(a, support, m, z, 1.0)
    if blocking >= 0:
        _drop(U, support, s, r, m, blocking)
        m -= 1
    return m


@njit
def _active_set(M, b, a, g, size, U, support, s, m, shift, tol, max_steps):
    """Maximise from a, whose gradient is g and whose support is factorised; modifies all five. Returns (gap, order of U).

    A gap above ``tol`` (or NaN) says that rounding was in the way.
    """
    r, z = np.empty(size), np.empty(size)
    before = np.inf
    gap = np.inf
    for _ in range(max_steps):
        gap, j = _gap(a, g, size)
        if not gap > tol:
            break
        inside = False
        for k in range(m):
            inside = inside or support[k] == j
        if not inside:
            m = _enter(M, a, g, j, U, support, m, shift, s, r, z)
        elif gap > 0.5 * before:
            break
        else:
            before = gap
            m = _correct(a, g, U, support, m, s, r, z)
        _gradient(M, b, a, size, g)
    total = 0.0
    for j in range(size):
        total += a[j]
    for j in range(size):
        a[j] /= total
    return gap, m


@njit
def _factorise(M, U, support, s, m, shift):
    """Factorise M_SS + shift 11'; return False where it is singular."""
    r = np.empty(m)
    for k in range(m):
        j = support[k]
        for i in range(k):
            r[i] = M[j, support[i]] + shift
        _forward(U, k, r)
        _append(U, support, s, k, j, r, M[j, j] + shift)
        if not U[k, k] > 1e-7 * math.sqrt(M[j, j] + shift):
            return False
    return True


@njit
def _pairwise(M, b, a, g, size, tol, max_steps):
    """Maximise by moving weight between two coordinates at a time (SMO); slow, but nothing can go wrong. Returns the gap."""
    _gradient(M, b, a, size, g)
    for _ in range(max_steps):
        gap, i = _gap(a, g, size)
        if gap <= tol:
            break
        j = -1
        for k in range(size):
            if a[k] > 0.0 and (j < 0 or g[k] < g[j]):
                j = k
        curvature, slope = M[i, i] + M[j, j] - 2.0 * M[i, j], g[i] - g[j]
        t = a[j] if slope >= a[j] * curvature else slope / curvature
        a[i] += t
        a[j] = 0.0 if t == a[j] else a[j] - t
        for k in range(size):
            g[k] += t * (M[j, k] - M[i, k])
    _gradient(M, b, a, size, g)
    return _gap(a, g, size)[0]


@dataclass
class SimplexQP:
    """max b'a - 1/2 a'Ma over the simplex; grows and shrinks, and starts from the solution before. A record.

    Attributes
    ----------
    tol : float
        ``solve`` ends with a gap of at most ``tol * max |b|``, or of what rounding in M a allows if that is more.
    size : int
        Number of coordinates.
    a : float64 array
        The solution, in its first ``size`` entries; so are ``b``, ``M`` and the gradient ``g`` = b - M a.
    U, support, s, order, shift
        The factor, of the coordinates ``support[:order]`` (see above).
    accuracy : float
        The gap that the latest ``solve`` had to reach, or the one it reached if that is larger.

    Notes
    -----
    Memory: two matrices, M and the factor, of at most 2 size (2 size + 8) numbers each, for the largest size so far.
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
        # M a is a sum of cancelling terms: its rounding error is what a gap cannot be smaller than.
        tol = max(self.tol * np.abs(self.b[:size]).max(), 4e-16 * scale)
        # A shift of another size than M costs digits; the one of M = 0 knows nothing of what comes.
        if self.order == 0 or scale > 4.0 * self.shift or 0.0 < scale < 1e-4 * self.shift:
            self.shift = scale if scale > 0.0 else 1.0
            if self.order == 0 or not _factorise(self.M, self.U, self.support, self.s, self.order, self.shift):
                self._start_afresh()
        gap = self._run(tol)
        if not gap <= tol:
            self._start_afresh()
            gap = self._run(tol)
        if not gap <= tol:
            if not np.isfinite(self.a[:size]).all():
                self._start_afresh()
            gap = _pairwise(self.M, self.b, self.a, self.g, size, tol, PAIRWISE_STEPS * size)
            self.order = 0
        self.accuracy = max(tol, gap)
        return gap

    def _run(self, tol: float) -> float:
        state = (self.M, self.b, self.a, self.g, self.size, self.U, self.support, self.s, self.order, self.shift)
        gap, self.order = _active_set(*state, tol, 100 + 20 * self.size)
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
