"""Functions that are defined on a part of the set, monotonic steps, and sparse answers of a user's linear minimisation."""

import numpy as np
import pytest
import scipy.sparse

from fwexp.convex import L1Ball, LeastSquares, Oracle, Product, Simplex, minimize

RETURNS = np.random.default_rng(0).uniform(0.5, 1.5, (20, 6))
CENTRE = np.full(6, 1.0 / 6.0)


def portfolio(x):
    """Return -sum_i log <r_i, x> and its gradient; an error outside of the domain."""
    wealth = RETURNS @ x
    assert (wealth > 0.0).all()
    return -float(np.log(wealth).sum()), -RETURNS.T @ (1.0 / wealth)


def barrier(x):
    """Return a function that is infinite at the vertices of the simplex."""
    assert (x > 0.0).all()
    return float(RETURNS[0] @ x - 0.1 * np.log(x).sum()), RETURNS[0] - 0.1 / x


def inside(x):
    x[0] *= 2.0  # the array is the user's own
    return bool((x > 0.0).all())


def monotonic(fun, domain, x, iterations):  # Carderera, Besancon & Pokutta (2021), algorithm 1
    for t in range(iterations):
        value, g = fun(x)
        v = np.eye(6)[np.argmin(g)]
        new = x + 2.0 / (t + 2.0) * (v - x)
        if domain(new.copy()) and fun(new)[0] <= value:
            x = new
            yield x


@pytest.mark.parametrize(("fun", "domain"), [(barrier, inside), (portfolio, None)])
def test_monotonic_steps_are_those_of_the_paper(fun, domain):
    points = []
    options = {} if domain is None else {"domain": domain}
    expected = list(monotonic(fun, domain or (lambda x: True), CENTRE, 60))
    found = minimize(
        fun, Simplex(6), method="fw", step="monotonic", x0=CENTRE, gap_tol=0.0, schedule=1.0, max_iter=len(expected) + 1,
        callback=lambda row: points.append((row["primal"], row["x"])), **options,
    )  # fmt: skip
    # The start has two rows: before and after its linear minimisation.
    np.testing.assert_allclose([x for _, x in points[2:]], expected, atol=1e-12)
    assert (np.diff([value for value, _ in points]) <= 0.0).all()
    assert found.value == min(value for value, _ in points)


def test_monotonic_steps_end_where_none_decreases():
    result = minimize(lambda x: (float(x @ x), 2.0 * x), Simplex(2), method="fw", step="monotonic", x0=[0.5, 0.5], gap_tol=-0.0)
    assert result.status in ("converged", "stalled")
    assert result.value == 0.5


METHODS = ["frank_wolfe", "away", "pairwise", "corrective", "blended_pairwise", "lazy", "momentum", "block"]


@pytest.mark.parametrize("method", METHODS)
def test_no_step_leaves_the_domain(method):
    convex_set = Product([Simplex(6)]) if method == "block" else Simplex(6)
    options = {"max_iter": 400, "gap_tol": 1e-6, "x0": CENTRE, "domain": inside}
    result = minimize(barrier, convex_set, method=method, **options)
    best = minimize(barrier, Simplex(6), method="pairwise", **(options | {"gap_tol": 1e-9})).value
    assert best - 1e-9 <= result.value <= best + (1e-4 if method in METHODS[1:6] else 0.1)
    assert result.value - result.gap <= best + 1e-9
    rule = minimize(barrier, Simplex(6), method="away", step=lambda line: line.most, **(options | {"max_iter": 20}))
    assert np.isfinite(rule.value)


def test_backtracking_starts_from_steps_that_leave_the_domain():
    """The function is nearly linear except at the border of its domain, so the first step goes to the vertex."""

    def fun(x):
        assert x[0] < 0.9
        return float(-x[0] - 1e-3 * np.log(0.9 - x[0])), np.array([-1.0 + 1e-3 / (0.9 - x[0]), 0.0])

    result = minimize(fun, Simplex(2), method="away", x0=[0.1, 0.9], domain=lambda x: x[0] < 0.9, gap_tol=1e-6)
    assert result.status == "converged"
    assert result.x[0] == pytest.approx(0.899, abs=1e-4)


def test_quadratic_functions_may_have_a_domain():
    f = LeastSquares(np.eye(3), [2.0, 0.0, 0.0])
    for method in ("pairwise", "corrective", "fw"):
        result = minimize(f, Simplex(3), method=method, x0=np.full(3, 1 / 3), domain=lambda x: x[0] < 0.8, max_iter=50)
        assert 0.6 < result.x[0] < 0.8
        assert result.gap > 0.1  # the minimum over the whole set is outside, so nothing else could be certified


