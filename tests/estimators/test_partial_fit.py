"""Training on data that come in parts, and warm starts on other data, by the names of features and labels."""

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, MulticlassLogistic, MulticlassSVM

WORDS = [["the", "dog", "barks"], ["Ann", "sees", "York"], ["York", "sleeps"], ["Ann", "barks"]]
TAGS = [["D", "N", "V"], ["N", "V", "N"], ["N", "V"], ["N", "V"]]
TOL = 1e-3
CLOSE = {"lam": 0.05, "tol": TOL, "max_passes": 2000}
ROWS, COLOURS = [{"red": 1, "size": 2}, {"red": 1, "size": 3}, {"green": 1, "size": 2}], ["apple", "apple", "lime"]


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_sequences_may_come_in_parts(cls, tmp_path):
    model = cls(**CLOSE).partial_fit(WORDS[:1], TAGS[:1], classes=["V", "N", "D"])
    np.testing.assert_array_equal(model.result_.w, cls(**CLOSE).fit(WORDS[:1], TAGS[:1]).result_.w)
    model = cls.load(model.save(tmp_path / "m.npz"))
    before = dict(model.state_features_), dict(model.transition_features_), model.result_
    assert model.partial_fit(WORDS[1:], TAGS[1:]) is model
    assert model.feature_names_in_.tolist() == ["the", "dog", "barks", "Ann", "sees", "York", "sleeps"]
    assert model.classes_.tolist() == ["D", "N", "V"]
    assert model.dual_gap_ <= TOL
    assert model.predict(WORDS) == TAGS
    # The objective is about the sequences of the call, and the distance to the weights before it.
    problem = model.to_problem(WORDS[1:], TAGS[1:])
    w_0 = np.concatenate([before[2].w[:9], np.zeros(12), before[2].w[9:]])
    w, scale = model.result_.w, 7 / 3
    objective = "hinge" if cls is ChainSVM else "log"
    loss = fwexp.evaluate(problem, w, objective=objective).hinge / scale
    assert model.result_.primal == pytest.approx(0.025 * (w - w_0) @ (w - w_0) + loss, rel=1e-9)
    assert model.state_features_["the", "D"] == before[0]["the", "D"]  # as no sequence of the call has this word
    # A large lam keeps what was learned.
    kept = (
        cls(**CLOSE)
        .partial_fit(WORDS[:1], TAGS[:1], ["D", "N", "V"])
        .set_params(lam=1e6, tol=1e-3)
        .partial_fit(WORDS[1:], TAGS[1:])
    )
    np.testing.assert_allclose(kept.result_.w[:9], before[2].w[:9], atol=1e-5)
    # `fit` forgets.
    assert model.fit(WORDS[:1], TAGS[:1]).n_features_in_ == 3


@pytest.mark.parametrize("cls", [MulticlassSVM, MulticlassLogistic])
def test_examples_may_come_in_parts(cls):
    model = cls(**CLOSE).partial_fit(ROWS[:2], COLOURS[:2], classes=["lime", "apple"])
    assert model.predict(ROWS[:2]).tolist() == COLOURS[:2]
    weights = model.result_.w.reshape(3, 2)  # red, size, constant
    model.partial_fit(ROWS[2:], COLOURS[2:], sample_weight=[2.0])
    assert model.feature_names_in_.tolist() == ["red", "size", "green"]
    assert model.dual_gap_ <= TOL
    assert model.predict(ROWS[2:]).tolist() == COLOURS[2:]
    np.testing.assert_array_equal(model.result_.w.reshape(4, 2)[0], weights[0])
    w_0, w = np.vstack([weights[:2], np.zeros((1, 2)), weights[2:]]).ravel(), model.result_.w
    problem = model.to_problem(ROWS[2:], COLOURS[2:])
    objective = "hinge" if cls is MulticlassSVM else "log"
    loss = fwexp.evaluate(problem, w, objective=objective).hinge
    assert model.result_.primal == pytest.approx(0.025 * (w - w_0) @ (w - w_0) + loss, rel=1e-9)
    # Columns of numbers stay as many.
    model = cls(**CLOSE).fit(np.eye(3), [0, 1, 2])
    assert model.partial_fit(np.eye(3)[:1], [1]).dual_gap_ <= TOL
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.partial_fit(np.eye(2), [0, 1])


def test_min_count_is_about_new_features():
    model = ChainSVM(**CLOSE, min_count=2).partial_fit([["a", "a", "b"]], [["X", "X", "Y"]], ["X", "Y"])
    assert model.feature_names_in_.tolist() == ["a"]
    model.partial_fit([["c", "b", "c", "a"]], [["X"] * 4])
    assert model.feature_names_in_.tolist() == ["a", "c"]
    vectors = ChainSVM(**CLOSE).partial_fit([[{"v": [1.0, 2.0]}, {"b": 1}]], [["X", "Y"]], ["X", "Y"])
    with pytest.raises(ParameterError, match="feature 'v' in X must be a vector of 2 numbers, as in others, got 3"):
        vectors.partial_fit([[{"v": [1.0, 2.0, 3.0]}]], [["X"]])
    assert vectors.partial_fit([[{"v": [1.0, 2.0], "w": [0.5]}]], [["X"]]).feature_names_in_.tolist() == [
        "v[0]",
        "v[1]",
        "b",
        "w[0]",
    ]


