"""Losses of any scale, examples without curvature, and weights that stay in the simplex."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from tests.small_problems import at_start

BIG = 10**9
SETTINGS = [
    ("bcfw", {}),
    ("bcfw", {"step": "pairwise"}),
    ("bcfw", {"step": "away"}),
    ("bcfw", {"step": "corrective"}),
    ("bcfw", {"step": "exact"}),
    ("bcfw", {"step": "corrective", "sampling": "gap", "cache": True}),
    ("n_slack", {}),
    ("n_slack", {"accelerate": False}),
    ("one_slack", {}),
    ("fcfw", {}),
    ("approx_bcfw", {"nu": 0.5, "delta": 0.5}),
]


def problem_of(scale, n=12, K=6, d=3, seed=0):
    rng = np.random.default_rng(seed)
    psi = [np.vstack((np.zeros(d), rng.normal(size=(K - 1, d)))) for _ in range(n)]
    loss = [np.append(0.0, rng.integers(1, 9, size=K - 1) / 8) * scale for _ in range(n)]
    return fwexp.enumerated_problem(psi, loss)


def ran(problem, name, options, lam, passes):
    solver = at_start(name, problem, lam, **options)
    solver.compile()
    solver.advance(Budget(passes * problem.n, BIG))
    return solver


@pytest.mark.parametrize("power", [-34, 26])
@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_w_scales_with_the_losses(name, options, power):
    """P(s w) of losses s L and lam/s is s P(w): every iterate is s times what it was, bit for bit (s = 4^k: QPs take roots)."""
    scale, lam = 2.0**power, 0.05
    plain, scaled = ran(problem_of(1.0), name, options, lam, 15), ran(problem_of(scale), name, options, lam / scale, 15)
    assert plain.step == scaled.step
    assert plain.point("last").w.any()
    np.testing.assert_array_equal(scaled.point("last").w, scale * plain.point("last").w)
    assert scaled.point("last").dual == scale * plain.point("last").dual


@pytest.mark.parametrize("passes", [500, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.compiled])])
@pytest.mark.parametrize("step", ["away", "pairwise", "corrective"])
def test_weights_stay_in_the_simplex(step, passes):
    solver = ran(problem_of(1.0, n=3, K=9, d=2), "bcfw", {"step": step}, 1e-4, passes)
    sets = solver.sets
    assert sets.weight.min() >= 0.0
    for i in range(3):
        assert abs(sets.weight[sets.first[i] : sets.first[i + 1]].sum() - 1.0) <= 2e-14
    assert solver.exact_dual() == pytest.approx(solver.point("last").dual, rel=1e-9)


@pytest.mark.parametrize("zero", [0.25, 1.0])
@pytest.mark.parametrize("step", ["fw", "corrective"])
def test_lipschitz_sampling_visits_examples_without_curvature(step, zero):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[: int(zero * 40)] = 0.0
    problem = fwexp.multiclass_problem(X, rng.integers(3, size=40), 3)
    result = fwexp.solve(problem, "bcfw", lam=1.0, sampling="lipschitz", step=step, gap_tol=1e-3, max_passes=200)
    assert result.status == "converged"
    assert np.isfinite(result.w).all()


def test_lipschitz_probabilities_are_in_proportion_to_the_curvature():
    from fwexp.blocks.sampling import lipschitz_draws, order_draws

    curvature = np.array([1.0, 3.0, 2.0, 0.5])
    wanted = order_draws("lipschitz", 4, 3, curvature).take(1000)
    np.testing.assert_array_equal(lipschitz_draws(curvature, 3).take(1000), wanted)
    draws = lipschitz_draws(np.array([1.0, 0.0, 3.0, 1e-9]), 3).take(100_000)
    assert list(draws[:2]) == [1, 3]
    assert 150 < np.count_nonzero(draws == 1) < 350  # 0.01 of the mean: 250 expected
    np.testing.assert_array_equal(np.sort(lipschitz_draws(np.zeros(5), 0).take(5)), np.arange(5))


def test_an_order_lasts_although_cache_hits_use_it_up():
    problem = problem_of(1.0)
    order = np.resize(np.arange(problem.n), 30 * problem.n)
    result = fwexp.solve(problem, "bcfw", lam=0.05, order=order, cache=True, step="pairwise", gap_tol=0, max_passes=30)
    assert result.trace.cache_hits.iloc[-1] > 0
    assert result.status == "max_passes"
    # A refresh takes n calls at once, and is left out where there is no room for it any more.
    assert 29 * problem.n < result.trace.oracle_calls.iloc[-1] <= 30 * problem.n


@pytest.mark.parametrize(("name", "options"), SETTINGS[5:7])
def test_a_budget_bounds_steps_without_a_call(name, options):
    whole, cut = (at_start(name, problem_of(1.0), 0.05, **options) for _ in range(2))
    for hits in range(1, 40):
        whole.advance(Budget(100 * 12, BIG, hits=hits))
        while cut.cache_hits < hits:
            cut.advance(Budget(cut.oracle_calls + 1, BIG, hits=hits))
        assert whole.cache_hits == cut.cache_hits == hits
        assert whole.oracle_calls == cut.oracle_calls  # where a row comes must not depend on how a run is cut into portions


def test_rows_after_steps_without_a_call_take_few_calls_of_kernels(monkeypatch):
    from fwexp.solvers.bcfw import BCFW

    series, run = [], BCFW._run
    monkeypatch.setattr(BCFW, "_run", lambda self, budget: [series.append(budget), run(self, budget)][1])
    result = fwexp.solve(problem_of(1.0, n=40), "bcfw", lam=0.005, schedule=10, max_passes=30, gap_tol=0, **SETTINGS[5][1])
    assert result.trace.cache_hits.iloc[-1] > 20 * 40
    assert len(series) < len(result.trace)