def test_points_of_a_shape_are_told_so():
    def fun(X):
        return float(np.trace(X) - np.log(X).sum()), np.eye(2) - 1.0 / X

    start = np.full((2, 2), 0.25)
    result = minimize(fun, Simplex(4).shaped(2, 2), x0=start, domain=lambda X: X.shape == (2, 2) and (X > 0.0).all())
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, result.x.T, atol=1e-2)


# -- sparse answers


def shuffled(s):
    """Return a vector as a sparse array with repeated entries, zeros, and no order."""
    where = np.r_[np.flatnonzero(s)[::-1], np.flatnonzero(s), 0, 0]
    values = np.r_[0.25 * s[np.flatnonzero(s)][::-1], 0.75 * s[np.flatnonzero(s)], 1.0, -1.0]
    return scipy.sparse.coo_array((values, (np.zeros(len(where), dtype=int), where)), shape=(1, len(s)))


def top_k(k):
    def exact(g):
        s = np.zeros(g.size)
        where = np.argsort(-np.abs(g.ravel()), kind="stable")[:k]
        s[where] = -np.sign(g.ravel()[where])
        return s.reshape(g.shape)

    return exact


KINDS = {
    "row": lambda s: scipy.sparse.csr_matrix(s[None]),
    "column": lambda s: scipy.sparse.csc_array(s[:, None]),
    "repeated": shuffled,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["pairwise", "corrective", "frank_wolfe"])
def test_sparse_answers_are_as_good_as_dense_ones(method, kind):
    rng = np.random.default_rng(0)
    f = LeastSquares(rng.standard_normal((12, 8)), rng.standard_normal(12))
    dense = minimize(f, Oracle(top_k(3), 8), method=method, max_iter=200, schedule=200.0)
    sparse = minimize(f, Oracle(lambda g: KINDS[kind](top_k(3)(g)), 8), method=method, max_iter=200, schedule=200.0)
    assert sparse.value == pytest.approx(dense.value, abs=1e-9)
    if sparse.atoms is not None:
        assert scipy.sparse.issparse(sparse.atoms.points)
        np.testing.assert_allclose(sparse.atoms.weights @ sparse.atoms.points, sparse.x, atol=1e-12)


def test_answers_of_any_number_of_nonzeros_and_of_both_kinds():
    """The set is the hull of balls: atoms have 0 to 4 nonzeros, and come sparse or dense in turns."""
    rng = np.random.default_rng(1)
    corners = np.vstack([np.zeros(5), np.eye(5), -np.eye(5) / 2, rng.standard_normal((6, 5)) * (rng.random((6, 5)) < 0.7)])
    f = LeastSquares(rng.standard_normal((9, 5)), rng.standard_normal(9))
    best = minimize(f, Oracle(lambda g: corners[np.argmin(corners @ g)], 5), gap_tol=1e-10).value
    for first in (0, 1):
        count = [first]

        def mixed(g, count=count):
            count[0] += 1
            s = corners[np.argmin(corners @ g)]
            return s if count[0] % 2 else scipy.sparse.csr_array(s[None])

        for method in ("pairwise", "away", "blended_pairwise", "lazy", "corrective"):
            result = minimize(f, Oracle(mixed, 5), method=method, gap_tol=1e-9, max_iter=500)
            assert result.value == pytest.approx(best, abs=1e-8)
            np.testing.assert_allclose(result.atoms.weights @ result.atoms.points, result.x, atol=1e-12)


def test_sparse_answers_serve_the_checks_of_a_function_of_ones_own():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((12, 8)), rng.standard_normal(12)
    sparse, dense = Oracle(lambda g: KINDS["row"](top_k(3)(g)), 8), Oracle(top_k(3), 8)
    found, wanted = (minimize(lambda x: (0.5 * ((A @ x - b) ** 2).sum(), A.T @ (A @ x - b)), each) for each in (sparse, dense))
    assert found.value == pytest.approx(wanted.value, abs=1e-5)
    np.testing.assert_array_equal(sparse.random(np.random.default_rng(1)), dense.random(np.random.default_rng(1)))
    assert sparse.diameter == dense.diameter == pytest.approx(2.0 * np.sqrt(8.0))


def test_sparse_answers_have_the_shape_of_the_set():
    Y = np.arange(6.0).reshape(2, 3) / 10.0
    ball = Oracle(lambda G: scipy.sparse.coo_array(top_k(1)(G)), 6).shaped(2, 3)
    result = minimize(lambda X: (0.5 * float(((X - Y) ** 2).sum()), X - Y), ball, gap_tol=1e-8)
    plain = minimize(LeastSquares(np.eye(6), Y.ravel()), L1Ball(6), gap_tol=1e-8)
    np.testing.assert_allclose(result.x.ravel(), plain.x, atol=1e-3)
