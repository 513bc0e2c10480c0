"""The matching family, against brute force over all matchings and against the reference solver."""

from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import fwexp
from fwexp.data.metrics import alignment_error_rate
from fwexp.errors import OptionError, ParameterError
from fwexp.problems import protocol
from fwexp.problems.features import BinaryFeatures, DenseFeatures, SparseFeatures
from fwexp.testing import check_problem

KINDS = {"dense": DenseFeatures, "sparse": SparseFeatures, "binary": BinaryFeatures}


def all_matchings(rows, columns):
    """Every matching of a grid, as a list of links."""
    return [
        list(zip(chosen, order, strict=True))
        for size in range(min(rows, columns) + 1)
        for chosen in combinations(range(rows), size)
        for order in permutations(range(columns), size)
    ]


def random_arrays(rng, n=6, p=4, binary=False):
    """Grids of at most 3 x 4 with features, and a true matching of each."""
    X, y = [], []
    for _ in range(n):
        rows, columns = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        shape = (rows, columns, p)
        X.append((rng.random(shape) < 0.5).astype(float) if binary else rng.normal(size=shape) * (rng.random(shape) < 0.8))
        matchings = all_matchings(rows, columns)
        y.append(np.array(matchings[rng.integers(len(matchings))], dtype=int).reshape(-1, 2))
    return X, y


def build(X, y, kind="dense", **options):
    if kind == "dense":
        return fwexp.matching_problem(X, y, **options)
    flat = [sp.csr_array(x.reshape(-1, x.shape[2])) for x in X]
    return fwexp.matching_problem(flat, y, shapes=[x.shape[:2] for x in X], **options)


def phi(x, links):
    return sum((x[r, c] for r, c in links), start=np.zeros(x.shape[2]))


def hamming(x, truth, links, precision_cost=1.0, recall_cost=3.0):
    """Return the loss, from its definition."""
    truth, links = {tuple(link) for link in truth}, {tuple(link) for link in links}
    worst = recall_cost * len(truth) + precision_cost * min(x.shape[:2])
    return (precision_cost * len(links - truth) + recall_cost * len(truth - links)) / worst


@pytest.fixture(params=["dense", "binary", pytest.param("sparse", marks=pytest.mark.slow)])
def example(request):
    """(X, y, problem, weights) with each kind of features."""
    rng = np.random.default_rng(3)
    X, y = random_arrays(rng, binary=request.param == "binary")
    problem = build(X, y, request.param)
    assert isinstance(problem.x, KINDS[request.param])
    return X, y, problem, rng.normal(size=problem.d)


def test_keeps_the_promises_of_the_protocol(example):
    check_problem(example[2])


def test_size(example):
    X, _, problem, _ = example
    assert (problem.n, problem.d) == (len(X), 4)
    assert repr(problem) == f"MatchingProblem(n=6, d=4, edges={sum(x.shape[0] * x.shape[1] for x in X)})"


def test_joint_feature_and_loss_of_every_matching(example):
    X, y, problem, _ = example
    for i, x in enumerate(X):
        for links in all_matchings(*x.shape[:2]):
            np.testing.assert_allclose(fwexp.joint_feature(problem, i, links).toarray()[0], phi(x, links), atol=1e-12)
            assert fwexp.loss(problem, i, links) == pytest.approx(hamming(x, y[i], links), abs=1e-15)


def test_oracle_against_all_matchings(example):
    X, y, problem, w = example
    for i, x in enumerate(X):
        values = [hamming(x, y[i], links) - w @ (phi(x, y[i]) - phi(x, links)) for links in all_matchings(*x.shape[:2])]
        labeling, value = fwexp.max_oracle(problem, i, w)
        assert value == pytest.approx(max(values), abs=1e-12)
        assert hamming(x, y[i], labeling) - w @ (phi(x, y[i]) - phi(x, labeling)) == pytest.approx(value, abs=1e-12)


def test_prediction_against_all_matchings(example):
    X, y, problem, w = example
    predictions = fwexp.predict(problem, w)
    for x, links in zip(X, predictions, strict=True):
        assert w @ phi(x, links) == pytest.approx(max(w @ phi(x, other) for other in all_matchings(*x.shape[:2])), abs=1e-12)
    errors = [hamming(x, truth, links) for x, truth, links in zip(X, y, predictions, strict=True)]
    assert fwexp.evaluate(problem, w).error == pytest.approx(np.mean(errors), abs=1e-15)


def test_radii_are_bounds_that_binary_features_can_reach():
    x = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]]])
    problem = build([x, x], [[(0, 0)], []], "binary")
    largest = [max(np.sum((phi(x, truth) - phi(x, links)) ** 2) for links in all_matchings(2, 2)) for truth in ([(0, 0)], [])]
    bounds = protocol.radii_sq(problem)
    assert (bounds >= largest).all()
    # coordinates are bounded one by one, each by one link per row: (1 - 0)^2 + 2^2, and 1^2 + 2^2
    assert bounds.tolist() == [5.0, 5.0]


