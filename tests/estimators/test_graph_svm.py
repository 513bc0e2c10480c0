import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import GraphSVM
from fwexp.estimators.graph_svm import GraphEncoding


def image(seed, names=("back", "fore")):
    rng = np.random.default_rng(seed)
    labels = np.zeros((5, 6), dtype=int)
    labels[1:4, rng.integers(3) :][:, :3] = 1
    return np.dstack([labels + rng.normal(0, 0.4, labels.shape), np.ones(labels.shape)]), np.array(names)[labels]


@pytest.fixture(scope="module")
def data():
    X, y = zip(*map(image, range(8)))
    return list(X), list(y)


def test_colours_without_a_constant_are_warned_of(data):
    X, y = data
    colours = [np.clip(x[..., 0] / 2 + 0.4, 0, 1) for x in X]
    with pytest.warns(UserWarning, match="^X has no constant feature: GraphSVM adds none, .* append a feature of ones"):
        without = GraphSVM(lam=0.005, tol=0.05).fit(colours, y)
    assert {label for found in without.predict(colours) for label in found.ravel()} == {"back"}
    for other in ([np.dstack([x, np.ones(x.shape)]) for x in colours], [np.dstack([x, 1 - x]) for x in colours], X):
        assert GraphSVM(lam=1e-3, tol=0.05).fit(other, y).score(other, y) > 0.85


@pytest.fixture(scope="module")
def fitted(data):
    return GraphSVM(lam=0.005).fit(*data)


def test_images_are_segmented(data, fitted):
    X, y = data
    assert fitted.score(X, y) > 0.9
    assert [found.shape for found in fitted.predict(X)] == [(5, 6)] * 8
    assert fitted.edge_weights_[0] > 0
    assert (fitted.coef_.shape, fitted.classes_.tolist(), fitted.n_features_in_) == ((2, 2), ["back", "fore"], 2)
    assert (fitted.status_, fitted.dual_gap_ <= 1e-2) == ("converged", True)
    unary = [fitted.classes_[(x @ fitted.coef_.T).argmax(axis=2)] for x in X]
    assert fitted.score(X, y) > np.mean(np.array(unary) == np.array(y))  # neighbours help


def test_a_grid_is_the_graph_of_its_neighbours(data, fitted):
    x, y = data[0][0], data[1][0]
    edges = [(i, i + 1) for i in range(30) if i % 6 < 5] + [(i, i + 6) for i in range(24)]
    graph = x.reshape(-1, 2), edges, np.ones((len(edges), 1))
    np.testing.assert_array_equal(fitted.predict([graph])[0], fitted.predict([x])[0].ravel())
    problems = fitted.to_problem([x], [y]), fitted.to_problem([graph[:2]], [y.ravel()])
    weights = np.random.default_rng(0).normal(size=5)
    weights[-1] = 0.5
    assert fwexp.evaluate(problems[0], weights) == pytest.approx(fwexp.evaluate(problems[1], weights))
    np.testing.assert_array_equal(fitted.predict([(sp.csr_array(graph[0]), *graph[1:])])[0], fitted.predict([x])[0].ravel())


def test_gray_images_of_any_size():
    model = GraphSVM(lam=0.01).fit([[[-1.0, 1.0]], [[1.0], [-1.0]], [[1.0]]], [[[0, 1]], [[1], [0]], [[1]]])
    assert model.predict([[[1.0, -1.0], [1.0, -1.0]]])[0].tolist() == [[1, 0], [1, 0]]


def test_graphs_without_edges_need_no_features_of_them():
    pair = [[1.0], [-1.0]], [(0, 1)], [[0.5, 0.5]]
    single = [[1.0]], [], []
    model = GraphSVM().fit([single, pair], [["a"], ["a", "b"]])
    assert model.edge_weights_.shape == (2,)
    assert [found.tolist() for found in model.predict([single, single[:2], pair])] == [["a"], ["a"], ["a", "b"]]
    assert model.predict([]) == []
    with pytest.raises(ParameterError, match=r"X\[1\] must have 2 features per edge, as in fit, got 1"):
        model.predict([pair, pair[:2]])
    with pytest.raises(ParameterError, match=r"X\[0\] must have 1 features per node, as in fit, got 3"):
        model.predict([np.ones((2, 2, 3))])


