import copy
import inspect
import pickle
import warnings
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import fwexp
from fwexp import store
from fwexp.errors import OptionError, ParameterError
from fwexp.estimators import ChainCRF, ChainSVM, ChainSVMCV
from fwexp.jit import threads

WORDS = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "sees", "a", "dog"], ["dog"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "D", "N"], ["N"]]


@pytest.fixture(scope="module")
def tagger():
    return ChainSVM(lam=0.005, iterate="best").fit(WORDS, TAGS)


def matrices(dtype=np.float64):
    vocabulary = sorted({word for x in WORDS for word in x})
    return [np.eye(len(vocabulary), dtype=dtype)[[vocabulary.index(word) for word in x]] for x in WORDS]


def columns_of_capitals(x):
    return [{"word": word, "first": t == 0} for t, word in enumerate(x)]


def test_a_tagger_learns_and_certifies(tagger):
    assert tagger.predict(WORDS) == TAGS
    assert tagger.score(WORDS, TAGS) == 1.0
    assert tagger.predict_one(["a", "dog"]) == ["D", "N"]
    assert tagger.status_ == "converged"
    assert 0 <= tagger.dual_gap_ <= 0.01
    assert tagger.n_passes_ == tagger.trace_["passes"].iloc[-1]
    assert tagger.classes_.tolist() == ["D", "N", "V"]
    assert tagger.feature_names_in_.tolist() == ["the", "dog", "barks", "a", "cat", "sees"]
    assert (tagger.coef_.shape, tagger.transitions_.shape, tagger.start_.shape, tagger.end_.shape) == ((3, 6), (3, 3), (3,), (3,))


@pytest.mark.parametrize(
    "X",
    [
        matrices(np.float32),
        [np.asfortranarray(x) for x in matrices()],
        [np.repeat(x, 2, axis=0)[::2] for x in matrices()],
        [x.astype(int).tolist() for x in matrices()],
        [sp.csr_array(x) for x in matrices()],
        [sp.csc_matrix(x) for x in matrices()],
        [pd.DataFrame(x, columns=list("abcdef")) for x in matrices()],
    ],
)
def test_matrices_of_all_kinds_give_the_same(X):
    wanted = ChainSVM().fit(matrices(), TAGS)
    found = ChainSVM().fit(X, TAGS)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-12)
    assert found.predict(X) == wanted.predict(matrices()) == TAGS
    assert found.n_features_in_ == 6
    assert not hasattr(found, "feature_names_in_")


@pytest.fixture(scope="module", params=["names", "numbers"])
def either(request, tagger):
    return (tagger, WORDS) if request.param == "names" else (ChainSVM().fit(matrices(), TAGS), matrices())


def test_sequences_may_be_empty_when_predicting(either):
    model, X = either
    empty = X[0][:0]
    assert model.predict([]) == []
    assert model.predict_one(empty) == []
    assert model.predict([X[0], empty, X[1], empty]) == [TAGS[0], [], TAGS[1], []]
    assert model.score([empty, X[0]], [[], TAGS[0]]) == 1.0
    margins = model.decision_function([empty, X[0], empty])
    assert [scores.shape for scores in margins] == [(0, 3), (3, 3), (0, 3)]
    np.testing.assert_array_equal(margins[1], model.decision_function([X[0]])[0])
    assert [scores.shape for scores in model.decision_function([empty, []])] == [(0, 3)] * 2
    with pytest.raises(ParameterError, match=r"X\[0\] must have at least one position, got none"):
        model.to_problem([empty, X[0]], [[], TAGS[0]])


@pytest.mark.parametrize("kind", [ChainSVM, ChainSVMCV])
@pytest.mark.parametrize("weights", [None, [1.0, 5.0, 2.0, 1.0, 1.0, 7.0]])
@pytest.mark.parametrize("make", [list, matrices], ids=["names", "numbers"])
def test_empty_sequences_do_not_count_in_training(kind, weights, make):
    params = {"C": 10.0, "early_stopping": True, "validation_fraction": 0.25} if kind is ChainSVM else {"lams": [0.1], "cv": 2}
    X, empty = (WORDS, []) if make is list else (matrices(), np.zeros((0, matrices()[0].shape[1])))
    full = [0, 2, 3, 4]
    with_empty = [X[0], empty, X[1], X[2], X[3], []], [TAGS[0], [], TAGS[1], TAGS[2], TAGS[3], []]
    wanted = kind(**params).fit(X, TAGS, None if weights is None else np.array(weights)[full])
    found = kind(**params).fit(*with_empty, weights)
    np.testing.assert_array_equal(found.result_.w, wanted.result_.w)
    assert found.result_.lam == wanted.result_.lam


