"""Labelings that are best, second best, or best next to labels that are given, against trying all of them."""

from itertools import pairwise, product

import numpy as np
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM

LABELS = ["A", "B", "C"]
LENGTHS = (1, 2, 3, 5, 4)

pytestmark = pytest.mark.usefixtures("plain_python")


@pytest.fixture(scope="module")
def trained(plain_python):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(T, 3)) for T in LENGTHS]
    y = [[LABELS[k] for k in rng.integers(0, 3, size=T)] for T in LENGTHS]
    return ChainSVM(lam=0.05, max_passes=100, tol=0.05).fit(X, y), X


def ranked(tagger, x, partial=None):
    """All labelings with what is given, the best first."""

    def score(y):
        numbers = [tagger.classes_.tolist().index(label) for label in y]
        ends = tagger.start_[numbers[0]] + tagger.end_[numbers[-1]]
        moves = sum(tagger.transitions_[pair] for pair in pairwise(numbers))
        return sum(tagger.coef_[k] @ row for k, row in zip(numbers, x)) + ends + moves

    every = [list(y) for y in product(LABELS, repeat=len(x))]
    kept = [y for y in every if partial is None or all(known in (None, label) for known, label in zip(partial, y))]
    return sorted(((y, score(y)) for y in kept), key=lambda pair: -pair[1])


@pytest.mark.parametrize("n_best", [1, 4, 300])
def test_n_best_labelings_come_in_order_with_scores(trained, n_best):
    tagger, X = trained
    for x, found in zip(X, tagger.predict(X, n_best=n_best)):
        expected = ranked(tagger, x)[:n_best]
        assert [y for y, _ in found] == [y for y, _ in expected]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-12, atol=1e-12)
    assert [found[0][0] for found in tagger.predict(X, n_best=n_best)] == tagger.predict(X)


def test_labels_that_are_given_are_kept_and_change_others(trained):
    tagger, X = trained
    rng, changed = np.random.default_rng(1), 0
    for _ in range(20):
        partial = [[LABELS[rng.integers(3)] if rng.random() < 0.3 else None for _ in x] for x in X]
        found = tagger.predict(X, partial=partial)
        assert found == [ranked(tagger, x, given)[0][0] for x, given in zip(X, partial)]
        assert found == [several[0][0] for several in tagger.predict(X, partial=partial, n_best=3)]
        free = tagger.predict(X)
        changed += sum(
            a != b for one, other, given in zip(found, free, partial) for a, b, known in zip(one, other, given) if known is None
        )
    assert changed


def test_sequences_without_positions_have_one_labeling(trained):
    tagger, X = trained
    assert tagger.predict([], n_best=2) == []
    assert tagger.predict([X[0][:0], X[0]], n_best=1)[0] == [([], 0.0)]
    assert tagger.predict([X[0][:0]], partial=[[]]) == [[]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n_best": 0}, "n_best must be an integer >= 1, got 0"),
        ({"n_best": "all"}, "n_best must be an integer >= 1, got 'all'"),
        ({"partial": [["A"]]}, r"partial must have one label or None per position of X, got lengths \[1\]"),
        ({"partial": [[None] * T for T in LENGTHS[:-1]] + [["D"] * 4]}, "partial must hold labels in classes_ and None, got 'D'"),
        ({"partial": 3}, "partial must be a list of lists of labels and None, got"),
        ({"partial": [3]}, r"partial\[0\] must be a list of labels and None, got int"),
    ],
)
def test_bad_requests_are_one_line(trained, more, message):
    tagger, X = trained
    with pytest.raises(ParameterError, match=message) as error:
        tagger.predict(X, **more)
    assert "\n" not in str(error.value)
