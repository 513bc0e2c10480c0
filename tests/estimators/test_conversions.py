"""The strengths of the regularisation of other tools, converted as docs/choose.md says, for two classes and for three."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from fwexp.estimators import MulticlassLogistic, MulticlassSVM

CLOSE = {"tol": 1e-8, "fit_intercept": False}
LONG = {"tol": 1e-8, "max_iter": 100_000}
HALF = [0.3, 0.7]


def iris(classes: int):
    """Return the examples of some of the classes, which a plane through 0 does not separate."""
    X, y = load_iris(return_X_y=True)
    chosen = y > 0 if classes == 2 else y >= 0
    return ((X - X.mean(axis=0)) / 2)[chosen][::2], y[chosen][::2]


def ours(model, X, y):
    """Return the fitted model of a class, and what its weights are compared by."""
    fitted = model.fit(X, y)
    assert fitted.status_ == "converged"
    return fitted.coef_


@pytest.mark.parametrize("C", HALF)
@pytest.mark.parametrize("classes", [2, 3])
def test_c_of_logistic_regression(classes, C):
    X, y = iris(classes)
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    half, close = (2 if classes == 2 else 1), CLOSE | {"solver": "lbfgs", "max_passes": 2000}
    for strength in ({"lam": half / (C * len(y))}, {"C": C / half}):
        model = MulticlassLogistic(**strength, **close)
        np.testing.assert_allclose(ours(model, X, y), theirs.coef_, atol=2e-3)
        np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)).sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    w, labels = model.result_.w, np.searchsorted(model.classes_, y)
    value = model.result_.lam / 2 * w @ w - model.predict_log_proba(X)[np.arange(len(y)), labels].mean()
    assert model.result_.primal == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("C", HALF)
@pytest.mark.parametrize("classes", [2, 3])
def test_c_of_the_svm_of_crammer_and_singer(classes, C):
    X, y = iris(classes)
    theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, **LONG).fit(X, y).coef_
    for strength in ({"lam": 1 / (C * len(y))}, {"C": C}):
        found = ours(MulticlassSVM(**strength, solver="one_slack", max_passes=2000, **CLOSE | {"tol": 1e-5}), X, y)
        np.testing.assert_allclose(found, theirs, atol=2e-2)


@pytest.mark.parametrize("C", HALF)
@pytest.mark.parametrize("cls", [SVC, LinearSVC])
def test_c_of_svms_with_one_vector_of_weights(cls, C):
    """With three classes they train one against one, or one against all others, which is another problem."""
    X, y = iris(2)
    if cls is SVC:  # which has a constant that is not regularised: it is 0 where both classes are mirror images
        X, y = np.vstack([X, -X]), np.concatenate([y, 3 - y])
        theirs = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
        assert abs(theirs.intercept_[0]) < 1e-4
    else:
        theirs = LinearSVC(C=C, loss="hinge", fit_intercept=False, **LONG).fit(X, y)
    for strength in ({"lam": 2 / (C * len(y))}, {"C": C / 2}):
        found = ours(MulticlassSVM(**strength, solver="one_slack", max_passes=2000, **CLOSE | {"tol": 1e-5}), X, y)
        np.testing.assert_allclose(found, theirs.coef_, atol=2e-2)


@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_alpha_of_stochastic_gradients(alpha):
    X, y = iris(2)
    theirs = SGDClassifier("log_loss", alpha=alpha, fit_intercept=False, tol=None, max_iter=3000, average=True, random_state=0)
    found = ours(MulticlassLogistic(lam=2 * alpha, solver="lbfgs", max_passes=2000, **CLOSE), X, y)
    np.testing.assert_allclose(found, theirs.fit(X, y).coef_, rtol=0.02, atol=0.01)
