"""Kernelised Frank-Wolfe methods (Lacoste-Julien et al. 2013, Appendix B.5): dual variables and a kernel, no w."""

from typing import NamedTuple

import numpy as np

from .averages import wavg
from .frank_wolfe import clipped_step
from .problem import first_argmax, start


class KernelRun(NamedTuple):
    """One entry per iterate: a and its weighted average (m,), D(a), P, and the support vectors (true labelings not)."""

    alpha: np.ndarray
    wavg: np.ndarray
    dual: np.ndarray
    primal: np.ndarray
    support: np.ndarray


def chain_kernel(tp, X, k, transitions=True):
    """k((x, y), (x', y')) = sum_{t, t'} k(x_t, x'_t') [y_t = y'_t'] (+ equal first, last labels and transitions)."""

    def kernel(i, a, j, b):
        y, z = np.array(tp.labelings[i][a]), np.array(tp.labelings[j][b])
        value = sum(k(X[i][s], X[j][t]) for s in range(len(y)) for t in range(len(z)) if y[s] == z[t])
        if transitions:
            same_step = (y[:-1, None] == z[None, :-1]) & (y[1:, None] == z[None, 1:])
            value += float(y[0] == z[0]) + float(y[-1] == z[-1]) + same_step.sum()
        return value

    return kernel


def multiclass_kernel(X, k):
    """k((x, y), (x', y')) = k(x, x') [y = y'], labels being their own indices."""
    return lambda i, a, j, b: k(X[i], X[j]) if a == b else 0.0


def psi_gram(tp, kernel):
    """<psi_i(y), psi_j(y')> of all pairs: k(i,yi; j,yj) - k(i,y; j,yj) - k(i,yi; j,y') + k(i,y; j,y')."""
    pairs = [(i, a) for i in range(tp.n) for a in range(len(tp.loss[i]))]
    K = np.array([[kernel(i, a, j, b) for j, b in pairs] for i, a in pairs])
    truth = np.concatenate([[pairs.index((i, tp.truth[i]))] * len(tp.loss[i]) for i in range(tp.n)])
    return K[np.ix_(truth, truth)] - K[:, truth] - K[truth, :] + K


class _Dual:
    """H_i, line search and objectives of the dual point a, all from the Gram matrix G of the psi's."""

    def __init__(self, tp, lam, kernel):
        self.n, self.lam, self.G = tp.n, lam, psi_gram(tp, kernel)
        self.L = np.concatenate(tp.loss)
        ends = np.cumsum([len(L) for L in tp.loss])
        self.blocks = [np.arange(end - len(L), end) for end, L in zip(ends, tp.loss, strict=True)]
        self.truth = np.array([block[j] for block, j in zip(self.blocks, tp.truth, strict=True)])

    def scores(self, a):
        """H_i(y; A a) = L_i(y) - <psi_i(y), A a>."""
        return self.L - self.G @ a / (self.lam * self.n)

    def step(self, a, s):
        """Line search from a towards s."""
        gap = (s - a) @ self.scores(a) / self.n
        return clipped_step(gap, (s - a) @ self.G @ (s - a) / (self.lam * self.n**2))

    def run(self, points):
        """Return the record of a run, objectives included."""
        squares = [a @ self.G @ a / (self.lam * self.n**2) for a in points]  # lam ||A a||^2
        dual = [a @ self.L / self.n - square / 2 for a, square in zip(points, squares, strict=True)]
        hinge = [np.mean([self.scores(a)[block].max() for block in self.blocks]) for a in points]
        primal = [h + square / 2 for h, square in zip(hinge, squares, strict=True)]
        support = [np.count_nonzero(np.delete(a, self.truth)) for a in points]
        return KernelRun(*map(np.array, (points, wavg(np.array(points)), dual, primal, support)))


def kernel_bcfw(tp, lam, order, kernel, line_search=True):
    """Algorithm B.1; ``kernel(i, a, j, b)`` is k between labeling a of example i and labeling b of example j."""
    problem = _Dual(tp, lam, kernel)
    a = np.concatenate(start(tp))
    points = [a]
    for k, i in enumerate(order):
        block = problem.blocks[i]
        s = a.copy()
        s[block] = 0.0
        s[block[first_argmax(problem.scores(a)[block])]] = 1.0  # s_(i) = e_{y_i*}
        gamma = problem.step(a, s) if line_search else 2 * tp.n / (k + 2 * tp.n)
        a = (1 - gamma) * a + gamma * s
        points.append(a)
    return problem.run(points)


def kernel_fw(tp, lam, steps, kernel, line_search=True):
    """Algorithm 2 with dual variables: batch Frank-Wolfe, for comparison."""
    problem = _Dual(tp, lam, kernel)
    a = np.concatenate(start(tp))
    points = [a]
    for k in range(steps):
        s, scores = np.zeros(len(a)), problem.scores(a)
        for block in problem.blocks:
            s[block[first_argmax(scores[block])]] = 1.0
        gamma = problem.step(a, s) if line_search else 2 / (k + 2)
        a = (1 - gamma) * a + gamma * s
        points.append(a)
    return problem.run(points)
