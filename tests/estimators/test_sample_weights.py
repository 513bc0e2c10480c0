"""Weights of examples: 2 counts an example twice, 0 leaves it out, in everything that an estimator derives from its data."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import fwexp
from fwexp.errors import ParameterError
from fwexp.estimators import (
    ChainCRF,
    ChainSVM,
    ChainSVMCV,
    GraphSVM,
    MatchingSVM,
    MulticlassLogistic,
    MulticlassSVM,
    MultiLabelSVM,
    StructuredSVM,
)
from fwexp.estimators.certified_fit import positions_per_example
from tests.estimators.models import Sequences

N = 5  # examples


def sequences(rng, names: bool):
    """Return sequences of words or of numbers, and labels that are rarely "rare"."""
    sizes = rng.integers(1, 4, N)
    y = [[["a", "b", "rare"][min(k, 2)] for k in rng.geometric(0.6, size) - 1] for size in sizes]
    if names:
        return [[{"word": f"w{min(k, 4)}"} for k in rng.geometric(0.4, size)] for size in sizes], y
    return [rng.normal(size=(size, 2)) for size in sizes], y


def graphs(rng):
    X = [(rng.normal(size=(size, 2)), [(v, v + 1) for v in range(size - 1)]) for size in rng.integers(2, 4, N)]
    return X, [["in" if k else "out" for k in rng.integers(2, size=len(x))] for x, _ in X]


def rows(rng, names: bool = False):
    y = [["a", "b", "rare"][min(k, 2)] for k in rng.geometric(0.6, N) - 1]
    return ([{"word": f"w{min(k, 4)}"} for k in rng.geometric(0.4, N)] if names else list(rng.normal(size=(N, 2)))), y


def sets(rng):
    return list(rng.normal(size=(N, 2))), list(rng.integers(2, size=(N, 2)))


def matchings(rng):
    return list(rng.normal(size=(N, 2, 2, 3))), [[(0, 1)] if k else [(0, 0), (1, 1)] for k in rng.integers(2, size=N)]


def chains(rng):
    X = [rng.normal(size=(size, 2)) for size in rng.integers(1, 4, N)]
    return X, [tuple(rng.integers(2, size=len(x)).tolist()) for x in X]


BALANCED = {"class_weight": "balanced"}
WORDS = {"transition_features": ["word"], "min_count": 2}
# Estimators, and the functions that draw data for them.
CASES = {
    "names": (lambda **more: ChainSVM(min_count=2, **BALANCED, **more), lambda rng: sequences(rng, names=True)),
    "transitions": (lambda **more: ChainSVM(**WORDS, **more), lambda rng: sequences(rng, names=True)),
    "shares": (lambda **more: ChainSVM(loss="share", ignore_label="b", **more), lambda rng: sequences(rng, names=False)),
    "crf": (lambda **more: ChainCRF(solver="lbfgs", **more), lambda rng: sequences(rng, names=True)),
    "margins": (
        lambda **more: ChainCRF(solver="lbfgs", objective="softmax_margin", **BALANCED, **more),
        lambda rng: sequences(rng, names=False),
    ),
    "classes": (lambda **more: MulticlassSVM(**BALANCED, **more), rows),
    "named classes": (lambda **more: MulticlassSVM(min_count=2, **more), lambda rng: rows(rng, names=True)),
    "class costs": (lambda **more: MulticlassLogistic(solver="lbfgs", class_weight={"a": 2.0}, **more), rows),
    "logistic": (lambda **more: MulticlassLogistic(solver="lbfgs", **more), rows),
    "sets": (lambda **more: MultiLabelSVM(**BALANCED, **more), sets),
    "sets, full": (lambda **more: MultiLabelSVM(pairwise="full", loss="share", **more), sets),
    "graphs": (lambda **more: GraphSVM(**BALANCED, **more), graphs),
    "graphs, full": (lambda **more: GraphSVM(pairwise="full", **more), graphs),
    "matchings": (lambda **more: MatchingSVM(**more), matchings),
    "model": (lambda **more: StructuredSVM(Sequences(), **more), chains),
}
SCALES = st.sampled_from([{"lam": "1/n"}, {"C": 0.5}, {"lam": 0.2}])
WEIGHTS = st.lists(st.sampled_from([0, 1, 2]), min_size=N, max_size=N)
FEW = settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def repeated(values, weights):
    """Return the elements of a list, each as often as its weight says."""
    return [value for value, weight in zip(values, weights, strict=True) for _ in range(weight)]


def fitted(model, X, y, sample_weight=None):
    """Return the fitted model, or the message of its refusal."""
    try:
        return model.fit(X, y, sample_weight=sample_weight)
    except ParameterError as error:
        return str(error)


def learned(model) -> dict:
    """Return all that a model has learned but its weights."""
    return {name: value for name, value in model.encoding_.learned().items() if name != "class_weight"}


def primal(model, X, y, sample_weight, w) -> float:
    """Return the objective of a model at some weights, from its parts."""
    problem = model.to_problem(X, y, sample_weight) if sample_weight is not None else model.to_problem(X, y)
    evaluation = fwexp.evaluate(problem, w, objective=model._objective)
    return model.result_.lam / 2 * evaluation.norm_sq + evaluation.hinge / positions_per_example(problem)


@pytest.mark.parametrize("name", CASES)
@FEW
@given(seed=st.integers(0, 1000), weights=WEIGHTS, scale=SCALES)
@example(seed=1, weights=[1, 0, 2, 1, 0], scale={"lam": "1/n"})
@example(seed=2, weights=[2, 2, 2, 2, 2], scale={"C": 0.5})
def test_weights_stand_for_repetitions(name, seed, weights, scale):
    """The objectives are the same to rounding, and so are the weights, as far as the certificates of both tell."""
    assume(sum(weights))
    new, drawn = CASES[name]
    X, y = drawn(np.random.default_rng(seed))
    several = repeated(X, weights), repeated(y, weights)
    one, other = (new(tol=1e-2, max_passes=2000, iterate="best", **scale) for _ in range(2))
    one, other = fitted(one, X, y, np.array(weights, dtype=float)), fitted(other, *several)
    if isinstance(other, str):
        assert one == other
        return
    np.testing.assert_equal(learned(one), learned(other))
    found = [model.encoding_.learned().get("class_weight") for model in (one, other)]
    np.testing.assert_allclose(*[np.ones(1) if of_one is None else of_one for of_one in found], rtol=1e-12)
    lam = one.result_.lam
    assert lam == pytest.approx(other.result_.lam, rel=1e-12)
    near = np.sqrt(2 / lam) * sum(np.sqrt(max(model.dual_gap_, 0.0)) for model in (one, other))
    assert np.linalg.norm(one.result_.w - other.result_.w) <= near + 1e-9
    if name in ("classes", "class costs", "model"):
        return  # to_problem leaves weights of classes out, and takes no weights of examples for models
    kept = np.flatnonzero(weights)
    some, counts = ([X[i] for i in kept], [y[i] for i in kept]), np.array(weights, dtype=float)[kept]
    for w in (one.result_.w, other.result_.w):
        assert primal(one, *some, counts, w) == pytest.approx(primal(other, *several, None, w), rel=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_weight_0_leaves_an_example_out(name):
    """Bit by bit: the labels and the features of such an example are not known either."""
    new, drawn = CASES[name]
    X, y = drawn(np.random.default_rng(3))
    kept = [1, 2, 4]
    weights = np.isin(np.arange(N), kept) * 1.5
    several = [X[i] for i in kept], [y[i] for i in kept]
    one, other = (fitted(new(lam=0.1, max_passes=3, tol=10.0), *data) for data in ((X, y, weights), (*several, weights[kept])))
    if isinstance(other, str):
        assert one == other
        return
    np.testing.assert_equal(one.encoding_.learned(), other.encoding_.learned())
    np.testing.assert_array_equal(one.result_.w, other.result_.w)
    assert one.dual_gap_ == other.dual_gap_


@pytest.mark.parametrize("cls", [ChainSVM, ChainSVMCV])
def test_weight_0_leaves_a_sequence_out_of_splits(cls):
    """Held-out sequences of early stopping, and folds."""
    X, y = sequences(np.random.default_rng(0), names=True)
    X, y = X * 4, y * 4
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    kept = np.flatnonzero(weights)
    more = {"early_stopping": True, "lam": 0.1} if cls is ChainSVM else {"lams": [1.0, 0.1], "cv": 3}
    one, other = (cls(max_passes=20, tol=1e-2, **more) for _ in range(2))
    one.fit(X, [[*labels] if weights[i] else ["other"] * len(labels) for i, labels in enumerate(y)], weights)
    other.fit([X[i] for i in kept], [y[i] for i in kept], weights[kept])
    np.testing.assert_array_equal(one.result_.w, other.result_.w)
    assert one.classes_.tolist() == other.classes_.tolist()
    if cls is ChainSVMCV:
        np.testing.assert_equal(one.cv_results_, other.cv_results_)


def test_early_stopping_weighs_what_it_sets_aside():
    """With nearly all weight on one sequence set aside, whose label training lacks, nearly all is wrong."""
    X, _ = sequences(np.random.default_rng(0), names=True)
    model = ChainSVM(early_stopping=True, validation_fraction=0.6, lam=0.1, tol=10.0)
    place = model._validation(N)[0]
    y = [["b" if i == place else "a"] * len(x) for i, x in enumerate(X)]
    for weight, low, high in ((1.0, 0.1, 0.9), (1e9, 1.0 - 1e-6, 1.0)):
        model.fit(X, y, np.where(np.arange(N) == place, weight, 1.0))
        assert low <= model.trace_["validation_error"].iloc[-1] <= high


@pytest.mark.parametrize("weights", [[1, -1, 1, 1, 1], [0, 0, 0, 0, 0]])
@pytest.mark.parametrize("name", ["names", "classes", "sets", "graphs", "matchings", "model"])
def test_weights_that_are_refused_are_named(name, weights):
    new, drawn = CASES[name]
    message = r"sample_weight must be > 0 for one|must be >= 0, got sample_weight\[1\] = -1|must contain at least one non-zero"
    with pytest.raises(ValueError, match=message):
        new(lam=0.1).fit(*drawn(np.random.default_rng(0)), sample_weight=np.array(weights, dtype=float))
