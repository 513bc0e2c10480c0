"""Labels that are known in part: decoding, several labelings, probabilities and training, against enumeration."""

from dataclasses import replace
from itertools import compress, pairwise, product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import ChainCRF, ChainCRFCV, ChainSVM, ChainSVMCV, label_sets
from fwexp.estimators.label_sets import Bounds
from fwexp.problems.evaluation import evaluator
from fwexp.problems.loss_terms import make_objective
from fwexp.problems.protocol import from_public

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
    assert tagger.log_proba([x, x, x], [[{"z"}, None], [{"a", "z"}, None], ["a", "z"]])[[0, 2]].tolist() == [-np.inf] * 2
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


OBJECTIVES = [(ChainSVM, {"lam": 0.05}), (ChainCRF, {}), (ChainCRF, {"objective": "softmax_margin"})]


def objective_of_sets(model, w, X, y, weights, costs=None):
    """Return the mean of the loss terms, every labeling written out, of a model without constraints; errors may have ``costs``."""
    K, p = len(LABELS), X[0].shape[1]
    coef, start, end, transitions = np.split(w.reshape(-1, K), [p, p + 1, p + 2])
    soft, total = isinstance(model, ChainCRF), 0.0
    for x, entries, c, of_errors in zip(X, y, weights, costs or [np.ones(len(x)) for x in X]):
        sets = [{*LABELS} if entry is None else entry if isinstance(entry, set) else {entry} for entry in entries]
        every = np.array([*product(range(K), repeat=len(x))])
        values = (x @ coef)[np.arange(len(x)), every].sum(axis=1) + start[0, every[:, 0]] + end[0, every[:, -1]]
        values += transitions[every[:, :-1], every[:, 1:]].sum(axis=1)
        right = np.array([[LABELS[k] in allowed for k, allowed in zip(labels, sets)] for labels in every])
        losses = 0.0 if soft and model.objective == "log" else ~right @ of_errors
        largest = np.logaddexp.reduce if soft else np.max
        total += c * (largest(values + losses) - largest(values[right.all(axis=1)]))
    return total / sum(c * len(x) for x, c in zip(X, weights))


def of_sets(rng, n):
    X = [rng.normal(size=(rng.integers(1, 4), 1)) for _ in range(n)]
    return X, [drawn(rng, len(x))[0] for x in X[:-1]] + [[{*LABELS}] * len(X[-1])]


def test_bounds_of_the_objective_of_sets_are_those_of_enumeration():
    rng = np.random.default_rng(5)
    for trial in range(PROBLEMS):
        cls, parameters = OBJECTIVES[trial % 3]
        model, (X, y) = cls(**parameters), of_sets(rng, 3)
        weights, costs = (rng.random(3) + 0.5 if trial % 2 else np.ones(3)), None
        if trial % 2 == 0 and model._objective != "log":
            costs = [rng.random(len(x)) for x in X]
        encoding = model._Encoding(model)
        X, y, sample_weight, _ = encoding.examples(X, y, weights if trial % 2 else costs)
        problem, c = encoding.learn_from(X, y, sample_weight)
        objective = make_objective(model._objective, 1.0)
        bounds = Bounds(problem, c, encoding.allowed_in(y), model.lam, objective)
        w, v = rng.normal(size=(2, problem.d)) * rng.choice([0.3, 3.0])
        bound = bounds.at(w, cls is ChainCRF)
        values = [objective_of_sets(model, at, X, y, weights, costs) + bounds.lam / 2 * at @ at for at in (w, v)]
        assert bound.value == pytest.approx(values[0], abs=1e-10)
        distance = v - bound.origin
        hinge = evaluator(bound.problem, objective)(from_public(problem, v), error=False).hinge * problem.n / bounds.scale
        above = 0.5 * bounds.lam * distance @ distance + hinge - bound.shift - values[1]
        assert above >= -1e-10


