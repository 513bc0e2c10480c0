"""The pieces of the regularisation path (Osokin et al., ICML 2016, Section 4), on enumerated problems."""

import numpy as np

from .active_set import STEP_FUNCTIONS, State
from .block_solver import cached_corner, inverse_cdf


def lam_infinity(tp, eps):
    """Return the largest break point 1/eps (||psi~||^2 + 1/n sum_i theta_i) and the dual point of its weights.

    psi~ = 1/n sum_i psi_i(y~_i) with y~_i = argmax L_i, theta_i = max_y -<psi~, psi_i(y)>. For every lam from there up
    the dual point (all mass on y~_i) has a gap of at most eps.
    """
    alpha = [np.eye(len(L))[tp.argmax(i, np.zeros(tp.d))] for i, L in enumerate(tp.loss)]
    mean = sum(a @ psi for a, psi in zip(alpha, tp.psi, strict=True)) / tp.n
    theta = [(-psi @ mean).max() for psi in tp.psi]
    return (mean @ mean + np.mean(theta)) / eps, alpha


def published_path(tp, eps, kappa, draws, points, step="fw", cache=None, exact=True, refresh=10):
    """Section 4 as in the published code, with gap sampling: (lam, sum of the known gaps, steps, w) at each break point.

    A series of steps ends after ``refresh`` passes, and as soon as the known gaps sum to 0.8 kappa eps. Then all gaps are computed;
    a heuristic path goes on with the known ones instead. Known gaps that are not exact never fall with lam, and until all are
    computed the cache has no global criterion. ``draws`` are numbers in [0, 1), one per step.
    """
    n, (lam, alpha) = tp.n, lam_infinity(tp, kappa * eps)
    state, corners = State(tp, lam, drop_active=step == "fw"), [int(a.argmax()) for a in alpha]
    for i, j in enumerate(corners):
        state.w_i[i], state.ell_i[i] = tp.corner(i, j, lam)
        state.stored[i] = {tp.truth[i]: 0.0} | {j: 1.0}
    state.w, state.ell = state.w_i.sum(axis=0), state.ell_i.sum()
    # Upper bounds: at the corners, the gaps without losses.
    gaps = np.array([(-psi @ state.w).max() / n + state.lam * state.w_i[i] @ state.w for i, psi in enumerate(tp.psi)])
    found, is_exact, k = [(lam, gaps.sum(), 0, state.w)], False, 0
    while len(found) <= points:
        change, room = state.ell_i - state.lam * state.w_i @ state.w, eps - gaps.sum()
        if change.sum() <= room:
            break
        rho = 1 - room / change.sum()
        gaps = np.maximum(gaps + (1 - rho) * (change if is_exact else np.maximum(change, 0)), 0)
        state.lam, state.ell, state.ell_i = rho * state.lam, rho * state.ell, rho * state.ell_i
        for stored, j in zip(state.stored, tp.truth, strict=True):
            stored.update({label: rho * weight for label, weight in stored.items() if label != j})
            stored[j] = 1 - sum(weight for label, weight in stored.items() if label != j)
        total, end, is_exact = gaps.sum() if is_exact else 0.0, k + refresh * n, False
        while True:
            while k < end and gaps.sum() > 0.8 * kappa * eps:
                i = inverse_cdf(gaps, draws[k])
                j = None if cache is None else cached_corner(state, i, cache, gaps[i], total)
                if j is None:
                    j = tp.argmax(i, state.w)
                    gaps[i] = max(state.corner_gap(i, j), 0.0)
                state.store(i, j)
                STEP_FUNCTIONS[step](state, i, j)
                k += 1
            if not exact and gaps.sum() <= 0.8 * kappa * eps:
                break
            gaps, is_exact, end = state.exact_gaps(), True, k + refresh * n
            total = gaps.sum()
            if total <= kappa * eps:
                break
        found.append((state.lam, gaps.sum(), k, state.w))
    return found
