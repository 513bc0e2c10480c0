"""Best labelings of forests, against all labelings."""

from itertools import product

import numpy as np
import pytest

from fwexp.oracles.max_flow import incidence
from fwexp.oracles.tree_max_product import is_forest, label_forest


def random_forest(rng, L):
    """Return scores, edges in any direction and order, and their tables; some nodes are alone."""
    nodes = int(rng.integers(1, 7))
    numbers = rng.permutation(nodes)
    edges = [(numbers[v], numbers[rng.integers(v)])[:: rng.choice([-1, 1])] for v in range(1, nodes) if rng.random() < 0.8]
    edges = np.reshape(edges, (-1, 2)).astype(np.int64)[rng.permutation(len(edges))]
    return rng.normal(size=(nodes, L)), edges, 2 * rng.normal(size=(len(edges), L, L))


def value(y, score, edges, pairs):
    return sum(score[v, k] for v, k in enumerate(y)) + sum(table[y[a], y[b]] for (a, b), table in zip(edges, pairs))


@pytest.mark.parametrize("L", [1, 2, 3])
def test_labelings_are_best_ones(L):
    rng = np.random.default_rng(L)
    for _ in range(60):
        score, edges, pairs = random_forest(rng, L)
        nodes, ends = len(score), edges.astype(np.int32).ravel()
        assert is_forest(edges, nodes)
        found = []
        for kernel in (label_forest, label_forest.py_func):
            y, order, up = np.full((3, nodes), 99, dtype=np.int32)
            kernel(score.copy(), pairs, ends, *incidence(ends, nodes), y, order, up)
            found.append(y.tolist())
        assert found[0] == found[1]
        best = max(value(labels, score, edges, pairs) for labels in product(range(L), repeat=nodes))
        assert value(found[0], score, edges, pairs) == pytest.approx(best)


@pytest.mark.parametrize(
    ("edges", "nodes", "wanted"),
    [
        ([], 0, True),
        ([], 3, True),
        ([(0, 1), (1, 2)], 3, True),
        ([(0, 1), (2, 1), (3, 4)], 5, True),
        ([(0, 1), (1, 0)], 4, False),
        ([(0, 1), (1, 2), (2, 0)], 5, False),
        ([(0, 1), (1, 2), (2, 3), (3, 0)], 4, False),
    ],
)
def test_forests_have_no_cycle(edges, nodes, wanted):
    assert is_forest(np.reshape(edges, (-1, 2)).astype(int), nodes) == wanted