@pytest.mark.parametrize(("cls", "parameters"), OBJECTIVES)
def test_training_on_sets_ends_where_no_step_helps(cls, parameters):
    X, y = of_sets(np.random.default_rng(6), 5)
    model = cls(**parameters, tol=1e-3, max_passes=2000).fit(X, y)
    result, w = model.result_, model.result_.w.copy()

    def value(w):
        return objective_of_sets(model, w, X, y, np.ones(5)) + result.lam / 2 * w @ w

    assert result.primal == pytest.approx(value(w), abs=1e-10)
    assert model.status_ == "converged"
    assert np.isnan([result.dual, model.dual_gap_, *model.trace_["dual"], *model.trace_["gap"]]).all()
    assert result.primal <= value(np.zeros(len(w)))
    assert (np.diff(model.trace_["passes"]) >= 0).all()
    assert "nothing is certified" in result.reason
    if cls is ChainCRF:  # smooth: ||gradient||^2 <= 2 L (M(w) - min M)
        steps = 1e-5 * np.eye(len(w))
        gradient = [(value(w + step) - value(w - step)) / 2e-5 for step in steps]
        assert np.linalg.norm(gradient) < 0.1
    few = cls(**parameters, tol=1e-9, max_passes=4)
    with pytest.warns(
        ConvergenceWarning, match="training stopped after .* passes, .* above the least of a convex bound that is equal"
    ):
        few.fit(X, y)
    assert few.status_ == "max_passes"
    assert few.result_.primal == pytest.approx(value(few.result_.w), abs=1e-10)


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_sets_are_resolved_by_what_other_sequences_show(cls):
    rng = np.random.default_rng(7)
    X = [[f"w{k}" for k in rng.integers(6, size=5)] for _ in range(12)]
    truth = [[LABELS[int(word[1]) % 3] for word in x] for x in X]
    y = [[{label, rng.choice(LABELS)} if rng.random() < 0.6 else label for label in labels] for labels in truth]
    model = cls(lam=0.01).fit(X, y)
    assert model.predict(X) == truth
    assert model.score(X, truth) == model.score(X, y) == 1.0
    assert cls(lam=0.01, warm_start=True).fit(X, y).fit(X, y).predict(X) == truth


def test_sets_obey_constraints_and_cuts():
    X, y = [["u", "v", "w"], ["u", "w"]], [[{"a", "b"}, None, {"a", "c"}], ["a", {"b", "a"}]]
    model = ChainCRF(constraints=[("a", "a"), ("b", "c")]).fit(X, y)
    assert all(("a", "a") not in pairwise(labels) for labels in model.predict(X))
    assert model.classes_.tolist() == LABELS
    cut = ChainCRF(ignore_label="?").fit([["u", "v", "w"]] * 2, [[{"a", "b"}, "?", "c"], ["c", "a", {"b", "c"}]])
    alone = ChainCRF().fit([["u"], ["w"], ["u", "v", "w"]], [[{"a", "b"}], ["c"], ["c", "a", {"b", "c"}]])
    assert cut.result_.primal < alone.result_.primal + 0.01  # At cuts there are no scores of ends.
    with pytest.raises(ParameterError, match=r"y\[1\] must have labels that constraints allow, got none in the sets"):
        ChainCRF(constraints=[("a", "b"), ("a", "a")]).fit(X, y)


def hidden(rng, n):
    """Return sequences of words that decide the labels, the labels, and sets of which some hold a second label."""
    X = [[f"w{k}" for k in rng.integers(6, size=4)] for _ in range(n)]
    truth = [[LABELS[int(word[1]) % 3] for word in x] for x in X]
    return X, truth, [[{label, rng.choice(LABELS)} if rng.random() < 0.6 else label for label in labels] for labels in truth]


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_sets_are_scored_while_training_and_stop_it(cls):
    X, _, y = hidden(np.random.default_rng(8), 20)
    rows = []
    model = cls(lam=0.05, early_stopping=True, tol=1e-4, max_passes=40, validation_fraction=0.3, callback=rows.append)
    model.fit(X, y)
    assert [row["primal"] for row in rows] == model.trace_["primal"].tolist()
    assert [row["passes"] for row in rows] == model.trace_["passes"].tolist()
    aside = [X[i] for i in model.held_out_], [y[i] for i in model.held_out_]
    assert model.trace_["validation_error"].notna().all()
    assert fwexp.evaluate(model.to_problem(*aside), model.result_).error == pytest.approx(1.0 - model.score(*aside))
    dev = cls(lam=0.05, tol=0.5).fit(X, y, dev=aside)
    assert dev.result_.errors["validation_error"] <= 1.0
    with pytest.warns(ConvergenceWarning, match="raise time_limit, lam or tol"):
        assert cls(tol=1e-9, time_limit=1e-9).fit(X, y).status_ == "time_limit"
    assert cls(tol=1e-9, callback=lambda row: row["passes"] > 2).fit(X, y).status_ == "interrupted"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_is_for_all_steps_together(monkeypatch):
    X, _, y = hidden(np.random.default_rng(8), 20)
    rests, step = [], label_sets._step

    def watched(estimator, rest, *given, **more):
        rests.append(rest["time_limit"])
        return step(estimator, rest, *given, **more)

    monkeypatch.setattr(label_sets, "_step", watched)
    model = ChainSVM(lam=0.05, tol=1e-4, max_passes=40, time_limit=1000.0).fit(X, y)
    assert len(rests) > 2
    assert rests == sorted(rests, reverse=True)
    assert rests[0] == 1000.0
    assert 1000.0 - model.trace_["time"].iloc[-1] <= rests[-1] < 1000.0


