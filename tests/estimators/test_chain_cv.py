import threading
from functools import partial
from itertools import chain

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, LeaveOneGroupOut

from fwexp.data import Template
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainCRFCV, ChainSVM, ChainSVMCV
from fwexp.estimators.chain_cv import START_GAP
from fwexp.problems.loss_terms import make_objective
from fwexp.tasks.path import largest_lam

LAMS = [0.1, 10.0, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=rng.integers(1, 6)).tolist() for _ in range(12)]
    return [[[f"w{label}", "noise" if rng.random() < 0.3 else f"w{rng.integers(3)}"] for label in labels] for labels in y], y


@pytest.fixture(scope="module")
def chosen(data):
    return ChainSVMCV(lams=LAMS, cv=3).fit(*data)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"features": lambda x: x, "transition_features": lambda x: [position[0] for position in x]},
        {"features": Template("U0:%x[0,0]\nU1:%x[0,1]\nB1:%x[0,0]")},
    ],
)
def test_scores_are_those_of_trainings_in_all_folds(data, parameters):
    X, y = data
    options = {"lams": LAMS, "cv": 2, "tol": 0.1, **parameters}
    share, f1, of_function = (
        ChainSVMCV(**options, scoring=scoring).fit(X, y).cv_results_
        for scoring in (None, "f1_macro", lambda tagger, X, y: tagger.score(X, y) - tagger.result_.lam)
    )
    assert share["param_lam"].tolist() == [10.0, 1.0, 0.1]
    gaps = np.empty((2, 3))
    for fold, (train, test) in enumerate(KFold(2).split(X)):
        for k, lam in enumerate((10.0, 1.0, 0.1)):
            tagger = ChainSVM(lam=lam, tol=0.1, **parameters).fit([X[i] for i in train], [y[i] for i in train])
            inputs, labels, column = [X[i] for i in test], [y[i] for i in test], f"split{fold}_test_score"
            assert share[column][k] == tagger.score(inputs, labels)
            assert of_function[column][k] == tagger.score(inputs, labels) - lam
            true, found = [*chain(*labels)], [*chain(*tagger.predict(inputs))]
            assert f1[column][k] == pytest.approx(f1_score(true, found, average="macro"))
            gaps[fold, k] = tagger.dual_gap_
    found = np.array([share[f"split{fold}_test_score"] for fold in range(2)])
    np.testing.assert_allclose([share["mean_test_score"], share["std_test_score"]], [found.mean(axis=0), found.std(axis=0)])
    np.testing.assert_array_equal(share["gap"], gaps.max(axis=0))
    assert share["rank_test_score"].min() == 1


def test_probabilities_are_searched_alike(data):
    """Scores, gaps and the weights are those of `ChainCRF`, and functions that score receive its methods."""
    X, y = data

    def log_loss(tagger, X, y):
        return tagger.log_proba(X, y).sum()

    found = ChainCRFCV(lams=LAMS, cv=3, scoring=log_loss, objective="softmax_margin").fit(X, y)
    results = found.cv_results_
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        for k, lam in enumerate((10.0, 1.0, 0.1)):
            tagger = ChainCRF(lam=lam, objective="softmax_margin").fit([X[i] for i in train], [y[i] for i in train])
            wanted = tagger.log_proba([X[i] for i in test], [y[i] for i in test]).sum()
            assert results[f"split{fold}_test_score"][k] == pytest.approx(wanted)
    wanted = ChainCRF(lam=found.lam_, objective="softmax_margin").fit(X, y)
    np.testing.assert_array_equal(found.result_.w, wanted.result_.w)
    np.testing.assert_array_equal(found.predict_proba(X)[0], wanted.predict_proba(X)[0])
    assert ChainCRFCV(lams=3, cv=2, lam_min=0.01).fit(X, y).cv_results_["param_lam"][0] > 0.01


@pytest.mark.parametrize("cls", [ChainSVMCV, ChainCRFCV])
def test_groups_stay_together(data, cls):
    X, y = [[], *data[0]], [[], *data[1]]
    groups, weights = np.array(list("zaabbbccccdda")), np.ones(13)
    weights[[2, 7]] = 0.0
    seen = []

    def score(tagger, X, y):
        seen.append(X)
        return 0.0

    cls(lams=[1.0], cv=3, scoring=score).fit(X, y, groups=groups, sample_weight=weights)
    folds = [{groups[next(i for i, one in enumerate(X) if one is x)] for x in part} for part in seen]
    assert len(folds) == 3
    assert sum(map(len, folds)) == len(set.union(*folds)) == 4
    assert sum(map(len, seen)) == 10
    left_out = [{groups[i] for i in test} for _, test in LeaveOneGroupOut().split(X, groups=groups)][:4]
    seen.clear()
    cls(lams=[1.0], cv=LeaveOneGroupOut(), scoring=score).fit(X[1:], y[1:], groups=groups[1:])
    assert [{groups[next(i for i, one in enumerate(X) if one is x)] for x in part} for part in seen] == left_out
    with pytest.raises(ParameterError, match=r"groups must have shape \(13,\), one per sequence, got \(12,\)"):
        cls(lams=[1.0], cv=3).fit(X, y, groups=groups[1:])


