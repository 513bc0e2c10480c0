"""Linear SVMs compared with scikit-learn's (LIBLINEAR): the same optimum. C there multiplies a sum without 1/n: C = 1/(lam n)."""

import numpy as np
import pytest

import fwexp

LAM_N = 20.0
TOL = 1e-4  # relative, of the objective


@pytest.fixture(scope="module")
def digits():
    """Return inputs in [0, 1] and labels."""
    from sklearn.datasets import load_digits  # here, for its import takes a second in every process that runs tests

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.fixture(scope="module")
def linear_svc():
    """scikit-learn's class."""
    from sklearn.svm import LinearSVC

    return LinearSVC


def test_crammer_singer(digits, linear_svc):
    X, y = digits
    lam = LAM_N / len(y)
    theirs = linear_svc(
        multi_class="crammer_singer", C=1.0 / LAM_N, fit_intercept=False, tol=1e-5, max_iter=20_000, random_state=0
    ).fit(X, y)

    def primal(W):  # (classes, features)
        scores = X @ W.T
        margins = 1.0 + scores - scores[np.arange(len(y)), y][:, None]
        margins[np.arange(len(y)), y] = 0.0
        return lam / 2 * np.sum(W**2) + margins.max(axis=1).mean()

    result = fwexp.solve(fwexp.multiclass_problem(X, y), lam=lam, gap_tol=TOL / 20, max_passes=2000)
    ours = primal(result.w.reshape(-1, 10).T)
    assert result.status == "converged"
    assert result.primal == pytest.approx(ours, rel=1e-10)
    assert ours == pytest.approx(primal(theirs.coef_), rel=TOL)
    assert result.dual <= primal(theirs.coef_) + 1e-12


def test_binary_hinge(digits, linear_svc):
    X, y = digits[0], (digits[1] % 2).astype(np.int64)
    lam, sign = LAM_N / len(y), 2.0 * y - 1.0
    theirs = linear_svc(loss="hinge", C=1.0 / LAM_N, fit_intercept=False, tol=1e-6, max_iter=100_000, random_state=0).fit(X, y)

    def primal(u):
        return lam / 2 * (u @ u) + np.maximum(0.0, 1.0 - sign * (X @ u)).mean()

    # u = w_1 - w_0 and w_0 = -w_1 at the optimum, so ||u||^2 = 2 ||w||^2
    result = fwexp.solve(fwexp.multiclass_problem(X, y), lam=2.0 * lam, gap_tol=TOL / 20, max_passes=2000)
    w = result.w.reshape(-1, 2)
    assert result.status == "converged"
    assert primal(w[:, 1] - w[:, 0]) == pytest.approx(primal(theirs.coef_[0]), rel=TOL)
    assert result.primal == pytest.approx(primal(theirs.coef_[0]), rel=TOL)
