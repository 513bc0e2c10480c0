"""Labelings of small graphs, found by trying all, by expansion moves and on forests, and marginals, against all labelings."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwexp.oracles import alpha_expansion, pair_expansion
from fwexp.oracles.alpha_expansion import expand_labels
from fwexp.oracles.every_labeling import are_few, best_of_all
from fwexp.oracles.forward_backward import forward_backward, scratch_size
from fwexp.oracles.max_flow import incidence
from fwexp.oracles.pair_expansion import expand_pairs
from fwexp.oracles.tree_max_product import is_forest, label_forest
from fwexp.oracles.tree_sum_product import forest_marginals


class Graph(NamedTuple):
    """Scores of the labels of nodes, edges in any order, several of which may join two nodes, and their scores of two labels."""

    score: np.ndarray  # (V, L)
    edges: np.ndarray  # int32 (E, 2)
    pairs: np.ndarray  # (E, L, L)

    def value(self, y):
        of_edges = sum(table[y[a], y[b]] for (a, b), table in zip(self.edges, self.pairs))
        return sum(self.score[v, k] for v, k in enumerate(y)) + of_edges

    def best(self):
        """Return the first of the best labelings."""
        return max(product(range(self.score.shape[1]), repeat=len(self.score)), key=self.value)

    @property
    def structure(self):
        return self.edges.ravel(), *incidence(self.edges.ravel(), len(self.score))


def potts(score, edges, weight):
    """Return a graph whose edges cost their weight where the labels differ."""
    differ = 1.0 - np.eye(np.shape(score)[1])
    edges = np.reshape(edges, (-1, 2)).astype(np.int32)
    return Graph(np.asarray(score, dtype=float), edges, -np.reshape(weight, (-1, 1, 1)) * differ)


def weight_of(graph):
    return np.ascontiguousarray(-graph.pairs[:, 0, -1])


def random_graph(seed, L, kind="any"):
    """Return a graph of up to 6 nodes; scores of ``whole`` ones are small integers, which tie."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(1, 7))
    edges = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.4]
    if kind == "forest":
        numbers = rng.permutation(nodes)
        edges = [(numbers[v], numbers[rng.integers(v)])[:: rng.choice([-1, 1])] for v in range(1, nodes) if rng.random() < 0.8]
        rng.shuffle(edges)
    elif kind == "path":
        edges = [(v, v + 1) if v % 2 else (v + 1, v) for v in range(nodes - 1)]
    if kind == "whole":
        score, pairs = (rng.integers(-3, 4, size=size).astype(float) for size in ((nodes, L), (len(edges), L, L)))
    else:
        score, pairs = rng.normal(size=(nodes, L)), (1.0 + (kind != "any")) * rng.normal(size=(len(edges), L, L))
    if kind == "submodular":  # edges like one label at both ends as much as they do two
        pairs[:, 0, 0] = pairs[:, 0, 1] + pairs[:, 1, 0] - pairs[:, 1, 1] + np.abs(pairs[:, 0, 0])
    return Graph(score, np.reshape(edges, (-1, 2)).astype(np.int32), pairs)


def random_potts(seed, L, whole=False):
    graph, rng = random_graph(seed, L, "whole" if whole else "any"), np.random.default_rng(seed)
    edges = len(graph.edges)
    return potts(graph.score, graph.edges, rng.integers(3, size=edges) if whole else rng.exponential(size=edges))


# --- the kernels; buffers start as garbage --------------------------------------------------------------------------------


def labels(graph):
    return np.full(len(graph.score), 99, dtype=np.int32)


def by_trying(graph, kernel=best_of_all):
    y = labels(graph)
    kernel(graph.score, graph.pairs, *graph.structure, y)
    return y.tolist()


def on_forest(graph, kernel=label_forest):
    y, order, up = labels(graph), labels(graph), labels(graph)
    kernel(graph.score.copy(), graph.pairs, *graph.structure, y, order, up)
    return y.tolist()


def by_pairs(graph, kernel=expand_pairs):
    y, size = labels(graph), (2 * len(graph.edges) + 1, graph.score.shape[1])
    scratch = np.full(pair_expansion.scratch_size(len(y), len(graph.edges)), np.nan)
    kernel(graph.score, graph.pairs, *graph.structure, y, np.full(size, np.nan), scratch)
    return y.tolist()


