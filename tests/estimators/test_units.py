"""Estimators minimise a loss per position, or the mean of shares: compared with constructors' problems and the definition."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import fwexp
from fwexp.estimators import ChainSVM, GraphSVM, MulticlassSVM, MultiLabelSVM
from fwexp.estimators.certified_fit import chosen_iterate, solve
from fwexp.estimators.chain_encoding import ChainEncoding

RNG = np.random.default_rng(7)
SIZES = (1, 4, 2, 3)
ROWS = [RNG.normal(size=(size, 2)) for size in SIZES]
LABELS = [["abca"[t] for t in range(size)] for size in SIZES]
GRAPHS = [(rows, [(v, v + 1) for v in range(len(rows) - 1)]) for rows in ROWS]
TWO = [["ab"[label == "a"] for label in of_one] for of_one in LABELS]
SETS = [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]]
CLOSE = {"tol": 1e-4, "max_passes": 400, "iterate": "best"}

# Estimators with their data and how many positions every example has.
DATA = {
    "chain": (ChainSVM, ROWS, LABELS, SIZES),
    "graph": (GraphSVM, GRAPHS, TWO, SIZES),
    "sets": (MultiLabelSVM, RNG.normal(size=(4, 2)), SETS, (3, 3, 3, 3)),
}


@pytest.fixture(params=DATA)
def case(request):
    """Return (an estimator, its data, the sizes of the examples)."""
    cls, X, y, sizes = DATA[request.param]
    return cls, X, y, np.array(sizes, dtype=float)


@pytest.mark.parametrize("weights", [None, np.array([2.0, 1.0, 0.0, 0.5])])
def test_weights_are_those_of_the_problem_at_larger_lam(case, weights):
    cls, X, y, sizes = case
    model = cls(lam=0.05, **CLOSE).fit(X, y, sample_weight=weights)
    c = np.ones(4) if weights is None else weights
    per = c @ sizes / c.sum()
    assert model.result_.lam == 0.05
    problem = model.to_problem(X, y, weights)[np.flatnonzero(c)]
    result = fwexp.solve(problem, lam=0.05 * per, gap_tol=1e-4 * per, max_passes=400)
    np.testing.assert_allclose(model.result_.w, result.w, atol=1e-9)
    for name in ("primal", "dual", "gap"):
        assert getattr(model.result_, name) == pytest.approx(getattr(result, name) / per, rel=1e-9)
        np.testing.assert_allclose(model.trace_[name], result.trace[name] / per, rtol=1e-9)
    np.testing.assert_array_equal(model.trace_["passes"], result.trace["passes"])


def test_shares_are_as_the_constructors_have_them(case):
    cls, X, y, _ = case
    model = cls(lam=0.05, loss="share", **CLOSE).fit(X, y)
    problem = model.to_problem(X, y)
    result = fwexp.solve(problem, lam=0.05, gap_tol=1e-4, max_passes=400)
    np.testing.assert_array_equal(model.result_.w, result.w)
    assert (model.dual_gap_, model.result_.lam) == (result.gap, 0.05)
    assert fwexp.evaluate(problem, result.w).error <= 1.0


def test_warm_starts_and_files_keep_the_units(case, tmp_path):
    cls, X, y, _ = case
    model = cls(lam=0.05, warm_start=True, **CLOSE).fit(X, y)
    passes, gap = model.n_passes_, model.dual_gap_
    again = cls.load(model.save(tmp_path / "model.npz"))
    assert (again.loss, again.dual_gap_, again.result_.lam) == ("errors", gap, 0.05)
    assert fwexp.load(tmp_path / "model.npz").gap == gap
    model.fit(X, y)
    assert model.n_passes_ < passes / 2
    assert model.dual_gap_ <= 1e-4


def test_costs_of_classes_count_but_no_positions():
    weight = {"a": 3.0}
    model = ChainSVM(lam=0.05, class_weight=weight, **CLOSE).fit(ROWS, LABELS)
    problem = model.to_problem(ROWS, LABELS)
    assert fwexp.loss(problem, 1, [1, 1, 2, 1]) == 6.0
    hinges = [fwexp.max_oracle(problem, i, model.result_.w)[1] for i in range(4)]
    assert model.result_.primal == pytest.approx(0.05 / 2 * model.result_.w @ model.result_.w + sum(hinges) / 10, abs=1e-12)


def test_progress_is_in_the_same_units(capsys):
    model = ChainSVM(lam=0.05, iterate="last", max_passes=2, tol=0.0, verbose=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(ROWS, LABELS)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2].startswith("auto lam=0.05: pass 2  ")
    assert f"primal {model.trace_['primal'].iloc[-1]:.4g}" in lines[-2]
    assert lines[-1].startswith(f"auto lam=0.05: stopped at 2 passes, gap {model.dual_gap_:.3g}")


@pytest.mark.parametrize("iterate", ["best", "last", "wavg", "tavg"])
def test_iterates_have_certificates_of_their_own(case, iterate):
    cls, X, y, sizes = case
    model = cls(lam=0.05, tol=0.05, max_passes=1000, iterate=iterate).fit(X, y)
    value = fwexp.evaluate(model.to_problem(X, y), model.result_.w)
    assert model.result_.iterate == iterate or iterate == "best"
    assert model.result_.primal == pytest.approx(0.05 / 2 * value.norm_sq + value.hinge / sizes.mean(), abs=1e-12)
    assert model.dual_gap_ <= 0.05


def test_averages_are_the_default_where_there_are_positions_and_averages(case):
    cls, X, y, _ = case
    assert cls(lam=0.05).fit(X, y).result_.iterate == "wavg"
    assert cls(lam=0.05, solver="one_slack", tol=0.1).fit(X, y).result_.iterate != "wavg"
    assert chosen_iterate(MulticlassSVM(solver="bcfw"), None) == "best"
    assert MulticlassSVM(iterate="last").fit(np.eye(3), [0, 1, 1]).result_.iterate == "last"


@pytest.mark.parametrize(("passes", "named"), [(1, True), (10, False)])
def test_far_from_the_tolerance_a_larger_lam_is_named(passes, named):
    model = ChainSVM(lam=1e-3, max_passes=passes, tol=1e-3, iterate="best")
    with pytest.warns(
        ConvergenceWarning, match=r"^training stopped after [0-9.]+ pass(es)? with gap .* > tol=0.001; raise max"
    ) as found:
        model.fit(ROWS, LABELS)
    (message,) = [str(one.message) for one in found]
    advice = f"lam={1e-3 * model.dual_gap_ / 1e-3:.1g}" if named else "lam or tol"
    assert message.endswith(f"{advice}; see docs/practice.md")
    assert (model.dual_gap_ > 1e-2) == named


def test_three_labels_are_warned_of_once():
    cycles = [(rows, [*edges, (len(rows) - 1, 0)] if len(rows) > 2 else edges) for rows, edges in GRAPHS]
    with pytest.warns(ConvergenceWarning, match=r"the oracle is not exact .* nothing is certified, and dual_gap_ is NaN") as found:
        model = GraphSVM(lam=0.05, max_passes=3).fit(cycles, LABELS)
    assert len(found) == 1
    assert np.isnan(model.dual_gap_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphSVM(lam=0.05, tol=0.5).fit([(rows, np.empty((0, 2), dtype=int)) for rows in ROWS], LABELS)


@pytest.mark.parametrize("K", [2, 3])
def test_c2_of_crfsuite_is_half_of_lam_times_the_positions(K, tmp_path):
    crfsuite = pytest.importorskip("pycrfsuite")
    rng, lam = np.random.default_rng(0), 0.1
    x, labels = rng.uniform(0.5, 2.0, 30), rng.integers(K, size=30)
    N, names = 30, "abc"[:K]
    trainer = crfsuite.Trainer(algorithm="lbfgs", params={"c1": 0.0, "c2": lam * N / 2}, verbose=False)
    for value, label in zip(x, labels):
        trainer.append([{"x": float(value)}], [names[label]])
    trainer.train(str(tmp_path / "model"))
    tagger = crfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    found = [tagger.info().state_features.get(("x", name), 0.0) for name in names]

    def objective(w):
        """Return lam/2 ||w||^2 + 1/N sum_i -log p(y_i)."""
        scores = x[:, None] * w
        return lam / 2 * w @ w + np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(N), labels])

    np.testing.assert_allclose(found, minimize(objective, np.zeros(K), tol=1e-12).x, atol=1e-3)


def test_rows_in_the_callback_and_the_result_are_in_the_same_units():
    """Every value follows from the scale that the run knows, so that each gap is a primal minus a dual objective, to the bit."""
    rows, model = [], ChainSVM(lam=0.05, max_passes=3, iterate="last")
    result = solve(model, ChainEncoding(model).learn(ROWS, LABELS)[0], 0.05, callback=rows.append)
    assert result.gap == result.primal - result.dual
    for name in ("primal", "dual", "gap"):
        np.testing.assert_array_equal([row[name] for row in rows], result.trace[name])
    np.testing.assert_array_equal(result.trace["gap"], result.trace["primal"] - result.trace["dual"])
