"""Accurate optimum of the enumerated dual QP, by an active-set method; every answer carries its own duality gap."""

from typing import NamedTuple

import numpy as np

from .problem import dual, dual_matrices, primal, weights

RANK = 1e-10  # singular values below this share of the largest count as zero


class Optimum(NamedTuple):
    """Solution of (4): the dual point (one array per block), w = A a, D(a), P(w) and their difference."""

    alpha: list
    w: np.ndarray
    dual: float
    primal: float
    gap: float


def qp_optimum(tp, lam, tol=1e-10):
    """Return the optimum of the dual (4), with P(w) - D(a) <= tol computed from scratch."""
    A, b, blocks = dual_matrices(tp, lam)
    a = simplex_qp(A, b, blocks, lam, tol / 10)
    alpha = [a[block] for block in blocks]
    w = weights(tp, alpha, lam)
    result = Optimum(alpha, w, dual(tp, alpha, lam), primal(tp, w, lam), primal(tp, w, lam) - dual(tp, alpha, lam))
    assert result.gap <= tol, f"QP not solved: gap {result.gap:.3g}"
    return result


def simplex_qp(A, b, blocks, lam, tol=1e-11, a=None, max_steps=20_000):
    """Maximise b'a - lam/2 ||A a||^2 over the product of the simplices of ``blocks``, to a Frank-Wolfe gap of tol.

    Alternates between the exact optimum over the coordinates in use and adding the best coordinate of the block with
    the largest gap (a fully corrective Frank-Wolfe method that can drop coordinates, like Wolfe's minimum-norm-point
    algorithm). ``a`` is where to start; by default the first coordinate of every block has all the mass.
    """
    if a is None:
        a = np.zeros(len(b))
        a[[block[0] for block in blocks]] = 1.0
    active = a > 0
    for _ in range(max_steps):
        a, active = _minimise_over_active(A, b, blocks, lam, a.copy(), active.copy())
        gradient = b - lam * A.T @ (A @ a)
        gaps = np.array([gradient[block].max() - a[block] @ gradient[block] for block in blocks])
        if gaps.sum() <= tol:
            return a
        worst = blocks[int(gaps.argmax())]
        active[worst[gradient[worst].argmax()]] = True
    raise AssertionError(f"QP not solved: gap {gaps.sum():.3g} after {max_steps} steps")


def _minimise_over_active(A, b, blocks, lam, a, active):
    """Move to the optimum over the active coordinates, dropping those that reach zero on the way."""
    while True:
        basis = _feasible_directions(blocks, active)
        p, unbounded = _newton_direction(A @ basis, basis.T @ (b - lam * A.T @ (A @ a)), lam)
        p = basis @ p
        shrinking = p < 0
        room = np.min(a[shrinking] / -p[shrinking], initial=np.inf)
        a = np.maximum(a + min(room, np.inf if unbounded else 1.0) * p, 0.0)
        if room >= 1 and not unbounded:
            return a, active
        dropped = shrinking & (a <= 1e-14)
        a[dropped], active[dropped] = 0.0, False
        for block in blocks:
            a[block] /= a[block].sum()


def _feasible_directions(blocks, active):
    """Columns e_j - e_base: a basis of the moves within the active coordinates that keep every block's sum."""
    columns = []
    for block in blocks:
        base, *others = block[active[block]]
        for j in others:
            column = np.zeros(len(active))
            column[j], column[base] = 1.0, -1.0
            columns.append(column)
    return np.array(columns).reshape(-1, len(active)).T


def _newton_direction(M, c, lam):
    """argmax_p c'p - lam/2 ||M p||^2, and whether the maximum is infinite (then p is a ray towards it)."""
    if M.shape[1] == 0:
        return np.zeros(0), False
    _, s, Vt = np.linalg.svd(M, full_matrices=True)
    rank = int((s > RANK * max(s.max(initial=0.0), 1e-300)).sum())
    flat = Vt[rank:].T @ (Vt[rank:] @ c)  # the part of c along which the quadratic term vanishes
    if np.abs(flat).max(initial=0.0) > 1e-13:
        return flat / np.abs(flat).max(), True
    return Vt[:rank].T @ ((Vt[:rank] @ c) / (lam * s[:rank] ** 2)), False
