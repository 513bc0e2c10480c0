"""A problem of every family, of any size, with Gaussian inputs and planted weights: what speed and growth are measured on.

n is the number of examples; T that of positions, of nodes, of rows and of columns, or of cells along a side; K that of labels or
of parts of a pose; p that of features.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import fwexp

NOISE = 0.5
NONZEROS = 10  # of a sparse input


def chains(n, T, K, p, rng):
    """Return chains whose labels are those of the largest of K linear functions."""
    x, y = _classes(n * T, K, p, rng)
    return fwexp.chain_problem(np.split(x, n), np.split(y, n), K)


def sparse_chains(n, T, K, p, rng):
    """Return chains whose labels are decided by the first of the words at a position; there are p words."""
    from fwexp.problems.chain import chain_from_arrays

    words = np.sort(rng.integers(p, size=(n * T, NONZEROS), dtype=np.int32), axis=1)
    words = np.where(np.diff(words, axis=1, prepend=-1) == 0, -1, words)  # none twice
    kept = words >= 0
    x = sp.csr_array((np.ones(kept.sum()), words[kept], np.concatenate(([0], np.cumsum(kept.sum(axis=1))))), shape=(n * T, p))
    return chain_from_arrays(x, words[:, 0] % K, np.arange(n + 1) * T, K)


def classes(n, K, p, rng):
    """Return single inputs whose classes are those of the largest of K linear functions."""
    return fwexp.multiclass_problem(*_classes(n, K, p, rng), K)


def matchings(n, T, p, rng):
    """Return matchings whose true links have a larger first feature."""
    links = [np.column_stack([np.arange(T), rng.permutation(T)]) for _ in range(n)]
    X = NOISE * rng.normal(size=(n, T, T, p))
    for x, y in zip(X, links, strict=True):
        x[y[:, 0], y[:, 1], 0] += 1.0
    return fwexp.matching_problem(list(X), links)


def segmentations(n, T, p, rng):
    """Return cycles of nodes with two labels."""
    return _graphs(n, T, 2, p, rng)


def multilabels(n, T, K, p, rng):
    """Return cycles of nodes with K labels."""
    return _graphs(n, T, K, p, rng)


def poses(n, T, K, p, rng):
    """Return images of T x T cells, with poses that are chains of K parts."""
    y = np.clip(rng.integers(T, size=(n, 1, 2)) + rng.integers(-1, 2, size=(n, K, 2)), 0, T - 1)
    X = NOISE * rng.normal(size=(n, T, T, p))
    for x, pose in zip(X, y, strict=True):
        x[pose[:, 0], pose[:, 1], np.arange(K) % p] += 1.0
    return fwexp.pose_problem(list(X), list(y), [-1, *range(K - 1)])


def functions(n, K, p, rng):
    """Return single inputs with oracles in Python."""
    X, truth = _classes(n, K, p, rng)

    def features(i, label):
        phi = np.zeros((K, p))
        phi[label] = X[i]
        return phi.ravel()

    def max_oracle(i, w):
        scores = w.reshape(K, p) @ X[i] + 1.0
        scores[truth[i]] -= 1.0
        return int(scores.argmax())

    return fwexp.CallbackProblem(truth.tolist(), features=features, loss=lambda i, y: float(y != truth[i]), max_oracle=max_oracle)


def _classes(n, K, p, rng):
    x = rng.normal(size=(n, p))
    return x, np.argmax(x @ rng.normal(size=(p, K)) + NOISE * np.sqrt(p) * rng.normal(size=(n, K)), axis=1).astype(np.int32)


def _graphs(n, T, K, p, rng):
    x, y = _classes(n * T, K, p, rng)
    edges = np.column_stack([np.arange(T), (np.arange(T) + 1) % T])
    return fwexp.segmentation_problem(np.split(x, n), [edges] * n, [np.ones((T, 1))] * n, np.split(y, n), num_labels=K)


class Family(NamedTuple):
    """How problems are made, and of which sizes; what an oracle call takes by its shapes."""

    make: Callable
    sizes: dict[str, int]
    # of the sizes: operations (an addition, a multiplication, a maximum), and bytes that are read or written: of what belongs
    # to the example, which comes from memory, and of weights and scores, which come from the cache
    work: Callable[..., tuple[float, float, float]]


def chain_work(T, K, p, per_entry=2, entry=8):
    """Return operations, bytes read and bytes written of a call on a chain with p nonzeros per position."""
    return T * K * (per_entry * p + 2 * K), entry * T * p, 8 * (T * p * K + T * K * (K + 4))


# Of a matching one search of an augmenting path for every row, of a cut one search, of alpha expansion one cut for every label:
# the least that there is to do, since the rest hangs on the scores. A distance transform takes some 10 operations a cell.
FAMILIES = {
    "chain": Family(chains, {"n": 500, "T": 10, "K": 20, "p": 50}, lambda n, T, K, p: chain_work(T, K, p)),
    "chain, sparse": Family(
        sparse_chains, {"n": 500, "T": 20, "K": 20, "p": 10_000}, lambda n, T, K, p: chain_work(T, K, NONZEROS, 1, 4)
    ),
    "multiclass": Family(classes, {"n": 2000, "K": 10, "p": 64}, lambda n, K, p: (2 * K * p, 8 * p, 8 * K * p)),
    "matching": Family(
        matchings, {"n": 200, "T": 12, "p": 10}, lambda n, T, p: (T * T * (2 * p + 2 * T), 8 * T * T * p, 8 * T * T * (T + 2))
    ),
    "segmentation": Family(
        segmentations, {"n": 200, "T": 50, "p": 20}, lambda n, T, p: (4 * T * p + 10 * T, 8 * T * p, 8 * (2 * T * p + 12 * T))
    ),
    "multilabel": Family(
        multilabels, {"n": 100, "T": 30, "K": 5, "p": 20}, lambda n, T, K, p: (2 * T * K * (p + 5), 8 * T * p, 8 * T * K * (p + 12))
    ),
    "pose": Family(
        poses,
        {"n": 20, "T": 12, "K": 5, "p": 12},
        lambda n, T, K, p: (T * T * K * (2 * p + 20), 8 * T * T * p, 8 * T * T * K * (p + 10)),
    ),
    "callback": Family(functions, {"n": 200, "K": 5, "p": 20}, lambda n, K, p: (2 * K * p, 8 * p, 8 * K * p)),
}


def problem_of(name: str, seed: int = 0, **sizes):
    """Return a problem of a family, with the given sizes and otherwise its usual ones."""
    family = FAMILIES[name]
    return family.make(**family.sizes | sizes, rng=np.random.default_rng(seed))
