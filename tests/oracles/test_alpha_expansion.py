"""Expansion moves, against all labelings of small graphs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwexp.oracles.alpha_expansion import _expand, expand_labels, scratch_size
from fwexp.oracles.max_flow import incidence

KERNELS = {"compiled": expand_labels, "python": expand_labels.py_func}


def random_graph(seed, L, whole=False):
    """(score, edges, weight): up to 6 nodes, several edges between two of them; in small integers, so that labelings tie."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 7))
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.4]
    if whole:
        return rng.integers(-3, 4, size=(nodes, L)).astype(float), pairs, rng.integers(3, size=len(pairs)).astype(float)
    return rng.normal(size=(nodes, L)), pairs, rng.exponential(size=len(pairs))


def arrays(score, pairs, weight):
    """Return the arguments of the kernels; what is behind the labels of a row must not be read, and buffers start as garbage."""
    nodes, L = score.shape
    rows = np.full((nodes, L + 1), 1e9)
    rows[:, :L] = score
    ends = np.array(pairs, dtype=np.int32).ravel()
    scratch = np.full(scratch_size(nodes, len(pairs)), np.nan)
    return rows.ravel(), L + 1, L, np.array(weight, dtype=np.float64), ends, *incidence(ends, nodes), scratch


def expand(graph, kernel="compiled"):
    """Return (y, number of moves)."""
    *given, scratch = arrays(*graph)
    y = np.full(len(graph[0]), 99, dtype=np.int32)
    moves = KERNELS[kernel](*given, y, scratch)
    return y.tolist(), moves


def value(y, score, pairs, weight):
    return sum(score[v, k] for v, k in enumerate(y)) - potts(y, pairs, weight)


def potts(y, pairs, weight):
    return sum(c for (a, b), c in zip(pairs, weight, strict=True) if y[a] != y[b])


def best(graph):
    nodes, L = graph[0].shape
    return max(product(range(L), repeat=nodes), key=lambda y: value(y, *graph))


def expansions(y, label):
    return product(*({k, label} for k in y))


@given(st.integers(0, 10**6), st.integers(3, 4), st.booleans())
def test_between_the_maximum_and_that_with_potts_terms_twice(seed, L, whole):
    graph = random_graph(seed, L, whole)
    y, moves = expand(graph)
    assert moves < 5 * L
    optimum = best(graph)
    reached, most = value(y, *graph), value(optimum, *graph)
    assert reached <= most + 1e-9
    assert reached >= most - potts(optimum, *graph[1:]) - 1e-9
    assert all(value(other, *graph) <= reached + 1e-9 for label in range(L) for other in expansions(y, label))
    start = np.argmax(graph[0], axis=1)
    assert reached >= value(start, *graph) - 1e-12


@given(st.integers(0, 10**6), st.integers(2, 4), st.booleans())
def test_a_move_is_the_best_expansion(seed, L, whole):
    graph = random_graph(seed, L, whole)
    rng = np.random.default_rng(seed + 1)
    y, label = rng.integers(L, size=len(graph[0])).astype(np.int32), int(rng.integers(L))
    before = y.copy()
    score, width, _, weight, ends, first, out, scratch = arrays(*graph)
    moved = _expand(label, score, width, weight, ends, first, out, y, scratch)
    most = max(value(other, *graph) for other in expansions(before.tolist(), label))
    assert value(y, *graph) == pytest.approx(most, abs=1e-9)
    assert moved == (most > value(before, *graph) + 1e-9)
    assert moved or (y == before).all()


@given(st.integers(0, 10**6), st.booleans())
def test_two_labels_and_labels_that_do_not_count_are_exact(seed, whole):
    score, pairs, weight = random_graph(seed, 2, whole)
    for graph in ((score, pairs, weight), (np.insert(score, 1, -100.0, axis=1), pairs, weight)):
        assert value(expand(graph)[0], *graph) == pytest.approx(value(best(graph), *graph), abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_potts_terms_every_node_has_its_best_label(kernel):
    score, pairs, weight = random_graph(3, 4)
    assert pairs
    for graph in ((score, [], []), (score, pairs, 0.0 * weight), (score, pairs, -weight)):
        assert expand(graph, kernel) == (np.argmax(score, axis=1).tolist(), 0)


def test_compiled_and_python_agree():
    for seed in range(20):
        assert expand(random_graph(seed, 3)) == expand(random_graph(seed, 3), "python")


def test_a_graph_on_which_it_misses_the_maximum():
    """Why the oracle is declared inexact: along a path, where more than one label would have to come in at once."""
    score = [[0, -9, 2, -9, 0], [-9, 0, 2, -9, -9], [3, 3, 3, 2, 3], [-9, 1, -9, -9, 2]]
    graph = np.array(score, dtype=float), [(2, 1), (3, 0), (3, 2)], np.array([3.0, 3.0, 2.0])
    y, _ = expand(graph)
    assert (y, value(y, *graph)) == ([2, 1, 1, 1], 3.0)
    assert (best(graph), value(best(graph), *graph)) == ((4, 2, 2, 4), 5.0)


def test_rounding_is_no_move():
    """Thirds that add up to the score of a label, or nearly so: moves there and back would never end."""
    for share in (1 / 3, 0.1, 1 / 7, 1 / 49):
        m = round(1 / share)
        score = np.zeros((m + 1, 3))
        score[1:, 0] = 5.0
        score[0] = 0.0, 1.0, 1.0
        y, moves = expand((score, [(0, v) for v in range(1, m + 1)], np.full(m, share)))
        assert y[1:] == [0] * m
        assert moves <= 1
