"""Estimators of probabilities, against enumeration and scikit-learn."""

from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, MulticlassLogistic

WORDS = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "sees", "a", "dog"], ["dog"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "D", "N"], ["N"]]
N = sum(map(len, WORDS))


@pytest.fixture(scope="module")
def tagger():
    return ChainCRF(tol=1e-4).fit(WORDS, TAGS)


def probabilities(tagger, x, allowed=lambda y: True):
    """Return the probability of every labeling, from the weights."""
    columns = tagger.feature_names_in_.tolist()
    rows = np.array([[word == name for name in columns] for word in x], dtype=float)
    unary = rows @ tagger.coef_.T
    scores = {}
    for y in filter(allowed, product(range(len(tagger.classes_)), repeat=len(x))):
        moves = sum(tagger.transitions_[pair] for pair in pairwise(y))
        scores[y] = unary[np.arange(len(x)), y].sum() + tagger.start_[y[0]] + tagger.end_[y[-1]] + moves
    values = np.exp(np.array([*scores.values()]))
    return dict(zip(scores, values / values.sum()))


def test_probabilities_are_those_of_all_labelings(tagger):
    labels = tagger.classes_.tolist()
    for x, of_one in zip(WORDS, tagger.predict_proba(WORDS)):
        every = probabilities(tagger, x)
        wanted = np.zeros(of_one.shape)
        for y, p in every.items():
            wanted[np.arange(len(x)), y] += p
            assert tagger.log_proba([x], [[labels[k] for k in y]])[0] == pytest.approx(np.log(p), abs=1e-10)
        np.testing.assert_allclose(of_one, wanted, atol=1e-12)
        best = max(every, key=every.get)
        assert tagger.predict_one(x) == [labels[k] for k in best]
    assert tagger.predict_marginals(WORDS[:1])[0][0] == dict(zip(labels, tagger.predict_proba(WORDS[:1])[0][0].tolist()))


def test_the_objective_is_the_negative_log_likelihood_and_certified(tagger):
    w = tagger.result_.w
    value = w @ w / (2 * N) - tagger.log_proba(WORDS, TAGS).sum() / N
    assert tagger.result_.primal == pytest.approx(value, abs=1e-12)
    assert 0.0 <= tagger.dual_gap_ <= 1e-4
    better = ChainCRF(tol=1e-7, max_passes=2000).fit(WORDS, TAGS).result_
    assert tagger.result_.dual <= better.primal
    assert better.primal <= tagger.result_.primal + 1e-12
    assert ChainCRF(lam=1 / N, tol=1e-4).fit(WORDS, TAGS).result_.primal == tagger.result_.primal


def test_known_labels_condition_the_probabilities(tagger):
    x, partial = WORDS[2], [None, "N", None, None, "N"]
    number = tagger.classes_.tolist().index("N")
    every = probabilities(tagger, x, lambda y: y[1] == y[4] == number)
    wanted = np.zeros((5, 3))
    for y, p in every.items():
        wanted[np.arange(5), y] += p
    np.testing.assert_allclose(tagger.predict_proba([x], partial=[partial])[0], wanted, atol=1e-12)


def test_forbidden_labels_have_no_probability():
    tagger = ChainCRF(constraints=[("N", "N"), (None, "V")], tol=1e-3).fit(WORDS, TAGS)
    D, noun, V = 0, 1, 2
    every = probabilities(tagger, WORDS[0], lambda y: y[0] != V and (noun, noun) not in pairwise(y))
    proba = tagger.predict_proba(WORDS[:1])[0]
    assert proba[0, V] == 0.0
    assert proba[1, D] == pytest.approx(sum(p for y, p in every.items() if y[1] == D), abs=1e-12)
    assert tagger.log_proba([WORDS[0]], [["N", "N", "V"]])[0] == -np.inf
    assert tagger.log_proba([WORDS[0], ["dog"]], [["D", "N", "X"], ["N"]])[0] == -np.inf
    assert 0.0 <= tagger.dual_gap_ <= 1e-3
    with pytest.raises(ParameterError, match=r"X\[0\] must have labels that constraints and partial allow"):
        tagger.predict_proba([["a", "cat"]], partial=[["N", "N"]])