def test_positions_may_be_rows_of_frames_or_come_from_iterators():
    frames = [pd.DataFrame({"word": words, "first": [t == 0 for t in range(len(words))]}) for words in WORDS]
    wanted = ChainSVM(features=columns_of_capitals).fit(WORDS, TAGS)
    found = ChainSVM().fit(frames, [pd.Series(tags, dtype="category") for tags in TAGS])
    np.testing.assert_array_equal(found.coef_, wanted.coef_)
    assert found.feature_names_in_.tolist() == wanted.feature_names_in_.tolist()
    assert found.predict(frames) == TAGS
    with_iterators = ChainSVM().fit(map(iter, WORDS), map(iter, TAGS))
    assert with_iterators.predict(map(iter, WORDS)) == TAGS


def test_one_label_is_always_predicted():
    tagger = ChainSVM().fit(WORDS, [["X"] * len(x) for x in WORDS])
    assert tagger.predict([["new"], ["the", "dog"]]) == [["X"], ["X", "X"]]
    assert tagger.dual_gap_ == 0.0


def test_unknown_features_and_labels(tagger):
    assert len(tagger.predict_one(["zebra", "dog"])) == 2
    assert tagger.score([["the", "dog"]], [["D", "?"]]) == 0.5
    assert tagger.to_problem([["the"]], [["?"]]).labels.tolist() == [-1]


def test_a_function_makes_features(tmp_path):
    tagger = ChainSVM(features=columns_of_capitals, min_count=2).fit(WORDS, TAGS)
    assert "first" in tagger.feature_names_in_
    assert "word=barks" not in tagger.feature_names_in_
    path = tagger.save(tmp_path / "tagger.npz")
    with pytest.raises(
        OptionError, match=r"features was columns_of_capitals, which files do not hold: pass it, load\(path, features=...\)"
    ):
        ChainSVM.load(path)
    assert ChainSVM.load(path, features=columns_of_capitals).predict(WORDS) == tagger.predict(WORDS)


def test_stored_runs_become_taggers(tmp_path):
    problem = fwexp.chain_problem(matrices(), [["DNV".index(tag) for tag in tags] for tags in TAGS])
    result = fwexp.solve(problem, lam=0.01)
    config = {"dataset": {"name": "ocr"}, "solver": {"name": "auto"}, "task": "train", "lam": 0.01, "seed": 0}
    key = store.save(result, config, tmp_path).name
    tagger = ChainSVM.from_run(key, results_dir=tmp_path)
    assert tagger.predict(matrices()) == [y.tolist() for y in result.predict(problem)]
    assert (tagger.lam, tagger.dual_gap_, tagger.classes_.tolist()) == (0.01, result.gap, [0, 1, 2])
    other = store.save(fwexp.solve(fwexp.multiclass_problem(np.eye(2), [0, 1]), lam=1.0), config | {"lam": 1.0}, tmp_path).name
    with pytest.raises(ParameterError, match="the run must be one on chains, got MulticlassProblem"):
        ChainSVM.from_run(other, results_dir=tmp_path)


def test_a_warm_start_that_cannot_be_is_warned_of(tmp_path):
    for solver, reason in (("fw", "solver fw cannot start from weights"), ("ssg", "solver ssg cannot start from weights")):
        tagger = ChainSVM(lam=0.01, iterate="best", warm_start=True).fit(WORDS, TAGS)
        with pytest.warns(UserWarning, match=rf"^warm_start: this fit starts from zero, because {reason}$"):
            tagger.set_params(solver=solver, tol=1.0).fit(WORDS, TAGS)
    tagger = ChainSVM(lam=0.01, iterate="best", warm_start=True).fit(WORDS, TAGS)
    for X, y, weights in ((WORDS[1:], TAGS[1:], None), (WORDS, TAGS, np.ones(4)), (WORDS, [["N"] * 3, *TAGS[1:]], None)):
        assert tagger.fit(X, y, weights).trace_["dual"].iloc[0] > 0.0  # near the last weights
    tagger.set_params(warm_start=False).fit(WORDS, TAGS)
    for again in (pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger), ChainSVM.load(tagger.save(tmp_path / "tagger"))):
        assert again.set_params(warm_start=True).fit(WORDS, TAGS).trace_["dual"].iloc[0] > 0.0
        assert again.predict(WORDS) == TAGS
    with pytest.warns(UserWarning, match="because no feature or label has a weight of the last one"):
        tagger.set_params(warm_start=True).fit([np.eye(2)], [["x", "y"]])