def test_the_loss_is_at_most_one_and_reaches_it():
    x = np.zeros((3, 3, 1))
    problem = fwexp.matching_problem([x], [[(0, 0), (1, 1), (2, 2)]])
    assert fwexp.loss(problem, 0, [(0, 1), (1, 2), (2, 0)]) == 1.0
    assert fwexp.loss(problem, 0, []) == 0.75
    assert fwexp.loss(problem, 0, [(2, 2), (1, 1), (0, 0)]) == 0.0


def test_other_costs():
    X, y = random_arrays(np.random.default_rng(5))
    problem = fwexp.matching_problem(X, y, precision_cost=2.0, recall_cost=0.5)
    for i, x in enumerate(X):
        for links in all_matchings(*x.shape[:2]):
            assert fwexp.loss(problem, i, links) == pytest.approx(hamming(x, y[i], links, 2.0, 0.5), abs=1e-15)


def test_an_example_without_true_links():
    problem = fwexp.matching_problem([np.ones((2, 3, 1))], [[]])
    links, value = fwexp.max_oracle(problem, 0, [0.0])
    assert value == 1.0
    assert len(links) == 2


# --- test sets with sure and possible links ---------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_error_is_the_alignment_error_rate_of_the_set(seed):
    rng = np.random.default_rng(seed)
    X, _ = random_arrays(rng)
    marks = [rng.integers(0, 3, size=x.shape[:2]) for x in X]
    marks[0][0, 0] = 2
    sure, possible = ([np.argwhere(grid >= least) for grid in marks] for least in (2, 1))
    problem = fwexp.matching_problem(X, sure, possible=possible)
    w = rng.normal(size=problem.d)
    predictions = fwexp.predict(problem, w)
    assert fwexp.evaluate(problem, w).error == pytest.approx(alignment_error_rate(sure, possible, predictions), abs=1e-12)
    for i in range(problem.n):
        if len(sure[i]) > 0:
            one = alignment_error_rate(sure[i : i + 1], possible[i : i + 1], predictions[i : i + 1])
            assert fwexp.loss(problem, i, predictions[i]) == pytest.approx(one, abs=1e-12)


def test_sure_links_need_not_be_possible_or_a_matching():
    x = np.zeros((2, 2, 1))
    problem = fwexp.matching_problem([x], [[(0, 0), (0, 1)]], possible=[[(1, 1)]])
    assert fwexp.loss(problem, 0, [(0, 0)]) == pytest.approx(1 - 2 / 3)
    assert fwexp.loss(problem, 0, [(0, 0), (1, 1)]) == pytest.approx(1 - 3 / 4)
    assert fwexp.loss(problem, 0, [(1, 0)]) == 1.0


def test_nothing_is_trained_on_possible_links():
    problem = fwexp.matching_problem([np.ones((2, 2, 1))], [[(0, 0)]], possible=[[(1, 1)]])
    with pytest.raises(ParameterError, match="labels of a training problem"):
        fwexp.solve(problem, lam=1.0)
    assert np.isnan(fwexp.evaluate(problem, [0.0]).hinge)


# --- solvers ----------------------------------------------------------------------------------------------------------

SOLVERS = [
    ("bcfw", {}),
    ("bcfw", {"line_search": False}),
    ("bcfw", {"sampling": "lipschitz"}),
    ("fw", {}),
    *(  # with active sets and a cache, more is compiled
        pytest.param("bcfw", options, marks=pytest.mark.slow)
        for options in ({"step": "pairwise"}, {"step": "away"}, {"step": "corrective"}, {"sampling": "gap", "cache": True})
    ),
]


def enumerated(X, y):
    """Return the same problem, with every matching written out."""
    psi, losses = [], []
    for x, truth in zip(X, y, strict=True):
        matchings = all_matchings(*x.shape[:2])
        psi.append([phi(x, truth) - phi(x, links) for links in matchings])
        losses.append([hamming(x, truth, links) for links in matchings])
    return fwexp.enumerated_problem(psi, losses)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_solvers_certify_the_optimum(solver, options):
    X, y = random_arrays(np.random.default_rng(7), binary=True)
    best = fwexp.solve(enumerated(X, y), "bcfw", step="pairwise", lam=0.5, gap_tol=1e-9, max_passes=2000)
    assert best.status == "converged"
    result = fwexp.solve(build(X, y, "binary"), solver, lam=0.5, gap_tol=1e-2, max_passes=2000, **options)
    assert result.status == "converged"
    assert best.primal - 1e-8 <= result.primal <= best.primal + 1e-2
    assert result.dual <= best.primal + 1e-8


def test_ssg_approaches_the_optimum():
    X, y = random_arrays(np.random.default_rng(7), binary=True)
    best = fwexp.solve(enumerated(X, y), "bcfw", step="pairwise", lam=0.5, gap_tol=1e-9, max_passes=2000)
    result = fwexp.solve(build(X, y, "binary"), "ssg", lam=0.5, max_passes=500)
    assert best.primal - 1e-8 <= result.primal <= best.primal + 2e-2


