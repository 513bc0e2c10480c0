"""The binary SVM, where BCFW, dual coordinate descent and prox-SDCA (Option II) take the same steps.

All minimise lam/2 ||w||^2 + 1/n sum_i max(0, 1 - y_i <w, x_i>); ``X`` is (n, p), y in {-1, +1}.
"""

import numpy as np


def dual_coordinate_descent(X, y, C, order):
    """Hsieh et al. (2008), Algorithm 1, L1 loss, for 1/2 ||w||^2 + C sum_i hinge_i (C = 1/(lam n)); iterates w."""
    a, w = np.zeros(len(y)), np.zeros(X.shape[1])
    ws = [w]
    for i in order:
        G = y[i] * w @ X[i] - 1
        new = min(max(a[i] - G / (X[i] @ X[i]), 0.0), C)
        w, a[i] = w + (new - a[i]) * y[i] * X[i], new
        ws.append(w)
    return np.array(ws)


def prox_sdca(X, y, lam, order):
    """Shalev-Shwartz & Zhang (2012), Figure 1, Option II, hinge loss and l2 regularisation; iterates w.

    Moves a_i by s (u - a_i), where -u is a subgradient of the hinge at <w, x_i> and s in [0, 1] maximises
    -phi*(-(a_i + s z)) - s z <w, x_i> - s^2 z^2 ||x_i||^2/(2 lam n), with phi*(-a) = -y a and z = u - a_i.
    """
    n, a, w = len(y), np.zeros(len(y)), np.zeros(X.shape[1])
    ws = [w]
    for i in order:
        margin = w @ X[i]
        u = float(y[i]) if y[i] * margin < 1 else 0.0
        z = u - a[i]
        s = np.clip((y[i] - margin) * lam * n / (z * X[i] @ X[i]), 0.0, 1.0) if z else 0.0
        a[i] += s * z
        w = w + s * z * X[i] / (lam * n)
        ws.append(w)
    return np.array(ws)
