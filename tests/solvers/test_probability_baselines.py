"""L-BFGS, SAG and online-EG on the objectives with an entropy: against enumeration, and against scipy."""

from functools import partial

import numpy as np
import pytest
import scipy.optimize

import fwexp
from fwexp.errors import WarmStartError
from fwexp.problems import protocol
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import auto
from fwexp.solvers.base import Budget
from fwexp.solvers.marginal_oracle import MarginalOracle
from tests.small_problems import at_start, run_in_plain_python
from tests.solvers.test_block_entropic import FAMILIES, IDS, OBJECTIVES, Enumerated

pytestmark = pytest.mark.compiled  # they take many steps

lbfgs = partial(at_start, "lbfgs")
# The passes that each needs at lam = 0.1 to a gap of 1e-7.
PASSES = {"lbfgs": 200, "sag": 3000, "online_eg": 3000}


@pytest.mark.parametrize("objective", OBJECTIVES, ids=IDS)
@pytest.mark.parametrize("family", ["chains", "classes"])
@pytest.mark.parametrize("solver", PASSES)
def test_baselines_reach_the_optimum(solver, family, objective):
    tp, problem = FAMILIES[family]()
    name, temperature = objective
    low, high = Enumerated(tp, 0.1, make_objective(*objective)).optimum()
    how = {"objective": name, "temperature": temperature, "max_passes": PASSES[solver], "gap_tol": 1e-7}
    result = fwexp.solve(problem, solver, lam=0.1, **how)
    assert result.status == "converged"
    assert low - 1e-9 <= result.primal <= high + 1e-7
    assert result.dual <= high + 1e-12
    assert (result.trace["dual"] <= high + 1e-12).all()


@pytest.mark.parametrize("lam", [0.1, 1e-3])
def test_lbfgs_needs_about_as_many_evaluations_as_that_of_scipy(lam):
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(rng.integers(3, 9), 10)) for _ in range(40)]
    problem = fwexp.chain_problem(X, [rng.integers(5, size=len(x)) for x in X], 5)
    objective = make_objective("log")
    oracle, values = MarginalOracle(problem, lam, objective), []

    def evaluate(w):
        point = oracle(w)
        values.append(point.primal)
        return point.primal, point.gradient

    start = np.zeros(problem.num_weights)
    best = scipy.optimize.minimize(
        evaluate, start, jac=True, method="L-BFGS-B", options={"maxcor": 10, "ftol": 0, "gtol": 1e-9}
    ).fun
    close = best + 1e-6 * abs(best)
    theirs = 1 + int(np.argmax(np.minimum.accumulate(values) <= close))
    solver = lbfgs(problem, lam, objective=objective)
    while solver.state.primal > close:
        solver.advance(Budget(10**9, solver.step + 1))
        assert solver.step <= 1.5 * theirs


@pytest.mark.parametrize("objective", OBJECTIVES[:2], ids=IDS[:2])
def test_the_dual_of_lbfgs_rises_and_is_at_least_that_of_the_marginals(objective):
    tp, problem = FAMILIES["chains"]()
    term = make_objective(*objective)
    _, high = Enumerated(tp, 0.02, term).optimum()
    solver, before = lbfgs(problem, 0.02, objective=term), 0.0
    for step in range(1, 60):
        solver.advance(Budget(10**9, step))
        gradient, dual = solver.state.gradient, solver.point("last").dual
        assert max(before, solver.state.primal - gradient @ gradient / 0.04) - 1e-10 <= dual <= high + 1e-12
        before = dual
    assert solver.known_gap <= 1e-7


def test_lbfgs_goes_on_from_another_lam_and_from_its_own_end():
    tp, problem = FAMILIES["chains"]()
    term = make_objective("log")
    solver = lbfgs(problem, 0.5, objective=term)
    solver.advance(Budget(10**9, 20))
    # The change of lam: w stays, and the gap grows by (1 - rho) (D - lam/2 ||w||^2) as on paths.
    w, gap, dual = solver.state.w, solver.known_gap, solver.point("last").dual
    solver.change_lam(0.1)
    np.testing.assert_array_equal(solver.state.w, w)
    assert solver.known_gap == pytest.approx(gap + 0.8 * (dual - 0.25 * w @ w), abs=1e-12)
    assert solver.state.primal == pytest.approx(Enumerated(tp, 0.1, term).primal(protocol.to_public(problem, w)), rel=1e-12)
    np.testing.assert_allclose(
        protocol.to_public(problem, solver.state.gradient),
        Enumerated(tp, 0.1, term).gradient(protocol.to_public(problem, w)),
        atol=1e-11,
    )
    other = lbfgs(problem, 0.05, objective=term, warm_start=solver)
    low, high = Enumerated(tp, 0.05, term).optimum()
    assert other.point("last").dual <= high + 1e-12
    other.advance(Budget(10**9, 40))
    assert other.state.primal - high <= 1e-8
    assert low - other.point("last").dual <= 1e-6
    how = {"lam": 0.05, "objective": "log", "gap_tol": 1e-6}
    first = fwexp.solve(problem, "lbfgs", **how)
    again = fwexp.solve(problem, "lbfgs", **how, warm_start=first)
    assert again.trace["passes"].iloc[-1] <= 1
    with pytest.raises(WarmStartError, match="objective softmax_margin at temperature 1, got log at temperature 1"):
        fwexp.solve(problem, "lbfgs", lam=0.05, objective="softmax_margin", warm_start=first)