def test_labels_have_weights():
    X, y = [["a"]] * 4 + [["b"]], [["N"]] * 4 + [["V"]]
    plain, tagger = (ChainSVM(lam=1e-3, class_weight=weights).fit(X, y) for weights in (None, {"V": 9}))
    margins = [np.ptp(of_one.decision_function([["b"]])[0]) for of_one in (plain, tagger)]
    assert margins == pytest.approx([1.0, 9.0], rel=0.2)  # those that are asked for
    assert tagger.class_weight_.tolist() == [1.0, 9.0]
    assert ChainSVM(class_weight="balanced").fit(X, y).class_weight_.tolist() == [5 / 8, 5 / 2]
    assert fwexp.loss(tagger.to_problem([["a"]], [["V"]]), 0, [0]) == 9.0


@pytest.mark.parametrize(
    "parameters",
    [{"constraints": [("N", "RARE")]}, {"class_weight": {"RARE": 5.0}}, {"costs": 1.0 - np.eye(4)}, {"class_weight": "balanced"}],
)
def test_labels_may_be_in_the_validation_part_only(parameters):
    tagger = ChainSVM(early_stopping=True, validation_fraction=0.25, lam=0.1, tol=0.05, max_passes=500, **parameters)
    for place in range(4):  # in one of these the label is set aside
        X, y = list(WORDS), list(TAGS)
        X[place], y[place] = [f"rare{place}", "dog", "barks"], ["RARE", "N", "V"]
        assert tagger.fit(X, y).classes_.tolist() == ["D", "N", "RARE", "V"]
        assert set(tagger.feature_names_in_) <= {word for x in X for word in x}  # and none of a former fit
        assert (f"rare{place}" in tagger.feature_names_in_) == (place not in tagger._validation(4))
        assert np.isfinite(tagger.result_.primal)


def test_the_validation_part_has_a_label():
    tagger, y = ChainSVM(early_stopping=True, validation_fraction=0.25, ignore_label="?"), list(TAGS)
    (place,) = tagger._validation(len(WORDS))
    y[place] = ["?"] * len(WORDS[place])
    with pytest.raises(ParameterError, match=r"^early_stopping must set aside a sequence with a label, got none; raise valid"):
        tagger.fit(WORDS, y)


