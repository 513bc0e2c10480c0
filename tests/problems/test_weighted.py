"""Weights of examples: 2 is the example twice, 0 its absence, in every family and for every solver.

In plain Python, for every family with weights would take machine code of its own; that compiled code does the same is
tested in tests/test_every_solver.py.
"""

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError
from fwexp.problems import tiers
from fwexp.problems.protocol import to_public
from fwexp.problems.weighted import Weighted, share, total_weight
from fwexp.solvers import SOLVERS, of_kind
from fwexp.testing import check_problem
from tests.blocks.test_constraints import optimum, primal
from tests.problems.definitions import build

LAM = 0.2
WEIGHTS = np.array([2.0, 0.0, 1.0, 0.5, 1.0])

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(5, 3)), RNG.integers(3, size=5)
COSTS = np.array([[0.0, 1.0, 2.0], [10.0, 0.0, 5.0], [3.0, 0.5, 0.0]])  # of which no two rows have the same maximum
CLASSES = fwexp.multiclass_problem(X, Y, 3, costs=COSTS)
FIVE = {form: build(form, sizes=(3,) * 5) for form in ("outputs", "functions")}
OUTPUTS = FIVE["outputs"].problem
FAMILIES = ("dense chain", "dense classes", "classes with slack", "dense matchings", "outputs", "functions")


def weights_for(problem):
    return WEIGHTS[: problem.n]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("family", FAMILIES)
def test_weighted_problems_keep_the_promises_of_families(family):
    """Among the quick tests, tests/problems/test_wrappers.py looks at every function with weights."""
    problem = build(family).problem
    check_problem(fwexp.weighted_problem(problem, weights_for(problem)))


METHODS = [
    ("bcfw", {"sampling": "perm"}),
    ("bcfw", {"step": "corrective", "cache": True, "accelerate": True, "sampling": "gap"}),
    ("bcfw", {"sampling": "lipschitz", "step": "away"}),
    ("auto", {}),
    ("fw", {}),
    ("ssg", {}),
    ("one_slack", {}),
    ("bmrm", {}),
    ("fcfw", {}),
    ("n_slack", {}),
    ("online_eg", {}),
    ("approx_bcfw", {}),
    ("later_bcfw", {"step": "wss2"}),
    ("kernel_bcfw", {"kernel": "linear"}),
    ("kernel_fw", {"kernel": "linear"}),
]


FAR = ("excessive_gap", "extragradient")  # with their constants they are far from the optimum after thousands of passes
ANY_METHOD = [*METHODS, *((name, {}) for name in FAR)]


def test_every_solver_is_there():
    assert {name for name, _ in ANY_METHOD} == {name for name, cls in of_kind("structured").items() if "hinge" in cls.objectives}


@pytest.mark.parametrize("family", ["dense chain", "functions"])
@pytest.mark.parametrize(("solver", "options"), ANY_METHOD, ids=str)
def test_certificates_hold_with_weights(solver, options, family):
    """P(w) is recomputed at every w that is returned, and P* is that of the quadratic program of all labelings."""
    defined, cls = build(family, 9), SOLVERS[solver]
    weights = weights_for(defined.problem)
    weighted, c = fwexp.weighted_problem(defined.problem, weights), weights / weights.mean()
    if not all(tiers.has(weighted, tier) for tier in cls.needs(cls.Options())):
        with pytest.raises(TypeError, match="which CallbackProblem does not have"):
            fwexp.solve(weighted, solver, lam=LAM, **options)
        return
    if family == "functions":  # which know no bounds
        known = {"sampling": "uniform"} if options.get("sampling") == "lipschitz" else {}
        options = options | known | ({"accelerate": {"kap": 1.0}} if "accelerate" in options else {})
    psi, losses = defined.written_out().psi, defined.written_out().loss
    best = optimum(psi, losses, LAM, [], weights)[1]
    result = fwexp.solve(weighted, solver, lam=LAM, gap_tol=0, max_passes=30, schedule=2.0, **options)
    start = result.trace[(result.trace.step == 0) & (result.trace.iterate == "last")].iloc[0]
    if solver not in ("online_eg", "excessive_gap"):  # which do not start at w = 0
        assert start.primal == pytest.approx(np.mean(c * [values.max() for values in losses]), rel=1e-12)
    assert (result.trace.primal >= best - 1e-7).all()
    assert not (result.trace.dual > best + 1e-7).any()  # ssg has none
    if solver not in FAR:
        assert result.primal <= best + 0.1
    if not solver.startswith("kernel"):
        assert result.primal == pytest.approx(primal(psi, losses, result.w, LAM, c), rel=1e-9)


