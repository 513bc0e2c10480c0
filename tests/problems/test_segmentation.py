"""The segmentation family, against brute force over all labelings."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import protocol
from fwexp.problems.constraints import public_indices
from fwexp.problems.features import BinaryFeatures
from fwexp.testing import CheckFailed, check_problem
from tests.small_graphs import FORMS, KINDS, build, feasible, hamming, phi, random_arrays


@pytest.fixture(params=[*FORMS, "foreground only", "balanced"])
def example(request):
    """(arrays, problem, weights, options)."""
    rng = np.random.default_rng(3)
    arrays = random_arrays(rng, binary=request.param == "binary")
    kind = request.param if request.param in KINDS else "dense"
    options = {
        "foreground_only": request.param == "foreground only",
        "loss": "balanced" if request.param == "balanced" else "share",
    }
    problem = build(*arrays, kind, **options)
    assert isinstance(problem.x, KINDS[kind])
    assert isinstance(problem.z, KINDS[kind])
    return arrays, problem, feasible(problem, rng.normal(size=problem.d)), options


def test_keeps_the_promises_of_the_protocol(example):
    check_problem(example[1])


def test_size(example):
    (X, edges, _, _, _), problem, _, options = example
    assert (problem.n, problem.d) == (6, 5 if options["foreground_only"] else 8)
    nodes, pairs = sum(map(len, X)), sum(map(len, edges))
    assert repr(problem) == f"SegmentationProblem(n=6, d={problem.d}, nodes={nodes}, edges={pairs})"
    assert public_indices(problem).tolist() == [problem.d - 2, problem.d - 1]


def test_joint_feature_loss_and_oracles_against_all_labelings(example):
    (X, edges, Z, y, sizes), problem, w, options = example
    predictions = fwexp.predict(problem, w)
    for i, x in enumerate(X):
        score, value = {}, {}
        for labels in product((0, 1), repeat=len(x)):
            features = phi(x, edges[i], Z[i], labels, foreground_only=options["foreground_only"])
            loss = hamming(y[i], sizes[i], labels, options["loss"] == "balanced")
            np.testing.assert_allclose(fwexp.joint_feature(problem, i, labels).toarray()[0], features, atol=1e-12)
            assert fwexp.loss(problem, i, labels) == pytest.approx(loss, abs=1e-14)
            score[labels] = w @ features
            value[labels] = loss + score[labels]
        truth = score[tuple(y[i].tolist())]
        labeling, hinge = fwexp.max_oracle(problem, i, w)
        assert hinge == pytest.approx(max(value.values()) - truth, abs=1e-12)
        assert value[tuple(labeling.tolist())] == pytest.approx(max(value.values()), abs=1e-12)
        assert score[tuple(predictions[i].tolist())] == pytest.approx(max(score.values()), abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_oracle_against_all_labelings(seed, scale):
    """In small integers, so that labelings tie; of those the one with fewest 1 is taken."""
    rng = np.random.default_rng(seed)
    X, edges, Z, y, sizes = random_arrays(rng, n=1, binary=True)
    problem = build(X, edges, Z, y, sizes)
    w = feasible(problem, scale * rng.integers(-2, 3, size=problem.d))
    labeling, hinge = fwexp.max_oracle(problem, 0, w)
    labelings = [protocol.public_labeling(problem, 0, parts) for parts in protocol.all_labelings(problem, 0, 100)]
    values = [hamming(y[0], sizes[0], labels) + w @ (phi(X[0], edges[0], Z[0], labels)) for labels in labelings]
    truth = w @ phi(X[0], edges[0], Z[0], y[0])
    assert hinge == pytest.approx(max(values) - truth, abs=1e-9)
    predicted = fwexp.predict(problem, w)[0]
    scores = np.array([w @ phi(X[0], edges[0], Z[0], labels) for labels in labelings])
    assert predicted.tolist() == labelings[np.argmax(np.round(scores / scale))].tolist()
    assert len(labeling) == len(y[0])


@pytest.mark.parametrize("edges", [32767, 32768])
@pytest.mark.parametrize("truth", [[1, 1], [0, 1]])
def test_labelings_hold_as_many_cut_edges_as_there_are(truth, edges):
    """Where edge features are 0 or 1 sums of them are kept in 16 bits, unless there are more edges than those can count."""
    X, Z = [sp.csr_array([[1.0, 0.0], [0.0, 1.0]])], [sp.csr_array(np.ones((edges, 1)))]
    problem = fwexp.segmentation_problem(X, [[(0, 1)] * edges], Z, [truth])
    assert isinstance(problem.z, BinaryFeatures)
    assert protocol.new_storage(problem, 1).itemsize == protocol.workspace(problem).y.itemsize == (2 if edges == 32767 else 8)
    w = np.array([0.0, 9.0, 9.0, 0.0, 1e-4])
    score = {(0, 0): 9.0, (0, 1): -1e-4 * edges, (1, 0): 18.0 - 1e-4 * edges, (1, 1): 9.0}
    labels, value = fwexp.max_oracle(problem, 0, w)
    assert labels.tolist() == [1, 0]
    assert value == pytest.approx(fwexp.loss(problem, 0, [1, 0]) + score[1, 0] - score[tuple(truth)], abs=1e-11)
    result = fwexp.solve(problem, lam=1e-3, max_passes=50, gap_tol=1e-9)
    assert fwexp.predict(problem, result.w)[0].tolist() == truth


@pytest.mark.parametrize("function", ["store_labeling", "true_labeling"])
def test_labelings_of_which_only_the_nodes_are_written_are_found(example, function, monkeypatch):
    """The checks of families see the edge features in what is kept of a labeling."""
    original = getattr(protocol, function).find(type(example[1]))

    def nodes_only(problem, i, y, *rest):
        where = slice(problem.label_ptr[i + 1] - problem.label_ptr[i], problem.part_ptr[i + 1] - problem.part_ptr[i])
        out, start = (rest[0], problem.part_ptr[i]) if rest else (y, 0)
        kept = out[start:][where].copy()
        original(problem, i, y, *rest)
        out[start:][where] = kept

    monkeypatch.setitem(getattr(protocol, function).implementations, type(example[1]), nodes_only)
    with pytest.raises(CheckFailed, match=r"the psi of the one that was stored|whose psi is 0"):
        check_problem(example[1])


def test_an_image_of_one_class_has_the_same_loss_balanced_or_not():
    arrays = [np.zeros((3, 1))], [[]], [np.zeros((0, 1))], [[1, 1, 1]], [[1, 2, 5]]
    for loss in ("share", "balanced"):
        assert fwexp.loss(build(*arrays, loss=loss), 0, [1, 0, 1]) == 0.25


def test_all_wrong_costs_one(example):
    (_, _, _, y, _), problem, _, _ = example
    for i, labels in enumerate(y):
        assert fwexp.loss(problem, i, 1 - labels) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.slow
def test_training_finds_pairwise_weights():
    """Noisy nodes along a chain whose neighbours mostly agree: smoothing helps, and test error shows it."""
    rng = np.random.default_rng(11)
    X, edges, Z, y = [], [], [], []
    for _ in range(60):
        labels = np.repeat(rng.integers(2, size=4), 5)
        X.append(np.column_stack((labels - 0.5 + rng.normal(0, 0.7, size=20), np.ones(20))))
        edges.append([(v, v + 1) for v in range(19)])
        Z.append(np.ones((19, 1)))
        y.append(labels)

    def error(edges, Z):
        train, test = (fwexp.segmentation_problem(X[a:b], edges[a:b], Z[a:b], y[a:b]) for a, b in ((0, 30), (30, 60)))
        return fwexp.evaluate(test, fwexp.solve(train, lam=0.1, max_passes=500).w).error

    errors = error(edges, Z), error([[]] * 60, [np.zeros((0, 1))] * 60)
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("foreground_only", [False, True])
def test_prediction_needs_no_labels(foreground_only):
    X, edges, Z, y, _ = random_arrays(np.random.default_rng(0))
    problem = fwexp.segmentation_problem(X, edges, Z, y, foreground_only=foreground_only)
    result = fwexp.solve(problem, "bcfw", lam=0.1, max_passes=3)
    for predicted, wanted in zip(fwexp.predict(X, result, edges=edges, Z=Z), result.predict(problem), strict=True):
        assert predicted.tolist() == wanted.tolist()
    with pytest.raises(ParameterError, match="Z must be a list of"):
        fwexp.predict(X, result, edges=edges)
    with pytest.raises(ParameterError, match=r"X must have d = "):
        fwexp.predict([x[:, :2] for x in X], result, edges=edges, Z=Z)


# --- what people get wrong --------------------------------------------------------------------------------------------

NODES, EDGES, FEATURES, LABELS = [np.ones((3, 2))], [[(0, 1), (1, 2)]], [np.ones((2, 1))], [[0, 1, 1]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": []}, "X must hold at least one example, got n = 0"),
        ({"y": []}, "y must have length 1 like X, got 0"),
        ({"node_weight": []}, "node_weight must have length 1 like X, got 0"),
        ({"X": [np.ones(3)]}, r"X\[0\] must have shape \(V, p\), got \(3,\)"),
        ({"X": [np.ones((0, 2))]}, r"X\[0\] must have shape \(V, 2\) with V >= 1, got \(0, 2\)"),
        ({"X": [np.full((3, 2), np.nan)]}, "X must be finite"),
        ({"edges": [[(0, 1), (1, 3)]]}, r"edges\[0\] must join nodes 0 .. 2, got the edge \(1, 3\) to nowhere"),
        ({"edges": [[(0, -1), (1, 2)]]}, r"edges\[0\] must join nodes 0 .. 2, got the edge \(0, -1\) to nowhere"),
        ({"edges": [[(0, 1), (2, 2)]]}, r"edges\[0\] must join different nodes, got the edge \(2, 2\) from one to itself"),
        ({"edges": [[0, 1]]}, r"edges\[0\] must be an int array of edges, shape \(E, 2\), got shape \(2,\)"),
        ({"edges": [[(0.5, 1)]]}, r"edges\[0\] must be an int array of edges"),
        ({"Z": [np.ones((3, 1))]}, r"Z\[0\] must have shape \(2, 1\) like edges\[0\], got \(3, 1\)"),
        ({"Z": [-np.ones((2, 1))]}, r"Z must be >= 0, got -1 in Z\[0\]"),
        ({"Z": [sp.csr_array([[0.5], [-0.5]])]}, r"Z must be >= 0, got -0.5 in Z\[0\]"),
        ({"y": [[0, 1, 2]]}, r"labels in y\[0\] must be 0 or 1, got 2"),
        ({"y": [[0, 1, -1]]}, r"labels in y\[0\] must be 0 or 1, got -1"),
        ({"y": [[0, 1]]}, r"y\[0\] must hold 3 labels, one per node, got shape \(2,\)"),
        ({"node_weight": [[1, 2]]}, r"node_weight\[0\] must hold 3 numbers > 0, one per node, got shape \(2,\)"),
        ({"node_weight": [[1, 2, 0]]}, r"node_weight\[0\] must be > 0, got 0"),
        ({"num_labels": 1}, "num_labels must be an integer >= 2, got 1"),
        ({"num_labels": 2.5}, "num_labels must be an integer >= 2, got 2.5"),
        ({"loss": "area"}, "unknown loss 'area' .did you mean 'share'..; accepted: balanced, errors, share"),
        ({"foreground_only": 1}, "foreground_only must be true or false, got 1"),
    ],
)
def test_wrong_arrays(changed, message):
    given = {"X": NODES, "edges": EDGES, "Z": FEATURES, "y": LABELS} | changed
    with pytest.raises(ParameterError, match=message) as caught:
        fwexp.segmentation_problem(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", [fwexp.predict, fwexp.evaluate, lambda problem, w: fwexp.max_oracle(problem, 0, w)])
@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_negative_capacities_are_a_fault_of_the_weights(weighted, call):
    problem = fwexp.segmentation_problem(NODES, EDGES, FEATURES, LABELS)
    asked = fwexp.weighted_problem(problem, [1.0]) if weighted else problem
    call(asked, [0, 0, 0, -1, 0.0])
    with pytest.raises(ParameterError, match=r"w must be >= 0 for edge features, w\[4\] .. w\[4\], .*got -0.5 at 4") as caught:
        call(asked, [0, 0, 0, 0, -0.5])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 2], "010"])
def test_wrong_labelings(y):
    problem = fwexp.segmentation_problem(NODES, EDGES, FEATURES, LABELS)
    with pytest.raises(ParameterError, match=r"y must hold 3 labels|labels in y must be 0 or 1"):
        fwexp.loss(problem, 0, y)


def without_edge_features(num_labels):
    """Return a problem, and its inputs."""
    rng = np.random.default_rng(num_labels)
    X, edges = [rng.normal(size=(4, 2)) for _ in range(3)], [[(0, 1), (1, 3)], np.empty((0, 2), int), [(2, 3)]]
    Z, y = [np.empty((len(pairs), 0)) for pairs in edges], [rng.integers(num_labels, size=4) for _ in range(3)]
    return fwexp.segmentation_problem(X, edges, Z, y, num_labels=num_labels), X


@pytest.mark.parametrize("num_labels", [2, 3])
def test_without_edge_features_every_node_is_for_itself(num_labels):
    problem, X = without_edge_features(num_labels)
    w = np.random.default_rng(num_labels).normal(size=problem.d)
    wanted = [np.argmax(x @ w.reshape(2, num_labels), axis=1) for x in X]
    assert [predicted.tolist() for predicted in fwexp.predict(problem, w)] == [labels.tolist() for labels in wanted]


@pytest.mark.slow
@pytest.mark.parametrize("num_labels", [2, 3])
def test_without_edge_features_training_goes_on(num_labels):
    problem, _ = without_edge_features(num_labels)
    assert fwexp.solve(problem, lam=0.1, max_passes=100).primal < 1.0
