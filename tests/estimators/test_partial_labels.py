"""Labels that are known in part: decoding, several labelings, probabilities and training, against enumeration."""

from dataclasses import replace
from itertools import compress, pairwise, product

import numpy as np
import pytest

from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV

pytestmark = pytest.mark.usefixtures("plain_python")
LABELS = ["a", "b", "c"]
PROBLEMS = 500


@pytest.fixture(scope="module")
def tagger():
    """Return a tagger with transitions that depend on features, and with constraints."""
    forbidden = [("b", "a"), (None, "c")]
    model = ChainCRF(transition_features=[1], constraints=forbidden, max_passes=1, tol=1.0)
    return model.fit([np.eye(2), np.ones((3, 2))], [["a", "b"], LABELS])


def drawn(rng, T):
    """Return what is known of T positions, and the labels that this allows."""
    sets = [{label for label in LABELS if rng.random() < 0.6} or {*LABELS} for _ in range(T)]
    return [{1: min(one), 3: None}.get(len(one), one) if rng.random() < 0.7 else one for one in sets], sets


def scores(tagger, x, sets=None):
    """Return the scores of all labelings that are allowed."""
    found, K = {}, len(LABELS)
    edges = tagger._blocks()[1].reshape(-1, K, K)
    for y in product(range(K), repeat=len(x)):
        if any((LABELS[j], LABELS[k]) == ("b", "a") for j, k in pairwise(y)) or y[0] == 2:
            continue
        if sets is None or all(LABELS[k] in allowed for k, allowed in zip(y, sets)):
            unary = (x @ tagger.coef_.T)[range(len(x)), y].sum() + tagger.start_[y[0]] + tagger.end_[y[-1]]
            moves = sum(tagger.transitions_[j, k] + x[t, 1] * edges[0, j, k] for t, (j, k) in enumerate(pairwise(y), start=1))
            found[tuple(LABELS[k] for k in y)] = unary + moves
    return found


def test_answers_given_sets_are_those_of_enumeration(tagger):
    rng, empty = np.random.default_rng(0), 0
    for _ in range(PROBLEMS):
        tagger.result_ = replace(tagger.result_, w=rng.normal(size=tagger.result_.w.shape) * rng.choice([0.5, 5.0]))
        x = rng.normal(size=(rng.integers(1, 5), 2))
        entries, sets = drawn(rng, len(x))
        every, some = scores(tagger, x), scores(tagger, x, sets)
        if not some:
            empty += 1
            assert tagger.log_proba([x], [entries])[0] == -np.inf
            with pytest.raises(ParameterError, match=r"X\[0\] must have labels that constraints and partial allow"):
                tagger.predict([x], partial=[entries])
            continue
        log_z = np.logaddexp.reduce([*some.values()])
        assert tagger.log_proba([x], [entries])[0] == pytest.approx(log_z - np.logaddexp.reduce([*every.values()]), abs=1e-10)
        found = tagger.predict([x], partial=[entries], n_best=4)[0]
        best = sorted(some, key=some.get, reverse=True)
        assert [tuple(labels) for labels, _ in found] == best[:4]
        np.testing.assert_allclose([score for _, score in found], [some[y] for y in best[:4]], atol=1e-10)
        assert tuple(tagger.predict([x], partial=[entries])[0]) == best[0]
        wanted = np.zeros((len(x), 3))
        for y, score in some.items():
            wanted[range(len(x)), [LABELS.index(label) for label in y]] += np.exp(score - log_z)
        np.testing.assert_allclose(tagger.predict_proba([x], partial=[entries])[0], wanted, atol=1e-10)
    assert 0 < empty < PROBLEMS / 4


def test_sets_of_labels_unknown_to_training_have_no_probability(tagger):
    x = np.zeros((2, 2))
    assert tagger.log_proba([x, x], [[{"z"}, None], [{"a", "z"}, None]])[0] == -np.inf
    np.testing.assert_array_equal(tagger.log_proba([x], [[{"a", "z"}, None]]), tagger.log_proba([x], [["a", None]]))
    for wrong in ({"z", "a"}, set(), "z", ["a"]):
        with pytest.raises(ParameterError, match="partial must hold labels in classes_, sets of these and None, got"):
            tagger.predict([x], partial=[[None, wrong]])


def test_skipped_positions_do_not_cut_sequences():
    """Training, predictions and scores are those of the sequences without them."""
    rng = np.random.default_rng(3)
    X, y = [rng.normal(size=(6, 2)) for _ in range(12)], [list(rng.choice(["u", "v"], size=6)) for _ in range(12)]
    kept = [rng.random(6) < 0.6 for _ in X]
    kept[4][:], kept[5][:] = False, True
    marked = [[label if keep else -100 for label, keep in zip(labels, mask)] for labels, mask in zip(y, kept)]
    short, shorter = [x[mask] for x, mask in zip(X, kept)], [[*compress(labels, mask)] for labels, mask in zip(y, kept)]
    params = {"transition_features": [0], "lam": 0.1, "tol": 1e-3}
    tagger = ChainCRF(ignore_label=-100, skip_ignored=True, **params).fit(X, marked)
    other = ChainCRF(**params).fit(short, shorter)
    assert tagger.result_.primal == pytest.approx(other.result_.primal, abs=2e-3)
    other.result_ = replace(other.result_, w=tagger.result_.w)
    marks = [[None if keep else -100 for keep in mask] for mask in kept]
    found = tagger.predict(X, partial=marks)
    assert [[*compress(labels, mask)] for labels, mask in zip(found, kept)] == other.predict(short)
    assert all(label == -100 for labels, mask in zip(found, kept) for label in compress(labels, ~mask))
    assert tagger.score(X, marked) == other.score(short, shorter)
    np.testing.assert_allclose(tagger.log_proba(X, marked), other.log_proba(short, shorter), atol=1e-12)
    for rows, mask, wanted in zip(tagger.predict_proba(X, partial=marks), kept, other.predict_proba(short)):
        np.testing.assert_allclose(rows[mask], wanted, atol=1e-12)
        assert np.isnan(rows[~mask]).all()
    several = tagger.predict(X[:1], partial=marks[:1], n_best=2)[0]
    assert [(list(compress(labels, kept[0])), score) for labels, score in several] == other.predict(short[:1], n_best=2)[0]
    folds = [([*range(6, 12)], [*range(6)])]
    chosen = ChainSVMCV(lams=[0.1], cv=folds, ignore_label=-100, skip_ignored=True, tol=1e-3).fit(X, marked)
    parts = ChainSVM(lam=0.1, ignore_label=-100, skip_ignored=True, tol=1e-3).fit(X[6:], marked[6:])
    assert chosen.best_score_ == pytest.approx(parts.score(X[:6], marked[:6]))