@pytest.mark.filterwarnings("ignore:the oracle is not exact")
@pytest.mark.parametrize("pairwise", ["potts", "full"])
@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
def test_labels_have_weights(pairwise, names):
    """A rare label that is not to be missed is found more often; losses and the objective are those of a sum over labelings."""
    rng, K = np.random.default_rng(0), len(names)
    edges, truths = [(0, 1), (1, 2)], rng.choice(K, (30, 3), p=[0.8, *[0.2 / (K - 1)] * (K - 1)])
    X = [(np.eye(K)[truth] + rng.normal(0, 0.8, (3, K)), edges) for truth in truths]
    y = [np.array(names)[truth] for truth in truths]
    found, costs = [], np.array([1.0, *[5.0] * (K - 1)])
    for class_weight in (None, dict(zip(names, costs))):
        model = GraphSVM(pairwise=pairwise, lam=0.005, iterate="best", class_weight=class_weight).fit(X, y)
        found.append(np.concatenate(model.predict(X)))
    assert np.mean(found[1] == "a") < np.mean(found[0] == "a")
    problem, all_labelings = model.to_problem(X, y), np.array(list(itertools.product(range(K), repeat=3)))
    losses = [np.sum((all_labelings != truth) * costs[truth], axis=1) for truth in truths]
    of_three = [fwexp.loss(problem, i, labeling) for i in range(3) for labeling in all_labelings]
    assert of_three == pytest.approx(np.concatenate(losses[:3]))
    w = model.result_.w
    scores = [[w @ fwexp.joint_feature(problem, i, labeling).toarray()[0] for labeling in all_labelings] for i in range(30)]
    own = [w @ fwexp.joint_feature(problem, i, truth).toarray()[0] for i, truth in enumerate(truths)]
    bounds = np.max(np.array(losses) + scores, axis=1) - own
    assert model.result_.primal == pytest.approx(0.0025 * w @ w + np.mean(bounds) / 3)
    balanced = GraphSVM(pairwise=pairwise, class_weight="balanced", lam=1.0).fit(X, y).class_weight_
    np.testing.assert_allclose(balanced * np.bincount(np.ravel(truths)), 90 / K)


def test_labels_that_are_not_known_are_refused(data, fitted):
    with pytest.raises(ParameterError, match=r"y\[0\] must hold labels that fit saw, got 'sky'"):
        fitted.to_problem(data[0][:1], [np.full((5, 6), "sky")])


