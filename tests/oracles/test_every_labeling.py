"""The best of all labelings, against trying all in plain Python."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fwexp.oracles.every_labeling import are_few, best_of_all
from fwexp.oracles.max_flow import incidence


@st.composite
def graphs(draw):
    """Scores of nodes and of pairs, and edges, several of which may join the same nodes."""
    V, L = draw(st.integers(1, 5)), draw(st.integers(2, 3))
    pairs = st.tuples(st.integers(0, V - 1), st.integers(0, V - 1)).filter(lambda edge: edge[0] != edge[1])
    edges = np.array(draw(st.lists(pairs, max_size=7 if V > 1 else 0)), dtype=np.int64).reshape(-1, 2)
    values = st.integers(-3, 3)
    return draw(arrays(np.float64, (V, L), elements=values)), draw(arrays(np.float64, (len(edges), L, L), elements=values)), edges


@pytest.mark.parametrize("function", [best_of_all, best_of_all.py_func], ids=["compiled", "plain"])
@given(graphs())
def test_the_first_of_the_best_labelings_is_found(function, graph):
    score, pairs, edges = graph
    V, L = score.shape

    def value(y):
        return sum(score[v, y[v]] for v in range(V)) + sum(pairs[e, y[a], y[b]] for e, (a, b) in enumerate(edges))

    y, ends = np.full(V, -7, dtype=np.int32), edges.astype(np.int32).ravel()
    function(score, pairs, ends, *incidence(ends, V), y)
    assert tuple(y.tolist()) == max(product(range(L), repeat=V), key=value)


def test_few_is_at_most_65536():
    assert are_few(16, 2)
    assert not are_few(17, 2)
    assert are_few(1, 65536)
    assert not are_few(10**6, 3)
    assert are_few(0, 2)
