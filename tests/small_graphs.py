"""Small graphs with labels, for the families of segmentation, and what is said of them by definition."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.problems.constraints import public_indices
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures

KINDS = {"dense": DenseFeatures, "sparse": SparseFeatures, "binary": BinaryFeatures}
FORMS = ["dense", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "dense")]  # each is compiled
P, Q = 3, 2


def random_arrays(rng, n=6, binary=False, edges=True, num_labels=2):
    """Graphs of at most 5 nodes, some without edges, and labels of which examples have some."""
    X, pairs, Z, y, sizes = [], [], [], [], []
    for _ in range(n):
        nodes = int(rng.integers(1, 6))
        pairs.append([(a, b) for a in range(nodes) for b in range(nodes) if edges and a != b and rng.random() < 0.3])
        for matrices, rows, p in ((X, nodes, P), (Z, len(pairs[-1]), Q)):
            values = rng.random((rows, p))
            matrices.append((values < 0.5) * 1.0 if binary else values * (values < 0.7))
        y.append(rng.integers(num_labels, size=nodes))
        sizes.append(rng.integers(1, 9, size=nodes))
    return X if binary else [x - 0.4 * (x > 0) for x in X], pairs, Z, y, sizes


def build(X, edges, Z, y, sizes, kind="dense", **options):
    if kind != "dense":
        X, Z = [sp.csr_array(x) for x in X], [sp.csr_array(z) for z in Z]
    return fwexp.segmentation_problem(X, edges, Z, y, sizes, **options)


def phi(x, edges, z, labels, num_labels=2, foreground_only=False):
    W = np.zeros((P, num_labels))
    for row, label in zip(x, labels, strict=True):
        W[:, label] += row
    cut = sum((row for (a, b), row in zip(edges, z, strict=True) if labels[a] != labels[b]), start=np.zeros(Q))
    return np.concatenate((W[:, 1] if foreground_only else W.ravel(), -cut))


def hamming(truth, sizes, labels, balanced=False):
    """Return the loss, from its definition."""
    truth, sizes, wrong = np.asarray(truth), np.asarray(sizes), np.asarray(labels) != np.asarray(truth)
    classes = [truth == k for k in np.unique(truth)] if balanced else [truth >= 0]
    return np.mean([sizes[of_one] @ wrong[of_one] / sizes[of_one].sum() for of_one in classes])


def feasible(problem, w):
    w = w.copy()
    w[public_indices(problem)] = np.abs(w[public_indices(problem)])
    return w