def test_results_serve_problems_with_and_without_weights(tmp_path):
    problem, weighted = CLASSES, fwexp.weighted_problem(CLASSES, WEIGHTS)
    result = fwexp.solve(weighted, "fw", lam=LAM, max_passes=5, test=problem)
    again = fwexp.solve(weighted, "fw", lam=LAM, max_passes=5, test=weighted)
    assert result.predict(problem) == result.predict(weighted) == fwexp.predict(X, result)
    assert fwexp.load(result.save(tmp_path / "model.npz")).predict(problem) == result.predict(weighted)
    last = again.trace[again.trace.iterate == "last"].iloc[-1]
    w = to_public(weighted, again.state.point("last").w)
    assert last.test_error == pytest.approx(fwexp.evaluate(weighted, w).error)
    assert "family='MulticlassProblem'" in repr(result.structure).replace("': '", "='").replace("{'", "")
    assert repr(weighted) == f"Weighted({problem!r})"


def test_paths_of_weighted_problems_are_certified():
    psi, losses = FIVE["outputs"].written_out().psi, FIVE["outputs"].written_out().loss
    weighted = fwexp.weighted_problem(OUTPUTS, WEIGHTS)
    path = fwexp.regularization_path(weighted, eps=0.05, lam_min=0.05, max_passes=5000)
    assert path.status == "converged"
    for lam in (10.0, 0.3, 0.06):
        value = primal(psi, losses, path.w_at(lam), lam, WEIGHTS / WEIGHTS.mean())
        assert value <= optimum(psi, losses, lam, [], WEIGHTS)[1] + path.gap_at(lam) + 1e-9


def test_weights_have_the_mean_one_and_multiply():
    problem, weighted = OUTPUTS, fwexp.weighted_problem(OUTPUTS, WEIGHTS)
    np.testing.assert_allclose(weighted.c, WEIGHTS / WEIGHTS.mean())
    twice = fwexp.weighted_problem(weighted, [1, 2, 3, 4, 5])
    assert isinstance(twice, Weighted)
    assert twice.unweighted is problem
    np.testing.assert_allclose(twice.c, WEIGHTS * [1, 2, 3, 4, 5] / np.mean(WEIGHTS * [1, 2, 3, 4, 5]))
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(fwexp.weighted_problem(problem, scale * WEIGHTS).c, weighted.c, rtol=1e-12)
    assert fwexp.weighted_problem(problem, [True, False, True, True, True]).c[1] == 0.0


@pytest.mark.parametrize("family", FIVE)
def test_1_n_is_one_over_the_sum_of_the_weights(family):
    """Also of weights of weights, of some of the examples, and of parts of them."""
    problem, weights = FIVE[family].problem, np.array([2.0, 0.0, 1.0, 4.0, 2.0])
    weighted = fwexp.weighted_problem(problem, weights)
    twice = fwexp.weighted_problem(weighted, [1, 5, 2, 0.5, 0])
    parts = share(weighted, np.array([1, 2])), share(weighted, np.array([0, 3, 4]))
    for given, n in ((problem, 5), (weighted, 9), (twice, 6), (twice[[0, 1, 3]], 4), (parts[0], 1), (parts[1], 8)):
        assert total_weight(given) == pytest.approx(n, rel=1e-15)
    lam = fwexp.solve(weighted, lam="1/n", max_passes=1).lam
    assert lam == pytest.approx(1 / 9, rel=1e-15)
    assert lam == pytest.approx(fwexp.solve(problem.subset([0, 0, 2, 3, 3, 3, 3, 4, 4]), lam="1/n", max_passes=1).lam, rel=1e-15)
    with pytest.raises(ParameterError, match="lam must be of a scale"):
        fwexp.solve(fwexp.weighted_problem(problem, np.full(5, 1e308)), lam="1/n", max_passes=1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1, 1, 1], r"shape \(5,\).*got \(4,\)"),
        (2.0, r"shape \(5,\).*got \(\)"),
        ([1, 1, -0.5, 1, 1], r"weights\[2\] = -0.5"),
        ([0, 0, 0, 0, 0], "got only 0"),
        ([1, 1, np.nan, 1, 1], "finite"),
        ([1, 1, np.inf, 1, 1], "finite"),
        (["a"] * 5, "one number per example"),
        (None, "one number per example"),
    ],
    ids=str,
)
def test_bad_weights_are_named(weights, message):
    with pytest.raises(ParameterError, match=message) as error:
        fwexp.weighted_problem(OUTPUTS, weights)
    assert "weights must" in str(error.value)


def test_what_cannot_be_weighted_is_refused():
    with pytest.raises(ParameterError, match="constructor"):
        fwexp.weighted_problem([1, 2], [1, 1])
    test = fwexp.matching_problem([np.ones((1, 1, 1))] * 5, [[(0, 0)]] * 5, possible=[[]] * 5)
    with pytest.raises(ParameterError, match="sure and possible"):
        fwexp.weighted_problem(test, np.ones(5))
    weighted = fwexp.weighted_problem(OUTPUTS, [1, 0, 0, 0, 0])
    with pytest.raises(ParameterError, match="had a weight before"):
        fwexp.weighted_problem(weighted, [0, 1, 1, 1, 1])
