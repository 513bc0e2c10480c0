"""Dual objectives with an entropy stay below the minimum where rounding errors are larger than the objective."""

from functools import cache

import numpy as np
import pytest

import fwexp
from fwexp.problems.loss_terms import expectations, make_objective, soft_workspace
from tools import certificates

SCALES = [(1e6, 1e-6), (1e4, 1e-9)]  # of the features, and lam


def problem_of(seed, scale):
    rng = np.random.default_rng(seed)
    lengths = [int(rng.integers(1, 6)) for _ in range(int(rng.integers(2, 6)))]
    X, y = [rng.normal(size=(length, 3)) * scale for length in lengths], [rng.integers(0, 2, length) for length in lengths]
    y[0][0] = 1
    return fwexp.chain_problem(X, y, num_states=2)


@cache
def solve(solver, seed, scale, lam, temperature, max_passes):
    settings = {"lam": lam, "objective": "log", "temperature": temperature, "gap_tol": 0, "iterates": ["last"]}
    return fwexp.solve(problem_of(seed, scale), solver, max_passes=max_passes, schedule=max_passes / 2, **settings)


@pytest.mark.parametrize("solver", ["online_eg", "sag", "lbfgs", "block_entropic"])
@pytest.mark.parametrize(("scale", "lam"), SCALES)
@pytest.mark.parametrize("temperature", [1.0, 10.0])
def test_no_dual_is_above_a_primal(solver, scale, lam, temperature):
    for seed in range(2):
        result = solve(solver, seed, scale, lam, temperature, 20)
        assert result.dual <= min(solve("lbfgs", seed, scale, lam, temperature, 100).primal, result.primal)
        assert result.gap >= 0.0


@pytest.mark.parametrize("seed", [26, 103, 203, 295, 381, 596])
def test_certificates_hold_in_extended_precision(seed):
    """Without a bound of rounding errors, each of these problems has a dual above the minimum."""
    assert not any(certificates.faults(seed).values())


@pytest.mark.parametrize("seed", [6, 24, 32])
def test_the_entropy_of_large_scores_is_rounded_down(seed):
    """One labeling has nearly all of the weight, so that the entropy vanishes; it is a difference of sums as large as 1e18."""
    rng = np.random.default_rng(seed)
    problem = fwexp.chain_problem([rng.normal(size=(40, 2))], [rng.integers(0, 3, 40)], num_states=3)
    work = soft_workspace(problem)
    work.theta[:] = rng.normal(size=len(work.theta)) * 1e17
    assert expectations(make_objective("log", 1.0), problem, 0, work)[0] <= 0.0


@pytest.mark.parametrize("seed", [12, 57, 118, 224])
def test_the_minimum_is_found_by_enumeration(seed):
    instance = certificates.instance_of(seed)
    assert certificates.is_small(instance)
    w, bound = certificates.minimiser(instance, np.zeros(instance.problem.d))
    value, error = certificates.primal(instance, w)
    assert abs(value - bound) <= 4.0 * error + 16.0 * certificates.EPS * value


@pytest.mark.compiled
def test_sag_keeps_its_weights_when_their_factor_vanishes():
    """With lam near 1 and few labels the factor of z falls below all numbers within a pass."""
    rng = np.random.default_rng(0)
    problem = fwexp.multiclass_problem(rng.normal(size=(1500, 4)) * 0.3, rng.integers(0, 3, 1500))
    result = fwexp.solve(problem, "sag", lam=1.0, objective="log", max_passes=40, gap_tol=0, schedule=10, iterates=["last"])
    assert result.status == "max_passes"
    assert 0.0 <= result.gap < 0.2


def test_sag_leaves_its_start_on_features_that_are_not_scaled():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    X = np.column_stack([np.eye(3)[y] * 1000.0 + rng.normal(size=(60, 3)) * 300.0, np.full(60, 500.0)])
    problem = fwexp.multiclass_problem(X, y)
    result = fwexp.solve(problem, "sag", lam=1.0, objective="log", max_passes=150, gap_tol=0, schedule=50, iterates=["last"])
    assert result.primal < 0.2 * np.log(3.0)
