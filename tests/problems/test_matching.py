"""Matchings: test sets with sure and possible links, bounds that are reached, and what training finds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.data.metrics import alignment_error_rate
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from tests.small_problems import run_in_plain_python


def test_radii_are_bounds_that_binary_features_can_reach():
    x = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    problem = fwexp.matching_problem([x, x], [[(0, 0)], []], shapes=[(2, 2)] * 2)
    # coordinates are bounded one by one, each by one link per row: (1 - 0)^2 + 2^2, and 1^2 + 2^2
    assert protocol.radii_sq(problem).tolist() == [5.0, 5.0]
    assert repr(problem) == "MatchingProblem(n=2, d=2, edges=8)"


def test_the_loss_is_at_most_one_and_reaches_it():
    x = np.zeros((3, 3, 1))
    problem = fwexp.matching_problem([x], [[(0, 0), (1, 1), (2, 2)]])
    assert fwexp.loss(problem, 0, [(0, 1), (1, 2), (2, 0)]) == 1.0
    assert fwexp.loss(problem, 0, []) == 0.75
    assert fwexp.loss(problem, 0, [(2, 2), (1, 1), (0, 0)]) == 0.0


def test_an_example_without_true_links():
    problem = fwexp.matching_problem([np.ones((2, 3, 1))], [[]])
    links, value = fwexp.max_oracle(problem, 0, [0.0])
    assert value == 1.0
    assert len(links) == 2


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


def test_training_finds_the_rule(monkeypatch):
    run_in_plain_python(monkeypatch)
    # links are where a score is high, told by whether it is above ten numbers; the bias has to say how high
    rng = np.random.default_rng(11)
    X, y = [], []
    for _ in range(30):
        size = int(rng.integers(2, 6))
        score = rng.random((size, size)) * 0.4
        chosen = rng.permutation(size)
        linked = rng.random(size) < 0.7
        score[np.arange(size)[linked], chosen[linked]] += 0.6
        X.append(np.stack([*(score > t for t in np.linspace(0.05, 0.95, 10)), np.ones_like(score)], axis=2) * 1.0)
        y.append(np.column_stack([np.flatnonzero(linked), chosen[linked]]))
    train, test = (fwexp.matching_problem(X[a:b], y[a:b]) for a, b in ((0, 20), (20, 30)))
    result = fwexp.solve(train, "bcfw", lam=1e-3, max_passes=30, schedule=10, test=test)
    assert fwexp.evaluate(test, result.w).error == 0.0
    assert result.trace["test_error"].iloc[0] > 0.3
    for links, truth in zip(result.predict(test), y[20:], strict=True):
        assert links.tolist() == truth.tolist()


def test_expectations_are_intractable():
    # they are permanents, so solvers that need them are refused before they start
    problem = fwexp.matching_problem([np.ones((2, 2, 1))], [[(0, 0)]])
    with pytest.raises(OptionError, match=r"solver online_eg needs .*expectation_oracle.*MatchingProblem does not have"):
        fwexp.solve(problem, "online_eg", lam=1.0)
