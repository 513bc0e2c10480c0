"""Multiclass problems against enumeration, with margin and slack rescaling, and what users can get wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.testing import check_problem
from tests import reference as ref

COSTS = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 0.5, 0.0]])


def data(seed, n=6, K=3, p=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(K, size=n)


def enumerated(X, y, K, costs, slack):
    """Return the transcription's problem with these costs."""
    tp = ref.tiny_multiclass(X, y, K)
    tp = ref.TinyProblem(tp.psi, tuple(costs[label] for label in y), tp.labelings, tp.truth)
    return ref.slack_rescaled(tp) if slack else tp


@given(st.integers(0, 10**6), st.integers(1, 10), st.booleans(), st.booleans(), st.booleans())
def test_oracles_equal_enumeration(seed, K, slack, sparse, integers):
    X, y = data(seed, K=K, p=4)
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 4, size=(K, K)) * (1.0 - np.eye(K))
    w = rng.normal(size=4 * K)
    if integers:
        X, w = np.rint(2 * X), np.rint(2 * w)
    rescaling = "slack" if slack else "margin"
    problem = fwexp.multiclass_problem(sp.csr_array(X) if sparse else X, y, K, costs=costs, rescaling=rescaling)
    tp = enumerated(X, y, K, costs, slack)
    plain = ref.tiny_multiclass(X, y, K)
    assert (problem.n, problem.d) == (6, 4 * K)
    predictions = fwexp.predict(problem, w)
    for i in range(tp.n):
        label, value = fwexp.max_oracle(problem, i, w)
        assert value == pytest.approx(tp.scores(i, w).max(), abs=1e-11)
        assert tp.scores(i, w)[label] == pytest.approx(value, abs=1e-11)
        assert (plain.psi[i] @ w)[predictions[i]] == pytest.approx((plain.psi[i] @ w).min(), abs=1e-11)
        if integers:
            assert label == tp.argmax(i, w)
            assert predictions[i] == plain.decode(i, w)
        assert fwexp.loss(problem, i, label) == costs[y[i], label]
        phi = fwexp.joint_feature(problem, i, label).toarray()[0]
        np.testing.assert_array_equal(phi.reshape(4, K)[:, label], X[i])
        assert np.count_nonzero(phi) == np.count_nonzero(X[i])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_family_keeps_the_promises_of_the_protocol(rescaling):
    check_problem(fwexp.multiclass_problem(*data(0, K=3), 3, costs=COSTS, rescaling=rescaling))


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_solutions_are_the_optimum(rescaling):
    X, y = data(1)
    tp = enumerated(X, y, 3, COSTS, rescaling == "slack")
    problem = fwexp.multiclass_problem(X, y, costs=COSTS, rescaling=rescaling)
    result = fwexp.solve(problem, "bcfw", lam=0.5, step="pairwise", max_passes=500, gap_tol=1e-9)
    assert result.status == "converged"
    assert result.primal == pytest.approx(ref.qp_optimum(tp, 0.5).primal, abs=2e-9)


def test_two_classes_are_the_binary_svm():
    """Its weights are w_1 - w_0, with half of lam."""
    X, y = data(2, n=8, K=2)
    result = fwexp.solve(fwexp.multiclass_problem(X, y), "bcfw", lam=0.4, step="pairwise", max_passes=500, gap_tol=1e-10)
    binary = ref.tiny_binary(X, 2 * y - 1)
    w = result.w.reshape(-1, 2)
    assert ref.primal(binary, w[:, 1] - w[:, 0], 0.2) == pytest.approx(ref.qp_optimum(binary, 0.2).primal, abs=1e-8)


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


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones((0, 2)), np.zeros(0, int), {}, "n = 0"),
        (np.ones((2, 2)), [0], {}, "X and y must have the same length, got 2 and 1"),
        (np.ones(2), [0, 1], {}, r"X must have shape \(n, p\)"),
        (np.ones((2, 2)), [0.0, 1.0], {}, "y must hold integers, got float64"),
        (np.ones((2, 2)), [0, -1], {}, r"classes in y must be in 0 .. 0, got -1"),
        (np.ones((2, 2)), [0, 3], {"num_classes": 3}, r"classes in y must be in 0 .. 2, got 3"),
        (np.ones((2, 2)), [0, 1], {"num_classes": -1}, "num_classes must be an integer >= 1, got -1"),
        (np.full((2, 2), np.inf), [0, 1], {}, "X must be finite"),
        (np.ones((2, 2)), [0, 1], {"costs": np.ones((2, 2))}, "zeros on the diagonal"),
        (np.ones((2, 2)), [0, 1], {"costs": np.zeros((3, 3))}, r"costs must have shape \(2, 2\), got \(3, 3\)"),
        (
            np.ones((2, 2)),
            [0, 1],
            {"rescaling": "slak"},
            "unknown rescaling 'slak' .did you mean 'slack'..; accepted: margin, slack",
        ),
    ],
)
def test_bad_arrays_are_named_on_one_line(X, y, options, message):
    with pytest.raises(ParameterError, match=message) as error:
        fwexp.multiclass_problem(X, y, **options)
    assert "\n" not in str(error.value)