def test_few_long_sequences_are_left_to_methods_that_add_up_all(monkeypatch):
    run_in_plain_python(monkeypatch)  # vectors of parts that are mostly zeros have machine code of their own
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(200, 3)) for _ in range(2)]
    problem = fwexp.chain_problem(X, [(x[:, 0] > 0).astype(int) for x in X], 2, loss="errors")
    for objective, wanted in (("log", "lbfgs"), ("hinge", "one_slack")):
        method, options = auto.choose(problem, 0.01, None, make_objective(objective))
        how = {"lam": 0.01, "objective": objective, "gap_tol": 1.0, "max_passes": 300}
        ours, plain = fwexp.solve(problem, **how), fwexp.solve(problem, wanted, **how, **options)
        assert (method.name, ours.status) == (wanted, "converged")
        np.testing.assert_array_equal(ours.w, plain.w)
        # Averages and orders are those of block methods, and options of these are given to them.
        assert auto.choose(problem, 0.01, ["wavg"], make_objective(objective))[0] is not method
        fwexp.solve(problem, **how | {"max_passes": 2}, sampling="perm")
    many = fwexp.chain_problem(X * 60, [[0] * 200] * 120, 2)
    short = fwexp.chain_problem([x[:5] for x in X], [[0] * 5] * 2, 2)
    for problem in (many, short):
        methods = [auto.choose(problem, 0.01, None, make_objective(name))[0].name for name in ("log", "hinge")]
        assert methods == ["entropic_turns", "bcfw"]


@pytest.mark.parametrize("loss", ["errors", "share"])
def test_few_long_sequences_are_left_to_block_steps_if_lam_is_large(loss):
    x, y = np.ones((200, 1)), np.zeros(200, dtype=int)
    problem = fwexp.chain_problem([x, x], [y, y], 2, loss=loss)
    largest = 200.0 if loss == "errors" else 1.0
    lam = protocol.radii_sq(problem)[0] / (2.0 * largest * auto.HARD**2)
    for factor, name in ((0.99, "one_slack"), (1.01, "bcfw")):
        assert auto.choose(problem, factor * lam)[0].name == name


def test_features_that_were_not_scaled_are_left_to_lbfgs():
    rng = np.random.default_rng(5)
    X, y = [rng.normal(size=(20, 5)) for _ in range(4)], [rng.integers(3, size=20) for _ in range(4)]
    for scale, wanted in ((1.0, "entropic_turns"), (1e3, "lbfgs")):
        problem = fwexp.chain_problem([scale * x for x in X], y, 3)
        assert auto.choose(problem, 1.0, None, make_objective("log"))[0].name == wanted
    result = fwexp.solve(problem, lam=1.0, objective="log", gap_tol=1e-3, max_passes=1000)
    assert result.status == "converged"
    assert auto.choose(problem, 1.0, ["wavg"], make_objective("log"))[0].name == "block_entropic"


def test_paths_of_few_long_sequences_are_certified():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(60, 2))]
    problem = fwexp.chain_problem(X, [(x[:, 0] + rng.normal(size=60) > 0).astype(int) for x in X], 2)
    path = fwexp.regularization_path(problem, eps=1.0, lam_min=0.5, objective="log")
    assert path.status == "converged"
    for lam in np.geomspace(0.5, 2 * path.lam[0], 8):
        best = fwexp.solve(problem, "lbfgs", lam=lam, objective="log", gap_tol=1e-6, max_passes=500)
        value = fwexp.evaluate(problem, path.w_at(lam), objective="log")
        assert 0.5 * lam * value.norm_sq + value.hinge - best.dual <= path.gap_at(lam) + 1e-5 <= 1.0 + 2e-5
    frame = fwexp.grid_search(problem, eps=0.01, lams=[8.0, 2.0, 0.5], objective="log")
    assert (frame.attrs["status"], (frame["gap"] <= 0.01).all()) == ("converged", True)
