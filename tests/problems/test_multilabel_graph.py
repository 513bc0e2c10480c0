"""Segmentation into more than two classes, against brute force over all labelings: what an inexact oracle still promises."""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from fwexp.problems.constraints import public_indices
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.oracle_check import OracleCheck
from fwexp.testing import CheckFailed, check_problem
from tests import small_graphs
from tests.small_graphs import FORMS, KINDS, P, Q, feasible, hamming

L = 3
random_arrays, build, phi = (
    partial(each, num_labels=L) for each in (small_graphs.random_arrays, small_graphs.build, small_graphs.phi)
)


@pytest.fixture(params=[*FORMS, "balanced"])
def example(request):
    """(arrays, problem, weights, whether the loss is balanced)."""
    rng = np.random.default_rng(3)
    arrays = random_arrays(rng, binary=request.param == "binary")
    kind, balanced = request.param if request.param in KINDS else "dense", request.param == "balanced"
    problem = build(*arrays, kind, loss="balanced" if balanced else "share")
    assert isinstance(problem.x, KINDS[kind])
    assert isinstance(problem.z, KINDS[kind])
    return arrays, problem, feasible(problem, rng.normal(size=problem.d)), balanced


def test_keeps_the_promises_of_the_protocol(example):
    assert check_problem(example[1]) == ("required", "sets", "bounds", "exact")


def test_without_edges_the_oracle_is_exact():
    problem = build(*random_arrays(np.random.default_rng(0), edges=False))
    assert protocol.exact_oracle(problem) is True
    check_problem(problem)


def test_size(example):
    (X, edges, _, _, _), problem, _, _ = example
    assert type(problem) is MultiLabelProblem
    nodes, pairs = sum(map(len, X)), sum(map(len, edges))
    assert repr(problem) == f"MultiLabelProblem(n=6, d=11, L=3, nodes={nodes}, edges={pairs})"
    assert public_indices(problem).tolist() == [9, 10]
    assert protocol.exact_oracle(problem) is protocol.exact_oracle(fwexp.weighted_problem(problem, np.ones(6))) is False


def values(arrays, i, w, balanced=False):
    """Return H_i of every labeling, with its loss and score."""
    x, pairs, z, y, sizes = (of_all[i] for of_all in arrays)
    truth = w @ phi(x, pairs, z, y)
    for labels in product(range(L), repeat=len(x)):
        loss, score = hamming(y, sizes, labels, balanced), w @ phi(x, pairs, z, labels)
        yield labels, loss, score, loss + score - truth


def test_joint_feature_loss_and_oracles_against_all_labelings(example):
    arrays, problem, w, balanced = example
    predictions = fwexp.predict(problem, w)
    for i in range(problem.n):
        labeling, hinge = fwexp.max_oracle(problem, i, w)
        most, best, scores, own = 0.0, None, {}, None
        for labels, loss, score, value in values(arrays, i, w, balanced):
            features = phi(arrays[0][i], arrays[1][i], arrays[2][i], labels)
            np.testing.assert_allclose(fwexp.joint_feature(problem, i, labels).toarray()[0], features, atol=1e-12)
            assert fwexp.loss(problem, i, labels) == pytest.approx(loss, abs=1e-14)
            scores[labels] = score
            own = value if labels == tuple(labeling.tolist()) else own
            if best is None or value > most:
                most, best = value, features
        cut = w[P * L :] @ -best[P * L :]
        assert hinge == pytest.approx(own, abs=1e-12)
        assert max(0.0, most - cut) - 1e-12 <= hinge <= most + 1e-12
        assert scores[tuple(predictions[i].tolist())] <= max(scores.values()) + 1e-12


@cache
def searched(binary):
    """Return a problem with much more examples, at weights where labelings tie, or not."""
    rng = np.random.default_rng(8)
    arrays = random_arrays(rng, n=60, binary=binary)
    problem = build(*arrays)
    w = 2.0 * rng.normal(size=problem.d)
    return arrays, problem, feasible(problem, np.round(w) if binary else w)


@pytest.mark.parametrize("binary", [False, True])
def test_it_mostly_finds_the_maximum_and_never_less_than_the_truth(binary):
    arrays, problem, w = searched(binary)
    hinges = Evaluator(problem).oracles(protocol.from_public(problem, w))[0]
    most = np.array([max(value for *_, value in values(arrays, i, w)) for i in range(problem.n)])
    assert (hinges >= 0.0).all()
    assert (hinges <= most + 1e-12).all()
    assert np.mean(hinges >= most - 1e-9) > 0.9


