"""Transitions that depend on the tokens, from every form in which people give their features."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from fwexp.data import Template
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV

WORDS = [["the", "dog", "barks"], ["Ann", "sees", "York"], ["York"], ["Ann", "barks"]]
TAGS = [["D", "N", "V"], ["N", "V", "N"], ["N"], ["N", "V"]]
DICTS = [[{"word": word, "size": len(word)} for word in x] for x in WORDS]
COLUMNS = [np.array([[len(word), word[0] == "b", 1.0] for word in x]) for x in WORDS]
FORMS = {
    "none": (DICTS, {}, None),
    "keys of dicts": (DICTS, {"transition_features": ["word"]}, "word="),
    "strings": ([[[f"word={w}", "bias"] for w in x] for x in WORDS], {"transition_features": ("bias", "word")}, "word="),
    "columns": (COLUMNS, {"transition_features": [1, 2]}, None),
    "sparse columns": ([*map(sp.csr_array, COLUMNS)], {"transition_features": [1]}, None),
    "function": (WORDS, {"transition_features": lambda x: [w[0] for w in x]}, ""),
    "template": ([[(w,) for w in x] for x in WORDS], {"features": Template("U:%x[0,0]\nB1:%x[0,0]/%x[-1,0]\nB\n")}, "B1:"),
}


def edge_names(form, i, t):
    """Return the features of the transition to a position, with their values."""
    word, before = WORDS[i][t], WORDS[i][t - 1]
    return {
        "none": {},
        "keys of dicts": {f"word={word}": 1.0},
        "strings": {f"word={word}": 1.0, "bias": 1.0},
        "columns": {0: float(word[0] == "b"), 1: 1.0},
        "sparse columns": {0: float(word[0] == "b")},
        "function": {word[0]: 1.0},
        "template": {f"B1:{word}/{before}": 1.0},
    }[form]


def score(model, form, i, y):
    """Return the score of a labeling, from the weights by name."""
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    numbers = [place[label] for label in y]
    rows = model.vectorizer_.transform(model.encoding_.features([FORMS[form][0][i]]))[0]
    total = sum(float((rows[[t]] @ model.coef_[k])[0]) for t, k in enumerate(numbers))
    total += model.start_[numbers[0]] + model.end_[numbers[-1]] + sum(model.transitions_[pair] for pair in pairwise(numbers))
    weights = model.feature_transitions_ if FORMS[form][1] else {}
    for t, (a, b) in enumerate(pairwise(y), 1):
        total += sum(value * weights.get((name, a, b), 0.0) for name, value in edge_names(form, i, t).items())
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_predictions_are_those_of_the_weights_by_name(cls, form, tmp_path):
    """Partial labels and marginals get the same scores, and are tested in tests/estimators/test_partial_labels.py."""
    X, parameters, prefix = FORMS[form]
    model = cls(lam=0.05, tol=0.05, max_passes=1000, **parameters).fit(X, TAGS)
    assert model.dual_gap_ <= 0.05
    if parameters:
        assert len(model.feature_transitions_) > 0
    else:
        with pytest.raises(AttributeError, match="transitions have no features without transition_features"):
            model.feature_transitions_  # noqa: B018
    if prefix is not None:
        assert any(name.startswith(prefix) for name, _, _ in model.feature_transitions_)
        # The first position has no transition to it.
        assert not any("Ann" in name.split("/")[0] or "the" in name.split("/")[0] for name, _, _ in model.feature_transitions_)
    functions = {"transition_features": parameters["transition_features"]} if form == "function" else {}
    loaded = cls.load(model.save(tmp_path / "m.npz"), **functions)
    assert not parameters or dict(loaded.feature_transitions_) == dict(model.feature_transitions_)
    for one in (model, loaded):
        for i, x in enumerate(X):
            labelings = [list(y) for y in product(model.classes_.tolist(), repeat=len(WORDS[i]))]
            scores = np.array([score(model, form, i, y) for y in labelings])
            order = np.argsort(-scores, kind="stable")
            for n_best in (1, 5, 300):
                found = one.predict([x], n_best=n_best)[0]
                np.testing.assert_allclose([value for _, value in found], scores[order[:n_best]], atol=1e-12)
                np.testing.assert_allclose([score(one, form, i, y) for y, _ in found], scores[order[:n_best]], atol=1e-12)
            assert len({tuple(y) for y, _ in found}) == len(labelings)
            assert one.predict([x])[0] == found[0][0]
            best = one.decision_function([x])[0]
            for t, k in product(range(len(WORDS[i])), range(3)):
                has = [s for s, y in zip(scores, labelings) if y[t] == model.classes_[k]]
                assert best[t, k] == pytest.approx(max(has), abs=1e-12)
            if cls is ChainCRF:
                p = np.exp(scores - np.logaddexp.reduce(scores))
                np.testing.assert_allclose(np.exp(one.log_proba([x] * len(p), labelings)), p, atol=1e-12)
    assert model.predict(X) == TAGS
    assert model.score(X, TAGS) == 1.0
    assert model.predict(X, n_best=3) == [model.predict([x], n_best=3)[0] for x in X]
    given = [[None] * (len(tags) - 1) + ["D"] for tags in TAGS]
    found = model.predict(X, partial=given)
    assert {labels[-1] for labels in found} == {"D"}
    assert found == [model.predict([x], partial=[of_one])[0] for x, of_one in zip(X, given)]


def test_other_parameters_go_with_features_of_transitions():
    more = {"lam": 0.03, "tol": 1e-2, "max_passes": 300, "transition_features": ["word"]}
    tags = [["D", "N", "V"], ["N", "?", "N"], ["N"], ["N", "V"]]
    model = ChainCRF(**more, ignore_label="?", constraints=[("D", "V"), ("V", "V")]).fit(DICTS, tags)
    assert model.predict([DICTS[0]], partial=[["D", None, "V"]]) == [["D", "N", "V"]]
    assert all(("D", "V") not in pairwise(y) for y, _ in model.predict([DICTS[0]], n_best=30)[0])
    assert not any("sees" in name for name, _, _ in model.feature_transitions_)  # No transition around the cut is trained.
    assert ChainSVM(**more, early_stopping=True, validation_fraction=0.3, random_state=1).fit(DICTS, TAGS).dual_gap_ < 1.0
    weighted = ChainSVM(**more).fit([*DICTS, []], [*TAGS, []], sample_weight=[2, 1, 1, 1, 1])
    assert weighted.predict([[], DICTS[0]]) == [[], TAGS[0]]
    assert [scores.shape for scores in weighted.decision_function([[], DICTS[0]])] == [(0, 3), (3, 3)]
    del more["lam"]
    chosen = ChainSVMCV(**more, lams=[0.1, 0.03], cv=2).fit(DICTS * 2, TAGS * 2)
    assert chosen.predict(DICTS) == TAGS
    assert clone(model).transition_features == ["word"]
    short = ChainSVM(lam=0.1, transition_features=["word"]).fit([[{"word": "a"}], [{"word": "b"}]], [["X"], ["Y"]])  # no transition
    assert short.predict([[{"word": "a"}, {"word": "b"}]]) == [["X", "Y"]]


def test_parts_of_data_add_features_of_transitions():
    model = ChainSVM(lam=0.05, tol=1e-4, max_passes=500, transition_features=["word"])
    model.partial_fit(DICTS[:1], TAGS[:1], ["D", "N", "V"])
    before = dict(model.feature_transitions_)
    assert {name for name, _, _ in before} == {"word=dog", "word=barks"}
    model.partial_fit(DICTS[1:2], TAGS[1:2])
    assert {name for name, _, _ in model.feature_transitions_} == {"word=dog", "word=barks", "word=sees", "word=York"}
    assert model.feature_transitions_["word=dog", "D", "N"] == before["word=dog", "D", "N"]
    warm = ChainSVM(lam=0.05, tol=0.05, transition_features=["word"], warm_start=True).fit(DICTS[:2], TAGS[:2])
    assert warm.fit(DICTS, TAGS).trace_["dual"].iloc[0] > 0.0


@pytest.mark.parametrize("make", [np.array, pd.Series])
def test_names_choose_features_also_in_arrays_and_series(make):
    X, parameters = [make(x) for x in DICTS], {"lam": 0.05, "tol": 0.05, "max_passes": 500, "transition_features": ["word"]}
    model, wanted = (ChainSVM(**parameters).fit(form, TAGS) for form in (X, DICTS))
    assert dict(model.feature_transitions_) == dict(wanted.feature_transitions_)
    assert model.predict(X) == wanted.predict(DICTS)
