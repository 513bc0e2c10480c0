"""Enumerated structural SVMs: every labeling of every example written out, so that nothing needs an oracle.

Notation of Lacoste-Julien et al. (ICML 2013), Section 2::

    P(w) = lam/2 ||w||^2 + 1/n sum_i max_y H_i(y; w),      H_i(y; w) = L_i(y) - <w, psi_i(y)>      (1)-(3)
    D(a) = b'a - lam/2 ||A a||^2,                          psi_i(y) = phi(x_i, y_i) - phi(x_i, y)  (4)
    A has the columns psi_i(y)/(lam n), b the entries L_i(y)/n, and a_i lies in the simplex over Y_i.
"""

from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

TIE = 1e-12  # scores closer than this (relative to their size) count as tied


@dataclass(frozen=True)
class TinyProblem:
    """A structural SVM with enumerated labelings.

    Attributes
    ----------
    psi : tuple of (m_i, d) arrays
        ``psi[i][j]`` is psi_i of the j-th labeling of example i.
    loss : tuple of (m_i,) arrays
        ``loss[i][j]`` is L_i of the j-th labeling.
    labelings : tuple of lists
        The labelings themselves (tuples of labels). Where several attain a maximum, the first one wins.
    truth : tuple of int
        Index of the true labeling of each example; its psi and its loss are 0.
    """

    psi: tuple
    loss: tuple
    labelings: tuple
    truth: tuple

    @property
    def n(self):
        """Number of examples."""
        return len(self.psi)

    @property
    def d(self):
        """Dimension of w."""
        return self.psi[0].shape[1]

    def scores(self, i, w):
        """H_i(y; w) of every labeling y of example i."""
        return self.loss[i] - self.psi[i] @ w

    def argmax(self, i, w):
        """Index of the first labeling that maximises H_i(y; w); ties are ties up to rounding."""
        return first_argmax(self.scores(i, w))

    def decode(self, i, w):
        """Index of the first labeling that maximises <w, phi(x_i, y)>: the prediction, without the loss."""
        return first_argmax(-self.psi[i] @ w)

    def error(self, w):
        """Mean task loss of the predictions."""
        return np.mean([self.loss[i][self.decode(i, w)] for i in range(self.n)])

    def corner(self, i, j, lam):
        """w_s = psi_i(y_j)/(lam n) and ell_s = L_i(y_j)/n: the images of the j-th corner of block i."""
        return self.psi[i][j] / (lam * self.n), self.loss[i][j] / self.n


def first_argmax(scores):
    """Index of the first of the largest scores, where scores equal up to rounding count as equal."""
    return int(np.flatnonzero(scores >= scores.max() - TIE * max(1.0, np.abs(scores).max()))[0])


# Builders ----------------------------------------------------------------------------------------------------------


def from_features(phi, loss, labelings, truth):
    """Return a problem from phi(x_i, y) of all labelings ((m_i, d) each), losses, labelings and the index of the true one."""
    psi = tuple(features[j] - features for features, j in zip(phi, truth, strict=True))
    return TinyProblem(psi, tuple(loss), tuple(labelings), tuple(truth))


def random_chains(rng, n=5, K=3, p=2, lengths=(1, 2, 3)):
    """Gaussian inputs and uniform labels: (X, y) as `tiny_chain` takes them."""
    X = [rng.normal(size=(rng.choice(lengths), p)) for _ in range(n)]
    return X, [rng.integers(K, size=len(x)) for x in X]


def chain_feature(x, y, K):
    """phi(x, y): unary w[f*K + k], then first-label bias [k], last-label bias [k], transitions [from*K + to]."""
    x, p = np.asarray(x, float), np.shape(x)[1]
    unary, first, last, transitions = np.zeros((p, K)), np.zeros(K), np.zeros(K), np.zeros((K, K))
    for t, label in enumerate(y):
        unary[:, label] += x[t]
    first[y[0]], last[y[-1]] = 1, 1
    for a, b in pairwise(y):
        transitions[a, b] += 1
    return np.concatenate([unary.ravel(), first, last, transitions.ravel()])


def chain_labelings(T, K):
    """All K^T labelings, the last position slowest: the first of several maximisers is the one Viterbi finds."""
    return [labels[::-1] for labels in product(range(K), repeat=T)]


def tiny_chain(X, y, K):
    """Chain problem with normalised Hamming loss; X is a list of (T_i, p) arrays, y a list of label sequences."""
    labelings = tuple(chain_labelings(len(y_i), K) for y_i in y)
    phi = [np.array([chain_feature(x, z, K) for z in Z]) for x, Z in zip(X, labelings, strict=True)]
    loss = [np.array([np.mean(np.array(z) != np.array(y_i)) for z in Z]) for Z, y_i in zip(labelings, y, strict=True)]
    truth = tuple(Z.index(tuple(int(label) for label in y_i)) for Z, y_i in zip(labelings, y, strict=True))
    return from_features(phi, loss, labelings, truth)


