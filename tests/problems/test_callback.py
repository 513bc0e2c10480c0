"""Problems given by Python functions, with dense and sparse features."""

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems.callback import SparseVector
from fwexp.testing import problem_checks
from tests import reference as ref
from tests.small_problems import FUNCTIONS, chain


@pytest.mark.parametrize("form", FUNCTIONS)
def test_family_keeps_the_promises_of_the_protocol(form):
    for check in problem_checks(chain(form, 0)[1]):
        check()


@pytest.mark.parametrize("form", FUNCTIONS)
def test_oracles_are_the_functions(form):
    tp, problem = chain(form, 1)
    w = np.random.default_rng(1).normal(size=tp.d)
    for i in range(tp.n):
        y, value = fwexp.max_oracle(problem, i, w)
        assert y == tp.labelings[i][tp.argmax(i, w)]
        assert value == pytest.approx(tp.scores(i, w).max(), abs=1e-12)
        phi = fwexp.joint_feature(problem, i, problem.y[i]) - fwexp.joint_feature(problem, i, y)
        np.testing.assert_allclose(phi.toarray()[0], tp.psi[i][tp.labelings[i].index(y)], atol=1e-12)
    assert fwexp.predict(problem, w) == [tp.labelings[i][tp.decode(i, w)] for i in range(tp.n)]
    value = fwexp.evaluate(problem, w)
    assert value.hinge == pytest.approx(ref.primal(tp, w, 0.0), abs=1e-12)
    assert value.error == pytest.approx(tp.error(w), abs=1e-12)


def test_labelings_may_be_any_objects():
    """Strings here, and arrays in tests of chains; nothing looks into them."""
    phi = {"cat": [1.0, 0.0], "dog": [0.0, 1.0]}
    problem = fwexp.CallbackProblem(
        ["cat", "dog"],
        features=lambda i, y: np.array(phi[y]) * (1 + i),
        loss=lambda i, y: float(y != ("cat", "dog")[i]),
        max_oracle=lambda i, w: max(phi, key=lambda y: (y != ("cat", "dog")[i]) + (1 + i) * np.dot(phi[y], w)),
    )
    result = fwexp.solve(problem, "bcfw", lam=0.1, max_passes=50, gap_tol=1e-6)
    assert result.status == "converged"
    assert repr(problem) == "CallbackProblem(n=2, d=2)"
    assert np.isnan(result.trace.train_error).all()
    with pytest.raises(ParameterError, match="predictions need a decode function"):
        result.predict(problem)


def test_features_may_be_lists_rows_and_empty_sparse_rows():
    """A sparse row without entries is 0, not an error."""
    forms = [
        lambda v: v,
        lambda v: np.array(v),
        lambda v: np.array([v]),
        lambda v: sp.csr_array([v]),
        lambda v: sp.coo_matrix([v]),
    ]
    results = []
    for form in forms:
        problem = fwexp.CallbackProblem(
            [1, 1],
            features=lambda i, y, form=form: form([0, 0, 0] if y else [1, 0, 2 + i]),
            loss=lambda i, y: float(y != 1),
            max_oracle=lambda i, w: int(1.0 + w @ [1, 0, 2 + i] < 0),
        )
        assert problem.d == 3
        results.append(fwexp.solve(problem, "bcfw", lam=0.5, max_passes=3, seed=1))
        assert fwexp.joint_feature(problem, 0, 0).toarray().tolist() == [[1, 0, 2]]
    for result in results[1:]:
        np.testing.assert_allclose(result.w, results[0].w, atol=1e-14)


def test_sparse_features_of_the_caller_are_not_touched():
    row = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 3))
    vector = SparseVector.from_row(row)
    assert (vector.indices.tolist(), vector.values.tolist()) == ([0, 1], [4.0, 3.0])
    assert (row.data.tolist(), row.indices.tolist()) == ([1.0, 2.0, 4.0], [1, 1, 0])


def test_sparse_vectors_do_the_arithmetic_of_dense_ones():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=6) * (rng.random(6) < 0.5) for _ in range(2))
    u, v = (SparseVector.from_row(sp.csr_array(x[None])) for x in (a, b))
    identity = np.eye(6)
    for got, wanted in ((u + v, a + b), (u - v, a - b), (-2.0 * u, -2.0 * a)):
        np.testing.assert_allclose([got @ row for row in identity], wanted, atol=1e-15)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda i, y: 1.0, r"features\(0, y\) must be a vector \(d,\) or a sparse row \(1, d\), got shape \(\)"),
        (lambda i, y: np.ones((2, 2)), r"got shape \(2, 2\)"),
        (lambda i, y: [], r"got shape \(0,\)"),
        (lambda i, y: np.ones(2 + y), r"features\(0, y\) must have length d = 2, got shape \(3,\)"),
        (lambda i, y: np.full(2, np.nan * y if y else 0.0), r"features\(0, y\) must be finite"),
        (lambda i, y: sp.csr_array([[1.0, np.inf if y else 0.0]]), r"features\(0, y\) must be finite"),
    ],
)
def test_bad_features_are_named_on_one_line(features, message):
    def use():
        problem = fwexp.CallbackProblem([0], features=features, loss=lambda i, y: float(y), max_oracle=lambda i, w: 1)
        fwexp.max_oracle(problem, 0, np.zeros(2))

    with pytest.raises(ParameterError, match=message) as error:
        use()
    assert "\n" not in str(error.value)


def test_no_examples_are_refused():
    with pytest.raises(ParameterError, match="n = 0"):
        fwexp.CallbackProblem([], features=None, loss=None, max_oracle=None)