def test_wrong_calls_change_nothing():
    model = ChainSVM(**CLOSE)
    for classes, message in (
        (None, "classes must hold all labels at the first call of partial_fit, got None"),
        ("DNV", "classes must hold all labels, got 'DNV'"),
        ([], "classes must hold all labels, got none"),
        (["N", "V"], "y must hold labels in classes, got 'D'; name all labels at the first partial_fit"),
        ([0, 1, -1], "labels in y must be known, got -1|y must hold labels in classes"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.partial_fit(WORDS, TAGS, classes)
        assert set(vars(model)) == set(model.get_params())
    model.partial_fit(WORDS[:1], TAGS[:1], ["D", "N", "V"])
    before = dict(vars(model))
    for X, y, classes, message in (
        (WORDS, [["X"] * len(x) for x in WORDS], None, "y must hold labels in classes, got 'X'"),
        (WORDS, TAGS, ["D", "N"], r"classes must be those of the first call, \['D', 'N', 'V'\], got \['D', 'N'\]"),
        ([np.eye(3)], [["N"] * 3], None, "X"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.partial_fit(X, y, classes)
        assert vars(model) == before
    for parameters, message in (
        ({"early_stopping": True}, "early_stopping must be False for partial_fit, got True"),
        ({"class_weight": "balanced"}, 'class_weight must be None or a dict for partial_fit, got "balanced"'),
        ({"solver": "ssg"}, "solver ssg cannot regularise the distance to weights; accepted: auto, bcfw, block_entropic"),
    ):
        with pytest.raises(ValueError, match=message):
            ChainSVM(**CLOSE).fit(WORDS, TAGS).set_params(**parameters).partial_fit(WORDS, TAGS)
    with pytest.raises(ParameterError, match="classes must hold at least two classes, got one class: 'apple'"):
        MulticlassSVM().partial_fit(ROWS[:1], COLOURS[:1], ["apple"])


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_warm_starts_on_other_data_go_by_names(cls, tmp_path, recwarn):
    first = cls(**CLOSE, iterate="best", warm_start=True).fit(WORDS[:3], TAGS[:3])
    for before in (first, cls.load(first.save(tmp_path / "m.npz"))):
        cold = cls(**CLOSE, iterate="best").fit(WORDS[::-1], TAGS[::-1])
        warm = before.fit(WORDS[::-1], TAGS[::-1])
        assert warm.feature_names_in_.tolist() == cold.feature_names_in_.tolist()  # in the order of the new data
        assert warm.dual_gap_ <= TOL
        assert abs(warm.result_.primal - cold.result_.primal) <= TOL
        assert warm.trace_["dual"].iloc[0] > 0.0
    assert not [warning for warning in recwarn if "warm_start" in str(warning.message)]
    # Other labels: those with names in common.
    fewer = [[{"N": "noun"}.get(tag, tag) for tag in tags] for tags in TAGS]
    assert warm.fit(WORDS, fewer).predict(WORDS) == fewer


def test_warm_starts_of_classes_go_by_names():
    model = MulticlassLogistic(**CLOSE, warm_start=True).fit(ROWS, COLOURS)
    model.fit([{"green": 1, "size": 1}, *ROWS[::-1]], ["lime", *COLOURS[::-1]])
    assert model.trace_["dual"].iloc[0] > 0.0
    assert model.feature_names_in_.tolist() == ["green", "size", "red"]


@pytest.mark.parametrize("constant", [True, False])
def test_the_constant_comes_and_goes_by_its_name(constant):
    model = MulticlassLogistic(**CLOSE, fit_intercept=constant, warm_start=True).fit(ROWS, COLOURS)
    warm = model.set_params(fit_intercept=not constant).fit(ROWS, COLOURS)
    cold = MulticlassLogistic(**CLOSE, fit_intercept=not constant).fit(ROWS, COLOURS)
    assert abs(warm.result_.primal - cold.result_.primal) <= TOL
    weights = warm.result_.w.reshape(-1, 2)
    model.set_params(fit_intercept=constant, lam=1e6, tol=1e-3).partial_fit(ROWS[2:], COLOURS[2:])
    kept = np.vstack([weights[:3], np.zeros((1, 2))]) if constant else weights[:3]
    np.testing.assert_allclose(model.result_.w.reshape(-1, 2), kept, atol=1e-3)


@pytest.mark.parametrize("cls", [MulticlassSVM, MulticlassLogistic])
def test_weights_may_be_of_classes_of_other_parts(cls):
    plain = cls(**CLOSE).partial_fit(ROWS[:2], COLOURS[:2], ["apple", "lime"])
    model = cls(**CLOSE, class_weight={"lime": 2.0}).partial_fit(ROWS[:2], COLOURS[:2], ["apple", "lime"])
    assert model.result_.primal == pytest.approx(plain.result_.primal, abs=TOL)
    model = cls(**CLOSE, class_weight={"lime": 2.0}).partial_fit(ROWS, COLOURS, ["apple", "lime"])
    twice = cls(**CLOSE).fit(ROWS, COLOURS, sample_weight=[1.0, 1.0, 2.0])
    assert model.result_.primal == pytest.approx(twice.result_.primal, abs=TOL)