def test_where_the_search_misses_the_truth_the_truth_is_taken():
    """The graph on which expansion moves are known to miss the maximum, which is the true labeling here."""
    score = [[0, -9, 2, -9, 0], [-9, 0, 2, -9, -9], [3, 3, 3, 2, 3], [-9, 1, -9, -9, 2]]
    edges, truth = [(2, 1), (3, 0), (3, 2), (0, 1)], [4, 2, 2, 4]  # The last edge, of weight 0, closes a cycle.
    problem = fwexp.segmentation_problem([np.eye(4)], [edges], [np.array([[3.0], [3.0], [2.0], [0.0]])], [truth], num_labels=5)
    w = 10.0 * np.append(score, 1.0)
    labeling, hinge = fwexp.max_oracle(problem, 0, w)
    assert (labeling.tolist(), hinge) == (truth, 0.0)
    assert fwexp.predict(problem, w)[0].tolist() == [2, 1, 1, 1]  # which knows no truth


@given(st.integers(0, 10**6), st.booleans())
def test_without_edges_or_their_weights_it_is_the_maximum(seed, edges):
    rng = np.random.default_rng(seed)
    arrays = random_arrays(rng, n=2, edges=edges)
    problem = build(*arrays)
    w = feasible(problem, rng.normal(size=problem.d))
    w[P * L :] *= 1 - edges
    for i in range(2):
        assert fwexp.max_oracle(problem, i, w)[1] == pytest.approx(max(value for *_, value in values(arrays, i, w)), abs=1e-12)


@pytest.mark.slow
def test_with_two_labels_that_count_it_is_the_maximum():
    """The third label is far behind everywhere; and the weights of the others are those of a problem of two labels."""
    rng = np.random.default_rng(2)
    X, edges, Z, y, sizes = random_arrays(rng, n=30)
    X, y = [np.column_stack((x, np.ones(len(x)))) for x in X], [np.minimum(labels, 1) for labels in y]
    two = fwexp.segmentation_problem(X, edges, Z, y, sizes)
    three = fwexp.segmentation_problem(X, edges, Z, y, sizes, num_labels=3)
    u, W = rng.random(Q), rng.normal(size=(P + 1, 2))
    with_third = np.column_stack((W, [0, 0, 0, -1e3]))
    for i in range(30):
        exact = fwexp.max_oracle(two, i, np.concatenate((W.ravel(), u)))[1]
        assert fwexp.max_oracle(three, i, np.concatenate((with_third.ravel(), u)))[1] == pytest.approx(exact, abs=1e-9)


def chains(n=30, length=12):
    """Noisy labels along chains whose neighbours mostly agree, closed to cycles by an edge of weight 0."""
    rng = np.random.default_rng(11)
    X, y = [], []
    for _ in range(2 * n):
        labels = np.repeat(rng.integers(L, size=length // 4), 4)
        X.append(np.eye(L)[labels] + rng.normal(0, 0.5, size=(length, L)))
        y.append(labels)
    edges = [[*((v, v + 1) for v in range(length - 1)), (0, length - 1)]] * n
    Z = [np.append(np.ones((length - 1, 1)), [[0.0]], axis=0)] * n
    return [fwexp.segmentation_problem(X[a:b], edges, Z, y[a:b], num_labels=L) for a, b in ((0, n), (n, 2 * n))], (X, edges, Z)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "bcfw", "ssg", "one_slack", "fw"])
def test_trains_and_certifies_nothing(solver):
    (train, test), _ = chains()
    start = fwexp.evaluate(test, np.zeros(train.d)).error
    result = fwexp.solve(train, solver, lam=0.01, max_passes=30, gap_tol=1.0, test=test, check=True)
    assert np.isnan(result.gap)
    assert result.trace["gap"].isna().all()
    assert result.status == "max_passes"
    assert result.reason == "max_passes was reached; nothing is certified, since the oracle is not exact"
    assert result.w[-1] > 0.1
    assert fwexp.evaluate(test, result.w).error < 0.25 * start


@pytest.mark.slow
def test_the_dual_is_a_lower_bound():
    """Of the optimum for all labelings, by its definition: of P at any w with the true maximum."""
    (X, edges, Z, _, sizes), problem, planted = searched(False)
    arrays = X, edges, Z, fwexp.predict(problem, planted), sizes
    result = fwexp.solve(build(*arrays), "bcfw", lam=0.01, max_passes=100)
    hinge = np.mean([max(value for *_, value in values(arrays, i, result.w)) for i in range(problem.n)])
    primal = hinge + 0.005 * result.w @ result.w
    assert result.primal <= primal + 1e-12
    assert 0.1 < result.dual < primal < 0.9
    assert primal - result.dual < 0.05


