"""The pieces of the regularisation path (Osokin et al., ICML 2016, Section 4), on enumerated problems."""

import numpy as np


def lam_infinity(tp, eps):
    """Return the largest break point 1/eps (||psi~||^2 + 1/n sum_i theta_i) and the dual point of its weights.

    psi~ = 1/n sum_i psi_i(y~_i) with y~_i = argmax L_i, theta_i = max_y -<psi~, psi_i(y)>. For every lam from there up
    the dual point (all mass on y~_i) has a gap of at most eps.
    """
    alpha = [np.eye(len(L))[tp.argmax(i, np.zeros(tp.d))] for i, L in enumerate(tp.loss)]
    mean = sum(a @ psi for a, psi in zip(alpha, tp.psi, strict=True)) / tp.n
    theta = [(-psi @ mean).max() for psi in tp.psi]
    return (mean @ mean + np.mean(theta)) / eps, alpha


def change_lam(tp, alpha, rho):
    """Proposition 1: the dual point at lam_new = rho lam_old that has the same w (wrong labelings times rho)."""
    result = [rho * a for a in alpha]
    for a, j in zip(result, tp.truth, strict=True):
        a[j] += 1 - rho
    return result


def gap_slope(tp, alpha, w):
    """Delta(a, lam) of Prop. 1: 1/n sum_i sum_y a_i(y) H_i(y; w); the gap grows by (1 - rho) Delta, eq. (11)."""
    return sum(a @ tp.scores(i, w) for i, a in enumerate(alpha)) / tp.n
