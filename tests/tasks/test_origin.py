"""Runs that regularise the distance to given weights, and runs that start near them."""

import numpy as np
import pytest

import fwexp
from fwexp.errors import ParameterError, WarmStartError
from fwexp.tasks.train import train
from fwexp.tasks.training_settings import Settings

LAM, TOL = 0.3, 0.05
RNG = np.random.default_rng(0)
SEQUENCES = [RNG.normal(size=(length, 3)) for length in (1, 2, 4, 3)]
LABELS = [RNG.integers(0, 3, size=len(x)) for x in SEQUENCES]
CHAINS = fwexp.chain_problem(SEQUENCES, LABELS, 3, loss="errors")
CLASSES = fwexp.multiclass_problem(np.concatenate(SEQUENCES), np.concatenate(LABELS), 3)
POSITIVE = fwexp.chain_problem(SEQUENCES, LABELS, 3, nonnegative=slice(9, None))
CASES = [
    (CHAINS, "auto", {}, "hinge"),
    (CHAINS, "bcfw", {"step": "fw"}, "hinge"),
    (CHAINS, "bcfw", {"step": "pairwise", "sampling": "gap", "refresh": 3}, "hinge"),
    (CHAINS, "bcfw", {"accelerate": {"kap": 2.0}}, "hinge"),
    (POSITIVE, "bcfw", {}, "hinge"),
    (POSITIVE, "bcfw", {"step": "corrective", "accelerate": {"kap": 2.0}}, "hinge"),
    (CLASSES, "auto", {}, "hinge"),
    (CHAINS, "block_entropic", {}, "log"),
    (CHAINS, "block_entropic", {"accelerate": {"kap": 2.0}, "refresh": 2}, "softmax_margin"),
    (CLASSES, "auto", {}, "log"),
]


def run(problem, solver, options, objective, **more):
    settings = {"lam": LAM, "max_passes": 400, "gap_tol": TOL, "objective": objective, "seed": 1} | more
    return train(Settings(problem=problem, solver=solver, options=options, **settings))


def test_the_certificate_is_about_the_distance_to_the_origin():
    for problem, solver, options, objective in CASES:
        w_0 = np.abs(np.random.default_rng(1).normal(size=problem.d))
        result = run(problem, solver, options, objective, origin=w_0)
        assert result.status == "converged"

        def primal(w, problem=problem, objective=objective, w_0=w_0):
            return 0.5 * LAM * (w - w_0) @ (w - w_0) + fwexp.evaluate(problem, w, objective=objective).hinge

        assert result.primal == pytest.approx(primal(result.w), abs=1e-10)
        assert 0.0 <= result.gap <= TOL
        assert np.abs(result.w - w_0).max() > 0.01
        # Weak duality: the dual is below the primal everywhere, and the minimum is where the run ended.
        rng = np.random.default_rng(2)
        for scale in (1e-3, 1e-2, 0.1, 1.0):
            w = result.w + scale * rng.normal(size=problem.d)
            if problem is POSITIVE:
                w[9:] = np.maximum(w[9:], 0.0)
            assert result.dual <= primal(w)
            assert result.primal - TOL <= primal(w)
        if problem is POSITIVE:
            assert result.w[9:].min() >= 0.0
        rows = result.trace[result.trace["iterate"] == "last"]
        if solver != "auto" and "accelerate" not in options:
            assert (np.diff(rows["dual"]) >= -1e-9).all()
        assert rows["dual"].iloc[0] == pytest.approx(0.0, abs=1e-12)  # at the truth w is the origin
        assert rows["primal"].iloc[0] == pytest.approx(primal(w_0), abs=1e-10)


def test_auto_runs_a_block_method_on_few_long_examples_too():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(80, 3)), rng.integers(0, 3, size=80)
    few = fwexp.chain_problem([x[:40], x[40:]], [y[:40], y[40:]], 3)
    for objective in ("hinge", "log"):
        result = run(few, "auto", {}, objective, origin=np.ones(few.d), iterate="best", gap_tol=0.5)
        assert 0.0 <= result.gap <= 0.5


def test_an_origin_of_zero_changes_nothing():
    for case in CASES[:1] + CASES[-3:-2]:  # `auto` has other methods for the log-loss without an origin
        plain, same = run(*case), run(*case, origin=np.zeros(case[0].d))
        np.testing.assert_array_equal(plain.w, same.w)
        assert (plain.primal, plain.dual) == (same.primal, same.dual)


def test_a_start_near_the_minimum_is_a_start_of_the_same_run():
    for problem, solver, options, objective in [*CASES, (CHAINS, "lbfgs", {}, "log")]:
        cold = run(problem, solver, options, objective)
        warm = run(problem, solver, options, objective, near=cold.w)
        assert cold.status == warm.status == "converged"
        assert abs(warm.primal - cold.primal) <= TOL
        first = warm.trace.iloc[0]
        assert first["dual"] <= cold.primal
        if solver != "lbfgs":
            assert first["dual"] > 0.0
            assert first["oracle_calls"] == problem.n
        if objective != "hinge":  # The marginals at the minimum are the dual variables there.
            assert warm.trace["passes"].iloc[-1] <= 2.0
    # Weights at which nothing is wrong leave the run where it starts otherwise.
    zero = run(CHAINS, "bcfw", {}, "hinge", near=np.zeros(CHAINS.d))
    assert zero.status == "converged"


def test_solvers_that_cannot_are_named():
    with pytest.raises(WarmStartError, match="solver ssg cannot start from weights"):
        run(CHAINS, "ssg", {}, "hinge", near=np.ones(CHAINS.d))
    with pytest.raises(ParameterError, match="solver lbfgs cannot regularise the distance to weights; accepted: auto"):
        run(CHAINS, "lbfgs", {}, "log", origin=np.ones(CHAINS.d))
