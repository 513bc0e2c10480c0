"""Stochastic methods with variance reduction: the steps of the papers, step by step in numpy, the optimum, and what they keep."""

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

from fwexp.convex import FiniteSum, L1Ball, LeastSquares, LinearSum, Logistic, minimize
from fwexp.convex.minimize import new_method
from fwexp.driver.iteration import Budget

N, D, SIZE = 60, 8, 6
MEMORY = ("sag", "saga", "mhk", "lf")


def logistic(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((N, D))
    return A, np.where(A @ rng.standard_normal(D) + rng.standard_normal(N) > 0.0, 1.0, -1.0)


def slope(z, y):
    return -y / (1.0 + np.exp(y * z)) / N


def vertex(g, radius=1.5):
    s, j = np.zeros(D), np.argmax(np.abs(g))
    s[j] = -radius * np.sign(g[j])
    return s


START = vertex(-np.eye(D)[0])


def batches(rng):
    """Yield the batches of a run."""
    while True:
        yield rng.choice(N, SIZE, replace=False, shuffle=False)


def sag(A, y, draws, x=START):  # Negiar et al. (2020), algorithm 1
    alpha, r = np.zeros(N), np.zeros(D)
    for t, i in enumerate(draws):
        new = slope(A[i] @ x, y[i])
        r, alpha[i] = r + A[i].T @ (new - alpha[i]), new
        x = x + 2.0 / (t + 2.0) * (vertex(r) - x)
        yield x


def saga(A, y, draws, x=START):
    alpha = np.zeros(N)
    for t, i in enumerate(draws):
        new = slope(A[i] @ x, y[i])
        estimate = A.T @ alpha + N / SIZE * A[i].T @ (new - alpha[i])
        alpha[i] = new
        x = x + 2.0 / (t + 2.0) * (vertex(estimate) - x)
        yield x


def mhk(A, y, draws, x=START):
    alpha = np.zeros(N)
    for t, i in enumerate(draws):
        gamma = 2.0 / (t + 8.0)
        rho = gamma ** (2.0 / 3.0)
        alpha[i] = (1.0 - rho) * alpha[i] + rho * slope(A[i] @ x, y[i])
        x = (1.0 - gamma) * x + gamma * vertex(A.T @ alpha)
        yield x


def lf(A, y, draws, x=START):  # Lu & Freund (2021): substitute gradients
    s, m = A @ x, N / SIZE
    d = A.T @ slope(s, y)
    for t, i in enumerate(draws):
        new, before = vertex(d), slope(s, y)
        gamma = 2.0 * m / (2.0 * m + t + 1.0)
        s[i] = (1.0 - gamma) * s[i] + gamma * A[i] @ new
        d = d + A.T @ (slope(s, y) - before)
        alpha = 2.0 * (2.0 * m + t) / ((t + 1.0) * (4.0 * m + t + 1.0))
        x = (1.0 - alpha) * x + alpha * new
        yield x


def svrf(A, y, rng, samples, x=START):  # Hazan & Luo (2016), algorithm 1
    for epoch in range(1, 10):
        snapshot, full = x, A.T @ slope(A @ x, y)
        for k in range(1, 2 ** (epoch + 3) - 1):
            size = min(samples or 96 * (k + 1), N)
            i = rng.choice(N, size, replace=False, shuffle=False) if size < N else np.arange(N)
            terms = slope(A[i] @ x, y[i]) - slope(A[i] @ snapshot, y[i])
            x = x + 2.0 / (k + 1.0) * (vertex(full + N / size * A[i].T @ terms) - x)
            yield x


def seen(f, **options):
    """Return the points of a run with a row for each step."""
    points = []
    options["callback"] = lambda row: points.append((row["step"], row["x"]))
    options = {"max_iter": 40, "gap_tol": 0.0, "schedule": np.arange(1, 41), "seed": 3} | options
    minimize(f, L1Ball(D, 1.5), method="variance_reduced", x0=START, **options)
    assert [step for step, _ in points] == list(range(41))
    return np.array([x for _, x in points[1:]])


@pytest.mark.parametrize("variant", MEMORY)
def test_steps_are_those_of_the_paper(variant):
    A, y = logistic()
    paper = globals()[variant](A, y, batches(np.random.default_rng(3)))
    np.testing.assert_allclose(seen(Logistic(A, y), variant=variant, batch=SIZE), [next(paper) for _ in range(40)], atol=1e-12)


@pytest.mark.parametrize("samples", [None, 7])
@pytest.mark.parametrize("function", ["rows", "terms"])
def test_steps_with_snapshots_are_those_of_the_paper(function, samples):
    A, y = logistic()

    def terms(x, i):
        margins = y[i] * (A[i] @ x)
        return np.logaddexp(0.0, -margins).mean(), N / len(i) * A[i].T @ slope(A[i] @ x, y[i])

    f = Logistic(A, y) if function == "rows" else FiniteSum(terms, N, D)
    paper = svrf(A, y, np.random.default_rng(3), samples)
    np.testing.assert_allclose(seen(f, variant="svrf", batch=samples), [next(paper) for _ in range(40)], atol=1e-12)


@pytest.mark.parametrize("variant", [*MEMORY, "svrf"])
def test_they_come_near_to_the_optimum_with_valid_certificates(variant):
    A, y = logistic()
    ball, f = L1Ball(D, 1.5), Logistic(A, y)
    best = minimize(f, ball, gap_tol=1e-11).value
    trace = minimize(f, ball, method="variance_reduced", variant=variant, batch=SIZE, max_iter=3000, gap_tol=0.0).trace
    assert (trace["primal"] >= best - 1e-10).all()
    assert (trace["dual"] <= best + 1e-10).all()
    assert trace["primal"].min() - best <= 1e-3 * (trace["primal"].iloc[0] - best)
    if variant != "svrf":
        assert trace["terms"].iloc[-1] == 3000 * SIZE + (N if variant == "lf" else 0)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("variant", MEMORY)
def test_the_estimate_stays_the_product_with_the_slopes(variant, kind):
    A, y = logistic()
    f = Logistic(kind(A), y)
    run = new_method(f, L1Ball(D), "variance_reduced", None, 0, 0.0, {"variant": variant, "batch": 7})
    run.advance(Budget(200, 200))
    np.testing.assert_allclose(run.state.r, A.T @ run.state.w, atol=1e-12)
    assert run.oracle_calls == run.step == 200


@pytest.mark.parametrize(("n", "size"), [(60, 6), (60, 60), (5000, 500), (5000, 501)])
def test_batches_that_are_drawn_together_are_those_of_single_draws(n, size):
    f, batches = LeastSquares(np.ones((n, 1)), np.ones(n)), []
    rows = f.rows
    f.rows = lambda terms: batches.append(terms.copy()) or rows(terms)
    run = new_method(f, L1Ball(1), "variance_reduced", None, 3, 0.0, {"batch": size})
    for steps in (0, 70, 71, 200):
        run.advance(Budget(steps, steps))
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(batches, [rng.choice(n, size, replace=False, shuffle=False) for _ in range(200)])
    assert run.state.rng.bit_generator.state == rng.bit_generator.state


def test_terms_of_a_user_are_those_of_the_package():
    A, y = logistic()
    buffers = np.zeros((2, N))

    def fun(z, terms):  # writes to its arguments, and answers with views of one buffer
        values, slopes = buffers[:, : len(z)]
        values[:], slopes[:] = np.logaddexp(0.0, -y[terms] * z), slope(z, y[terms]) * N
        z[:], terms[:] = np.nan, 0
        return values, slopes

    own, other = LinearSum(A, fun), Logistic(A, y)
    np.testing.assert_allclose(seen(own, batch=SIZE), seen(other, batch=SIZE), atol=1e-12)
    one, two = (minimize(f, L1Ball(D, 1.5), gap_tol=1e-9) for f in (own, other))
    assert (one.status, two.status) == ("converged", "converged")
    assert one.value == pytest.approx(two.value, abs=1e-9)


def test_least_squares_in_batches_of_any_size():
    A, y = logistic()
    f, ball = LeastSquares(A, y), L1Ball(D, 1.5)
    for batch in (1, 7, N, 10 * N):
        result = minimize(f, ball, method="variance_reduced", batch=batch, max_iter=50, schedule=50)
        assert ball.contains(result.x)
        assert result.trace["terms"].iloc[-1] == 50 * min(batch, N)
