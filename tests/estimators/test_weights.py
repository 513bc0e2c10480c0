"""Weights of all estimators: starts from them, their names, and fits that fail."""

import inspect
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fwexp.errors import ParameterError
from fwexp.estimators import ChainSVM, ChainSVMCV, GraphSVM, MulticlassSVM, MultiLabelSVM
from tests.estimators.cases import EVERY, data_of, new

WORDS = [["the", "dog"], ["a", "cat"], ["the", "cat"]]
ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
WARM = [(cls, {}) for cls in EVERY if "warm_start" in inspect.signature(cls).parameters] + [(GraphSVM, {"pairwise": "full"})]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("cls", "given"), WARM, ids=lambda value: getattr(value, "__name__", None))
def test_warm_starts_need_names_or_the_state_of_the_last_fit(cls, given):
    X, y = data_of(cls, n=9)
    fitted = new(cls, max_passes=50, tol=1e-2, **given).fit(X, y).set_params(warm_start=True, lam=0.2)
    goes_by_names = fitted.encoding_.names() is not None
    with nullcontext() if goes_by_names else pytest.warns(UserWarning, match="starts from zero"):
        first = fitted.fit(X, y).dual_gap_
    assert fitted.fit(X, y).dual_gap_ <= max(first, 1e-2) or np.isnan(first)


def test_another_result_takes_effect_everywhere():
    one, other = (ChainSVM(lam=lam).fit(WORDS, tags) for lam, tags in ((0.1, [["D", "N"]] * 3), (0.2, [["N", "D"]] * 3)))
    assert one.predict(WORDS) == [["D", "N"]] * 3
    one.result_ = other.result_
    assert one.predict(WORDS) == [["N", "D"]] * 3
    assert one.dual_gap_ == other.dual_gap_


def test_columns_of_frames_keep_their_names(tmp_path):
    X, y = pd.DataFrame(ROWS, columns=["p", "q"]), pd.DataFrame([[0, 1], [1, 0], [1, 1]], columns=["sea", "snow"])
    model = MultiLabelSVM(lam=0.1).fit(X, y)
    for one in (model, MultiLabelSVM.load(model.save(tmp_path / "model.npz"))):
        assert one.classes_.tolist() == ["sea", "snow"]
        assert one.feature_names_in_.tolist() == ["p", "q"]
        assert one.score(X, y) == one.score(X, y.to_numpy()) == model.score(X, y)
        for asks in (one.score, one.to_problem):
            with pytest.raises(
                ParameterError, match=r"^y must have the columns \['sea', 'snow'\], as in fit, got \['snow', 'sea'\]$"
            ):
                asks(X, y[["snow", "sea"]])
    assert model.fit(X, y.to_numpy()).classes_.tolist() == [0, 1]
    named = MulticlassSVM(lam=0.1).fit(X, [0, 1, 1])
    again = MulticlassSVM.load(named.save(tmp_path / "named.npz"))
    assert again.predict(X).tolist() == named.predict(X).tolist()  # without a warning about names


FAILING = [
    (ChainSVM(lam=0.1, warm_start=True), WORDS, [["D", "N"]] * 3, [["other", "words", "here"]], [["X", "Y", "Z"]]),
    (MulticlassSVM(lam=0.1, warm_start=True), ROWS, [0, 1, 2], np.eye(3), ["a", "b", "c"]),
    (MultiLabelSVM(lam=0.1, warm_start=True), ROWS, [[0, 1], [1, 0], [1, 1]], np.eye(3), [[1], [0], [1]]),
    (GraphSVM(lam=0.1, warm_start=True), [ROWS - 1.0], [[[0, 1], [1, 0], [1, 1]]], [np.eye(3) - 1.0], [np.eye(3) == 1]),
]


@pytest.mark.parametrize(("model", "X", "y", "others", "labels"), FAILING, ids=["chain", "classes", "sets", "graph"])
def test_a_fit_that_fails_changes_nothing(model, X, y, others, labels):
    fitted = clone(model).fit(X, y).set_params(C=-1)
    before = dict(vars(fitted))
    with pytest.raises(ParameterError, match="C must be a positive finite number, got -1"):
        fitted.fit(others, labels)
    assert vars(fitted) == before
    again = fitted.set_params(C=None).fit(X, y)  # A start from zero would warn, and warnings are errors here.
    assert again.dual_gap_ <= model.tol


def test_a_search_of_lam_that_fails_changes_nothing():
    """Only the last training sees the third sequence, whose labels are forbidden."""
    tagger = ChainSVMCV(lams=[0.1], cv=[([0], [1])], constraints=[("N", "N")], max_passes=1000).fit(WORDS, [["D", "N"]] * 3)
    before = dict(vars(tagger))
    with pytest.raises(ParameterError, match="must be allowed by constraints"):
        tagger.fit(WORDS, [["D", "N"], ["D", "N"], ["N", "N"]])
    assert vars(tagger) == before
