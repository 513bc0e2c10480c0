"""L-BFGS, SAG and online-EG on the objectives with an entropy: against enumeration, and against scipy."""

import numpy as np
import pytest
import scipy.optimize

import fwexp
from fwexp.problems import protocol
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import check_options, get_solver
from fwexp.solvers.base import Budget
from fwexp.solvers.marginal_oracle import MarginalOracle
from tests.solvers.test_block_entropic import FAMILIES, IDS, OBJECTIVES, Enumerated

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


@pytest.mark.parametrize("objective", OBJECTIVES, ids=IDS)
def test_the_oracle_is_the_gradient(objective):
    tp, problem = FAMILIES["chains"]()
    term, w = make_objective(*objective), np.random.default_rng(1).normal(size=tp.d)
    enumerated = Enumerated(tp, 0.3, term)
    point = MarginalOracle(problem, 0.3, term)(protocol.from_public(problem, w))
    assert point.primal == pytest.approx(enumerated.primal(w), rel=1e-12)
    np.testing.assert_allclose(protocol.to_public(problem, point.gradient), enumerated.gradient(w), atol=1e-11)
    dual = enumerated.dual([enumerated.distribution(i, w) for i in range(tp.n)])
    assert point.dual == pytest.approx(dual, abs=1e-10)


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
    solver = get_solver("lbfgs")(problem, lam, check_options(get_solver("lbfgs"), {}), objective=objective)
    while solver.state.primal > close:
        solver.advance(Budget(10**9, solver.step + 1))
        assert solver.step <= 1.5 * theirs
