"""Labelled graphs of two and of more labels: what an inexact oracle still promises, and what training finds."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol, tiers
from fwexp.problems.evaluation import Evaluator
from fwexp.problems.features import BinaryFeatures
from fwexp.problems.multilabel_graph import MultiLabelProblem
from fwexp.problems.oracle_check import OracleCheck
from fwexp.testing import CheckFailed, check_problem
from tests import small_graphs
from tests.small_graphs import feasible, hamming
from tests.solvers.test_block_entropic import check_that_log_is_rejected

L = 3


def random_arrays(rng, n=6, **options):
    return small_graphs.random_arrays(rng, n, num_labels=L, **options)


def build(*arrays):
    return small_graphs.build(*arrays, num_labels=L)


def test_size():
    for labels, name in ((2, "SegmentationProblem(n=6, d=8, "), (3, "MultiLabelProblem(n=6, d=11, L=3, ")):
        X, edges, Z, y, sizes = small_graphs.random_arrays(np.random.default_rng(3), num_labels=labels)
        problem = small_graphs.build(X, edges, Z, y, sizes, num_labels=labels)
        assert repr(problem) == f"{name}nodes={sum(map(len, X))}, edges={sum(map(len, edges))})"
        assert protocol.exact_oracle(problem) is protocol.exact_oracle(fwexp.weighted_problem(problem, np.ones(6))) is (labels == 2)


@pytest.mark.parametrize("edges", [32767, 32768])
@pytest.mark.parametrize("truth", [[1, 1], [0, 1]])
def test_labelings_hold_as_many_cut_edges_as_there_are(truth, edges):
    """Sums of edge features that are 0 or 1 are kept in 16 bits, unless there are more edges than 16 bits can count."""
    X, Z = [sp.csr_array([[1.0, 0.0], [0.0, 1.0]])], [sp.csr_array(np.ones((edges, 1)))]
    problem = fwexp.segmentation_problem(X, [[(0, 1)] * edges], Z, [truth])
    assert isinstance(problem.z, BinaryFeatures)
    work = protocol.workspace(problem)
    assert protocol.new_storage(problem, 1).itemsize == work.y.itemsize == (2 if edges == 32767 else 8)
    w = np.array([0.0, 9.0, 9.0, 0.0, 1e-4])
    score = {(0, 0): 9.0, (0, 1): -1e-4 * edges, (1, 0): 18.0 - 1e-4 * edges, (1, 1): 9.0}
    labels, value = fwexp.max_oracle(problem, 0, w)
    assert labels.tolist() == [1, 0]
    assert value == pytest.approx(fwexp.loss(problem, 0, [1, 0]) + score[1, 0] - score[tuple(truth)], abs=1e-11)
    protocol.scores(problem, 0, protocol.from_public(problem, w), work.theta)
    for y in score:
        protocol.scatter_psi(problem, 0, protocol.as_labeling(problem, 0, y), 1.0, image := protocol.new_weights(problem))
        psi = score[tuple(truth)] - score[y]
        assert protocol.to_public(problem, image) @ w == pytest.approx(psi, abs=1e-11)
        assert protocol.psi_score(problem, 0, protocol.as_labeling(problem, 0, y), work.theta) == pytest.approx(psi, abs=1e-11)


def values(arrays, i, w):
    """Return H_i of every labeling, with its loss and score."""
    x, pairs, z, y, sizes = (of_all[i] for of_all in arrays)
    truth = w @ small_graphs.phi(x, pairs, z, y, L)
    for labels in product(range(L), repeat=len(x)):
        loss, score = hamming(y, sizes, labels), w @ small_graphs.phi(x, pairs, z, labels, L)
        yield labels, loss, score, loss + score - truth


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
@pytest.mark.parametrize("solver", ["auto", "one_slack"])
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


def test_ways_through_several_lam_need_certificates():
    (train, _), _ = chains()
    for call in (fwexp.regularization_path, fwexp.grid_search):
        given = {"lam_min": 0.1} if call is fwexp.regularization_path else {"lams": [1.0, 0.1]}
        with pytest.raises(OptionError, match="the oracle of MultiLabelProblem is not exact; train at one lam instead"):
            call(train, **given)
    with pytest.raises(OptionError, match="n_slack"):
        fwexp.solve(train, "n_slack", lam=1.0)


@pytest.mark.parametrize("options", [{"num_labels": 3}, {}, {"foreground_only": True}], ids=str)
def test_prediction_needs_no_labels(options):
    X, edges, Z, y, _ = small_graphs.random_arrays(np.random.default_rng(0))
    problem = fwexp.segmentation_problem(X, edges, Z, y, **options)
    result = fwexp.solve(problem, "bcfw", lam=0.1, max_passes=3)
    for predicted, wanted in zip(fwexp.predict(X, result, edges=edges, Z=Z), result.predict(problem), strict=True):
        assert predicted.tolist() == wanted.tolist()
    with pytest.raises(ParameterError, match="Z must be a list of"):
        fwexp.predict(X, result, edges=edges)
    with pytest.raises(ParameterError, match=r"X must have d = "):
        fwexp.predict([x[:, :2] for x in X], result, edges=edges, Z=Z)
    other = fwexp.segmentation_problem(X, edges, Z, y, num_labels=4)
    with pytest.raises(ParameterError, match="problem must have "):
        fwexp.predict(other, result)


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


@pytest.mark.parametrize("num_labels", [2, 3])
def test_without_edge_features_every_node_is_for_itself(num_labels):
    rng = np.random.default_rng(num_labels)
    X, edges = [rng.normal(size=(4, 2)) for _ in range(3)], [[(0, 1), (1, 3)], np.empty((0, 2), int), [(2, 3)]]
    Z, y = [np.empty((len(pairs), 0)) for pairs in edges], [rng.integers(num_labels, size=4) for _ in range(3)]
    problem = fwexp.segmentation_problem(X, edges, Z, y, num_labels=num_labels)
    w = fwexp.solve(problem, lam=0.1, max_passes=100).w
    wanted = [np.argmax(x @ w.reshape(2, num_labels), axis=1) for x in X]
    assert w.any()
    assert [predicted.tolist() for predicted in fwexp.predict(problem, w)] == [labels.tolist() for labels in wanted]


def test_weights_at_zero_are_held():
    """With features of edges that are cut by the truth, the best weights of edges are 0."""
    rng = np.random.default_rng(4)
    X, edges = [rng.normal(size=(4, 2)) for _ in range(6)], [[(0, 1), (1, 2), (2, 3)]] * 6
    problem = fwexp.segmentation_problem(X, edges, [np.ones((3, 1))] * 6, [[0, 1, 0, 1]] * 6)
    for solver in ("lbfgs", "block_entropic"):
        result = fwexp.solve(problem, solver, lam=0.1, objective="log", gap_tol=1e-8, max_passes=2000)
        assert result.status == "converged"
        assert result.w[-1] == 0.0


@pytest.mark.parametrize("num_labels", [2, 3])
def test_graphs_with_cycles_are_rejected(num_labels):
    rng = np.random.default_rng(7)
    cycle, double = [(0, 1), (1, 2), (0, 2)], [(0, 1), (0, 1)]
    for edges in (cycle, double):
        Z, y = [np.ones((len(edges), 1))], [[0, 1, 1]]
        problem = fwexp.segmentation_problem([rng.normal(size=(3, 2))], [edges], Z, y, num_labels=num_labels)
        assert "expectations" not in tiers.tiers_of(problem)
        check_that_log_is_rejected(problem, f"{type(problem).__name__} has for graphs without cycles only")
        with pytest.raises(OptionError, match="has for graphs without cycles only"):
            fwexp.solve(problem, "online_eg", lam=0.1)
