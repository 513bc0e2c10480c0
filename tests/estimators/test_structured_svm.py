import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from fwexp.errors import OptionError, ParameterError
from fwexp.estimators import StructuredSVM
from tests.estimators.models import Sequences, Signs


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = [tuple(rng.integers(2, size=length).tolist()) for length in (2, 3, 3, 1, 2, 3)]
    return [np.eye(2, 3)[list(labels)] + rng.normal(0, 0.1, (len(labels), 3)) for labels in y], y


@pytest.fixture(scope="module")
def fitted(data):
    return StructuredSVM(Sequences(), lam=0.1).fit(*data)


def test_a_model_learns_and_predicts_new_inputs(data, fitted):
    X, y = data
    assert fitted.predict(X) == y
    assert fitted.predict_one(np.eye(2, 3)[[1, 0]]) == (1, 0)
    assert fitted.score(X, y) == 1.0
    assert fitted.score(X[:1], [tuple(1 - label for label in y[0])]) == 0.0
    assert (fitted.status_, fitted.dual_gap_ <= 1e-2) == ("converged", True)


def test_predicting_leaves_the_weights_alone(data, fitted, monkeypatch):
    def centred(x, w):
        w -= w.mean()
        return Sequences().inference(x, w)

    before = fitted.w.copy()
    monkeypatch.setattr(fitted.model, "inference", centred)
    monkeypatch.setattr(fitted.model, "batch_inference", lambda X, w: [centred(x, w) for x in X], raising=False)
    for predict, X in ((fitted.predict, data[0]), (fitted.predict_one, data[0][0])):
        with pytest.raises(ValueError, match="read-only"):
            predict(X)
    np.testing.assert_array_equal(fitted.w, before)


def test_what_is_optional_in_a_model_may_be_missing():
    X, y = [-2.0, -1.0, 1.0, 3.0], [-1, -1, 1, 1]
    model = StructuredSVM(Signs(), C=25.0).fit(X, y, sample_weight=[1, 1, 1, 1])
    assert model.result_.lam == 0.01
    assert model.predict([-5, 5]) == [-1, 1]
    assert model.score([-5, 5], [-1, -1]) == -0.5
    assert StructuredSVM(Signs(), nonnegative=[0]).fit(X, [1, 1, -1, -1]).w[0] >= 0


def test_files_do_not_hold_the_model(data, fitted, tmp_path):
    X, y = data
    path = fitted.save(tmp_path / "model.npz")
    with pytest.raises(OptionError, match=r"model was Sequences, which files do not hold: pass it, load\(path, model=...\)"):
        StructuredSVM.load(path)
    assert StructuredSVM.load(path, model=fitted.model).predict(X) == y
    search = GridSearchCV(StructuredSVM(Signs()), {"lam": [0.1, 100.0]}, cv=2).fit([-2.0, 1.0, -1.0, 3.0], [-1, 1, -1, 1])
    assert search.predict([-5.0, 5.0]) == [-1, 1]


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("joint_feature", 1.0, r"joint_feature\(X\[0\], y\) must be a vector \(d,\) or a sparse row"),
        ("joint_feature", [np.nan, 0.0], r"joint_feature\(X\[0\], y\) must be finite"),
        ("loss", -1, r"loss\(y\[0\], y_hat\) must be a finite number >= 0, got -1"),
        ("loss_augmented_inference", None, r"loss_augmented_inference\(X\[0\], y\[0\], w\) must return a labeling, got None"),
        ("loss_augmented_inference", 1, r"loss_augmented_inference\(X\[1\], y\[1\], w\) must max.* loss\(y\[1\], y\[0\]\) = 1"),
    ],
)
def test_messages_name_the_methods_of_the_model(method, answer, message):
    model = Signs()
    setattr(model, method, lambda *given: answer)
    with pytest.raises(ParameterError, match=message):
        StructuredSVM(model).fit([1.0, -1.0], [-1, 1])
