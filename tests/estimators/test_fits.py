"""Tests of training that all estimators share: development sets, limits, callbacks, problems before `fit`, cross-validation."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import (
    ChainCRF,
    ChainSVM,
    GraphSVM,
    MatchingSVM,
    MulticlassLogistic,
    MulticlassSVM,
    MultiLabelSVM,
    StructuredSVM,
)
from fwexp.estimators.certified_fit import _same
from fwexp.problems.protocol import to_public
from fwexp.tasks import train as training
from tests.estimators.cases import CHAINS, CLASSES, EVERY, SEARCHES, data_of, new

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("cls", EVERY)
def test_a_development_set_is_scored_in_the_log_and_changes_nothing(cls):
    X, y = data_of(cls, 12)
    dev = X[9:], y[9:]
    model, other = new(cls).fit(X[:9], y[:9], dev=dev), new(cls).fit(X[:9], y[:9])
    scored = model.trace_["validation_error"].notna()
    # The own calls of a run with an oracle in Python give rows as well, without the error.
    assert scored.iloc[[0, -1]].all() if cls is StructuredSVM else scored.all()
    assert other.trace_["validation_error"].isna().all()
    np.testing.assert_array_equal(model.result_.w, other.result_.w)
    error = model.result_.errors["validation_error"]
    assert error == pytest.approx(fwexp.evaluate(model.to_problem(*dev), model.result_).error)
    if cls in CHAINS:
        assert error == pytest.approx(1.0 - model.score(*dev))
    for wrong in (3, dev[:1], "Xy"):
        with pytest.raises(ParameterError, match=r"^dev must be a pair \(X_dev, y_dev\), got "):
            new(cls).fit(X[:9], y[:9], dev=wrong if wrong != "Xy" else {"X": X})


EARLY = {"early_stopping": True, "tol": 0, "max_passes": 100, "lam": 0.01}


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_a_development_set_stops_training(cls):
    X, y = data_of(cls, 20)
    model = cls(**EARLY).fit(X[:15], y[:15], dev=(X[15:], y[15:]))
    assert model.status_ == "interrupted"
    assert not hasattr(model, "held_out_")
    errors, passes = model.trace_["validation_error"].to_numpy(), model.trace_["passes"].to_numpy()
    fewest = errors.min()
    assert passes[-1] >= passes[(errors <= fewest).argmax()] + 5
    assert model.result_.errors["validation_error"] == pytest.approx(1.0 - model.score(X[15:], y[15:]))


def test_the_sequences_that_are_set_aside_are_known():
    """Training without them, with them as development set, is the same; empty sequences and those of weight 0 count in X."""
    X, y = data_of(ChainSVM, 16)
    X[3], y[3], weights = [], [], np.ones(16)
    weights[5] = 0.0
    more = {**EARLY, "max_passes": 20}
    model = ChainSVM(**more, validation_fraction=0.3).fit(X, y, sample_weight=weights)
    places = model.held_out_.tolist()
    assert len(places) == round(0.3 * 14)
    assert not {3, 5} & {*places}
    kept = [i for i in range(16) if i not in places and weights[i]]
    assert {label for i in kept for label in y[i]} == {*model.classes_.tolist()}
    dev = [X[i] for i in places], [y[i] for i in places]
    other = ChainSVM(**more).fit([X[i] for i in kept], [y[i] for i in kept], dev=dev)
    np.testing.assert_array_equal(model.result_.w, other.result_.w)
    assert model.trace_["validation_error"].tolist() == other.trace_["validation_error"].tolist()
    assert not hasattr(model.set_params(early_stopping=False).fit(X, y), "held_out_")


@pytest.mark.parametrize("cls", EVERY)
def test_a_callback_receives_the_log_and_ends_training(cls):
    X, y = data_of(cls, 9)
    rows = []
    model = new(cls, callback=rows.append).fit(X, y)
    assert [row["primal"] for row in rows] == model.trace_["primal"].tolist()
    ended = new(cls, max_passes=50, callback=lambda row: row["passes"] >= 1).fit(X, y)
    assert ended.status_ == "interrupted"
    assert ended.n_passes_ <= 10  # of classes, rows come after every tenth pass
    if cls in (ChainSVM, ChainCRF):
        assert new(cls, early_stopping=True, callback=lambda row: True).fit(X, y).n_passes_ == 0.0
    with pytest.raises(ParameterError, match="callback must be"):
        new(cls, callback=3).fit(X, y)


@pytest.mark.parametrize("cls", EVERY)
def test_a_time_limit_ends_training_with_a_warning(cls):
    X, y = data_of(cls, 9)
    advice = "raise time_limit or tol" if cls in SEARCHES else "raise time_limit, lam or tol"
    with pytest.warns(ConvergenceWarning, match=advice):
        model = new(cls, max_passes=50, time_limit=1e-9).fit(X, y)
    assert model.status_ == "time_limit"
    with pytest.raises(ParameterError, match="time_limit must be a positive number of seconds or None"):
        new(cls, time_limit=0).fit(X, y)


@pytest.mark.parametrize("cls", EVERY)
def test_the_training_problem_is_there_before_fit(cls):
    X, y = data_of(cls, 9)
    model = new(cls)
    before = model.to_problem(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    after = model.fit(X, y).to_problem(X, y)
    assert before.n == after.n
    assert before.d == after.d == len(model.result_.w)
    assert cls is StructuredSVM or _same(before, after)
    if cls in (MulticlassSVM, MatchingSVM, StructuredSVM):  # tests/estimators/test_units.py has those that count positions
        result = fwexp.solve(before, lam=model.result_.lam, gap_tol=model.tol, max_passes=model.max_passes)
        np.testing.assert_array_equal(result.w, model.result_.w)


@pytest.mark.parametrize(("cls", "words_only"), [*((cls, False) for cls in EVERY), (ChainSVM, True)])
def test_scikit_learn_joins_predictions_of_folds(cls, words_only):
    X, y = data_of(cls, 12)
    X = [[position["word"] for position in x] for x in X] if words_only else X  # whose features are all 1
    found, folds = cross_val_predict(new(cls), X, y, cv=KFold(3)), KFold(3).split(X)
    assert len(found) == 12
    for train, test in folds:
        model = new(cls).fit([X[i] for i in train], [y[i] for i in train])
        wanted = model.predict([X[i] for i in test])
        for i, labels in zip(test, wanted):
            np.testing.assert_array_equal(found[i], labels)


def test_joined_predictions_keep_groups_together_and_may_be_probabilities():
    class Marginals(ChainCRF):
        predict = ChainCRF.predict_marginals

    X, y = data_of(ChainCRF, 9)
    X, y = [[x[0]] for x in X], [labels[:1] for labels in y]  # of equal lengths
    groups = [0, 1, 2] * 3
    found = cross_val_predict(new(Marginals), X, y, cv=GroupKFold(3), groups=groups)
    model = new(ChainCRF).fit([X[i] for i in range(9) if i % 3], [y[i] for i in range(9) if i % 3])
    assert found[0] == model.predict_marginals(X[:1])[0]
    labels = model.predict(X)
    assert np.concatenate(labels).tolist() == [one for (one,) in labels]
    assert np.asarray(labels).shape == (9, 1)
    assert np.hstack((labels, labels)).shape == (9, 2)
    assert np.concatenate((labels, [["a"]])).shape == (10, 1)
    assert np.array_equal(labels, labels)


def test_the_tolerance_of_probabilities_is_a_share_of_the_objective():
    X, y = data_of(ChainCRF, 12)
    model = ChainCRF(tol=0.1).fit(X, y)
    gap, dual = model.dual_gap_, model.result_.dual
    assert gap <= 0.1 * dual
    assert model.status_ == "converged"
    scaled = ChainCRF(tol=0.1, lam=1e-3, max_passes=500).fit([x * 4 for x in X], [labels * 4 for labels in y])
    assert scaled.dual_gap_ <= 0.1 * scaled.result_.dual < 0.1
    assert ChainCRF().fit(X[:2], [["one"] * len(x) for x in X[:2]]).status_ == "converged"
    with pytest.warns(ConvergenceWarning, match=r"gap \S+ > \S+, which is tol=1e-06 times the objective; raise max_passes, "):
        ChainCRF(tol=1e-6, max_passes=1).fit(X, y)


# The number n of the default "c/n", and c.
PARTS = {
    **dict.fromkeys(CHAINS, lambda y: sum(map(len, y))),
    **dict.fromkeys((*CLASSES, MatchingSVM, StructuredSVM), len),
    MultiLabelSVM: np.size,
    GraphSVM: lambda y: sum(map(np.size, y)),
}
FACTORS = {ChainSVM: 4.0, GraphSVM: 8.0, MulticlassLogistic: 0.125}


@pytest.mark.parametrize("cls", [cls for cls in EVERY if cls not in SEARCHES])
def test_default_lam_is_a_number_divided_by_the_parts_that_count(cls):
    X, y = data_of(cls, 9)
    n, c = PARTS[cls](y), FACTORS.get(cls, 1.0)
    assert new(cls).fit(X, y).result_.lam == pytest.approx(c / n, rel=1e-12)
    assert new(cls, C=1.0 / c).fit(X, y).result_.lam == pytest.approx(c / n, rel=1e-12)
    assert new(cls, lam=" 3 / n").fit(X, y).result_.lam == pytest.approx(3.0 / n, rel=1e-12)
    weights = np.arange(9.0)
    weighted = sum(weight * PARTS[cls]([labels]) for weight, labels in zip(weights, y))
    for given in ({}, {"C": 1.0 / c}):
        assert new(cls, **given).fit(X, y, sample_weight=weights).result_.lam == pytest.approx(c / weighted, rel=1e-12)
    if cls in CHAINS:
        part = [["?", *labels[1:]] for labels in y]
        assert new(cls, ignore_label="?").fit(X, part).result_.lam == pytest.approx(c / (n - 9), rel=1e-12)
        if cls is ChainSVM:
            assert new(cls, loss="share").fit(X, y).result_.lam == pytest.approx(c / 9, rel=1e-12)
    with pytest.raises(ParameterError, match=r'^lam must be a positive finite number or "c/n", such as "1/n", got '):
        new(cls, lam="1/m").fit(X, y)


def test_variables_of_the_solver_are_freed_before_weights_are_copied(monkeypatch):
    """Warm starts need them."""
    has_state, as_result = [], training.as_result

    def watched(solver, *given):
        def copied(problem, w):
            has_state.append("state" in vars(solver))
            return to_public(problem, w)

        monkeypatch.setattr(training, "to_public", copied)
        return as_result(solver, *given)

    monkeypatch.setattr(training, "as_result", watched)
    for warm_start in (False, True):
        model = new(ChainSVM, warm_start=warm_start).fit(*data_of(ChainSVM))
        assert (model.result_.state is not None) == warm_start
    assert has_state == [False, True]