def tiny_multiclass(X, y, K):
    """Crammer-Singer problem: w[f*K + k], 0/1 loss; X is (n, p), y has n labels."""
    X, y = np.asarray(X, float), [int(label) for label in y]
    phi = [np.array([np.outer(x, np.eye(K)[k]).ravel() for k in range(K)]) for x in X]
    loss = [(np.arange(K) != label).astype(float) for label in y]
    return from_features(phi, loss, tuple([(k,) for k in range(K)] for _ in y), tuple(y))


def tiny_binary(X, y):
    """Binary SVM, y in {-1, +1}: phi(x, y) = y x/2 and 0/1 loss, so that max_y H_i = max(0, 1 - y_i <w, x_i>)."""
    X, y = np.asarray(X, float), [int(label) for label in y]
    phi = [np.array([-x / 2, x / 2]) for x in X]
    loss = [np.array([float(label == 1), float(label == -1)]) for label in y]
    return from_features(phi, loss, tuple([(-1,), (1,)] for _ in y), tuple((label + 1) // 2 for label in y))


def slack_rescaled(tp):
    """Return the problem with psi_i(y) replaced by L_i(y) psi_i(y) (Tsochantaridis et al. 2005, slack rescaling)."""
    return replace(tp, psi=tuple(L[:, None] * psi for L, psi in zip(tp.loss, tp.psi, strict=True)))


# Decoding ----------------------------------------------------------------------------------------------------------


def chain_potentials(x, w, K, y=None, costs=None):
    """Unary (T, K) and transition (K, K) scores of a chain under w; with y, every wrong label gets its cost (1) / T more."""
    x, (T, p) = np.asarray(x, float), np.shape(x)
    unary = x @ w[: p * K].reshape(p, K)
    unary[0] += w[p * K : p * K + K]
    unary[-1] += w[p * K + K : p * K + 2 * K]
    if y is not None:
        unary += (1 - np.eye(K) if costs is None else costs)[y] / T
    return unary, w[p * K + 2 * K :].reshape(K, K)


def viterbi(unary, transitions):
    """Forward max-sum recursion with back pointers; every tie goes to the smallest label.

    Returns
    -------
    labels : tuple of int
    value : float
    """
    T, K = unary.shape
    best, pointer = unary[0].copy(), np.zeros((T, K), int)
    for t in range(1, T):
        step = best[:, None] + transitions  # step[from, to]
        pointer[t] = step.argmax(axis=0)
        best = unary[t] + step.max(axis=0)
    labels = [int(best.argmax())]
    for t in range(T - 1, 0, -1):
        labels.append(int(pointer[t, labels[-1]]))
    return tuple(labels[::-1]), float(best.max())


def brute_force(unary, transitions):
    """Return the same as `viterbi` by trying all labelings, in the order in which Viterbi prefers them."""
    best = None
    for labels in chain_labelings(*unary.shape):
        value = unary[0, labels[0]]
        for t in range(1, len(labels)):
            value = unary[t, labels[t]] + (value + transitions[labels[t - 1], labels[t]])
        if best is None or value > best[1]:
            best = labels, float(value)
    return best


# Objectives --------------------------------------------------------------------------------------------------------


def dual_matrices(tp, lam):
    """Return a (d x m), b (m,) of the dual (4), and the index array of each block."""
    A = np.vstack(tp.psi).T / (lam * tp.n)
    b = np.concatenate(tp.loss) / tp.n
    ends = np.cumsum([len(L) for L in tp.loss])
    return A, b, [np.arange(end - len(L), end) for end, L in zip(ends, tp.loss, strict=True)]


def start(tp):
    """a^(0): all mass on the true labelings, so w = 0 and ell = 0."""
    return [np.eye(len(L))[j] for L, j in zip(tp.loss, tp.truth, strict=True)]


def weights(tp, alpha, lam):
    """w = A a."""
    return sum(a @ psi for a, psi in zip(alpha, tp.psi, strict=True)) / (lam * tp.n)


def loss_term(tp, alpha):
    """ell = b'a."""
    return sum(a @ L for a, L in zip(alpha, tp.loss, strict=True)) / tp.n


def primal(tp, w, lam):
    """P(w), eq. (3)."""
    return lam / 2 * w @ w + np.mean([tp.scores(i, w).max() for i in range(tp.n)])


def dual_value(w, ell, lam):
    """D = ell - lam/2 ||w||^2, for w = A a and ell = b'a."""
    return ell - lam / 2 * w @ w


def dual(tp, alpha, lam):
    """D(a), eq. (4) (the maximisation form)."""
    return dual_value(weights(tp, alpha, lam), loss_term(tp, alpha), lam)


def block_curvature(tp, lam):
    """C_f^(i) = lam max_{y, y'} ||psi_i(y) - psi_i(y')||^2/(lam n)^2: eq. (8), exact because f is quadratic."""
    squares = [((psi[:, None] - psi[None]) ** 2).sum(axis=2).max() for psi in tp.psi]
    return np.array(squares) / (lam * tp.n**2)


def curvature_bound(tp, lam):
    """4 R_i^2/(lam n^2), R_i = max_y ||psi_i(y)||: the bound on C_f^(i) in the proof of Lemma A.2."""
    return np.array([4 * (psi**2).sum(axis=1).max() for psi in tp.psi]) / (lam * tp.n**2)
