"""`minimize`: every method at the optimum that an independent solver finds, its certificate, its rates, its counts."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from fwexp import convex, record
from fwexp.convex import METHODS, Hull, L1Ball, LeastSquares, Product, Quadratic, Simplex, minimize, saddle_point
from fwexp.convex.minimize import new_method
from fwexp.convex.user_functions import as_function
from fwexp.driver.iteration import Budget, Reason

BLOCKS = ("block", "block_descent")
SAMPLING = ("stochastic", "variance_reduced")
RULES = ("uniform", "permuted", "cyclic", "gap", "greedy")
ACTIVE = ("away", "pairwise", "corrective", "blended_pairwise", "lazy")


def optimum(fun, convex_set):
    """Return the minimum by sequential quadratic programming, over the weights of corners."""
    if isinstance(convex_set, Hull):
        corners = convex_set.points.T
    else:
        eye = convex_set.radius * np.eye(convex_set.dim)
        corners = eye if isinstance(convex_set, Simplex) else np.hstack((eye, -eye))
    m = corners.shape[1]

    def weighed(a):
        value, g = fun(corners @ a)
        return value, corners.T @ g

    rest = {"bounds": [(0.0, 1.0)] * m, "constraints": [scipy.optimize.LinearConstraint(np.ones((1, m)), 1.0, 1.0)]}
    options = {"maxiter": 1000, "ftol": 1e-15}
    return scipy.optimize.minimize(weighed, np.full(m, 1.0 / m), jac=True, method="SLSQP", options=options, **rest).fun


def least_squares(rng, m, d):
    A, b = rng.standard_normal((m, d)), rng.standard_normal(m)
    return LeastSquares(A, b), lambda x: (0.5 * ((A @ x - b) ** 2).sum(), A.T @ (A @ x - b))


def quadratic(rng, m, d):
    A, c = rng.standard_normal((m, d)), rng.standard_normal(d)
    Q = A.T @ A
    return Quadratic(Q, c), lambda x: (0.5 * x @ Q @ x + c @ x, Q @ x + c)


def logistic(rng, m, d):
    A, y = rng.standard_normal((m, d)), rng.choice([-1.0, 1.0], m)

    def fun(x):
        margins = y * (A @ x)
        return np.logaddexp(0.0, -margins).mean(), -A.T @ (y / (1.0 + np.exp(margins))) / m

    return convex.Logistic(A, y), fun


def user(rng, m, d):
    _, fun = logistic(rng, m, d)
    return fun, fun


FUNCTIONS = {"least squares": least_squares, "quadratic": quadratic, "logistic": logistic, "user": user}
SETS = {
    "simplex": lambda rng, d: Simplex(d),
    "l1": lambda rng, d: L1Ball(d, rng.uniform(0.3, 2.0)),
    "hull": lambda rng, d: Hull(rng.standard_normal((d + 2, d))),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("method", [*ACTIVE, "random_away"])
@settings(max_examples=10)
@given(data=st.data())
def test_every_method_reaches_the_optimum_of_another_solver(function, method, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    d, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 8))
    convex_set = SETS[data.draw(st.sampled_from(sorted(SETS)))](rng, d)
    f, fun = FUNCTIONS[function](rng, m, d)
    options = {"random_away": {"eta": 0.6}, "lazy": {"K": 1.5}}.get(method, {})
    result = minimize(f, convex_set, method=method, gap_tol=1e-7, max_iter=5000, **options)
    best = optimum(fun, convex_set)
    assert result.status == "converged"
    assert convex_set.contains(result.x)
    assert result.value == pytest.approx(fun(result.x)[0], abs=1e-10)
    assert -1e-10 <= result.gap <= 1e-7
    assert best - 1e-9 <= result.value + 1e-7
    assert result.value - result.gap <= best + 1e-7
    assert (result.atoms.weights > 0.0).all()
    assert result.atoms.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("step", ["auto", "open_loop"])
def test_the_certificate_of_frank_wolfe_is_valid_in_every_row(function, step):
    rng = np.random.default_rng(4)
    f, fun = FUNCTIONS[function](rng, 8, 5)
    result = minimize(f, L1Ball(5, 0.7), method="frank_wolfe", step=step, gap_tol=1e-9, max_iter=300)
    best, trace = optimum(fun, L1Ball(5, 0.7)), result.trace
    assert (trace["primal"] >= best - 1e-8).all()
    assert (trace["dual"] <= best + 1e-8).all()
    assert result.value <= trace["primal"].iloc[0]


@pytest.mark.parametrize("function", ["least squares", "logistic", "terms"])
@pytest.mark.parametrize(
    "how", [{"method": "momentum"}, {"method": "momentum", "step": "auto", "momentum": 0.5}, {"method": "stochastic"}]
)
def test_averaged_gradients_come_near_with_valid_certificates(function, how):
    rng, ball = np.random.default_rng(4), L1Ball(5, 0.7)
    f, fun = FUNCTIONS["logistic" if function == "terms" else function](rng, 20, 5)
    if function == "terms":  # the same, by a function of one's own
        A, y = f.matrix.A, f.y

        def of_terms(x, terms):
            own = convex.Logistic(A[terms], y[terms])
            return own.value(x, A[terms] @ x), own.gradient(x, A[terms] @ x)

        f = convex.FiniteSum(of_terms, 20, 5)
    options = how | ({"batch": 5} if how["method"] == "stochastic" else {})
    result = minimize(f, ball, gap_tol=0.0, max_iter=1500, seed=1, **options)
    best, trace = optimum(fun, ball), result.trace
    scale = fun(np.zeros(5))[0] - best
    assert (trace["primal"] >= best - 1e-8).all()
    assert (trace["dual"] <= best + 1e-8).all()
    assert best - 1e-8 <= result.value <= best + (0.1 if options.get("batch") else 0.02) * scale  # O(t^-1/3) and O(1/t)
    assert ball.contains(result.x)
    assert trace["evaluation_calls"].iloc[-1] == 0


@pytest.mark.parametrize("momentum", [None, 0.5])
def test_steps_with_momentum_are_those_of_the_paper(momentum):  # Li, Sadeghi & Giannakis (2021), algorithm 1
    f, fun = least_squares(np.random.default_rng(4), 8, 5)
    ball, points = L1Ball(5, 0.7), {}
    run = {"max_iter": 30, "gap_tol": 0.0, "schedule": np.arange(1, 31)}
    minimize(f, ball, method="momentum", momentum=momentum, callback=lambda row: points.update({row["step"]: row["x"]}), **run)
    x, m = points[0], None
    for t in range(30):
        g, gamma = fun(x)[1], 2.0 / (t + 2.0)
        rho = gamma if momentum is None else 1.0 - momentum
        m = g if m is None else (1.0 - rho) * m + rho * g
        x = x + gamma * (ball.lmo(m) - x)
        assert points[t + 1] == pytest.approx(x, abs=1e-12)


def test_steps_inside_the_active_set_save_linear_minimisations_or_atoms():
    f, ball = lasso()
    runs = {name: minimize(f, ball, method=name, gap_tol=1e-8) for name in ("pairwise", "lazy", "blended_pairwise")}
    assert all(run.status == "converged" for run in runs.values())
    assert max(run.value for run in runs.values()) - min(run.value for run in runs.values()) <= 1e-8
    steps, calls, most = (
        {name: run.trace[column].max() for name, run in runs.items()} for column in ("step", "oracle_calls", "atoms")
    )
    assert calls["lazy"] < min(0.5 * steps["lazy"], 0.5 * calls["pairwise"])
    assert most["blended_pairwise"] <= most["pairwise"]
    sweeps = runs["lazy"].trace
    assert (sweeps["dual"] <= runs["pairwise"].value + 1e-9).all()


def test_rates_on_the_triangle():
    """Away and pairwise steps are linear for every angle, plain ones are not where the optimum is on an edge."""
    for angle in (math.pi / 4, math.pi / 20, math.pi / 200, math.pi / 2000):
        corners = np.array([[0.0, 0.0], [-1.0, 0.0], [math.cos(angle), math.sin(angle)]])
        # Nearest to a point above the long edge from corner 1 to corner 2, off its middle.
        edge = corners[2] - corners[1]
        normal = np.array([-edge[1], edge[0]]) / np.linalg.norm(edge)
        target = corners[1] + 0.3 * edge + 0.5 * normal
        f = LeastSquares(np.eye(2), target)
        run = {"gap_tol": 1e-9, "max_iter": 2000}
        slow = minimize(f, Hull(corners), method="frank_wolfe", x0=corners[0], **run)
        assert slow.gap > 1e-5
        for method in ("away", "pairwise"):
            fast = minimize(f, Hull(corners), method=method, **run)
            assert fast.status == "converged"
            assert fast.trace["step"].iloc[-1] < 4.0 / angle
            assert fast.x == pytest.approx(corners[1] + 0.3 * edge, abs=1e-6)


def lasso():
    rng = np.random.default_rng(0)
    n, d, nonzeros = 500, 200, 20
    A, x = rng.standard_normal((n, d)), np.zeros(d)
    x[rng.choice(d, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    return LeastSquares(A, A @ x + 0.1 * rng.standard_normal(n)), L1Ball(d, 0.9 * np.abs(x).sum())


def test_lasso():
    f, ball = lasso()
    runs = {name: minimize(f, ball, method=name, gap_tol=1e-8, max_iter=1000) for name in ("away", "pairwise", "random_away")}
    assert all(run.status == "converged" for run in runs.values())
    iterations = max(runs[name].trace["oracle_calls"].iloc[-1] for name in ("away", "pairwise"))
    slow = minimize(f, ball, method="frank_wolfe", gap_tol=1e-8, max_iter=float(iterations))
    assert slow.gap > 1e-4
    # The solution is sparse, exactly.
    assert (runs["pairwise"].x != 0.0).sum() == len(runs["pairwise"].atoms.weights) < 40
    # By atoms inspected a tenth at a time costs less than all of them.
    inspected = {name: run.trace["inspected"].iloc[-1] for name, run in runs.items()}
    assert inspected["random_away"] < inspected["away"]


def box_and_simplex():
    """1/2 ||x - c||^2, with the optimum at a corner of the simplex and inside the box, where plain steps are linear, too."""
    target, best = np.array([3.0, 0.5, 0.5, 0.25, -0.4]), np.array([1.0, 0.0, 0.0, 0.25, -0.4])
    return LeastSquares(np.eye(5), target), Product([Simplex(3), convex.Box([-1.0, -1.0], [1.0, 1.0])]), best


@pytest.mark.parametrize(
    ("tol", "options"),
    [
        *((1e-6, {"method": "block", "rule": rule}) for rule in RULES),
        *((1e-11, {"method": "block", "rule": rule, "direction": "pairwise"}) for rule in RULES),
        *((1e-12, {"method": "block_descent", "rule": rule}) for rule in RULES[:3]),
    ],
)
def test_every_rule_reaches_the_analytic_optimum_of_a_product(tol, options):
    f, product, best = box_and_simplex()
    result = minimize(f, product, gap_tol=tol, max_iter=1000, **options)
    assert result.status == "converged"
    assert result.value - 0.5 * ((best - f.b) ** 2).sum() <= tol
    if tol < 1e-6:
        assert result.x == pytest.approx(best, abs=1e-5)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_blocks_that_depend_on_each_other_meet_the_optimum_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    product = Product([Simplex(3), L1Ball(2), convex.Box([-1, -1], [0.5, 1])])
    f = quadratic(rng, 25, 7)[0]  # well conditioned
    whole = minimize(f, product, method="pairwise", gap_tol=1e-9, max_iter=20_000)
    for options in ({"method": "block_descent"}, {"method": "block", "direction": "pairwise"}):
        result = minimize(f, product, gap_tol=1e-7, max_iter=20_000, seed=seed, **options)
        assert result.status == "converged"
        assert result.value == pytest.approx(whole.value, abs=2e-7)


PRODUCTS = {
    "sparse": [Simplex(4), L1Ball(3), Simplex(2)],
    "dense": [Simplex(3), Hull([[-1.0, 0.5], [0.0, 1.0], [1.0, 0.0]]), L1Ball(4)],
}


@pytest.mark.parametrize("kind", PRODUCTS)
def test_a_sample_of_a_product_is_one_of_every_factor(kind):
    product = Product(PRODUCTS[kind])
    f = quadratic(np.random.default_rng(3), 12, 9)[0]
    run = {"max_iter": 3000, "gap_tol": 1e-9, "schedule": 1}
    away = minimize(f, product, method="away", **run)
    whole = minimize(f, product, method="random_away", eta=1.0, **run)
    # Where all atoms are in the sample, it is the method without one, and looks at as many.
    steps = min(whole.trace["step"].iloc[-1], away.trace["step"].iloc[-1])
    assert steps > 10
    one, other = (trace[trace["step"] <= steps].drop_duplicates("step", keep="last") for trace in (away.trace, whole.trace))
    np.testing.assert_allclose(other["primal"], one["primal"], atol=1e-10)
    assert other["inspected"].iloc[-1] == steps * product.inspected
    part = minimize(f, product, method="random_away", eta=0.3, seed=1, **run)
    assert part.status == "converged"
    assert part.value == pytest.approx(away.value, abs=2e-9)
    assert part.trace["inspected"].iloc[-1] < part.trace["step"].iloc[-1] * product.inspected
    # A start inside is an atom of no factor.
    start = np.concatenate([factor.random(np.random.default_rng(k)) for k, factor in enumerate(product.factors)])
    few = {"x0": start, "max_iter": 300, "gap_tol": 1e-9}
    assert minimize(f, product, method="random_away", eta=0.3, **few).gap <= 3 * minimize(f, product, method="away", **few).gap


def test_methods_of_a_product_count_the_atoms_of_its_factors():
    product, f = Product(PRODUCTS["sparse"]), quadratic(np.random.default_rng(3), 12, 9)[0]
    assert product.inspected == 4 + 6 + 2
    run = {"max_iter": 5, "gap_tol": 0.0}
    for options in ({"method": "frank_wolfe"}, {"method": "block", "rule": "cyclic"}):
        assert minimize(f, product, **options, **run).trace["inspected"].iloc[-1] == 5 * 12
    assert "inspected" not in minimize(f, product, method="block_descent", **run).trace
    assert "inspected" not in minimize(f, Product([Simplex(4), convex.Box(-np.ones(5), np.ones(5))]), method="block", **run).trace


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, aslinearoperator, np.asfortranarray])
def test_matrices_of_every_kind_are_one(method, kind):
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((6, 5)), rng.standard_normal(6)
    A[np.abs(A) < 0.5] = 0.0
    convex_set = Product([Simplex(2), L1Ball(3)]) if method in BLOCKS else L1Ball(5)
    dense, other = (minimize(LeastSquares(X, b), convex_set, method=method, max_iter=30, gap_tol=0.0) for X in (A, kind(A)))
    assert other.value == pytest.approx(dense.value, abs=1e-9)
    if method in SAMPLING:  # a quadratic form is no sum
        return
    squares = (minimize(Quadratic(X, b[:5]), convex_set, method=method, max_iter=30, gap_tol=0.0) for X in (A.T @ A, kind(A.T @ A)))
    first, second = squares
    assert second.value == pytest.approx(first.value, abs=1e-9)


@pytest.mark.parametrize("shape", [(3, 12), (12, 3)])
def test_products_with_a_sparse_matrix_of_any_shape(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    A[np.abs(A) < 0.7] = 0.0
    f, x, z = LeastSquares(scipy.sparse.csr_array(A), np.zeros(shape[0])), np.arange(shape[1]) + 1.0, np.arange(shape[0]) - 1.0
    np.testing.assert_allclose(f.image(x), A @ x)
    np.testing.assert_allclose(f.gradient(x, z), A.T @ z)
    np.testing.assert_allclose(f.partial(x, z, slice(1, 3)), A.T[1:3] @ z)
    np.testing.assert_allclose(f.image_of(L1Ball(shape[1]).atom(-x)), A[:, -1])


def test_weights_sum_to_one_where_the_optimum_is_an_atom():
    """There rounding errors may make a slope from that atom to itself."""
    for seed in range(80):
        rng = np.random.default_rng(seed)
        dim, m = rng.integers(3, 12), rng.integers(3, 9)
        corners, A = rng.normal(size=(m, dim)), rng.normal(size=(dim, dim))
        result = minimize(LeastSquares(A, 30.0 * rng.normal(size=dim)), Hull(corners), gap_tol=0.0, max_iter=40, schedule=40)
        assert result.atoms.weights.sum() == pytest.approx(1.0)
        assert result.atoms.weights @ result.atoms.points == pytest.approx(result.x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", ["quadratic", "logistic"])
def test_a_run_goes_on_bit_for_bit_from_its_state(method, function):
    rng = np.random.default_rng(1)
    f, _ = FUNCTIONS["least squares" if method in SAMPLING and function == "quadratic" else function](rng, 8, 6)
    convex_set = Product([Simplex(3), L1Ball(3)]) if method in BLOCKS else L1Ball(6)
    options = {"direction": "pairwise", "rule": "gap"} if method == "block" else {}

    def start():
        return new_method(as_function(f, 6), convex_set, method, None, 3, 0.0, options)

    def advance(iteration, calls):
        while iteration.advance(Budget(calls, 100)).reason is Reason.PAUSE:
            pass

    whole, first, second = start(), start(), start()
    advance(whole, 30)
    advance(first, 12)
    first.point("last")  # as a log does
    second.restore(record.copy(first.state))
    advance(second, 30)
    assert whole.point("last").dual == second.point("last").dual
    assert whole.step > 5
    assert record.same(whole.state, second.state)


@pytest.mark.parametrize("method", [*ACTIVE, "frank_wolfe", "random_away"])
def test_the_ends_of_the_range(method):
    """One dimension, a gradient of 0, sets of any size."""
    assert minimize(LeastSquares([[2.0]], [1.0]), Simplex(1), method=method).x.tolist() == [1.0]
    flat = minimize(LeastSquares(np.zeros((2, 3)), [1.0, 1.0]), L1Ball(3), method=method)
    assert (flat.status, flat.value, flat.gap) == ("converged", 1.0, 0.0)
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((6, 4)), rng.standard_normal(6)
    for radius in (1e-10, 1e8):
        tol = 0.02 if method == "frank_wolfe" else 1e-6
        scaled = minimize(LeastSquares(A / radius, b), L1Ball(4, radius), method=method, max_iter=2000, gap_tol=tol)
        same = minimize(LeastSquares(A, b), L1Ball(4), method=method, max_iter=2000, gap_tol=tol)
        assert scaled.status == same.status == "converged"
        assert L1Ball(4, radius).contains(scaled.x)
        assert scaled.value == pytest.approx(same.value, abs=tol)


def test_short_names_and_rules_of_ones_own():
    f, fun = least_squares(np.random.default_rng(4), 8, 5)
    best, norm = optimum(fun, L1Ball(5, 0.7)), np.linalg.norm(f.matrix.A, 2) ** 2
    run = {"max_iter": 3000, "gap_tol": 1e-7}
    seen = []

    def exact(line):
        seen.append((line.t, line.value(0.0) - fun(line.x)[0], line.slope + fun(line.x)[1] @ line.d))
        line.x[:] = np.nan  # a copy
        return line.slope / line.curvature

    for short, name in (("fw", "frank_wolfe"), ("afw", "away"), ("pfw", "pairwise")):
        one, other, own = (
            minimize(f, L1Ball(5, 0.7), method=m, **run, **o) for m, o in ((short, {}), (name, {}), (short, {"step": exact}))
        )
        assert one.method == own.method == name
        assert one.value == other.value == pytest.approx(own.value, abs=1e-9)
    assert np.abs(np.array(seen)[:, 1:]).max() < 1e-10
    assert seen[0][0] == 0
    assert seen[1][0] == 1
    for target in (f, fun):  # a function of one's own has no curvature
        result = minimize(target, L1Ball(5, 0.7), step=lambda line: line.slope / (norm * (line.d @ line.d)), **run)
        assert result.status == "converged"
        assert result.value == pytest.approx(best, abs=1e-7)
    product = Product([L1Ball(2, 0.3), L1Ball(3, 0.4)])
    own, plain = (minimize(f, product, method="block", gap_tol=1e-3, step=step) for step in (exact, "line_search"))
    assert own.value == pytest.approx(plain.value, abs=1e-9)


def test_a_rule_of_ones_own_is_called_only_where_f_falls():
    """The first step goes beyond the minimum at 0, and the average of the gradients still points there."""
    slopes = []

    def longer(line):
        slopes.append(line.slope)
        return 1.2 * line.slope / (line.d @ line.d)

    result = minimize(LeastSquares([[1.0]], [0.0]), L1Ball(1), method="momentum", step=longer, gap_tol=1e-3)
    assert result.status == "converged"
    assert min(slopes) > 0.0


def test_open_loops_of_any_l():
    f, _ = least_squares(np.random.default_rng(4), 8, 5)

    def run(**how):
        return minimize(f, L1Ball(5, 0.7), method="fw", max_iter=400, gap_tol=0.0, schedule=400, **how)

    for ell in (1, 2, 4.5):
        own = run(step=lambda line, ell=ell: ell / (line.t + ell))
        assert run(step="open_loop", ell=ell).value == pytest.approx(own.value, rel=1e-12)
    assert run(step="open_loop").value == run(step="open_loop", ell=2).value


@pytest.mark.parametrize(
    "convex_set", [convex.NuclearBall(2, 3, 2.0), convex.Oracle(convex.NuclearBall(2, 3, 2.0).shaped(2, 3).lmo, 6), L1Ball(6)]
)
def test_points_are_seen_in_the_shape_of_the_set(convex_set):
    Y = np.arange(6.0).reshape(2, 3)

    def fun(X):
        return 0.5 * ((X - Y) ** 2).sum(), np.asfortranarray(X - Y)

    shaped, run = convex_set.shaped(2, 3), {"max_iter": 40, "gap_tol": 1e-9}
    vectors = (lambda x: (0.5 * ((x - Y.ravel()) ** 2).sum(), x - Y.ravel())) if type(convex_set) is not convex.Oracle else None
    result = minimize(fun, shaped, **run)
    assert result.x.shape == shaped.lmo(Y).shape == (2, 3)
    assert result.value == pytest.approx(fun(result.x)[0])
    assert shaped.contains(result.x)
    assert result.atoms.weights @ result.atoms.points == pytest.approx(result.x.ravel())
    assert minimize(LeastSquares(np.eye(6), Y.ravel()), shaped, x0=result.x, **run).value == pytest.approx(result.value, abs=1e-6)
    assert minimize(lambda X: (fun(X)[0], fun(X)[1].ravel()), shaped, **run).value == result.value
    if vectors:
        assert minimize(vectors, convex_set, **run).x.tobytes() == result.x.tobytes()
    with pytest.raises(
        ValueError, match=r"^x0 must be a vector of length 6 or an array of shape \(2, 3\), got an array of shape \(3, 2\)$"
    ):
        minimize(fun, shaped, x0=Y.T)
    with pytest.raises(ValueError, match=r"^shape must have the product dim = 6, got \(2, 2\)$"):
        convex_set.shaped(2, 2)


def test_traces_have_no_columns_of_training():
    f, game = LeastSquares(np.eye(3), np.ones(3)), convex.Bilinear(np.eye(2), Simplex(2), Simplex(2))
    common = ["iterate", "step", "oracle_calls", "passes", "evaluation_calls", "time", "primal", "dual", "gap"]
    assert list(minimize(f, convex.L2Ball(3), method="fw").trace) == list(saddle_point(game).trace) == common
    rows = []
    columns = [*common, "atoms", "drops", "inspected"]
    assert list(minimize(f, Simplex(3), callback=rows.append).trace) == columns
    assert list(rows[0]) == [*columns, "x", "vertex"]


@pytest.mark.parametrize("method", ["fw", "away", "pairwise", "corrective"])
def test_a_step_is_cut_to_the_set_and_never_goes_back(method):
    f, _ = least_squares(np.random.default_rng(4), 8, 5)
    assert L1Ball(5, 0.7).contains(minimize(f, L1Ball(5, 0.7), method=method, step=lambda line: math.inf, max_iter=20).x)
    for wrong, shown in ((-1e-3, "-0.001"), (math.nan, "nan"), (None, "None"), ("1", "'1'"), (True, "True")):
        with pytest.raises(ValueError, match=rf"^what step\(line\) returns must be a number >= 0, got {shown}$"):
            minimize(f, L1Ball(5, 0.7), method=method, step=lambda line, wrong=wrong: wrong)


def test_a_callback_that_returns_true_ends_the_run():
    f, game = LeastSquares(np.eye(3), np.ones(3)), convex.Bilinear(np.eye(2), Simplex(2), Simplex(2))
    for solve in (lambda **how: minimize(f, Simplex(3), **how), lambda **how: saddle_point(game, **how)):
        result = solve(gap_tol=0, schedule=1, callback=lambda row: row["passes"] >= 3)
        assert (result.status, result.reason) == ("interrupted", "the run was stopped by the callback")
        assert 3 <= result.trace.passes.iloc[-1] <= 5


def test_a_start_counts_as_an_atom():
    f, ball = lasso()
    start = np.full(200, ball.radius / 400)
    for method in (*ACTIVE, "random_away", "frank_wolfe"):
        result = minimize(f, ball, method=method, x0=start, gap_tol=1e-6, max_iter=20_000 if method != "frank_wolfe" else 50)
        assert result.status == "converged" or method == "frank_wolfe"
        assert result.trace["primal"].iloc[0] == pytest.approx(f.value(start, f.image(start)))