def test_a_time_limit_counts_for_each_training(data):
    with pytest.warns(ConvergenceWarning) as caught:
        found = ChainSVMCV(lams=[1e-3], cv=2, tol=1e-9, time_limit=1e-9).fit(*data)
    assert found.status_ == "time_limit"
    assert any("in the folds" in str(one.message) for one in caught)


@pytest.mark.parametrize(
    ("scores", "lam", "ranks"),
    [
        ({10.0: [np.nan, 1.0], 1.0: [0.5, 0.5], 0.1: [0.4, 0.4]}, 1.0, [3, 1, 2]),
        ({10.0: [0.5, 0.5], 1.0: [np.nan, 1.0], 0.1: [0.6, 0.4]}, 10.0, [1, 3, 1]),
        ({10.0: [0.1, 0.7], 1.0: [0.7, 0.1], 0.1: [0.3, 0.5 + 1e-16]}, 10.0, [1, 1, 1]),
        ({10.0: [0.3, 0.3], 1.0: [0.1 + 0.2, 0.3], 0.1: [0.3, 0.3 - 1e-9]}, 10.0, [1, 1, 3]),
        ({10.0: [-np.inf, 0.0], 1.0: [np.nan, 0.0], 0.1: [np.nan, np.nan]}, 10.0, [1, 2, 2]),
    ],
)
def test_nan_never_wins_and_of_equal_scores_the_largest_lam_does(data, tmp_path, scores, lam, ranks):
    folds = {value: iter(of_lam) for value, of_lam in scores.items()}
    found = ChainSVMCV(lams=LAMS, cv=2, tol=1.0, scoring=lambda tagger, X, y: next(folds[tagger.result_.lam])).fit(*data)
    assert found.lam_ == lam
    assert found.cv_results_["rank_test_score"].tolist() == ranks
    assert found.best_score_ == np.mean(scores[lam])
    found.scoring = None  # which files do not hold
    assert ChainSVMCV.load(found.save(tmp_path / "cv.npz"), scoring=None).best_score_ == found.best_score_


def test_with_one_label_there_is_nothing_to_choose(data):
    found = ChainSVMCV(lams=3, lam_min=0.25, cv=2).fit(data[0], [["N"] * len(x) for x in data[0]])
    assert found.cv_results_["param_lam"].tolist() == [0.25] * 3
    assert found.lam_ == 0.25


def test_folds_given_by_indices_count_empty_sequences(data):
    X, y = [[], *data[0][:4], [], *data[0][4:]], [[], *data[1][:4], [], *data[1][4:]]
    folds = [(np.arange(7), np.arange(7, 14)), (tuple(range(5, 14)), [0, 1, 2, 3, 4])]
    without = [(np.arange(5), np.arange(5, 12)), (np.arange(4, 12), np.arange(4))]
    with_empty = ChainSVMCV(lams=[0.1], cv=folds).fit(X, y).cv_results_
    for name, values in ChainSVMCV(lams=[0.1], cv=without).fit(*data).cv_results_.items():
        np.testing.assert_array_equal(with_empty[name], values)


def test_the_warning_names_parameters_that_act(data):
    with pytest.warns(ConvergenceWarning) as caught:
        ChainSVMCV(lams=[0.001], cv=2, tol=1e-6, max_passes=1).fit(*data)
    assert str(caught[-1].message).endswith("> tol=1e-06; raise max_passes or tol; see docs/practice.md")
    assert sum("in the folds stopped after max_passes=1" in str(one.message) for one in caught) == 1
    with pytest.warns(
        ConvergenceWarning, match=r"raise max_passes or tol, or lower C, for instance to C=\S+; see docs/practice.md$"
    ):
        ChainSVM(C=10.0, tol=1e-3, max_passes=1).fit(*data)


