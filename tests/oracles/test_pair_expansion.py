"""Expansions of labels with a score for every pair, against all labelings of small graphs."""

from itertools import product

import numpy as np
import pytest

from fwexp.oracles.max_flow import incidence
from fwexp.oracles.pair_expansion import expand_pairs, scratch_size


def random_graph(seed, L):
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 7))
    edges = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.4]
    return rng.normal(size=(nodes, L)), edges, rng.normal(size=(len(edges), L, L))


def submodular(graph):
    """Return the same with edges that like one label at both ends as much as they do two."""
    score, edges, pairs = graph
    pairs = pairs.copy()
    pairs[:, 0, 0] = pairs[:, 0, 1] + pairs[:, 1, 0] - pairs[:, 1, 1] + np.abs(pairs[:, 0, 0])
    return score, edges, pairs


def value(y, score, edges, pairs):
    return sum(score[v, k] for v, k in enumerate(y)) + sum(table[y[a], y[b]] for (a, b), table in zip(edges, pairs))


def expand(graph, kernel=expand_pairs):
    score, edges, pairs = graph
    ends, y = np.array(edges, dtype=np.int32).ravel(), np.full(len(score), 99, dtype=np.int32)
    scratch = np.full((len(ends) + 1, score.shape[1]), np.nan), np.full(scratch_size(len(y), len(edges)), np.nan)
    kernel(score, pairs, ends, *incidence(ends, len(y)), y, *scratch)
    return y.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_two_labels_and_submodular_edges_have_a_best_labeling(seed):
    graph = submodular(random_graph(seed, 2))
    best = max(value(y, *graph) for y in product(range(2), repeat=len(graph[0])))
    assert value(expand(graph), *graph) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(40))
def test_no_label_of_one_node_alone_is_better(seed):
    graph = random_graph(seed, 3)
    y = expand(graph)
    assert y == expand(graph, expand_pairs.py_func)
    for v, k in product(range(len(y)), range(3)):
        assert value([*y[:v], k, *y[v + 1 :]], *graph) <= value(y, *graph) + 1e-9


def test_most_labelings_are_best_ones():
    """Where edges are not submodular some are missed, few of these."""
    graphs = [random_graph(seed, 3) for seed in range(100, 150)]
    best = [max(value(y, *graph) for y in product(range(3), repeat=len(graph[0]))) for graph in graphs]
    assert sum(value(expand(graph), *graph) > most - 1e-9 for graph, most in zip(graphs, best)) > 45


def test_chains_have_a_best_labeling():
    for seed in range(20):
        score, _, _ = random_graph(seed, 3)
        edges = [(v, v + 1) if v % 2 else (v + 1, v) for v in range(len(score) - 1)]
        graph = score, edges, 3 * np.random.default_rng(seed).normal(size=(len(edges), 3, 3))
        best = max(value(y, *graph) for y in product(range(3), repeat=len(score)))
        assert value(expand(graph), *graph) == pytest.approx(best)
