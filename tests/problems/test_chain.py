"""Chains: what their definition does not say, of which tests/problems/test_definitions.py is."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import chain, protocol
from fwexp.problems.chain import ChainProblem, chain_from_arrays
from fwexp.testing import check_problem


def test_costs_of_labels_that_are_unknown_are_1():
    test = fwexp.chain_problem([np.eye(2)], [[0, -1]], num_states=2, costs=[[0, 3], [5, 0]])
    assert [fwexp.loss(test, 0, z) for z in ([0, 0], [1, 1])] == [0.5, 2.0]


def test_unknown_labels_of_test_sets_are_never_predicted_and_counted_wrong():
    X = [np.eye(2)[[0, 1]], np.eye(2)[[1]]]
    train = fwexp.chain_problem(X, [[0, 1], [1]])
    w = np.concatenate([[1.0, -1.0, -1.0, 1.0], np.zeros(8)])
    assert fwexp.evaluate(train, w).error == 0.0
    test = fwexp.chain_problem(X, [[0, -1], [-1]], num_states=2)
    value = fwexp.evaluate(test, w)
    assert value.error == pytest.approx((0.5 + 1.0) / 2)
    assert np.isnan(value.hinge)
    assert [list(y) for y in fwexp.predict(test, w)] == [[0, 1], [1]]
    assert fwexp.loss(test, 1, [1]) == 1.0
    for call in (lambda: fwexp.solve(test, lam=1.0), lambda: fwexp.max_oracle(test, 0, w)):
        with pytest.raises(ParameterError, match=r"labels of a training problem must be >= 0, got -1"):
            call()


def test_arrays_are_taken_as_they_are():
    """No constant is added, nothing is written to, and arrays that loaders pass are the problem's own."""
    x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1], dtype=np.int32)
    problem = chain_from_arrays(x, y, np.array([0, 1, 3]), 2)
    assert isinstance(problem, ChainProblem)
    assert (problem.n, problem.d, problem.num_features) == (2, 2 * (2 + 2 + 2), 2)
    np.testing.assert_array_equal(problem.x.values, np.arange(6.0).reshape(3, 2))
    assert repr(problem) == "ChainProblem(n=2, d=12, K=2, positions=3)"
    same = fwexp.chain_problem([x[:1], x[1:]], [y[:1], y[1:]])
    for a, b in zip(list(problem)[:-2], list(same)[:-2]):
        np.testing.assert_array_equal(a, b)


def test_parts_that_vanish_leave_no_entries_behind():
    """After random steps there is one entry per part: T K unaries, K K transitions."""
    problem = fwexp.chain_problem([np.eye(3)], [[0, 1, 2]], 3)
    blocks, work = protocol.new_blocks(problem), protocol.workspace(problem)
    rng = np.random.default_rng(0)
    for _ in range(50):
        protocol.set_direction(problem, 0, rng.integers(3, size=3), blocks, work.direction)
        protocol.add_to_block(problem, 0, work.direction, rng.random(), blocks)
    assert blocks.count[0] <= 3 * 3 + 3 * 3


def test_long_sequences_have_cuts_too(monkeypatch):
    """Sequences without a Gram matrix take another way to norms."""
    monkeypatch.setattr(chain, "LONGEST_GRAM", 2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 2)), rng.integers(3, size=9)
    chains = chain_from_arrays(x, y, [0, 4, 9], 3, "errors", [[False, True], [True, False]])
    assert not len(chains.gram)
    check_problem(chains)


def test_predictions_and_kernels_know_features_of_transitions():
    rng = np.random.default_rng(0)
    X, Z, y = (
        [rng.normal(size=(T, 2)) for T in (3, 1)],
        [sp.csr_array(rng.normal(size=(T - 1, 3))) for T in (3, 1)],
        [[0, 1, 2], [1]],
    )
    problem = fwexp.chain_problem(X, y, 3, Z=Z)
    result = fwexp.solve(problem, lam=0.1, max_passes=5)
    for one, other in zip(result.predict(X, Z=Z), result.predict(problem), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(OptionError, match="kernels take problems without features of transitions"):
        fwexp.solve(problem, "kernel_bcfw", lam=0.1)
    with pytest.raises(ParameterError, match="X must have d = 48 like"):
        result.predict(X)
