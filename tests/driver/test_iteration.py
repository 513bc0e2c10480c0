"""The driver knows no SVMs: anything that advances is driven by it, with the same trace, bounds and interrupts."""

import os
import signal

import numpy as np
import pytest

from fwexp.driver.iteration import Iteration, Objective, Point, Value
from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive

pytestmark = pytest.mark.portable  # they compare numbers of small runs, which must not depend on the CPU


class LeastSquares(Iteration):
    """Frank-Wolfe for min 1/2 ||A x - b||^2 over the simplex; its gap <grad, x - s> bounds the suboptimality."""

    size, step, oracle_calls = 4, 0, 0

    def __init__(self, A, b):
        self.A, self.b, self.x = A, b, np.eye(A.shape[1])[0]

    def advance(self, calls, max_steps):
        while self.oracle_calls < calls and self.step < max_steps:
            gradient = self.A.T @ (self.A @ self.x - self.b)
            direction = np.eye(len(self.x))[gradient.argmin()] - self.x
            slope, curvature = -gradient @ direction, np.sum((self.A @ direction) ** 2)
            self.x = self.x + min(1.0, slope / max(curvature, 1e-300)) * direction
            self.step, self.oracle_calls = self.step + 1, self.oracle_calls + 1

    def point(self, iterate):
        residual = self.A @ self.x - self.b
        gradient = self.A.T @ residual
        return Point(self.x, 0.5 * residual @ residual - gradient @ self.x + gradient.min())


class Residual(Objective):
    def __init__(self, iteration):
        self.iteration = iteration

    def __call__(self, point, stop=None):
        return Value(0.5 * float(np.sum((self.iteration.A @ point.w - self.iteration.b) ** 2)), {"largest": point.w.max()})


@pytest.fixture
def iteration():
    rng = np.random.default_rng(0)
    return LeastSquares(rng.normal(size=(6, 4)), rng.normal(size=6))


def test_least_squares_on_a_simplex(iteration):
    log = Log(iteration, Residual(iteration))
    assert drive(iteration, log, Bounds(max_passes=1e5, gap_tol=1e-3)) == "converged"
    assert [row["oracle_calls"] for row in log.rows[:4]] == [0, 1, 2, 4]  # the default schedule, in passes of 4 calls
    assert [row["passes"] for row in log.rows[:4]] == [0.0, 0.25, 0.5, 1.0]
    assert all(row["gap"] >= 0.0 for row in log.rows)
    assert {"largest", "time", "evaluation_calls", "dual"} <= set(log.rows[0])
    # The optimum, by projected gradients, lies within the certificate.
    x, L = np.full(4, 0.25), np.linalg.norm(iteration.A, 2) ** 2
    for _ in range(20_000):
        y = np.sort(x - iteration.A.T @ (iteration.A @ x - iteration.b) / L)[::-1]
        shifts = (np.cumsum(y) - 1.0) / np.arange(1, 5)
        x = np.maximum(x - iteration.A.T @ (iteration.A @ x - iteration.b) / L - shifts[np.flatnonzero(y > shifts)[-1]], 0.0)
    optimum = 0.5 * np.sum((iteration.A @ x - iteration.b) ** 2)
    primal, dual = log.certificate()
    assert dual - 1e-12 <= optimum <= primal <= optimum + 1e-3


@pytest.mark.parametrize(
    ("bounds", "status"), [(Bounds(3.0), "max_passes"), (Bounds(1e9, 0.0, 1e-6), "time_limit"), (Bounds(1e4, 1e-2), "converged")]
)
def test_every_bound_holds(iteration, bounds, status):
    log = Log(iteration, Residual(iteration))
    assert drive(iteration, log, bounds, schedule=1.0) == status
    assert log.rows[-1]["passes"] <= bounds.max_passes


def test_ctrl_c_ends_it_with_a_last_row(iteration):
    log = Log(iteration, Residual(iteration), callback=lambda row: row["step"] and os.kill(os.getpid(), signal.SIGINT))
    assert drive(iteration, log, Bounds(1e9)) == "interrupted"
    assert log.rows[-1]["step"] == iteration.step > 0


def test_logging_changes_no_step(iteration):
    results = []
    for schedule in ("default", 0.25, ()):
        again = LeastSquares(iteration.A, iteration.b)
        drive(again, Log(again, Residual(again)), Bounds(7.0), schedule)
        results.append(again.x)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
