"""Cutting planes (Joachims, Finley, Yu 2009) and fully corrective Frank-Wolfe, on enumerated problems.

Parametrisation: lam/2 ||w||^2 + (mean slack), as everywhere in this package. Joachims' OP2 and OP3 minimise
1/2 ||w||^2 + (C/n) sum_i xi_i and 1/2 ||w||^2 + C xi with C = 1/lam; their objectives are ours divided by lam.
"""

from typing import NamedTuple

import numpy as np

from .problem import dual_value, primal
from .qp import simplex_qp


class Cuts(NamedTuple):
    """One entry per solved QP (the first: no constraint yet, w = 0): iterate, QP optimum, P(w), slack, oracle calls."""

    w: np.ndarray
    dual: np.ndarray
    primal: np.ndarray
    xi: np.ndarray
    calls: np.ndarray


def one_slack(tp, lam, eps=1e-8, max_iterations=1000, xi_nonnegative=True, tol=1e-12):
    """1-slack cutting plane with margin rescaling (Joachims et al. 2009, Algorithm 3), no constraint ever removed.

    min lam/2 ||w||^2 + xi  s.t.  <w, psibar_j> >= Lbar_j - xi for all planes j (and xi >= 0 if ``xi_nonnegative``),
    where psibar, Lbar are means over the examples. Stops when the newest plane is violated by at most eps.
    """
    planes, losses = [], []  # line 2: the working set
    if xi_nonnegative:
        planes, losses = [np.zeros(tp.d)], [0.0]  # 0 >= 0 - xi
    w, xi, value, rows = np.zeros(tp.d), 0.0, 0.0, []
    for iteration in range(max_iterations):  # line 3
        rows.append((w, value, primal(tp, w, lam), xi, iteration * tp.n))
        labels = [tp.argmax(i, w) for i in range(tp.n)]  # lines 5-7
        plane = sum(psi[j] for psi, j in zip(tp.psi, labels, strict=True)) / tp.n
        loss = sum(L[j] for L, j in zip(tp.loss, labels, strict=True)) / tp.n
        if loss - w @ plane <= xi + eps:  # line 9
            break
        planes.append(plane), losses.append(loss)  # line 8
        a = _solve(planes, losses, [np.arange(len(losses))], lam, tol)  # line 4, by its dual
        w, value = _primal_dual(planes, losses, a, lam)
        xi = max(L - w @ psi for psi, L in zip(planes, losses, strict=True))
    return _cuts(rows)


def n_slack(tp, lam, eps=1e-8, max_rounds=200, tol=1e-12):
    """n-slack cutting plane with margin rescaling (Joachims et al. 2009, Algorithm 1), no constraint ever removed.

    min lam/2 ||w||^2 + 1/n sum_i xi_i  s.t.  xi_i >= 0,  <w, psi_i(y)> >= L_i(y) - xi_i for y in the working set W_i.
    One constraint at a time; the QP is solved again after each.
    """
    work = [[j] for j in tp.truth]  # line 2: the true labeling stands for xi_i >= 0
    w, value, xi = np.zeros(tp.d), 0.0, np.zeros(tp.n)
    rows, calls, changed = [(w, value, primal(tp, w, lam), 0.0, 0)], 0, True
    for _ in range(max_rounds):  # line 3: until no W_i has changed
        changed = False
        for i in range(tp.n):  # line 4
            j, calls = tp.argmax(i, w), calls + 1  # line 5
            if tp.scores(i, w)[j] > xi[i] + eps:  # line 6
                work[i].append(j)  # line 7
                changed = True
                w, value, xi = _solve_n_slack(tp, lam, work, tol)  # line 8
                rows.append((w, value, primal(tp, w, lam), xi.mean(), calls))
        if not changed:
            break
    return _cuts(rows)


def fcfw(tp, lam, steps, tol=1e-12, start_is_atom=True):
    """Fully corrective Frank-Wolfe on the dual: optimise over the convex hull of all corners s_0 ... s_t seen so far.

    With ``start_is_atom`` the start (all mass on the true labelings: w = 0, ell = 0) belongs to the hull. Returns
    `Cuts` with xi = the support function of the hull's corners, so that it can be laid beside `one_slack`.
    """
    atoms, ells = ([np.zeros(tp.d)], [0.0]) if start_is_atom else ([], [])
    w, value, xi, rows = np.zeros(tp.d), 0.0, 0.0, []
    for t in range(steps + 1):
        rows.append((w, value, primal(tp, w, lam), xi, t * tp.n))
        corners = [tp.corner(i, tp.argmax(i, w), lam) for i in range(tp.n)]
        atoms.append(sum(c[0] for c in corners)), ells.append(sum(c[1] for c in corners))
        mix = simplex_qp(np.array(atoms).T, np.array(ells), [np.arange(len(ells))], lam, tol)
        w, ell = mix @ np.array(atoms), mix @ np.array(ells)
        value, xi = dual_value(w, ell, lam), max(e - lam * w @ s for s, e in zip(atoms, ells, strict=True))
    return _cuts(rows)


def _solve(planes, losses, blocks, lam, tol):
    """Multipliers of the constraints: columns psi/lam, entries L (4), with one simplex per slack variable."""
    return simplex_qp(np.array(planes).T / lam, np.array(losses), blocks, lam, tol)


def _primal_dual(planes, losses, a, lam):
    w = a @ np.array(planes) / lam
    return w, dual_value(w, a @ np.array(losses), lam)


def _solve_n_slack(tp, lam, work, tol):
    planes = [tp.psi[i][j] / tp.n for i, labels in enumerate(work) for j in labels]
    losses = [tp.loss[i][j] / tp.n for i, labels in enumerate(work) for j in labels]
    ends = np.cumsum([len(labels) for labels in work])
    blocks = [np.arange(end - len(labels), end) for end, labels in zip(ends, work, strict=True)]
    w, value = _primal_dual(planes, losses, _solve(planes, losses, blocks, lam, tol), lam)
    return w, value, np.array([tp.scores(i, w)[labels].max() for i, labels in enumerate(work)])


def _cuts(rows):
    return Cuts(*(np.array(column) for column in zip(*rows, strict=True)))
