"""Features by name that a function returns: training reads them once, and keeps numbers of names instead of dicts."""

import weakref

import numpy as np
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV, numbered_features

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(5)
LENGTHS = (3, 1, 4, 2, 1, 5, 2, 3)
WORDS = [[f"w{k}" for k in RNG.integers(0, 9, length)] for length in LENGTHS]
Y = [["ab"[int(word[1:]) % 2] for word in x] for x in WORDS]


class Position(dict):
    """Features that can be watched."""


def dicts(x) -> list[dict]:
    return [
        Position(word=word, first=t == 0, tags=[word, "any"], size=float(len(x)), vector=[0.5, 0.0, float(t)])
        for t, word in enumerate(x)
    ]


def flags(x) -> list[dict]:
    return [{"word": word, "first": t == 0} for t, word in enumerate(x)]


def texts(x) -> list[list[str]]:
    return [[word, "any", word] for word in x]


def numbers(x) -> np.ndarray:
    return np.array([[float(word[1:]), 1.0] for word in x])


FUNCTIONS = [dicts, flags, texts, list, numbers]


def in_parts(model, X, y):
    """Train on two parts, the second of which keeps the columns of the first."""
    for part in (slice(0, 2), slice(2, 8)):
        model.partial_fit(X[part], y[part], classes=["a", "b"])
    return model


def partly_without_weight(model, X, y):
    """Sequences without weight or positions add no names."""
    X, y = [*X[:3], X[3][:0], *X[4:]], [*y[:3], [], *y[4:]]
    return model.fit(X, y, np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 0.5, 1.0]))


FOLDS = {"lams": [1.0, 0.01], "cv": [([5, 1, 0], [2, 3]), ([*range(8)], [7, 6])]}  # which have names of their own
WAYS = {  # to train: the estimator, its parameters, and how it gets data
    "plain": (ChainSVM, {}, ChainSVM.fit),
    "min_count": (ChainSVM, {"min_count": 3}, ChainSVM.fit),
    "early_stopping": (ChainSVM, {"early_stopping": True, "validation_fraction": 0.4}, ChainSVM.fit),
    "pairs": (ChainSVM, {"possible_states": False}, ChainSVM.fit),
    "weights": (ChainCRF, {}, partly_without_weight),
    "folds": (ChainSVMCV, FOLDS, ChainSVMCV.fit),
    "parts": (ChainSVM, {}, in_parts),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_sequences_gives_the_model_of_its_features(function, way):
    cls, params, train = WAYS[way]
    one = train(cls(max_passes=5, features=function, **params), WORDS, Y)
    other = train(cls(max_passes=5, **params), [function(x) for x in WORDS], Y)
    assert one.vectorizer_.names == other.vectorizer_.names
    np.testing.assert_array_equal(one.result_.w, other.result_.w)
    assert one.predict(WORDS) == other.predict([function(x) for x in WORDS])
    if way == "folds":
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"])


def test_blocks_of_entries_change_no_order_of_names(monkeypatch):
    monkeypatch.setattr(numbered_features, "AT_ONCE", 3)
    test_a_function_of_sequences_gives_the_model_of_its_features(dicts, "weights")


def test_features_are_read_once_and_not_kept():
    """While the function runs, no features exist but those of the first sequence and of the one before."""
    alive, calls = weakref.WeakSet(), []

    class Counted(dict):
        __hash__ = object.__hash__

    def watched(x):
        calls.append(len(alive))
        found = [Counted(one) for one in flags(x)]
        alive.update(found)
        return found

    ChainSVM(max_passes=2, features=watched).fit(WORDS, Y)
    assert len(calls) == len(WORDS)
    assert max(calls) <= 2 * max(LENGTHS)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (7, r"X\[2\] must be a list of positions, each a dict, a string or a list of strings, got int 7"),
        ([{"vector": [1.0, 2.0]}], r"feature 'vector' in X must be a vector of 3 numbers, as in others, got 2"),
        ([{"size": np.inf}], r"feature 'size' in X must be finite, got inf"),
    ],
)
def test_mistakes_are_named_with_their_place(wrong, message):
    def broken(x):
        return wrong if x is WORDS[2] else dicts(x)

    with pytest.raises(ParameterError, match=message):
        ChainSVM(features=broken).fit(WORDS, Y)


def test_vectors_keep_their_length_in_later_parts():
    def longer(x):
        return [{"vector": [0.5, 0.0, 1.0, 2.0]} for _ in x]

    model = ChainSVM(features=dicts, max_passes=2).partial_fit(WORDS, Y, classes=["a", "b"])
    model.features = longer
    with pytest.raises(ParameterError, match="feature 'vector' in X must be a vector of 3 numbers, as in others, got 4"):
        model.partial_fit(WORDS, Y)
