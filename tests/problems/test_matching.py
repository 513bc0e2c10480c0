"""Matchings: test sets with sure and possible links, bounds that are reached, and what training finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.data.metrics import alignment_error_rate
from fwexp.errors import ParameterError
from fwexp.problems import protocol


def test_radii_are_bounds_that_binary_features_can_reach():
    x = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    problem = fwexp.matching_problem([x, x], [[(0, 0)], []], shapes=[(2, 2)] * 2)
    # coordinates are bounded one by one, each by one link per row: (1 - 0)^2 + 2^2, and 1^2 + 2^2
    assert protocol.radii_sq(problem).tolist() == [5.0, 5.0]
    assert repr(problem) == "MatchingProblem(n=2, d=2, edges=8)"


# --- test sets with sure and possible links ---------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_error_is_the_alignment_error_rate_of_the_set(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(*rng.integers(1, 5, size=2), 4)) for _ in range(6)]
    marks = [rng.integers(0, 3, size=x.shape[:2]) for x in X]
    marks[0][0, 0] = 2
    sure, possible = ([np.argwhere(grid >= least) for grid in marks] for least in (2, 1))
    problem = fwexp.matching_problem(X, sure, possible=possible)
    w = rng.normal(size=problem.d)
    predictions = fwexp.predict(problem, w)
    assert fwexp.evaluate(problem, w).error == pytest.approx(alignment_error_rate(sure, possible, predictions), abs=1e-12)
    for i in range(problem.n):
        if len(sure[i]) > 0:
            one = alignment_error_rate(sure[i : i + 1], possible[i : i + 1], predictions[i : i + 1])
            assert fwexp.loss(problem, i, predictions[i]) == pytest.approx(one, abs=1e-12)


def test_sure_links_need_not_be_possible_or_a_matching():
    x = np.zeros((2, 2, 1))
    problem = fwexp.matching_problem([x], [[(0, 0), (0, 1)]], possible=[[(1, 1)]])
    assert fwexp.loss(problem, 0, [(0, 0)]) == pytest.approx(1 - 2 / 3)
    assert fwexp.loss(problem, 0, [(0, 0), (1, 1)]) == pytest.approx(1 - 3 / 4)
    assert fwexp.loss(problem, 0, [(1, 0)]) == 1.0


def test_nothing_is_trained_on_possible_links():
    problem = fwexp.matching_problem([np.ones((2, 2, 1))], [[(0, 0)]], possible=[[(1, 1)]])
    with pytest.raises(ParameterError, match="labels of a training problem"):
        fwexp.solve(problem, lam=1.0)
    assert np.isnan(fwexp.evaluate(problem, [0.0]).hinge)


# --- training ----------------------------------------------------------------------------------------------------------