def test_softmax_margin_lies_above_the_log_loss():
    """Losses in the scores only add to the sum of exponentials."""
    margin = ChainCRF(objective="softmax_margin", tol=1e-4).fit(WORDS, TAGS)
    w = margin.result_.w
    log_loss = w @ w / (2 * N) - margin.log_proba(WORDS, TAGS).sum() / N
    total = w @ w / (2 * N)
    for x, tags in zip(WORDS, TAGS):
        numbers = [margin.classes_.tolist().index(tag) for tag in tags]
        every = probabilities(margin, x)
        total += np.log(sum(p * np.exp(np.sum(np.array(y) != numbers)) for y, p in every.items())) / N
        total -= margin.log_proba([x], [tags])[0] / N
    assert margin.result_.primal == pytest.approx(total, abs=1e-10)
    assert margin.result_.primal > log_loss
    assert 0.0 <= margin.dual_gap_ <= 1e-4


def test_inputs_may_be_empty(tagger):
    assert tagger.predict_proba([]) == []
    assert [p.shape for p in tagger.predict_proba([[], ["dog"]])] == [(0, 3), (1, 3)]
    assert tagger.log_proba([[]], [[]]).tolist() == [0.0]
    assert "loss" not in tagger.get_params()


def test_sequences_may_come_from_iterators(tagger):
    np.testing.assert_array_equal(tagger.log_proba(map(iter, WORDS), iter(TAGS)), tagger.log_proba(WORDS, TAGS))


def test_masked_labels_weights_and_validation():
    masked = [["D", "?", "V"], *TAGS[1:]]
    tagger = ChainCRF(ignore_label="?", tol=1e-3).fit(WORDS, masked, sample_weight=[1.0, 2.0, 0.5, 1.0])
    assert 0.0 <= tagger.dual_gap_ <= 1e-3
    twice, weighted = ChainCRF(lam=0.1, tol=1e-6), ChainCRF(lam=0.1, tol=1e-6)
    twice.fit([*WORDS, WORDS[1]], [*TAGS, TAGS[1]])
    weighted.fit(WORDS, TAGS, sample_weight=[1.0, 2.0, 1.0, 1.0])
    assert weighted.predict_proba(WORDS)[0].shape == twice.predict_proba(WORDS)[0].shape
    stopped = ChainCRF(early_stopping=True, validation_fraction=0.25).fit(WORDS, TAGS)
    assert stopped.status_ in ("converged", "interrupted", "max_passes")


def test_only_probabilistic_taggers_have_probabilities():
    assert not hasattr(ChainSVM(), "predict_proba")
    with pytest.raises(ParameterError, match=r"y\[0\]"):
        ChainCRF().fit(WORDS, [["D", None, "V"], *TAGS[1:]])


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_those_of_logistic_regression(classes):
    X, y = load_iris(return_X_y=True)
    X, y = (X - X.mean(axis=0))[y < classes], y[y < classes]
    ours = MulticlassLogistic(tol=1e-7, max_passes=3000, fit_intercept=False).fit(X, y)
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    if classes == 2:  # which has one vector of weights, where ours are two, half as long
        theirs.set_params(C=2.0)
    theirs.fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)).sum(axis=1), 1.0)
    n, w = len(y), ours.result_.w
    value = w @ w / (2 * n) - ours.predict_log_proba(X)[np.arange(n), y].mean()
    assert ours.result_.primal == pytest.approx(value, abs=1e-12)
    assert (ours.predict(X) == ours.predict_proba(X).argmax(axis=1)).all()


def test_what_did_not_converge_is_warned_of():
    X, y = [{"size": 1.0}, {"size": 2.0}, {"size": 3.0}, {"size": 4.0}], ["low", "low", "high", "high"]
    with pytest.warns(ConvergenceWarning):
        MulticlassLogistic(lam=1e-6, tol=1e-9, max_passes=1).fit(X, y)