def arguments(graph):
    """Return the arguments of moves; what is behind the labels of a row must not be read."""
    nodes, L = graph.score.shape
    rows = np.full((nodes, L + 1), 1e9)
    rows[:, :L] = graph.score
    return rows.ravel(), L + 1, weight_of(graph), *graph.structure


def moved(graph, kernel=expand_labels):
    """Return (y, number of moves)."""
    (rows, width, *others), y = arguments(graph), labels(graph)
    moves = kernel(rows, width, width - 1, *others, y, np.full(alpha_expansion.scratch_size(len(y), len(graph.edges)), np.nan))
    return y.tolist(), moves


def by_moves(graph, kernel=expand_labels):
    return moved(graph, kernel)[0]


EXACT = [  # functions with their kernels, and graphs of which they find a best labeling
    *((by_trying, best_of_all, lambda seed, L=L: random_graph(seed, L, "whole")) for L in (2, 3)),
    *((on_forest, label_forest, lambda seed, L=L: random_graph(seed, L, "forest")) for L in (1, 2, 3)),
    (by_pairs, expand_pairs, lambda seed: random_graph(seed, 2, "submodular")),
    (by_pairs, expand_pairs, lambda seed: random_graph(seed, 3, "path")),
    *((by_moves, expand_labels, lambda seed, whole=whole: random_potts(seed, 2, whole)) for whole in (True, False)),
]


@pytest.mark.parametrize(("find", "kernel", "make"), EXACT)
def test_a_best_labeling_is_found(find, kernel, make):
    for seed in range(60):
        graph = make(seed)
        y, best = find(graph), graph.best()
        assert y == find(graph, kernel.py_func)
        assert graph.value(y) == pytest.approx(graph.value(best), abs=1e-9)
        assert find is not by_trying or tuple(y) == best


def test_a_label_that_does_not_count_changes_nothing():
    for seed in range(30):
        graph = random_potts(seed, 2)
        more = potts(np.insert(graph.score, 1, -100.0, axis=1), graph.edges, weight_of(graph))
        assert more.value(by_moves(more)) == pytest.approx(graph.value(graph.best()), abs=1e-9)


def test_few_is_at_most_65536():
    for nodes, L, few in ((16, 2, True), (17, 2, False), (1, 65536, True), (10**6, 3, False), (0, 2, True)):
        assert are_few(nodes, L) == few


# --- searches that may miss the best --------------------------------------------------------------------------------------


def expansions(y, label):
    return product(*({k, label} for k in y))


@given(st.integers(0, 10**6), st.integers(3, 4), st.booleans())
def test_between_the_maximum_and_that_with_potts_terms_twice(seed, L, whole):
    graph = random_potts(seed, L, whole)
    y, moves = moved(graph)
    assert moves < 5 * L
    assert (y, moves) == moved(graph, expand_labels.py_func)
    best = graph.best()
    reached, most = graph.value(y), graph.value(best)
    terms = most - sum(graph.score[v, k] for v, k in enumerate(best))
    assert most + terms - 1e-9 <= reached <= most + 1e-9
    assert all(graph.value(other) <= reached + 1e-9 for label in range(L) for other in expansions(y, label))
    assert reached >= graph.value(np.argmax(graph.score, axis=1)) - 1e-12


@given(st.integers(0, 10**6), st.integers(2, 4), st.booleans())
def test_a_move_is_the_best_expansion(seed, L, whole):
    graph, rng = random_potts(seed, L, whole), np.random.default_rng(seed + 1)
    y, label = rng.integers(L, size=len(graph.score)).astype(np.int32), int(rng.integers(L))
    before, scratch = y.copy(), np.full(alpha_expansion.scratch_size(len(y), len(graph.edges)), np.nan)
    is_moved = alpha_expansion._expand(label, *arguments(graph), y, scratch)
    most = max(map(graph.value, expansions(before.tolist(), label)))
    assert graph.value(y) == pytest.approx(most, abs=1e-9)
    assert is_moved == (most > graph.value(before) + 1e-9)
    assert is_moved or (y == before).all()


@pytest.mark.parametrize("kernel", [expand_labels, expand_labels.py_func])
def test_without_potts_terms_every_node_has_its_best_label(kernel):
    graph = random_potts(3, 4)
    assert len(graph.edges)
    for edges, weight in (([], []), (graph.edges, 0.0 * weight_of(graph)), (graph.edges, -weight_of(graph))):
        assert moved(potts(graph.score, edges, weight), kernel) == (np.argmax(graph.score, axis=1).tolist(), 0)