def test_problems_of_sets_are_test_sets():
    model = ChainSVM(costs={("a", "b"): 3.0}, lam=0.1).fit([["u"], ["v"], ["w"]], [["a"], ["b"], ["c"]])
    problem = model.to_problem([["u", "v"], ["w", "x"]], [[{"a", "z"}, {"c", "a"}], [{"y"}, None]])
    assert fwexp.evaluate(problem, model.result_).error == pytest.approx(0.5)
    single = model.to_problem([["v"]], [["a"]])
    assert fwexp.evaluate(single, model.result_).error == 3.0
    both = model.to_problem([["v"], ["u", "u"]], [["a"], [None, {"b", "c"}]])
    assert fwexp.evaluate(both, model.result_).error == pytest.approx((3.0 + 1.0) / 3)
    with pytest.raises(ParameterError, match="labels of a training problem must be >= 0, got -1"):
        fwexp.solve(problem, lam=0.1)


@pytest.mark.parametrize("cls", [ChainSVMCV, ChainCRFCV])
def test_lam_is_chosen_on_sets(cls):
    X, _, y = hidden(np.random.default_rng(9), 12)
    lams, tagger = [0.3, 0.03], ChainSVM if cls is ChainSVMCV else ChainCRF
    found = cls(lams=lams, cv=3, tol=0.1).fit(X, y, dev=(X[:3], y[:3]))
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        for k, lam in enumerate(lams):
            model = tagger(lam=lam, tol=0.1).fit([X[i] for i in train], [y[i] for i in train])
            score = model.score([X[i] for i in test], [y[i] for i in test])
            assert found.cv_results_[f"split{fold}_test_score"][k] == pytest.approx(score)
    assert np.isnan(found.cv_results_["gap"]).all()
    np.testing.assert_array_equal(found.result_.w, tagger(lam=found.lam_, tol=0.1).fit(X, y).result_.w)
    with pytest.warns(ConvergenceWarning) as caught:
        cls(lams=lams, cv=3, tol=1e-9, max_passes=2).fit(X, y)
    assert ["in the folds" in str(one.message) for one in caught] == [True, False]
    with pytest.raises(ParameterError, match="must be one label for scoring='accuracy', got"):
        cls(lams=lams, cv=3, scoring="accuracy").fit(X, y)


@pytest.mark.parametrize("cls", [ChainSVM, ChainCRF])
def test_training_on_sets_continues_from_earlier_weights(cls):
    rng = np.random.default_rng(10)
    X, y = of_sets(rng, 5)
    model = cls(lam=0.2, tol=1e-3, max_passes=2000).partial_fit(X, y, classes=LABELS)
    np.testing.assert_array_equal(model.result_.w, cls(lam=0.2, tol=1e-3, max_passes=2000).fit(X, y).result_.w)
    before, (X, y) = model.result_.w.copy(), of_sets(rng, 4)
    w = model.partial_fit(X, y).result_.w.copy()

    def value(w):
        return objective_of_sets(model, w, X, y, np.ones(4)) + 0.1 * (w - before) @ (w - before)

    assert model.result_.primal == pytest.approx(value(w), abs=1e-10)
    assert value(w) <= value(before)
    steps = 0.05 * rng.normal(size=(20, len(w)))
    assert min(value(w + step) for step in steps) >= value(w) - 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: ChainSVM().to_problem(X, y), r"y\[0\]\[0\] must be one label for to_problem before fit, got \{'a'\}"),
        (lambda X, y: ChainSVM().fit(X, [[set()], ["a"]]), r"y\[0\]\[0\] must be a label, got set\(\)"),
        (lambda X, y: ChainSVM().fit(X, [[{"a", None}], ["a"]]), r"y\[0\]\[0\] must be a label, got \{"),
        (
            lambda X, y: ChainSVM(ignore_label="a", skip_ignored=3).fit(X, [["b"], ["a"]]),
            "skip_ignored must be true or false",
        ),
    ],
)
def test_other_training_takes_no_sets(call, message):
    with pytest.raises(ParameterError, match=message):
        call([["u"], ["v"]], [[{"a"}], ["b"]])
