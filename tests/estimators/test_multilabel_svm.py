import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import MultiLabelBinarizer

import fwexp
from fwexp.estimators import MultiLabelSVM


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_classification(40, 6, n_classes=3, random_state=0)
    return X / 10, y


@pytest.fixture(scope="module")
def fitted(data):
    return MultiLabelSVM(lam=0.01).fit(*data)


@pytest.fixture(scope="module")
def attracted(fitted):
    """Return the same with other weights, which make labels attract each other much."""
    model = pickle.loads(pickle.dumps(fitted))
    w = np.random.default_rng(0).normal(size=len(model.result_.w))
    w[-3:] = [0.3, 0.0, 1.0]
    model.result_ = replace(model.result_, w=w)
    return model


def scores(model, x, labels):
    apart = sum(u for u, (a, b) in zip(model.edge_weights_, model.edges_) if labels[a] != labels[b])
    return labels @ (model.coef_ @ x + model.intercept_) - apart


SETS = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T


def test_a_classifier_learns_and_certifies(data, fitted):
    X, y = data
    assert np.mean(fitted.predict(X) == y) > 0.8
    assert (fitted.edge_weights_ >= 0).all()
    assert fitted.edges_.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert (fitted.status_, fitted.dual_gap_ <= 1e-2) == ("converged", True)


def test_the_hinge_is_the_largest_violation_over_all_sets(data, attracted):
    X, y = data
    truth = [scores(attracted, x, labels) for x, labels in zip(X, y)]
    wanted = [max(scores(attracted, x, s) + np.sum(s != t) for s in SETS) - of for x, t, of in zip(X, y, truth)]
    np.testing.assert_allclose(fwexp.evaluate(attracted.to_problem(X, y), attracted.result_).hinge, np.mean(wanted))


def test_edges_are_chosen():
    X, y = sp.csr_array([[1.0, 0.0], [0.0, 1.0]] * 3), [[1, 1], [0, 0]] * 3
    alone = MultiLabelSVM(edges=None, fit_intercept=False).fit(X, y)
    assert (alone.edges_.shape, alone.edge_weights_.shape, alone.coef_.shape) == ((0, 2), (0,), (2, 2))
    assert alone.predict(X).tolist() == y
    assert MultiLabelSVM(edges=[(1, 0)]).fit(X, y).edges_.tolist() == [[1, 0]]


def test_features_and_labels_have_names():
    X = [["sand", "sea"], ["sea"], ["snow"], ["snow", "sea"]]
    y = MultiLabelBinarizer(sparse_output=True).fit_transform(
        [["beach", "sun"], ["beach", "sun"], ["cold"], ["beach", "cold", "sun"]]
    )
    model = MultiLabelSVM(lam=0.1).fit(X, y, sample_weight=[1, 1, 1, 1])
    assert model.predict([["sea", "new"], ["snow"]]).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert model.feature_names_in_.tolist() == ["sand", "sea", "snow"]


@pytest.fixture(scope="module")
def repelling(data):
    """Return a model whose labels may repel each other, on examples that have one label each, with weights that are drawn."""
    X, y = data
    model = MultiLabelSVM(lam=0.01, pairwise="full", max_passes=2, tol=10.0).fit(X, np.eye(3, dtype=int)[y.argmax(axis=1)])
    model.result_ = replace(model.result_, w=np.random.default_rng(1).normal(size=len(model.result_.w)))
    return model


def all_scores(model, x):
    """Return the score of every set, from the weights as the documentation describes them."""
    if model.pairwise == "potts":
        return np.array([scores(model, x, labels) for labels in SETS])
    own = SETS @ (model.coef_ @ x + model.intercept_)
    return own + [sum(U[labels[a], labels[b]] for U, (a, b) in zip(model.edge_weights_, model.edges_)) for labels in SETS]


@pytest.mark.parametrize("name", ["attracted", "repelling"])
def test_decisions_are_margins_of_best_sets(data, name, request):
    model, X = request.getfixturevalue(name), data[0]
    values = np.array([all_scores(model, x) for x in X])
    wanted = [[of[SETS[:, k] == 1].max() - of[SETS[:, k] == 0].max() for k in range(3)] for of in values]
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), SETS[values.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert (model.predict(X) != (X @ model.coef_.T + model.intercept_ > 0)).any()  # pairs of labels matter


def test_labels_that_exclude_each_other_are_learned_and_certified():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * 0.3
    y = np.eye(3, dtype=int)[rng.integers(3, size=60)]  # features do not tell: only the exclusion is to be learned
    repelled = MultiLabelSVM(lam=0.001, pairwise="full", tol=0.02, max_passes=300, iterate="best").fit(X, y)
    assert (repelled.predict(X).sum(axis=1) <= 1).all()
    assert 0.0 <= repelled.dual_gap_ <= 0.02
    problem, w = repelled.to_problem(X, y), repelled.result_.w
    hinge = np.mean([(all_scores(repelled, x) + np.abs(SETS - of).sum(axis=1)).max() for x, of in zip(X, y)])
    truth = np.mean([all_scores(repelled, x)[(of == SETS).all(axis=1)][0] for x, of in zip(X, y)])
    assert fwexp.evaluate(problem, w).hinge == pytest.approx(hinge - truth, abs=1e-9)


def test_errors_cost_what_class_weight_says(data):
    X, y = data
    for pairwise in ("potts", "full"):
        model = MultiLabelSVM(lam=0.1, class_weight={0: 3.0}, pairwise=pairwise, max_passes=2, tol=10.0).fit(X, y)
        problem = model.to_problem(X, y)
        assert fwexp.loss(problem, 0, 1 - y[0]) == pytest.approx(5.0)
        wrong = y[0].copy()
        wrong[0] = 1 - wrong[0]
        assert fwexp.loss(problem, 0, wrong) == pytest.approx(3.0)
    balanced = MultiLabelSVM(lam=0.1, class_weight="balanced", max_passes=2, tol=10.0).fit(X, y)
    shares = np.stack([(y == 0).mean(axis=0), y.mean(axis=0)])
    np.testing.assert_allclose(balanced.class_weight_ * shares, 0.5)