def test_pairs_of_labels_have_weights_of_any_sign():
    """Stripes: neighbours side by side never have the same label, those above each other always do."""
    rng = np.random.default_rng(0)
    labels = [(np.arange(6) + k) % 3 for k in range(3)]
    images = [np.eye(3)[np.tile(of_one, (4, 1))] + rng.normal(0, 1.2, (4, 6, 3)) for of_one in labels]
    y = [np.array(["a", "b", "c"])[np.tile(of_one, (4, 1))] for of_one in labels]
    places = np.arange(24).reshape(4, 6)
    edges = np.concatenate(
        [
            np.column_stack([places[:, :-1].ravel(), places[:, 1:].ravel()]),
            np.column_stack([places[:-1].ravel(), places[1:].ravel()]),
        ]
    )
    X = [(image.reshape(24, 3), edges, np.eye(2)[(np.arange(len(edges)) >= 20).astype(int)]) for image in images]
    grids, y = y, [labels.ravel() for labels in y]
    with pytest.warns(ConvergenceWarning, match="nothing is certified"):
        model = GraphSVM(pairwise="full", lam=5e-4, max_passes=30).fit(X, y, sample_weight=[1, 1, 2])
    with pytest.warns(ConvergenceWarning, match="nothing is certified"):
        assert model.score(X, y) > max(0.95, GraphSVM(max_passes=30).fit(X, y).score(X, y))
    side, above = model.edge_weights_
    assert np.trace(side) < 0 < np.trace(above)
    assert model.edge_weights_.shape == (2, 3, 3)
    assert np.isnan(model.dual_gap_)
    assert "nothing is certified" in model.result_.reason
    problem = model.to_problem(X, y)
    assert problem.d == 3 * 3 + 2 * 9
    score = model.result_.w @ fwexp.joint_feature(problem, 0, problem.y[0]).toarray()[0]
    numbers = problem.y[0]
    nodes = sum(model.coef_[k] @ x for k, x in zip(numbers, X[0][0]))
    assert score == pytest.approx(
        nodes + sum(z @ model.edge_weights_[:, numbers[a], numbers[b]] for (a, b), z in zip(edges, X[0][2]))
    )
    quick = GraphSVM(pairwise="full", lam=5e-4, max_passes=2)
    with pytest.warns(ConvergenceWarning, match="nothing is certified"):
        of_images, of_graphs = (clone(quick).fit(*given, sample_weight=[1, 1, 2]) for given in ((images, grids), (X, y)))
    np.testing.assert_array_equal(of_images.edge_weights_, of_graphs.edge_weights_)
    np.testing.assert_array_equal(np.reshape(of_images.predict(images), (3, 24)), of_graphs.predict(X))
    with pytest.raises(ParameterError, match=r"Z\[1\] must have shape \(38, 2\), got \(38, 1\)"):
        model.fit([X[0], (*X[1][:2], np.ones((38, 1)))], y[:2])


def test_graphs_may_be_lists():
    features, edges = np.eye(3), [[0, 1], [1, 2]]
    wanted = GraphSVM().fit([(features, edges)], [[0, 1, 1]])
    for graph in ([features, edges], [features.tolist(), edges], [features, np.array(edges), np.ones((2, 1))]):
        model = GraphSVM().fit([graph], [[0, 1, 1]])
        np.testing.assert_array_equal(model.result_.w, wanted.result_.w)
        assert model.predict([graph])[0].shape == (3,)
    assert GraphSVM().fit([[[[1.0], [-1.0]], [[-1.0], [1.0]]]], [[[1, 0], [0, 1]]]).coef_.shape == (2, 1)  # an image


@pytest.mark.parametrize("pairwise", ["potts", "full"])
def test_weighted_fits_are_warm_starts(pairwise):
    graphs, labels = [(np.eye(3), np.array([[0, 1], [1, 2]])), (np.eye(3)[::-1], np.array([[0, 2]]))], [[0, 1, 1], [1, 0, 0]]
    model = GraphSVM(lam=0.1, pairwise=pairwise, iterate="last", warm_start=True, max_passes=500).fit(graphs, labels, [1, 2])
    model.fit(graphs, labels, [1, 2])  # a start from zero warns, and warnings are errors here
    with pytest.warns(UserWarning, match="the data or their weights are not those of the last one"):
        model.fit(graphs, labels, [2, 1])


def graph_of(image, **parameters):
    """Return the graph that training makes of an image."""
    encoding = GraphEncoding(GraphSVM(**parameters))
    encoding.pairwise = encoding.params.pairwise
    (graph,) = encoding.graphs([image])
    return graph


def test_images_have_edges_to_four_or_eight_neighbours():
    image = np.arange(12.0).reshape(3, 4)
    expected = {4: [(0, 1), (1, 0)], 8: [(0, 1), (1, 0), (1, 1), (1, -1)]}
    for connectivity, sides in expected.items():
        features, edges, of_edges, shape = graph_of(image, connectivity=connectivity, pairwise="full")
        places = {(i, j): 4 * i + j for i in range(3) for j in range(4)}
        wanted = [
            (places[i, j], places[i + down, j + right], k)
            for k, (down, right) in enumerate(sides)
            for (i, j) in places
            if (i + down, j + right) in places
        ]
        assert [(a, b, k) for (a, b), k in zip(edges.tolist(), of_edges.argmax(axis=1).tolist())] == wanted
        assert (of_edges.sum(axis=1) == 1.0).all()
        assert (features.shape, shape) == ((12, 1), (3, 4))