def test_training_finds_the_rule():
    # links are where a score is high, told by whether it is above ten numbers; the bias has to say how high
    rng = np.random.default_rng(11)
    X, y = [], []
    for _ in range(30):
        size = int(rng.integers(2, 6))
        score = rng.random((size, size)) * 0.4
        chosen = rng.permutation(size)
        linked = rng.random(size) < 0.7
        score[np.arange(size)[linked], chosen[linked]] += 0.6
        X.append(np.stack([*(score > t for t in np.linspace(0.05, 0.95, 10)), np.ones_like(score)], axis=2) * 1.0)
        y.append(np.column_stack([np.flatnonzero(linked), chosen[linked]]))
    train, test = build(X[:20], y[:20], "binary"), build(X[20:], y[20:], "binary")
    result = fwexp.solve(train, "bcfw", lam=1e-3, max_passes=100, test=test)
    assert fwexp.evaluate(test, result.w).error == 0.0
    assert result.trace["test_error"].iloc[0] > 0.3
    for links, truth in zip(result.predict(test), y[20:], strict=True):
        assert links.tolist() == truth.tolist()


def test_expectations_are_intractable():
    # they are permanents, so solvers that need them are refused before they start
    problem = fwexp.matching_problem([np.ones((2, 2, 1))], [[(0, 0)]])
    with pytest.raises(OptionError, match=r"solver online_eg needs .*expectation_oracle.*MatchingProblem does not have"):
        fwexp.solve(problem, "online_eg", lam=1.0)


# --- what people get wrong --------------------------------------------------------------------------------------------

X1 = [np.ones((2, 3, 1))]


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([], [], {}, "X and y must have the same length n >= 1, got 0 and 0"),
        (X1, [[], []], {}, "X and y must have the same length n >= 1, got 1 and 2"),
        ([np.ones((6, 1))], [[]], {}, r"X\[0\] must have shape \(rows, columns, p\) unless shapes are given, got \(6, 1\)"),
        ([np.ones((6, 1))], [[]], {"shapes": [(2, 2)]}, r"X\[0\] must have shape \(4, 1\) for a grid of 2 x 2, got \(6, 1\)"),
        ([np.ones((6, 1))], [[]], {"shapes": []}, "shapes must have length 1 like X, got 0"),
        ([np.ones((0, 3, 1))], [[]], {}, r"example 0 must have at least one row and one column, got shape \(0, 3\)"),
        ([*X1, np.ones((1, 1, 2))], [[], []], {}, r"X\[1\] must have shape \(1, 1\) for a grid of 1 x 1, got \(1, 2\)"),
        ([np.full((1, 1, 1), np.nan)], [[]], {}, "X must be finite"),
        (X1, [[(0, 3)]], {}, r"links in y\[0\] must be within a grid of 2 x 3, got \(0, 3\)"),
        (X1, [[(0, 0), (-1, 0)]], {}, r"links in y\[0\] must be within a grid of 2 x 3, got \(-1, 0\)"),
        (X1, [[(0.0, 0.5)]], {}, r"y\[0\] must be an int array of links, shape \(m, 2\), got float64 of shape \(1, 2\)"),
        (X1, [[0, 1]], {}, r"y\[0\] must be an int array of links, shape \(m, 2\), got int64 of shape \(2,\)"),
        (X1, [[(1, 0), (1, 2)]], {}, r"y\[0\] must be a matching, got 2 links of row 1"),
        (X1, [[(0, 2), (1, 2)]], {}, r"y\[0\] must be a matching, got 2 links of column 2"),
        (X1, [[(0, 0), (0, 0)]], {}, r"y\[0\] must be a matching, got 2 links of row 0"),
        (X1, [[]], {"precision_cost": 0.0}, "precision_cost must be a positive finite number, got 0.0"),
        (X1, [[]], {"recall_cost": np.inf}, "recall_cost must be a positive finite number, got inf"),
        (X1, [[(0, 0)]], {"possible": []}, "possible must have length 1 like y, got 0"),
        (X1, [[(0, 0)]], {"possible": [[(2, 0)]]}, r"links in possible\[0\] must be within a grid of 2 x 3, got \(2, 0\)"),
        (X1, [[]], {"possible": [[(0, 0)]]}, "y must hold at least one sure link if possible is given, got none"),
    ],
)
def test_wrong_arrays(X, y, options, message):
    with pytest.raises(ParameterError, match=message) as caught:
        fwexp.matching_problem(X, y, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(0, 0), (1, 0)], "y must be a matching, got 2 links of column 0"),
        ([(2, 0)], r"links in y must be within a grid of 2 x 3, got \(2, 0\)"),
        ("links", r"y must be an int array of links"),
    ],
)
def test_wrong_labelings(y, message):
    problem = fwexp.matching_problem(X1, [[]])
    with pytest.raises(ParameterError, match=message):
        fwexp.loss(problem, 0, y)
