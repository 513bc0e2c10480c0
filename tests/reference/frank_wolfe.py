"""Frank-Wolfe and subgradient methods of Lacoste-Julien et al. (ICML 2013), literally, with every w_i in R^d."""

from typing import NamedTuple

import numpy as np

from .averages import make_run
from .problem import dual_matrices, start


def clipped_step(numerator, denominator, upper=1.0):
    """Minimiser over [0, upper] of denominator/2 g^2 - numerator g; for a flat direction the end it leans to.

    The published code adds eps to the denominator instead, which only matters where corner and block coincide.
    """
    if denominator <= 0:
        return upper if numerator > 0 else 0.0
    return float(np.clip(numerator / denominator, 0.0, upper))


class Query(NamedTuple):
    """All that an approximate oracle may look at: step, example, iterate and the block's own point."""

    k: int
    i: int
    w: np.ndarray
    w_i: np.ndarray
    ell_i: float
    lam: float


def exact_oracle(tp, query):
    """Loss-augmented decoding, eq. (2)."""
    return tp.argmax(query.i, query.w)


def degraded_oracle(nu=1.0, delta=0.0, curvature=None):
    """Return the worst oracle that eq. (13) allows: (12) for delta = 0, (11) for nu = 1; ``curvature[i]`` is C_f^(i).

    It returns the labeling with the smallest gap among those whose gap is at least
    nu gap_i - 1/2 delta gamma_k C_f^(i), where gamma_k = 2n/(nu k + 2n).
    """

    def oracle(tp, query):
        gaps = tp.scores(query.i, query.w) / tp.n + query.lam * query.w_i @ query.w - query.ell_i
        slack = delta * tp.n / (nu * query.k + 2 * tp.n) * curvature[query.i] if delta else 0.0
        allowed = np.flatnonzero(gaps >= min(nu * gaps.max() - slack, gaps.max()))  # a gap of 0 may round below 0
        return int(allowed[gaps[allowed].argmin()])

    return oracle


def fw(tp, lam, steps, line_search=True):
    """Batch Frank-Wolfe, Algorithm 2; without line search gamma = 2/(k + 2) (Algorithm 1)."""
    w, ell = np.zeros(tp.d), 0.0  # line 1
    ws, ells = [w], [ell]
    for k in range(steps):  # line 2
        corners = [tp.corner(i, tp.argmax(i, w), lam) for i in range(tp.n)]  # lines 3-4: y_i* of every example
        w_s, ell_s = sum(c[0] for c in corners), sum(c[1] for c in corners)  # line 5
        gap = lam * (w - w_s) @ w - ell + ell_s
        gamma = clipped_step(gap, lam * (w - w_s) @ (w - w_s)) if line_search else 2 / (k + 2)  # line 6
        w, ell = (1 - gamma) * w + gamma * w_s, (1 - gamma) * ell + gamma * ell_s  # line 7
        ws.append(w), ells.append(ell)
    return make_run(ws, ells)


def bcfw(tp, lam, order, line_search=True, oracle=exact_oracle, nu=1.0):
    """Block-coordinate Frank-Wolfe, Algorithm 4; without line search gamma = 2n/(nu k + 2n) (Algorithms 3, C.2).

    Parameters
    ----------
    order : sequence of int
        The example that each step visits.
    oracle : callable
        `exact_oracle` or a `degraded_oracle`; nu is the multiplicative accuracy that the predefined step assumes.
    """
    w, w_i = np.zeros(tp.d), np.zeros((tp.n, tp.d))  # line 1
    ell, ell_i = 0.0, np.zeros(tp.n)
    ws, ells = [w], [ell]
    for k, i in enumerate(order):  # lines 2-3
        j = oracle(tp, Query(k, i, w, w_i[i], ell_i[i], lam))  # line 4
        w_s, ell_s = tp.corner(i, j, lam)  # line 5
        gap_i = lam * (w_i[i] - w_s) @ w - ell_i[i] + ell_s  # line 6
        gamma = 2 * tp.n / (nu * k + 2 * tp.n)
        if line_search:
            gamma = clipped_step(gap_i, lam * (w_i[i] - w_s) @ (w_i[i] - w_s))
        new_w_i = (1 - gamma) * w_i[i] + gamma * w_s  # line 7
        new_ell_i = (1 - gamma) * ell_i[i] + gamma * ell_s
        w, ell = w + new_w_i - w_i[i], ell + new_ell_i - ell_i[i]  # line 8
        w_i[i], ell_i[i] = new_w_i, new_ell_i
        ws.append(w), ells.append(ell)
    return make_run(ws, ells)


def dual_points(tp, lam, visits, line_search=True):
    """Frank-Wolfe on the dual variables themselves, through A and b: a^(0), a^(1), ...

    A step visits one block (Algorithm 3) or all (Algorithm 1); the predefined step is 2n/(mk + 2n) for m of them.
    """
    A, b, blocks = dual_matrices(tp, lam)
    points = [np.concatenate(start(tp))]
    for k, visited in enumerate(visits):
        a, s = points[-1], points[-1].copy()
        for i in visited:
            s[blocks[i]] = np.eye(len(blocks[i]))[tp.argmax(i, A @ a)]  # argmin <s, grad_(i) f>, f = -D
        gamma = 2 * tp.n / (len(visited) * k + 2 * tp.n)
        if line_search:
            gradient = lam * A.T @ (A @ a) - b
            gamma = clipped_step((a - s) @ gradient, lam * (A @ (a - s)) @ (A @ (a - s)))
        points.append((1 - gamma) * a + gamma * s)
    return np.array(points)


def ssg(tp, lam, order):
    """Stochastic subgradient method with the Pegasos step 1/(lam (k + 1)), k from 0 (Appendix F); no dual point."""
    ws = [np.zeros(tp.d)]
    for k, i in enumerate(order):
        w = ws[-1]
        direction = lam * w - tp.psi[i][tp.argmax(i, w)]  # of lam/2 ||w||^2 + max_y H_i(y; w)
        ws.append(w - direction / (lam * (k + 1)))
    return make_run(ws)
