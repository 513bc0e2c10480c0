"""Weights that training does not change, against enumeration."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV
from tests.estimators.test_partial_labels import objective_of_sets

LABELS = ["a", "b", "c"]
FIXED = {1: {"a": 2.0, "c": -1.5}, 0: {"b": 1.0}}
TABLE = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, -1.5]])
KINDS = [
    (ChainSVM, {"lam": 0.05}),
    (ChainSVM, {"lam": 0.05, "loss": "share"}),
    (ChainCRF, {"lam": 0.05}),
    (ChainCRF, {"lam": 0.05, "objective": "softmax_margin"}),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(T, 4)) for T in (1, 2, 3, 3)]
    return X, [list(rng.choice(LABELS, size=len(x))) for x in X]


def objective(model, w, X, y):
    """Return the regularisation of the weights that are not fixed and the mean of the loss terms, every labeling written out."""
    positions, share = [np.ones(len(x)) for x in X], model.loss == "share"
    costs = [ones / len(ones) for ones in positions] if share else positions
    per = sum(map(len, X)) / len(X) if share else 1.0
    free = np.sum(w[len(TABLE[0]) * len(TABLE) :] ** 2)
    return 0.025 * free + per * objective_of_sets(model, w, X, y, np.ones(len(X)), costs)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("cls", "parameters"), KINDS)
def test_the_other_weights_are_trained_to_a_certified_gap(data, cls, parameters, form):
    X, y = data
    model = cls(**parameters, fixed_weights=FIXED, tol=1e-4, max_passes=2000, iterate="best").fit([form(x) for x in X], y)
    result = model.result_
    np.testing.assert_array_equal(model.coef_.T[:2], TABLE)
    assert result.primal == pytest.approx(objective(model, result.w, X, y), abs=1e-10)
    assert 0.0 <= model.dual_gap_ <= 1e-4

    def of_free(free):
        return objective(model, np.concatenate([TABLE.ravel(), free]), X, y)

    method = "L-BFGS-B" if cls is ChainCRF else "Powell"
    found = scipy.optimize.minimize(of_free, result.w[6:], method=method, options={"maxiter": 5})
    assert result.dual <= found.fun + 1e-9  # the bound holds for any weights
    assert found.fun >= result.primal - 1e-4 - 1e-9


def test_predictions_use_all_weights(data, tmp_path):
    X, y = data
    model = ChainCRF(fixed_weights=FIXED, tol=1e-3).fit(X, y)
    w = model.result_.w
    free = 0.025 * (w @ w - np.sum(TABLE**2))
    assert -model.log_proba(X, y).sum() / 9 == pytest.approx(objective(model, w, X, y) - free, abs=1e-12)
    problem = model.to_problem(X, y)
    assert [list(map(LABELS.__getitem__, labels)) for labels in fwexp.predict(problem, w)] == model.predict(X)
    loaded = ChainCRF.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(loaded.predict_proba(X)[2], model.predict_proba(X)[2])
    again = ChainCRF(fixed_weights=FIXED, tol=1e-3, warm_start=True).fit(X, y)
    again.fit(X[:3], y[:3])
    np.testing.assert_array_equal(again.coef_.T[:2], TABLE)
    chosen = ChainSVMCV(lams=[0.1, 1.0], cv=2, fixed_weights=FIXED, tol=0.1).fit(X, y)
    np.testing.assert_array_equal(chosen.coef_.T[:2], TABLE)
    names = [[{"word": "u"}, {"word": "v"}]]
    named = ChainSVM(fixed_weights={"word=u": {"a": 3.0}}, tol=0.1).fit(names, [["a", "b"]])
    assert named.state_features_["word=u", "a"] == 3.0


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        (
            {"fixed_weights": [1]},
            ["a", "b"],
            r"fixed_weights must be None or a dict of dicts .*, got \[1\]",
        ),
        ({"fixed_weights": {2: {"a": 1.0}}}, ["a", "b"], "fixed_weights must map features of X to dicts .* of labels in y, got"),
        ({"fixed_weights": {0: {"z": 1.0}}}, ["a", "b"], "fixed_weights must map features of X to dicts .* of labels in y, got"),
        ({"fixed_weights": {0: {"a": "x"}}}, ["a", "b"], r"fixed_weights\[0\]\['a'\] must be a finite number, got 'x'"),
        ({"fixed_weights": {0: {"a": 1.0}}}, [{"a"}, "b"], "fixed_weights must be None if y holds sets of labels, got weights"),
        (
            {"fixed_weights": {0: {"a": 1.0}}, "early_stopping": True},
            ["a", "b"],
            "early_stopping must be False with fixed_weights",
        ),
    ],
)
def test_wrong_weights_are_one_line(parameters, y, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        ChainSVM(**parameters).fit([np.eye(2)], [y])
