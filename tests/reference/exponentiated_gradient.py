"""Online exponentiated gradient (Collins et al. 2008) with the settings of Lacoste-Julien et al. (2013, App. F)."""

from typing import NamedTuple

import numpy as np

from .averages import Run, make_run
from .problem import dual_value


class EGRun(NamedTuple):
    """Iterates, the final step sizes, and the oracle calls made before each iterate (cumulative)."""

    run: Run
    eta: np.ndarray
    calls: np.ndarray


def online_eg(tp, lam, order, eta=0.5, halvings=(2, 5), growth=1.05):
    """Online EG on explicit distributions over the labelings, started from the uniform ones.

    Step on example i: a_i(y) <- a_i(y) exp(eta_i H_i(y; w)) / Z (the exponent is eta_i times the loss-augmented
    scores, not eta_i/n times them). eta_i is halved until D improves, at most 2 times in the first n steps and 5 times
    after; if D improved at no trial, the block stays as it was. Then eta_i <- 1.05 eta_i. Every trial evaluates D and
    costs one call of the expectation oracle.
    """
    log_a = [np.full(len(L), -np.log(len(L))) for L in tp.loss]
    image = np.array([_image(tp, lam, i, log_a[i]) for i in range(tp.n)])  # rows (w_i, ell_i)
    etas, point = np.full(tp.n, eta), image.sum(axis=0)
    points, calls = [point], [0]
    for k, i in enumerate(order):
        most = halvings[0] if k < tp.n else halvings[1]
        scores = tp.scores(i, point[:-1])
        for halved in range(most + 1):
            candidate = _update(log_a[i], etas[i], scores)
            new = point - image[i] + _image(tp, lam, i, candidate)
            if _dual(new, lam) > _dual(point, lam):
                log_a[i], image[i], point = candidate, _image(tp, lam, i, candidate), new
                break
            etas[i] /= 2 if halved < most else 1
        etas[i] *= growth
        points.append(point), calls.append(calls[-1] + halved + 1)
    points = np.array(points)
    return EGRun(make_run(points[:, :-1], points[:, -1]), etas, np.array(calls))


def _update(log_a, eta, scores):
    """log of a exp(eta scores)/Z."""
    log_a = log_a + eta * scores
    return log_a - np.logaddexp.reduce(log_a)


def _image(tp, lam, i, log_a):
    """(w_i, ell_i) = (A a_i, b'a_i) as one vector."""
    a = np.exp(log_a)
    return np.append(a @ tp.psi[i] / (lam * tp.n), a @ tp.loss[i] / tp.n)


def _dual(point, lam):
    return dual_value(point[:-1], point[-1], lam)
