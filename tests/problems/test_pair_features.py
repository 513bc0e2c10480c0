"""Weights for pairs of features and labels that occur, against enumeration: chains are restricted, and so is their certificate."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.problems import protocol, walk
from fwexp.problems.chain import chain_from_arrays
from fwexp.problems.pair_features import PairFeatures
from fwexp.testing import check_problem

K, P = 3, 6
LENGTHS = (1, 3, 2, 3, 1)


def problems(kind: str, edges: bool = False, cut: bool = False, loss: str = "errors") -> tuple:
    """Return the same sequences with weights for the pairs that occur, and with weights for all."""
    rng, ptr = np.random.default_rng(3), np.concatenate(([0], np.cumsum(LENGTHS)))
    x = (rng.random((ptr[-1], P)) < 0.4) * (1.0 if kind == "binary" else rng.normal(size=(ptr[-1], P)))
    y, z = rng.integers(0, K, ptr[-1]), None
    if edges:
        z = rng.normal(size=(ptr[-1], 2))
        z[ptr[:-1]] = 0.0
    is_cut = np.array([[False, True], [True, False], *[[False, False]] * 3]) if cut else None
    inputs = x if kind == "dense" else sp.csr_array(x)
    return tuple(chain_from_arrays(inputs, y, ptr, K, loss, is_cut, z, possible_states=every) for every in (False, True))


def features(problem, i: int, y) -> np.ndarray:
    """Return joint features as an array."""
    return fwexp.joint_feature(problem, i, y).toarray()[0]


def occurring(problem, every) -> np.ndarray:
    """Return which public weights are free, by the definition: a feature is not 0 where a label is the true one."""
    free, ptr = np.ones(problem.d, dtype=bool), every.label_ptr
    free[: P * K] = False
    for i in range(every.n):
        for t in range(ptr[i], ptr[i + 1]):
            x = np.zeros((1, P))
            row = every.x.values[t] if hasattr(every.x, "values") and every.x.values.ndim == 2 else None
            if row is None:
                entries = slice(every.x.indptr[t], every.x.indptr[t + 1])
                x[0, every.x.indices[entries]] = 1.0
            else:
                x[0] = row
            free[np.flatnonzero(x[0]) * K + every.labels[t]] = True
    return free


KINDS = [("binary", False, False), ("sparse", True, False), ("dense", False, True), ("binary", True, True)]


@pytest.mark.parametrize(("kind", "edges", "cut"), KINDS)
def test_vectors_are_those_of_all_pairs_without_the_others(kind, edges, cut):
    some, every = problems(kind, edges, cut)
    free, rng = occurring(some, every), np.random.default_rng(0)
    assert isinstance(some.x, PairFeatures)
    assert 0 < free[: P * K].sum() < P * K
    assert (some.d, some.num_weights < every.num_weights) == (every.d, True)
    w = rng.normal(size=some.d)
    inner = protocol.from_public(some, w)
    np.testing.assert_array_equal(protocol.to_public(some, inner), w * free)
    assert inner @ inner == pytest.approx(w[free] @ w[free])
    for i in range(some.n):
        length = LENGTHS[i]
        for y in itertools.product(range(K), repeat=length):
            found = features(some, i, y)
            np.testing.assert_array_equal(found, features(every, i, y) * free)
            answers = [fwexp.loss(one, i, y) for one in (some, every)]
            assert answers[0] == answers[1]
        one, other = (fwexp.max_oracle(problem, i, w * free) for problem in (some, every))
        assert np.array_equal(one[0], other[0])
        assert one[1] == pytest.approx(other[1])
    chosen = [3, 1, 1]
    part = some.subset(chosen)
    for k, i in enumerate(chosen):
        y = [0] * LENGTHS[i]
        np.testing.assert_array_equal(features(part, k, y), features(some, i, y))


@pytest.mark.parametrize(
    ("kind", "edges", "cut", "objective", "solver"),
    [
        (*KINDS[0], "hinge", "auto"),
        (*KINDS[1], "hinge", "one_slack"),
        (*KINDS[2], "log", "lbfgs"),
        (*KINDS[3], "softmax_margin", "auto"),
    ],
)
def test_training_reaches_the_optimum_of_the_restricted_problem(kind, edges, cut, objective, solver):
    some, every = problems(kind, edges, cut)
    free = occurring(some, every)
    psi, losses = [], []
    for i in range(some.n):
        labelings = [*itertools.product(range(K), repeat=LENGTHS[i])]
        true = every.labels[every.label_ptr[i] : every.label_ptr[i + 1]]
        truth = features(every, i, true)
        psi.append(np.array([(truth - features(every, i, y)) * free for y in labelings]))
        losses.append(np.array([fwexp.loss(every, i, y) for y in labelings]))
        losses[-1][[tuple(y) == tuple(true) for y in labelings]] = 0.0
    settings = {"lam": 0.3, "gap_tol": 1e-3, "max_passes": 300, "objective": objective}
    found = fwexp.solve(some, solver, **settings)
    wanted = fwexp.solve(fwexp.enumerated_problem(psi, losses), **settings)
    assert found.gap <= 1e-3
    assert wanted.gap <= 1e-3
    assert abs(found.primal - wanted.primal) <= 1e-3
    assert not found.w[~free].any()
    assert np.linalg.norm(found.w - wanted.w) <= 2.0 * np.sqrt(2.0 * 1e-3 / 0.3)  # as lam/2 ||w - w*||^2 <= the gap
    assert fwexp.solve(every, **settings).primal < found.primal - 1e-4


def test_test_sets_of_all_pairs_are_evaluated_at_the_weights():
    some, every = problems("binary")
    result = fwexp.solve(some, lam=0.1, test=every, max_passes=20)
    assert result.errors["test_error"] == pytest.approx(fwexp.evaluate(every, result.w).error)
    assert protocol.order_of_weights(some) == protocol.order_of_weights(some.subset([0, 2]))
    assert protocol.order_of_weights(some) != protocol.order_of_weights(every)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("edges", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_running_sums_of_large_problems_are_of_weights_if_these_are_fewer(monkeypatch, edges, every):
    """The averages of the iterates are equal, and so is every operation on sums."""
    rng, ptr = np.random.default_rng(4), np.arange(0, 121, 6)
    x, y, z = (rng.random((120, P)) < 0.4) * 1.0, rng.integers(0, K, 120), None
    if edges:
        z = rng.normal(size=(120, 1))
        z[ptr[:-1]] = 0.0
    problem = chain_from_arrays(sp.csr_array(x), y, ptr, K, z=z, possible_states=every)
    wanted = {solver: fwexp.solve(problem, solver, lam=0.1, max_passes=3, iterate="wavg").w for solver in ("bcfw", "ssg")}
    parts = protocol.new_sums(problem, 1).shape
    monkeypatch.setattr(walk, "LARGE_SUM", 0)
    assert protocol.new_sums(problem, 2).shape == (2, problem.num_weights)
    assert parts[1] > 2 * problem.num_weights
    check_problem(problem)
    for solver, w in wanted.items():
        found = fwexp.solve(problem, solver, lam=0.1, max_passes=3, iterate="wavg").w
        np.testing.assert_allclose(found, w, rtol=1e-12, atol=1e-14)
