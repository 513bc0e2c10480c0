"""Best labelings of forests and their marginals, against all labelings."""

from itertools import product

import numpy as np
import pytest

from fwexp.oracles.forward_backward import forward_backward, scratch_size
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.tree_max_product import is_forest, label_forest
from fwexp.oracles.tree_sum_product import forest_marginals


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


def marginals(kernel, score, pairs, edges):
    """Return what the kernel computes: log Z, and the marginals of nodes and of edges."""
    nodes, ends = len(score), edges.astype(np.int32).ravel()
    score, pairs, order, up = score.copy(), pairs.copy(), *np.zeros((2, nodes), dtype=np.int32)
    log_z = kernel(score, pairs, ends, *incidence(ends, nodes), order, up, np.zeros_like(score), np.zeros(score.shape[1]))
    return log_z, score, pairs


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("L", [1, 2, 3])
def test_marginals_are_sums_over_all_labelings(L, scale):
    rng = np.random.default_rng(L)
    for _ in range(20):
        score, edges, pairs = random_forest(rng, L)
        score, pairs = scale * score, scale * pairs
        every = np.array(list(product(range(L), repeat=len(score))))
        values = score[np.arange(len(score)), every].sum(axis=1)
        values += sum((pairs[e, every[:, a], every[:, b]] for e, (a, b) in enumerate(edges)), start=np.zeros(len(every)))
        log_z = np.logaddexp.reduce(values)
        share = np.exp(values - log_z)
        of_nodes = [[share[every[:, v] == k].sum() for k in range(L)] for v in range(len(score))]
        of_pairs = [[[share[(every[:, a] == k) & (every[:, b] == m)].sum() for m in range(L)] for k in range(L)] for a, b in edges]
        for kernel in (forest_marginals, forest_marginals.py_func):
            found = marginals(kernel, score, pairs, edges)
            assert found[0] == pytest.approx(log_z, rel=1e-13)
            np.testing.assert_allclose(found[1], of_nodes, atol=1e-14 * max(scale, 10.0))
            np.testing.assert_allclose(found[2], np.reshape(of_pairs, pairs.shape), atol=1e-14 * max(scale, 10.0))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_path_is_a_chain(scale):
    T, K, width = 2000, 3, 8
    rng = np.random.default_rng(0)
    score, transitions = scale * rng.normal(size=(T, K)), scale * rng.normal(size=(K, K))
    edges = np.column_stack([np.arange(T - 1), np.arange(1, T)])
    log_z, nodes, pairs = marginals(forest_marginals, score, np.repeat(transitions[None], T - 1, axis=0), edges)
    unary, table, of_nodes = np.zeros((T, width)), np.zeros((K, width)), np.zeros(T * width)
    unary[:, :K], table[:, :K], of_pairs = score, transitions, np.zeros(K * width)
    found = forward_backward(unary.ravel(), table.ravel(), K, width, of_nodes, of_pairs, np.zeros(scratch_size(T, K, width)))
    assert log_z == pytest.approx(found, rel=1e-12)
    np.testing.assert_allclose(nodes, of_nodes.reshape(T, width)[:, :K], atol=1e-10)
    np.testing.assert_allclose(pairs.sum(axis=0), of_pairs.reshape(K, width)[:, :K], atol=1e-8)
