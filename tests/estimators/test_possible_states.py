"""Taggers with weights for the pairs of features and labels that occur."""

import pytest

import fwexp
from fwexp import predictor
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV
from tests.estimators.cases import data_of, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
X, Y = data_of(ChainSVM, 12)
OCCURRING = {
    (name, label)
    for x, labels in zip(X, Y)
    for position, label in zip(x, labels)
    for name in (f"word={position['word']}", *(f"shape={one}" for one in position["shape"]), "size")
}


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF, ChainSVMCV])
def test_only_weights_of_pairs_that_occur_are_trained_and_certified(cls, tmp_path):
    model = new(cls, possible_states=False, max_passes=5).fit(X, Y)
    assert set(model.state_features_) <= OCCURRING
    assert not set(new(cls).fit(X, Y).state_features_) <= OCCURRING
    every = model.to_problem(X, Y)
    assert every.d == len(model.result_.w)
    scale = len(every.labels) / every.n
    value = fwexp.evaluate(every, model.result_.w)
    if cls is not ChainCRF:
        assert model.result_.primal == pytest.approx(value.hinge / scale + model.result_.lam / 2 * value.norm_sq)
    again = cls.load(model.save(tmp_path / "model.npz"))
    assert (again.predict(X), again.possible_states) == (model.predict(X), False)
    assert predictor.load(tmp_path / "model.npz").predict(X) == model.predict(X)


def test_training_in_parts_and_on_sets_has_all_weights():
    model = new(ChainSVM, possible_states=False).partial_fit(X, Y, classes=[*"abc"])
    assert not set(model.state_features_) <= OCCURRING
    sets = [[{"a", "b"}, *labels[1:]] for labels in Y]
    assert not set(new(ChainSVM, possible_states=False, max_passes=30).fit(X, sets).state_features_) <= OCCURRING


def test_early_stopping_and_transitions_with_features_take_fewer_weights():
    model = new(ChainSVM, possible_states=False, early_stopping=True).fit(X, Y)
    assert set(model.state_features_) <= OCCURRING
    model = new(ChainCRF, possible_states=False, transition_features=["word"]).fit(X, Y)
    assert set(model.state_features_) <= OCCURRING
    assert len(model.feature_transitions_)


def test_test_sets_are_scored_with_the_pairs_of_training():
    """Labels of a test set say nothing about the weights: not those of `to_problem`, nor of a development set."""
    turned = [["abc"["abc".index(label) - 1] for label in labels] for labels in Y]
    model = new(ChainSVM, possible_states=False).fit(X, Y, dev=(X, turned))
    wrong = 1.0 - model.score(X, turned)
    assert 0.0 < wrong < 1.0
    assert fwexp.evaluate(model.to_problem(X, turned), model.result_.w).error == pytest.approx(wrong)
    rows = model.trace_[model.trace_["iterate"] == model.result_.iterate]
    assert rows["validation_error"].iloc[-1] == pytest.approx(wrong)


def test_other_values_are_refused():
    with pytest.raises(ParameterError, match=r"^possible_states must be true or false, got 'some'$"):
        new(ChainSVM, possible_states="some").fit(X, Y)
