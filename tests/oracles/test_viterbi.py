"""Viterbi against trying all labelings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fwexp.oracles.viterbi import viterbi
from fwexp.problems.features import padded_width
from tests import reference as ref


def padded(rows, width, value):
    """Rows of K scores as one vector, with ``value`` in the padding."""
    result = np.full((len(rows), width), value, dtype=np.float64)
    result[:, : rows.shape[1]] = rows
    return result.ravel()


def run(unary, transitions, function=viterbi):
    """Call the kernel with a padding that would win if it were looked at."""
    (T, K), width = unary.shape, padded_width(unary.shape[1])
    y, messages = np.full(T, -7, dtype=np.int32), np.full(T * width, np.nan)
    value = function(padded(unary, width, 1e6), padded(transitions, width, 0.0), K, width, y, messages)
    return tuple(y.tolist()), value


@st.composite
def potentials(draw, elements, most=4, longest=5):
    T, K = draw(st.integers(1, longest)), draw(st.integers(1, most))
    return draw(arrays(np.float64, (T, K), elements=elements)), draw(arrays(np.float64, (K, K), elements=elements))


@pytest.mark.parametrize("function", [viterbi, viterbi.py_func], ids=["compiled", "plain"])
@given(potentials(st.integers(-2, 2)))
def test_ties_go_to_the_smallest_label_from_the_end(function, scores):
    """Integer scores tie often and are exact: labels and value must be equal."""
    assert run(*scores, function) == ref.brute_force(*scores)


@given(potentials(st.floats(-100, 100, allow_subnormal=False)))
def test_value_is_the_maximum(scores):
    unary, transitions = scores
    labels, value = run(unary, transitions)
    best = ref.brute_force(unary, transitions)[1]
    assert value == pytest.approx(best, abs=1e-12 * (1 + abs(best)) * len(unary))
    own = sum(unary[t, label] for t, label in enumerate(labels)) + sum(transitions[a, b] for a, b in pairwise(labels))
    assert own == pytest.approx(value, abs=1e-11 * (1 + abs(best)))


@pytest.mark.parametrize("K", [5, 8, 9, 12, 20, 26, 40])
def test_many_labels_hit_every_unrolled_loop_and_padding(K):
    rng = np.random.default_rng(K)
    for T in (1, 2, 3, 7):
        for integers in (True, False):
            unary, transitions = rng.normal(size=(T, K)), rng.normal(size=(K, K))
            if integers:
                unary, transitions = np.rint(2 * unary), np.rint(2 * transitions)
            labels, value = ref.viterbi(unary, transitions)
            assert run(unary, transitions) == (labels, pytest.approx(value, abs=1e-12))
            if T <= 3 and K <= 12:
                assert ref.brute_force(unary, transitions)[0] == labels
