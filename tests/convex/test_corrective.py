"""``corrective`` on functions of users: quadratic ones, others, and long corrections."""

import copy
import time

import numpy as np
import pytest

from fwexp.convex import L1Ball, LeastSquares, Simplex, minimize
from fwexp.convex.minimize import new_method
from fwexp.convex.user_functions import as_function
from fwexp.driver.iteration import Budget, Reason


def ill_conditioned(n=40, d=60):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 0, d)
    return A, A @ (100 * rng.random(d) * (rng.random(d) > 0.8)) + rng.standard_normal(n)


def as_user(A, b, calls):
    def fun(x):
        calls.append(1)
        r = A @ x - b
        return 0.5 * (r @ r), A.T @ r

    return fun


def log_cosh(A, b, seconds=0.0):
    def fun(x):
        time.sleep(seconds)
        r = A @ x - b
        return (np.abs(r) + np.log1p(np.exp(-2 * np.abs(r)))).sum(), A.T @ np.tanh(r)

    return fun


@pytest.mark.parametrize(
    ("convex_set", "x0"), [(L1Ball(60, 300.0), None), (Simplex(60, 300.0), None), (Simplex(60, 300.0), np.full(60, 5.0))]
)
@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e8])
def test_quadratic_functions_of_users_are_corrected_exactly(convex_set, x0, unit):
    A, b = ill_conditioned()
    known = minimize(LeastSquares(A, b), convex_set, method="corrective", x0=x0, gap_tol=1e-6)
    calls = []
    fun = as_user(A * unit, b * unit, calls)
    result = minimize(fun, convex_set, method="corrective", x0=x0, gap_tol=1e-6 * unit**2)
    assert known.status == result.status == "converged"
    assert result.value / unit**2 == pytest.approx(known.value, rel=1e-6)
    steps = result.trace["oracle_calls"].iloc[-1]
    assert steps <= known.trace["oracle_calls"].iloc[-1] + 3
    assert len(calls) <= 2 * steps + 40  # 40 of the checks


def test_functions_that_look_quadratic_at_the_atoms_are_minimised():
    linear = np.linspace(-1, 1, 8)

    def fun(x):  # which is symmetric: values and slopes at corners are those of a quadratic function
        return (x**4).sum() + linear @ x, 4 * x**3 + linear

    result = minimize(fun, Simplex(8), method="corrective", gap_tol=1e-7)
    assert result.status == "converged"
    assert result.value == pytest.approx(minimize(fun, Simplex(8), method="away", gap_tol=1e-7).value, abs=1e-6)


def test_time_limit_ends_long_corrections():
    """They took 7 seconds: up to 1000 steps within the hull, of several evaluations each."""
    rng = np.random.default_rng(0)
    A, b = 1.0 + 0.01 * rng.standard_normal((40, 60)), 10.0 * rng.standard_normal(40)
    fun = log_cosh(A, b, seconds=5e-3)
    result = minimize(fun, L1Ball(60, 300.0), method="corrective", gap_tol=1e-12, time_limit=0.3)
    assert result.status == "time_limit"
    assert 0.3 <= result.trace["time"].iloc[-1] < 2.0  # what was reached within the step is logged
    assert result.value == pytest.approx(result.trace["primal"].min())


def test_corrections_go_on_from_where_they_paused():
    A, b = ill_conditioned()
    f = as_function(log_cosh(A, b), 60)

    def method():
        return new_method(f, L1Ball(60, 300.0), "corrective", None, 0, 0.0, {})

    whole, pauses = method(), 0
    parts = method()
    budget = Budget(calls=6, steps=100)
    while whole.advance(budget).reason is Reason.PAUSE:
        pauses += 1
    while parts.advance(budget).reason is Reason.PAUSE:
        parts.point("last")  # as the log of an interrupted run does
        state, parts = copy.deepcopy(parts.state), method()
        parts.restore(state)
    assert pauses > 3
    assert np.array_equal(whole.state.x, parts.state.x)
    assert whole.state.step == parts.state.step == 5
