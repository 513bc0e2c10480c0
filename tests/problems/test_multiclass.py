"""Multiclass problems against enumeration, with margin and slack rescaling, and what users can get wrong."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import protocol


def data(seed, n=6, K=3, p=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(K, size=n)


@pytest.mark.parametrize(("K", "p"), [(1, 1), (2, 64), (3, 7), (5, 8), (10, 30), (4, 17)])
def test_dense_inputs_and_sparse_ones_have_the_same_scores(K, p):
    """Their internal weights have different orders: rows of classes, and of features."""
    X, y = data(3, K=K, p=p)
    w, c = np.random.default_rng(4).normal(size=(2, K * p))
    dense, sparse = (fwexp.multiclass_problem(inputs, y, K) for inputs in (X, sp.csr_array(X)))
    results = []
    for problem in (dense, sparse):
        internal, work = protocol.from_public(problem, w), protocol.workspace(problem)
        work.direction[:K] = c[:K] * (np.arange(K) != 1)
        protocol.scores(problem, 2, internal, work.theta)
        protocol.scatter(problem, 2, work.direction, -0.5, internal)
        protocol.scatter_psi(problem, 3, np.array([0]), 2.0, internal)
        results.append((work.theta[:K].copy(), protocol.to_public(problem, internal)))
    np.testing.assert_allclose(results[0][0], X[2] @ w.reshape(p, K), atol=1e-13)
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_test_sets_may_have_inputs_of_the_other_kind():
    X, y = data(5, n=20, p=3)
    train, sparse = fwexp.multiclass_problem(X, y), fwexp.multiclass_problem(sp.csr_array(X), y)
    errors = [fwexp.solve(train, lam=0.1, max_passes=3, test=test).trace["test_error"].tolist() for test in (train, sparse)]
    assert errors[0] == errors[1]
    assert errors[0][-1] < 0.6


def test_unknown_classes_of_test_sets_are_counted_wrong():
    test = fwexp.multiclass_problem(np.eye(2), [-1, 1], 2)
    value = fwexp.evaluate(test, [0.0, 0.0, 0.0, 1.0])
    assert value.error == 0.5
    assert np.isnan(value.hinge)
    with pytest.raises(ParameterError, match="got -1"):
        fwexp.solve(test, lam=1.0)