def test_values_of_lam_are_spread(data):
    found = ChainSVMCV(lams=4, lam_min=0.5, cv=KFold(2), n_jobs=2).fit(*data).cv_results_
    lams = found["param_lam"]
    np.testing.assert_allclose(lams[1:] / lams[:-1], lams[1] / lams[0])
    assert lams[-1] == 0.5
    assert lams[0] > lams[1]
    weighted = ChainSVMCV(lams=[0.5], cv=KFold(2)).fit(*data, sample_weight=np.arange(12))
    assert weighted.lam_ == 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_values_of_lam_begin_where_weights_of_the_objective_matter(data):
    """Of the log-likelihood, this is another lam than of the hinge."""
    X, y = data
    folds = [([*range(6)], [*range(6, 12)]), ([*range(6, 12)], [*range(6)])]
    for cls, estimator in ((ChainSVMCV, ChainSVM), (ChainCRFCV, ChainCRF)):
        starts = []
        for part, _ in folds:
            problem = estimator().to_problem([X[i] for i in part], [y[i] for i in part])
            scale, term = len(problem.labels) / problem.n, make_objective(estimator()._objective, 1.0)
            starts.append(largest_lam(problem, START_GAP * scale, 0, 1e-5 * scale, term) / scale)
        found = cls(lams=3, cv=folds, max_passes=1, tol=1.0).fit(X, y).cv_results_["param_lam"]
        assert found[0] == pytest.approx(max(starts))


def test_features_of_a_sequence_are_asked_for_once(data):
    X, y = data
    asked = []

    def features(x):
        asked.append(x)
        return x

    plain = ChainSVMCV(lams=[1.0], cv=3).fit(X, y)
    found = ChainSVMCV(lams=[1.0], cv=3, features=features).fit(X, y)
    assert asked == X
    assert found.predict(X) == plain.predict(X)
    assert found.best_score_ == plain.best_score_


@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(12) % 3, "of positions"])
def test_named_scores_leave_out_missing_labels_and_count_weights(data, weights):
    X, y = data
    masked = [[-100 if t % 3 == 1 else label for t, label in enumerate(labels)] for labels in y]
    if isinstance(weights, str):
        weights = [1.0 + np.arange(len(labels)) % 2 for labels in y]
    options = {"lams": LAMS, "cv": 3, "max_passes": 1000, "tol": 1.0, "ignore_label": -100}
    share, named = (
        ChainSVMCV(**options, scoring=scoring).fit(X, masked, sample_weight=weights).cv_results_ for scoring in (None, "accuracy")
    )
    for fold in range(3):
        np.testing.assert_allclose(named[f"split{fold}_test_score"], share[f"split{fold}_test_score"])


def test_functions_that_score_receive_the_given_sequences_and_labels(data):
    X, y = data
    masked = [[-100 if t % 3 == 1 else label for t, label in enumerate(labels)] for labels in y]
    words = [[" ".join(position) for position in x] for x in X]
    received = []

    def score(tagger, X, y):
        received.extend(zip(X, y))
        return tagger.score(X, y)

    def features(x):
        return [position.split() for position in x]

    options = {"lams": [1.0], "cv": 3, "ignore_label": -100, "max_passes": 1000}
    found = ChainSVMCV(**options, scoring=score, features=features).fit(words, masked)
    assert received == list(zip(words, masked))
    assert found.best_score_ == pytest.approx(ChainSVMCV(**options).fit(X, masked).best_score_)


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_parts_without_a_label_that_counts_are_rejected(data, scoring):
    weights = [np.full(len(labels), float(i >= 4)) for i, labels in enumerate(data[1])]
    with pytest.raises(ParameterError, match="cv must leave a label of weight > 0 in every test part, got a part without one"):
        ChainSVMCV(lams=[1.0], cv=3, scoring=scoring).fit(*data, sample_weight=weights)


def test_scores_without_weights_are_rejected_where_weights_are_given(data):
    with pytest.raises(ParameterError, match="scoring must be a score with weights if sample_weight is given, got 'rand_score'"):
        ChainSVMCV(lams=[1.0], cv=3, scoring="rand_score").fit(*data, sample_weight=np.ones(12))


@pytest.mark.parametrize(
    "parameters",
    [
        {"constraints": [("N", "RARE")]},
        {"class_weight": {"RARE": 5.0}},
        {"costs": 1.0 - np.eye(3)},
        {"costs": {("RARE", "N"): 2.0}},
    ],
)
def test_parameters_may_name_labels_that_a_fold_lacks(parameters):
    X, y = [["z"], ["a", "b"], ["a", "b"], ["b"]], [["RARE"], ["N", "V"], ["N", "V"], ["V"]]
    for more in (parameters, {"class_weight": "balanced"} | parameters):
        assert ChainSVMCV(lams=[0.1], cv=2, max_passes=1000, **more).fit(X, y).classes_.tolist() == ["N", "RARE", "V"]


def test_splits_and_scores_need_not_allow_copies(data, chosen):
    def score(_, tagger, X, y):
        return tagger.score(X, y)

    found = ChainSVMCV(lams=LAMS, cv=KFold(3).split(data[0]), scoring=partial(score, threading.Lock())).fit(*data)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], chosen.cv_results_["mean_test_score"])