def test_what_did_not_converge_is_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 pass with gap .* > tol=1e-06; raise max_passes, lam or tol"):
        ChainSVM(max_passes=1, tol=1e-6).fit(WORDS, TAGS)
    years = [[{"word": word, "year": 1900.0 + len(word)} for word in x] for x in WORDS]
    with pytest.warns(ConvergenceWarning, match=r"> tol=1e-06; scale the features of X to about 1: the largest one is 190\d;"):
        ChainSVM(max_passes=1, tol=1e-6).fit(years, TAGS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChainSVM(solver="ssg", max_passes=1).fit(WORDS, TAGS)  # which has no gap


def test_seeds():
    results = [ChainSVM(random_state=seed).fit(WORDS, TAGS).result_ for seed in (3, np.random.RandomState(0), None)]
    assert results[0].seed == 3
    assert all(result.gap <= 0.01 for result in results)


def test_largest_weights_have_names(tagger):
    table = tagger.state_features_.top(3)
    assert table.columns.tolist() == ["feature", "label", "weight"]
    assert len(table) == 3
    first = table.iloc[0]
    place = tagger.classes_.tolist().index(first["label"]), tagger.feature_names_in_.tolist().index(first["feature"])
    assert abs(first["weight"]) == np.abs(tagger.coef_).max() == abs(tagger.coef_[place])
    moves = tagger.transition_features_.top()
    assert moves["weight"].abs().is_monotonic_decreasing
    assert moves.iloc[0][["from", "to"]].tolist() == ["D", "N"]
    with pytest.raises(ParameterError, match="n must be an integer >= 1, got 0"):
        tagger.state_features_.top(0)


def test_weights_by_name_are_mappings(tagger):
    """As in sklearn-crfsuite, whose tutorial counts them."""
    K, states, moves = len(tagger.classes_), tagger.state_features_, tagger.transition_features_
    (pair, weight), *_ = Counter(states).most_common(1)
    assert states[pair] == weight == tagger.coef_.max()
    assert weight == pytest.approx(states.top(100)["weight"].max())
    assert len(dict(states)) == len(states) == np.count_nonzero(tagger.coef_)
    found = [moves.get(pair, 0.0) for pair in product(tagger.classes_, repeat=2)]
    np.testing.assert_array_equal(np.reshape(found, (K, K)), tagger.transitions_)
    for missing in (("word", "D"), ("D",), 3, ("the", "X"), ([], "D")):
        assert missing not in [*states]
        with pytest.raises(KeyError):
            states[missing]
    numbers = ChainSVM().fit(matrices(), TAGS)
    assert {feature for feature, _ in numbers.state_features_} <= set(range(numbers.n_features_in_))


def test_labels_have_costs():
    matrix = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
    by_pairs = {("D", "N"): 5, ("V", "N"): 2.0}
    taggers = [
        ChainSVM(costs=costs, class_weight=weights).fit(WORDS, TAGS) for costs in (matrix, by_pairs) for weights in (None, {"V": 3})
    ]
    costs = [[fwexp.loss(tagger.to_problem([["the", "barks"]], [["D", "V"]]), 0, [1, 1]) for tagger in taggers]]
    assert costs == [[7.0, 11.0, 7.0, 11.0]]


def test_as_many_threads_as_jobs_train(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    counted = []
    monkeypatch.setattr("fwexp.tasks.train.run_solver", lambda *_, **__: counted.append(threads.num_threads()) or 1 / 0)
    for n_jobs in (1, 3, -1, None):
        with pytest.raises(ZeroDivisionError):
            ChainSVM(n_jobs=n_jobs).fit(WORDS, TAGS)
    assert counted == [1, 3, threads.num_threads(), threads.num_threads()]


def test_lam_is_first_and_all_others_go_by_name():
    assert next(iter(inspect.signature(ChainSVM).parameters)) == "lam"
    assert ChainSVM(0.1).lam == 0.1
    with pytest.raises(TypeError):
        ChainSVM(0.1, 10.0)
    with pytest.raises(TypeError):
        ChainSVM(gamma=1)


def test_features_by_name_are_looked_up_as_training_reads_them():
    def position(word, t):
        return {"word": word, "first": t == 0, "count": t % 2, "a": "b=c", "a=b": "c", "part": [word[0], word[-1]][: t % 3]}

    X = [[position(word, t) for t, word in enumerate(x)] for x in (["the", "dog"], ["a", "cat", "sees"], ["sees"])]
    plain = [[{"word": word, "": "", "last": t == len(x) - 1} for t, word in enumerate(x)] for x in (["the", "dog"], ["a", "cat"])]
    y = [["D", "N"], ["D", "N", "V"], ["V"]]
    for data, labels in ((X, y), (plain, [*y[:1], ["D", "N"]])):
        tagger = ChainSVM(lam=0.1).fit(data, labels)
        kept = np.arange(len(tagger.result_.w)) >= len(tagger.classes_)
        tagger.result_ = replace(tagger.result_, w=tagger.result_.w * kept)
        new = [*data, [{"word": "dog"}, {"word": 2.5}, {"word": "zebra", "count": 3}], [{"word": "", "": "new", "last": 1}, {}]]
        scores = tagger.decision_function(new)  # by rows of all features, those without weights included
        assert tagger.predict(new) == [tagger.classes_[s.argmax(axis=1)].tolist() for s in scores]
        assert [tagger.predict_one(x) for x in new] == tagger.predict(new)
        assert 0 < tagger._decoder[0].num_features < tagger.n_features_in_  # ...which are not looked up


@pytest.mark.parametrize(("Tagger", "lam"), [(ChainSVM, 5e-4), (ChainCRF, 1e-2)])
def test_one_long_sequence_trains_well(Tagger, lam):
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(3, size=16), 5)
    X = [np.eye(3)[labels] + 0.8 * rng.normal(size=(80, 3))]
    tagger = Tagger(lam=lam).fit(X, [labels.tolist()])
    result = tagger.result_
    assert result.status == "converged"
    assert result.trace["passes"].iloc[-1] <= 60
    assert ("pull" if Tagger is ChainSVM else "memory") in result.options  # of one_slack, of lbfgs
    weighted = Tagger(lam=lam).fit(X, [labels.tolist()], sample_weight=[3.0])
    np.testing.assert_allclose(weighted.result_.w, result.w, atol=1e-9)
    warm = Tagger(lam=lam / 10, warm_start=True).fit(X, [labels.tolist()]).fit(X, [labels.tolist()])
    assert warm.result_.trace["passes"].iloc[-1] <= result.trace["passes"].iloc[-1]
