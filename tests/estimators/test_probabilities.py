"""Probabilities of labelings, against enumeration."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF
from fwexp.estimators.tag_schemes import forbidden_pairs

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


def test_marginals_are_probabilities_by_label(tagger):
    """Against enumeration: tests/estimators/test_transition_features.py, and of partial labels test_partial_labels.py."""
    marginals, labels = tagger.predict_marginals(WORDS), tagger.classes_.tolist()
    assert marginals == [[dict(zip(labels, row)) for row in of_one.tolist()] for of_one in tagger.predict_proba(WORDS)]


def test_the_objective_is_the_negative_log_likelihood_and_certified(tagger):
    w = tagger.result_.w
    value = w @ w / (2 * N) - tagger.log_proba(WORDS, TAGS).sum() / N
    assert tagger.result_.primal == pytest.approx(value, abs=1e-12)
    assert 0.0 <= tagger.dual_gap_ <= 1e-4
    better = ChainCRF(tol=1e-7, max_passes=2000).fit(WORDS, TAGS).result_
    assert tagger.result_.dual <= better.primal
    assert better.primal <= tagger.result_.primal + 1e-12
    assert ChainCRF(lam=1 / N, tol=1e-4).fit(WORDS, TAGS).result_.primal == tagger.result_.primal


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


def test_inputs_may_be_empty_or_iterators(tagger):
    assert tagger.predict_proba([]) == []
    assert [p.shape for p in tagger.predict_proba([[], ["dog"]])] == [(0, 3), (1, 3)]
    assert tagger.log_proba([[]], [[]]).tolist() == [0.0]
    np.testing.assert_array_equal(tagger.log_proba(map(iter, WORDS), iter(TAGS)), tagger.log_proba(WORDS, TAGS))


TAGGED = {
    "BIO": [["B-X", "I-X", "O", "B-Y", "I-Y"], ["O", "B-X", "B-Y"]],
    "BILOU": [["B-X", "L-X", "O", "U-Y", "O"], ["B-Y", "I-Y", "L-Y"], ["U-X", "O", "O"]],
}


@pytest.mark.parametrize("scheme", TAGGED)
def test_probabilities_of_spans_are_those_of_their_labelings(scheme):
    y = TAGGED[scheme]
    tagger = ChainCRF(constraints=scheme, tol=0.1).fit([WORDS[2][: len(labels)] for labels in y], y)
    tagger.result_ = replace(tagger.result_, w=np.random.default_rng(0).normal(size=len(tagger.result_.w)))
    x, labels = WORDS[2][:4], tagger.classes_.tolist()
    bad = forbidden_pairs(scheme, tagger.classes_)
    every = probabilities(tagger, x, lambda z: not {*pairwise([None, *z, None])} & {*bad})
    spans = [(start, end, kind) for start in range(4) for end in range(start + 1, 5) for kind in "XY"]
    wanted = dict.fromkeys(spans, 0.0)
    for z, p in every.items():
        tags, start = [labels[k] for k in z], None
        for t, tag in enumerate([*tags, "O"]):
            if start is not None and tag[0] not in "IL":
                wanted[start, t, tags[start][2:]] += p
                start = None
            start = t if tag[0] in "BU" else start
    found = tagger.span_proba([x, [], x[:1]], [spans, [], [(0, 1, "X")]])
    np.testing.assert_allclose(found[0], [wanted[span] for span in spans], atol=1e-10)
    assert sum(wanted.values()) > 0.0
    assert [len(of_one) for of_one in found] == [len(spans), 0, 1]
    assert tagger.span_proba([x], [[]])[0].shape == (0,)
    for span in ((0, 5, "X"), (2, 2, "X"), (0, 1, "Z"), (0, "X")):
        with pytest.raises(ParameterError, match=r"spans must hold triples .* <= 4 and a kind of \['X', 'Y'\], got"):
            tagger.span_proba([x], [[span]])
    with pytest.raises(ParameterError, match="spans must hold a list for each of 1 sequences, got 0"):
        tagger.span_proba([x], [])


def test_spans_need_tags(tagger):
    with pytest.raises(ParameterError, match=r"labels in y must be tags of BIO, IOB2, .*, got"):
        tagger.span_proba([["dog"]], [[(0, 1, "N")]])