def test_a_graph_on_which_it_misses_the_maximum():
    """Why the oracle is declared inexact: along a path, where more than one label would have to come in at once."""
    score = [[0, -9, 2, -9, 0], [-9, 0, 2, -9, -9], [3, 3, 3, 2, 3], [-9, 1, -9, -9, 2]]
    graph = potts(score, [(2, 1), (3, 0), (3, 2)], [3.0, 3.0, 2.0])
    y = by_moves(graph)
    assert (y, graph.value(y)) == ([2, 1, 1, 1], 3.0)
    assert (graph.best(), graph.value(graph.best())) == ((4, 2, 2, 4), 5.0)


def test_rounding_is_no_move():
    """Thirds that add up to the score of a label, or nearly so: moves there and back would never end."""
    for share in (1 / 3, 0.1, 1 / 7, 1 / 49):
        m = round(1 / share)
        score = np.zeros((m + 1, 3))
        score[1:, 0] = 5.0
        score[0] = 0.0, 1.0, 1.0
        y, moves = moved(potts(score, [(0, v) for v in range(1, m + 1)], np.full(m, share)))
        assert y[1:] == [0] * m
        assert moves <= 1


def test_no_label_of_one_node_alone_is_better_and_most_labelings_are_best_ones():
    """Of any scores of pairs: where edges are not submodular some are missed, few of these."""
    found = []
    for seed in range(90):
        graph = random_graph(seed, 3)
        y = by_pairs(graph)
        assert y == by_pairs(graph, expand_pairs.py_func)
        for v, k in product(range(len(y)), range(3)):
            assert graph.value([*y[:v], k, *y[v + 1 :]]) <= graph.value(y) + 1e-9
        found.append(graph.value(y) > graph.value(graph.best()) - 1e-9)
    assert np.mean(found) > 0.9


# --- forests --------------------------------------------------------------------------------------------------------------


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


def marginals(kernel, graph):
    """Return what the kernel computes: log Z, and the marginals of nodes and of edges."""
    score, pairs = graph.score.copy(), graph.pairs.copy()
    work = labels(graph), labels(graph), np.zeros_like(score), np.zeros(score.shape[1])
    return kernel(score, pairs, *graph.structure, *work), score, pairs


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("L", [1, 2, 3])
def test_marginals_are_sums_over_all_labelings(L, scale):
    for seed in range(20):
        graph = random_graph(seed, L, "forest")
        graph = graph._replace(score=scale * graph.score, pairs=scale * graph.pairs)
        every = np.array(list(product(range(L), repeat=len(graph.score))))
        values = np.array([graph.value(y) for y in every])
        log_z = np.logaddexp.reduce(values)
        share = np.exp(values - log_z)
        of_nodes = [[share[of_one == k].sum() for k in range(L)] for of_one in every.T]
        of_pairs = np.zeros_like(graph.pairs)
        for table, (a, b) in zip(of_pairs, graph.edges):
            np.add.at(table, (every[:, a], every[:, b]), share)
        for kernel in (forest_marginals, forest_marginals.py_func):
            found = marginals(kernel, graph)
            assert found[0] == pytest.approx(log_z, rel=1e-13)
            for one, wanted in zip(found[1:], (of_nodes, of_pairs), strict=True):
                np.testing.assert_allclose(one, wanted, atol=1e-14 * max(scale, 10.0))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_path_is_a_chain(scale):
    T, K, width = 2000, 3, 8
    rng = np.random.default_rng(0)
    score, transitions = scale * rng.normal(size=(T, K)), scale * rng.normal(size=(K, K))
    edges = np.column_stack([np.arange(T - 1), np.arange(1, T)]).astype(np.int32)
    log_z, nodes, pairs = marginals(forest_marginals, Graph(score, edges, np.repeat(transitions[None], T - 1, axis=0)))
    unary, table, of_nodes = np.zeros((T, width)), np.zeros((K, width)), np.zeros(T * width)
    unary[:, :K], table[:, :K], of_pairs = score, transitions, np.zeros(K * width)
    found = forward_backward(unary.ravel(), table.ravel(), K, width, of_nodes, of_pairs, np.zeros(scratch_size(T, K, width)))
    assert log_z == pytest.approx(found, rel=1e-12)
    np.testing.assert_allclose(nodes, of_nodes.reshape(T, width)[:, :K], atol=1e-10)
    np.testing.assert_allclose(pairs.sum(axis=0), of_pairs.reshape(K, width)[:, :K], atol=1e-8)
