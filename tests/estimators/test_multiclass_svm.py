import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import fwexp
from fwexp.estimators import MulticlassSVM

# They compare weights, which are the same at the optimum alone; tests/estimators/test_sample_weights.py compares optima.
STOPS_AT_A_GAP = {
    "check_sample_weight_equivalence_on_dense_data": "training stops at a certified gap, not at the optimum",
    "check_sample_weight_equivalence_on_sparse_data": "training stops at a certified gap, not at the optimum",
}
DICTS = [{"colour": "red", "size": 2}, {"colour": "red", "size": 3}, {"colour": "green", "size": 2}, {"colour": "green"}]
FRUIT = ["apple", "apple", "lime", "lime"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    return rng.normal(size=(60, 4)) + 3 * np.eye(3, 4)[y], np.array(["a", "b", "c"])[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of noise, in 50 passes
def test_the_conventions_of_scikit_learn_hold():
    outcomes = check_estimator(MulticlassSVM(), expected_failed_checks=STOPS_AT_A_GAP, on_fail=None, on_skip=None)
    assert {outcome["check_name"] for outcome in outcomes if outcome["status"] == "xfail"} == set(STOPS_AT_A_GAP)
    assert [outcome["check_name"] for outcome in outcomes if outcome["status"] == "failed"] == []
    assert sum(outcome["status"] == "passed" for outcome in outcomes) > 50


def test_weights_are_those_of_solve(data):
    X, y = data
    model = MulticlassSVM(fit_intercept=False).fit(X, y)
    result = fwexp.solve(fwexp.multiclass_problem(X, np.searchsorted(["a", "b", "c"], y)), lam="1/n", gap_tol=1e-2)
    np.testing.assert_array_equal(model.coef_, result.w.reshape(4, 3).T)
    assert model.predict(X).tolist() == model.classes_[result.predict(X)].tolist()
    assert model.score(X, y) > 0.9
    assert (model.dual_gap_, model.status_) == (result.gap, "converged")
    assert model.predict_one(X[0]) == model.predict(X)[0]
    assert (MulticlassSVM(nonnegative=slice(3)).fit(X, y).coef_[:, 0] >= 0).all()


def test_two_classes_have_one_row_of_weights(data):
    X, y = data
    model = MulticlassSVM(tol=1e-3).fit(X[y != "c"], y[y != "c"])
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 4), (1,))
    assert model.decision_function(X).shape == (60,)
    problem = model.to_problem(X, y)
    assert np.count_nonzero(problem.labels < 0) == np.count_nonzero(y == "c")
    assert model.predict(X).tolist() == model.classes_[model.result_.predict(problem)].tolist()


def test_features_may_have_names():
    model = MulticlassSVM().fit(DICTS, FRUIT)
    assert model.feature_names_in_.tolist() == ["colour=red", "size", "colour=green"]
    assert model.predict([{"colour": "green", "shape": "round"}, {"colour": "red"}]).tolist() == ["lime", "apple"]
    assert MulticlassSVM().fit(["a", "b"], [1, 0]).predict(["b", "a"]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(DICTS, FRUIT[:2])
