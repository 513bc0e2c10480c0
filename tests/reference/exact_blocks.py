"""Block-coordinate ascent with exact blocks for multiclass SVMs: each visit is a projection onto the simplex, by sorting.

With n times the dual

    sum_i sum_k a_ik L_ik - lam n/2 ||W||^2,   W = 1/(lam n) sum_i c_i x_i (e_{y_i} - a_i)',   a_i in the simplex,

where L_ik = c_i L(y_i, k), all of a_i is moved to the maximum while the others stay.
"""

from typing import NamedTuple

import numpy as np


class Ascent(NamedTuple):
    """After each step, and before the first: W (p, K) and the dual; of each step the block gap before it, times n."""

    W: list
    dual: list
    gaps: list


def project(v):
    """Return the closest point of the simplex (Held, Wolfe and Crowder 1974)."""
    u = np.sort(v)[::-1]
    excess = np.cumsum(u) - 1.0
    support = np.flatnonzero(u * np.arange(1, len(v) + 1) > excess)[-1]
    return np.maximum(v - excess[support] / (support + 1), 0.0)


def exact_ascent(X, y, costs, lam, order, c=None):
    """Run block-coordinate ascent; ``order`` are the examples that are visited."""
    X, K = np.asarray(X, dtype=float), len(costs)
    n, c = len(X), np.ones(len(X)) if c is None else np.asarray(c) / np.mean(c)
    a, truth = np.eye(K)[y], np.eye(K)[y]
    run = Ascent([], [], [])

    def note():
        run.W.append((X * c[:, None]).T @ (truth - a) / (lam * n))
        run.dual.append(np.mean(c * (a * costs[y]).sum(axis=1)) - lam / 2 * (run.W[-1] ** 2).sum())

    note()
    for i in order:
        H = c[i] * (costs[y[i]] - (truth[i] - np.eye(K)) @ (X[i] @ run.W[-1]))
        run.gaps.append(H.max() - a[i] @ H)
        curvature = c[i] ** 2 * (X[i] @ X[i]) / (lam * n)
        a[i] = project(a[i] + H / curvature) if curvature > 0 else np.eye(K)[H.argmax()]
        note()
    return run