@pytest.mark.slow
def test_where_there_are_no_edges_it_is_the_multiclass_problem():
    """At the optimum that an exact oracle certifies."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, P)), rng.integers(L, size=20)
    nodes = fwexp.segmentation_problem([x[None] for x in X], [[]] * 20, [np.zeros((0, 1))] * 20, y[:, None], num_labels=L)
    exact = fwexp.solve(fwexp.multiclass_problem(X, y, L), "bcfw", lam=0.1, max_passes=500, gap_tol=1e-7)
    inexact = fwexp.solve(nodes, "bcfw", lam=0.1, max_passes=500, gap_tol=1e-7)
    assert inexact.primal == pytest.approx(exact.primal, abs=1e-5)
    np.testing.assert_allclose(inexact.w[:-1], exact.w, atol=1e-2)


def test_ways_through_several_lam_need_certificates():
    (train, _), _ = chains()
    for call in (fwexp.regularization_path, fwexp.grid_search):
        given = {"lam_min": 0.1} if call is fwexp.regularization_path else {"lams": [1.0, 0.1]}
        with pytest.raises(OptionError, match="the oracle of MultiLabelProblem is not exact; train at one lam instead") as caught:
            call(train, **given)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_prediction_needs_no_labels():
    (train, test), (X, edges, Z) = chains()
    result = fwexp.solve(train, lam=0.01, max_passes=5)
    predicted = fwexp.predict(X[30:], result, edges=edges, Z=Z)
    for labels, wanted in zip(predicted, result.predict(test), strict=True):
        assert labels.tolist() == wanted.tolist()
    with pytest.raises(ParameterError, match=r"X must have d = "):
        fwexp.predict([x[:, :2] for x in X[30:]], result, edges=edges, Z=Z)
    two = fwexp.segmentation_problem(X[:30], edges, Z, [np.zeros(12, dtype=int)] * 30)
    with pytest.raises(ParameterError, match="problem must have "):
        fwexp.predict(two, result)


# --- checks of inexact oracles ------------------------------------------------------------------------------------------


def test_an_inexact_oracle_may_miss_the_best_but_not_the_truth(monkeypatch):
    """One that returns something worse than the truth is found, one that returns the truth is not."""
    problem = build(*random_arrays(np.random.default_rng(1)))

    def always(label):
        def max_oracle(problem, i, theta, y, scratch):
            protocol.true_labeling(problem, i, y)
            y[0] = y[0] if label is None else label
            return protocol.loss(problem, i, y) - protocol.psi_score(problem, i, y, theta)

        return max_oracle

    monkeypatch.setattr("numba.config.DISABLE_JIT", True)  # what is registered now is not compiled
    w = feasible(problem, 10.0 * np.random.default_rng(0).normal(size=problem.d))
    for label, wrong in ((None, False), (1, True)):
        monkeypatch.setitem(protocol.max_oracle.implementations, MultiLabelProblem, always(label))
        assert bool(OracleCheck(Evaluator(problem))(protocol.from_public(problem, w))) == wrong
        if wrong:
            with pytest.raises(CheckFailed, match=r"oracle_returns_its_value: H_\d\(w\) must be >= 0"):
                check_problem(problem)
        else:
            check_problem(problem)


# --- what people get wrong --------------------------------------------------------------------------------------------

NODES, EDGES, FEATURES, LABELS = [np.ones((3, 2))], [[(0, 1), (1, 2)]], [np.ones((2, 1))], [[0, 3, 1]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_labels": 3}, r"labels in y\[0\] must be 0 .. 2, got 3"),
        ({"y": [[0, -1, 2]]}, r"labels in y\[0\] must be 0 .. 3, got -1"),
        ({"num_labels": "4"}, "num_labels must be an integer >= 2, got '4'"),
        ({"num_labels": 10**12}, "num_labels must be smaller, got 1000000000000, which needs .* GiB"),
        ({"foreground_only": True}, "foreground_only must be false where num_labels is not 2, got true and 4 labels"),
        ({"edges": [[(0, 1), (1, 3)]]}, r"edges\[0\] must join nodes 0 .. 2, got the edge \(1, 3\) to nowhere"),
        ({"edges": [[(0, 1), (2, 2)]]}, r"edges\[0\] must join different nodes, got the edge \(2, 2\) from one to itself"),
        ({"Z": [-np.ones((2, 1))]}, r"Z must be >= 0, got -1 in Z\[0\]"),
    ],
)
def test_wrong_arrays(changed, message):
    given = {"X": NODES, "edges": EDGES, "Z": FEATURES, "y": LABELS, "num_labels": 4} | changed
    with pytest.raises(ParameterError, match=message) as caught:
        fwexp.segmentation_problem(**given)
    assert "\n" not in str(caught.value)


def test_wrong_weights_and_labelings():
    problem = fwexp.segmentation_problem(NODES, EDGES, FEATURES, LABELS, num_labels=4)
    with pytest.raises(ParameterError, match=r"w must be >= 0 for edge features, w\[8\] .. w\[8\], .*got -0.5 at 8"):
        fwexp.predict(problem, [0.0] * 8 + [-0.5])
    for y in ([0, 1], [0, 1, 4], "010"):
        with pytest.raises(ParameterError, match=r"y must hold 3 labels|labels in y must be 0 .. 3"):
            fwexp.loss(problem, 0, y)
    with pytest.raises(OptionError, match="n_slack"):
        fwexp.solve(problem, "n_slack", lam=1.0)
