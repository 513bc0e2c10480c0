"""Quadratic programs over the simplex, with weights that must not be negative: those of ``hull`` under constraints.

    max_a  D(a) = b'a - 1/2 a'Ma - lam/2 ||max(R'a, 0)||^2    s.t.  a >= 0, sum a = 1

where M comes from the free coordinates of the corners, and the rows of R are their constrained coordinates. D is concave and
piecewise quadratic, and its gradient g = b - M a - lam R max(R'a, 0) is continuous. ``gap = max g - a'g`` bounds the distance
to the optimal value.

Newton's method: with P the coordinates where R'a > 0, the maximum of the quadratic function that takes these as they are
and the others as 0 is that of a ``SimplexQP``, with M + lam R_P R_P'. The way there rises, for both functions have the same
gradient at a; how far to go is found exactly. A full step that finds P confirmed ends at the optimum. After a step that
was cut short comes one towards the maximum of a lower bound of D that takes all constrained coordinates as they are,

    D(a + s) >= D(a) + g's - 1/2 s'(M + lam R R')s,

for ||max(u + s, 0)||^2 <= ||max(u, 0)||^2 + 2 <max(u, 0), s> + ||s||^2. Such steps alone would converge, if slowly. Both maxima
are over the corners that have weight or a gradient above the mean a'g, the best of all among them.
"""

import numpy as np

from fwexp.blocks.projections import exact_step
from fwexp.solvers.growing_qp import SimplexQP, tolerance

NEWTON_STEPS = 500  # of Newton, at most


def maximise(qp: SimplexQP, rows: np.ndarray, lam: float) -> float:
    """Maximise D over ``qp.a``, given M and b in ``qp`` and R in ``rows``; set ``qp.accuracy`` and return the gap."""
    m = qp.size
    M, b, a = qp.M[:m, :m], qp.b[:m], qp.a[:m]
    if not a.any():
        a[np.argmax(b)] = 1.0
    sizes = np.abs(rows)

    def accepted() -> float:
        return tolerance(qp.tol, b, M, a, lam * (sizes @ (a @ sizes)))

    for _ in range(NEWTON_STEPS):
        g, gap, u = _gradient(M, b, a, rows, lam)
        if gap <= accepted():
            break
        used = np.flatnonzero((a > 0.0) | (g > a @ g))  # the others would get no weight, or little
        square = M[np.ix_(used, used)]
        positive = rows[np.ix_(used, np.flatnonzero(u > 0.0))]
        step = _go(a, g, used, _solved(b[used], square + lam * (positive @ positive.T), 0.1 * qp.tol), M, rows, lam)
        if step == 1.0:
            continue
        g = _gradient(M, b, a, rows, lam)[0]
        full = square + lam * (rows[used] @ rows[used].T)
        if _go(a, g, used, _solved(g[used] + full @ a[used], full, 0.1 * qp.tol), M, rows, lam) == step == 0.0:
            break  # rounding is in the way
    gap = _gradient(M, b, a, rows, lam)[1]
    qp.order = 0  # there is no factor that goes with a
    qp.accuracy = max(accepted(), gap)
    return gap


def _gradient(M, b, a, rows, lam) -> tuple[np.ndarray, float, np.ndarray]:
    """Return g, the gap and R'a."""
    u = a @ rows
    g = b - M @ a - lam * (rows @ np.maximum(u, 0.0))
    return g, float(g.max() - a @ g), u


def _go(a, g, used, values, M, rows, lam) -> float:
    """Move a towards the point that is ``values`` at ``used``, else 0, as far as D rises; return the share of the way."""
    target = np.zeros_like(a)
    target[used] = values
    change = target - a
    step = exact_step(float(g @ change), float(change @ M @ change), a @ rows, change @ rows, lam)
    a[:] = target if step == 1.0 else a + step * change
    return step


def _solved(b: np.ndarray, M: np.ndarray, tol: float) -> np.ndarray:
    """Return the maximum of b'a - 1/2 a'Ma over the simplex."""
    m = len(b)
    a, g, s = np.zeros((3, m))
    qp = SimplexQP(tol, m, 0.0, np.ascontiguousarray(M), b, a, g, np.zeros((m, m)), np.zeros(m, dtype=np.int64), s)
    qp.solve()
    return qp.a
