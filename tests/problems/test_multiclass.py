"""Multiclass problems against enumeration, with margin and slack rescaling, and what users can get wrong."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError


def data(seed, n=6, K=3, p=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(K, size=n)


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
