"""A problem of every family, of any size, with Gaussian inputs and planted weights: what speed and growth are measured on.

n is the number of examples; T that of positions, of nodes, of rows and of columns, or of cells along a side; K that of labels or
of parts of a pose; p that of features.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import fwexp
from benchmarks.peers.tools import PythonOracle
from fwexp.errors import UserError

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
    return PythonOracle(*_classes(n, K, p, rng), K).problem()


def _classes(n, K, p, rng):
    x = rng.normal(size=(n, p))
    return x, np.argmax(x @ rng.normal(size=(p, K)) + NOISE * np.sqrt(p) * rng.normal(size=(n, K)), axis=1).astype(np.int32)


def _graphs(n, T, K, p, rng):
    x, y = _classes(n * T, K, p, rng)
    edges = np.column_stack([np.arange(T), (np.arange(T) + 1) % T])
    return fwexp.segmentation_problem(np.split(x, n), [edges] * n, [np.ones((T, 1))] * n, np.split(y, n), num_labels=K)


class Work(NamedTuple):
    """The least work of an oracle call, including scores, by its shapes."""

    operations: float  # additions, multiplications, maxima
    data: float  # bytes that belong to the example, once each
    weights: float  # bytes of weights, scores and graphs, as often as they are read or written


class Family(NamedTuple):
    """A generator of problems, its sizes, the work of an oracle call, and why a call takes longer than its roofline."""

    make: Callable
    sizes: dict[str, int]
    work: Callable[..., Work]  # of the sizes
    why: str


def chain_work(T, K, p, per_entry=2, entry=8):
    """Return the work for a chain with p nonzeros per position: scores and losses, a sum and a maximum per pair of labels."""
    steps = (T - 1) * K * K
    return Work(T * K * (per_entry * p + 1) + 2 * steps, entry * T * p, 8 * (T * K * (p + 4) + steps))


def classes_work(n, K, p):
    """Return the work for one input: scores, and a loss and a maximum per class."""
    return Work(2 * K * p + 2 * K, 8 * p, 8 * K * p)


def matching_work(n, T, p):
    """Return the work for a matching: scores and losses of edges, which are written and read twice."""
    return Work(T * T * (2 * p + 1), 8 * T * T * p, 8 * T * T * (p + 4))


def segmentation_work(n, T, p):
    """Return the work for a cut of a cycle: scores of two labels and a loss; six numbers per node and six per edge."""
    return Work(T * (4 * p + 1), 8 * T * p, 8 * T * (2 * p + 12))


def multilabel_work(n, T, K, p):
    """Return the work for a cut of a cycle for every label: scores and losses; six numbers per node and six per edge of a cut."""
    return Work(T * K * (2 * p + 1), 8 * T * p, 8 * T * K * (p + 12))


def pose_work(n, T, K, p):
    """Return the work for a tree of parts: scores and losses; 14 operations and 3 numbers per direction, one and 3 per message."""
    return Work(T * T * (K * (2 * p + 1) + (K - 1) * 29), 8 * T * T * p, 8 * T * T * (K * (p + 4) + (K - 1) * 9))


def log_loss_work(n, T, K, p):
    """Return the work for a chain's distribution: messages both ways, pairs, exponentials of 30 operations; 8 numbers per label."""
    scores, steps, exponentials = 2 * T * K * p, (T - 1) * K * K, K * (T + K)
    return Work(scores + 6 * steps + 30 * exponentials, 8 * T * p, 8 * (T * K * (p + 8) + 2 * steps))


# Why a call takes longer than its roofline: docs/peers.md shows how each reason was measured.
PADDED = "labels padded to a multiple of 8"
CHAIN = (
    f"scores at half of the peak or less; copies of scores; labels traced back one by one; {PADDED}; a maximum waits for the last"
)
CUTS = "mispredicted branches; cuts pass over nodes and edges several times, counted as one look at each number, in bytes"

FAMILIES = {
    "chain": Family(chains, {"n": 500, "T": 10, "K": 20, "p": 50}, lambda n, T, K, p: chain_work(T, K, p), CHAIN),
    "chain, sparse": Family(
        sparse_chains,
        {"n": 500, "T": 20, "K": 20, "p": 10_000},
        lambda n, T, K, p: chain_work(T, K, NONZEROS, 1, 4),
        CHAIN,
    ),
    "multiclass": Family(classes, {"n": 2000, "K": 10, "p": 64}, classes_work, "sums over short rows, added up once per class"),
    "matching": Family(
        matchings,
        {"n": 200, "T": 12, "p": 10},
        matching_work,
        "mispredicted branches of the search, which is counted as one look at each score, in bytes",
    ),
    "segmentation": Family(segmentations, {"n": 200, "T": 50, "p": 20}, segmentation_work, CUTS),
    "multilabel": Family(multilabels, {"n": 100, "T": 30, "K": 5, "p": 20}, multilabel_work, CUTS),
    "pose": Family(
        poses,
        {"n": 20, "T": 12, "K": 5, "p": 12},
        pose_work,
        "divisions that wait for each other, in distance transforms; a square root and divisions per cell in the loss",
    ),
    "callback": Family(functions, {"n": 200, "K": 5, "p": 20}, classes_work, "calls of Python and numpy, some us each"),
}
LOG_LOSS = Family(
    chains, FAMILIES["chain"].sizes, log_loss_work, f"copies of expected parts; scores at half of the peak; exponentials; {PADDED}"
)


def problems() -> Iterator[tuple]:
    """Yield names and problems, those on real data where there are any, the work of an oracle call, and why it takes longer."""
    for dataset, why in (("ocr", CHAIN), ("conll2000", f"rows of weights scattered over 14 MB; {CHAIN}")):
        try:
            train = fwexp.load_dataset(dataset)[0]
        except UserError as error:
            print(error)
            continue
        T, nonzeros = len(train.labels) / train.n, len(train.x.indices) / len(train.labels)
        yield dataset, train, chain_work(T, train.num_states, nonzeros, 1, 4), why
    for name, family in FAMILIES.items():
        yield name, problem_of(name), family.work(**family.sizes), family.why


def problem_of(name: str, seed: int = 0, **sizes):
    """Return a problem of a family, with the given sizes and otherwise its usual ones."""
    family = FAMILIES[name]
    return family.make(**family.sizes | sizes, rng=np.random.default_rng(seed))
