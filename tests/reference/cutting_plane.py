"""Cutting planes (Joachims, Finley, Yu 2009), on enumerated problems.

Parametrisation: lam/2 ||w||^2 + (mean slack), as everywhere in this package. Joachims' OP3 minimises
1/2 ||w||^2 + C xi with C = 1/lam; its objective is ours divided by lam.
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
        # line 4, by its dual: the multipliers of the constraints
        a = simplex_qp(np.array(planes).T / lam, np.array(losses), [np.arange(len(losses))], lam, tol)
        w = a @ np.array(planes) / lam
        value = dual_value(w, a @ np.array(losses), lam)
        xi = max(L - w @ psi for psi, L in zip(planes, losses, strict=True))
    return Cuts(*(np.array(column) for column in zip(*rows, strict=True)))
