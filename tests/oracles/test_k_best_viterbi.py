"""List Viterbi against trying all labelings."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fwexp.oracles.k_best_viterbi import k_best_viterbi
from fwexp.oracles.viterbi import viterbi
from fwexp.problems.features import padded_width
from tests.oracles.test_viterbi import padded, potentials, run


def k_best(unary, transitions, several, function=k_best_viterbi):
    """Return the labelings that there are, and their scores; the padding would win if it were looked at."""
    (T, K), width = unary.shape, padded_width(unary.shape[1])
    labelings, values = np.full((several, T), -7, dtype=np.int32), np.full(several, np.nan)
    function(padded(unary, width, 1e6), padded(transitions, width, 1e6), K, width, labelings, values)
    found = values > -np.inf
    return [tuple(y) for y in labelings[found].tolist()], values[found].tolist()


def score(unary, transitions, y):
    return sum(unary[t, label] for t, label in enumerate(y)) + sum(transitions[pair] for pair in pairwise(y))


@pytest.mark.parametrize("function", [k_best_viterbi, k_best_viterbi.py_func], ids=["compiled", "plain"])
@given(potentials(st.integers(-2, 2), most=3, longest=4), st.integers(1, 20))
def test_labelings_are_the_best_ones_each_once_in_order(function, scores, several):
    unary, transitions = scores
    found, values = k_best(unary, transitions, several, function)
    every = sorted((score(*scores, y) for y in product(range(unary.shape[1]), repeat=len(unary))), reverse=True)
    assert values == every[:several]
    assert [score(*scores, y) for y in found] == values
    assert len(set(found)) == len(found)
    assert (found[0], values[0]) == run(*scores, viterbi)


@given(potentials(st.one_of(st.integers(-2, 2), st.just(-np.inf)), most=3, longest=4))
def test_labelings_of_no_finite_score_are_not_returned(scores):
    unary, transitions = scores
    every = [score(*scores, y) for y in product(range(unary.shape[1]), repeat=len(unary))]
    found, values = k_best(unary, transitions, 100)
    assert values == sorted((value for value in every if value > -np.inf), reverse=True)
    assert [score(*scores, y) for y in found] == values


def test_many_labels():
    rng = np.random.default_rng(0)
    unary, transitions = rng.normal(size=(30, 40)), rng.normal(size=(40, 40))
    found, values = k_best(unary, transitions, 50)
    np.testing.assert_allclose([score(unary, transitions, y) for y in found], values, rtol=1e-12)
    assert values == sorted(values, reverse=True)
    assert len(set(found)) == 50