def test_contrast_is_a_second_feature_of_edges():
    image = np.random.default_rng(0).normal(size=(3, 4, 2))
    features, edges, of_edges, _ = graph_of(image, contrast=True)
    squares = np.array([np.sum((features[a] - features[b]) ** 2) for a, b in edges])
    np.testing.assert_allclose(of_edges, np.column_stack([np.ones(len(edges)), np.exp(-squares / (2 * squares.mean()))]))
    _, _, alike, _ = graph_of(np.ones((2, 2)), contrast=True)
    assert (alike == 1.0).all()
    _, _, none, _ = graph_of(np.ones((1, 1)), contrast=True, connectivity=8)
    assert none.shape == (0, 2)


def test_small_graphs_with_cycles_are_certified():
    image, labels = np.array([[1.0, -1.0], [-0.8, 1.2]]), np.array([["a", "b"], ["b", "a"]])
    model = GraphSVM(lam=0.01, pairwise="full", tol=0.05, max_passes=200).fit([image], [labels])
    assert 0.0 <= model.dual_gap_ <= 0.05


@pytest.mark.parametrize("pairwise", ["potts", "full"])
def test_nodes_without_labels_are_left_out(pairwise):
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(V, 2)) for V in (5, 4)]
    edges, y = [[(0, 1), (1, 2), (3, 4)], [(0, 3)]], [np.array([0, 1, 255, 1, 0]), np.array([1, 1, 0, 255])]
    model = GraphSVM(lam=0.1, pairwise=pairwise, ignore_label=255, tol=0.05).fit(list(zip(features, edges)), y)
    kept = [(features[0][[0, 1, 3, 4]], [(0, 1), (2, 3)]), (features[1][:3], np.zeros((0, 2), dtype=int))]
    other = GraphSVM(lam=0.1, pairwise=pairwise, tol=0.05).fit(kept, [[0, 1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(model.result_.w, other.result_.w)
    found = [(a, b) for labels, of in zip(y, model.predict(list(zip(features, edges)))) for a, b in zip(labels, of) if a != 255]
    assert model.score(list(zip(features, edges)), y) == pytest.approx(np.mean([a == b for a, b in found]))


@pytest.mark.parametrize("pairwise", ["potts", "full"])
def test_errors_cost_more_at_nodes_that_weigh_more(pairwise):
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(2, 3)), rng.normal(size=(3, 1))], [rng.integers(2, size=(2, 3)), np.array([[0], [1], [255]])]
    weights = [rng.random((2, 3)), rng.random((3, 1))]
    options = {"lam": 0.1, "pairwise": pairwise, "ignore_label": 255, "tol": 0.05}
    model = GraphSVM(**options, class_weight={1: 2.0}).fit(X, y, sample_weight=weights)
    problem = GraphEncoding(model).learn(X, y, [of_one.ravel() for of_one in weights])[0]
    costs = weights[0].ravel() * np.where(y[0].ravel() == 1, 2.0, 1.0)
    assert fwexp.loss(problem, 0, 1 - y[0].ravel()) == pytest.approx(costs.sum())
    assert fwexp.loss(model.to_problem(X, y, weights), 0, 1 - y[0].ravel()) == pytest.approx(costs.sum())
    right = np.concatenate([(truth == found).ravel() for truth, found in zip(y, model.predict(X))])
    counted = np.concatenate([*map(np.ravel, weights)])
    counted[-1] = 0.0  # The last node has no label.
    assert model.score(X, y, sample_weight=weights) == pytest.approx(np.average(right, weights=counted))
    assert model.score(X, y, sample_weight=[2.0, 0.0]) == np.mean(right[:6])
    assert model.to_problem(X, y, [2.0, 0.0]).c.tolist() == [2.0, 0.0]
    twice = GraphSVM(**options).fit(X, y, sample_weight=[2.0, 1.0])
    assert twice.dual_gap_ <= 0.05
