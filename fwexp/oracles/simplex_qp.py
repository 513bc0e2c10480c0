"""Kernels for quadratic programs over the simplex.

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

import numpy as np

from fwexp.jit.compilation import register_jitable

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
    """Add coordinate j to the support; return the new order of the factor."""
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
        # The gradient is still the same on the remaining support.
        slope -= t * curvature
        _drop(U, support, s, r, m, blocking)
        m -= 1
    if m == 0:
        a[j] = 1.0
    _append(U, support, s, m, j, r, square)
    return m + 1


@register_jitable
def _correct(a, g, U, support, m, s, r, z):
    """Take a Newton step on the support, which corrects rounding errors; return the new order of the factor."""
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


@register_jitable
def active_set(M, b, a, g, size, U, support, s, m, shift, tol, max_steps):
    """Maximise from a, whose gradient is g and whose support is factorised; modifies all five. Returns (gap, order of U)."""
    # A gap above ``tol`` (or NaN) is the effect of rounding.
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


@register_jitable
def factorise(M, U, support, s, m, shift):
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


@register_jitable
def pairwise(M, b, a, g, size, tol, max_steps):
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


@register_jitable
def maximise(M, b, a, g, size, U, support, s, tol):
    """Maximise b'a - 1/2 a'Ma over the simplex, all coordinates being there already; modifies all but M and b."""
    # The gap is at most ``tol`` unless rounding is in the way.
    best, shift = 0, 0.0
    for j in range(size):
        a[j] = 0.0
        shift = max(shift, M[j, j])
        if b[j] - 0.5 * M[j, j] > b[best] - 0.5 * M[best, best]:
            best = j
    shift = shift if shift > 0.0 else 1.0
    a[best], support[0] = 1.0, best
    U[0, 0] = math.sqrt(M[best, best] + shift)
    s[0] = 1.0 / U[0, 0]
    _gradient(M, b, a, size, g)
    gap, _ = active_set(M, b, a, g, size, U, support, s, 1, shift, tol, 100 + 20 * size)
    if not gap <= 1e6 * tol:
        for j in range(size):
            a[j] = 1.0 if j == best else 0.0
        pairwise(M, b, a, g, size, tol, PAIRWISE_STEPS * size)
