"""Saddle points: values against linear programs, certificates, rates on both sides of the theorem, structural SVMs."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import fwexp
from fwexp import record
from fwexp.convex import SADDLE_METHODS, Bilinear, Box, ConvexSet, L2Ball, Simplex, saddle_point, svm_game
from fwexp.convex.atoms import single
from fwexp.convex.saddle import DualExtragradient, ExtragradientOptions
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError

METHODS = [
    ("dual_extragradient", {}),
    ("dual_extragradient", {"geometry": "entropic"}),
    ("dual_extragradient", {"geometry": "entropic", "memory": "efficient"}),
    ("sp_fw", {}),
    ("sp_fw", {"step": "adaptive"}),
    ("sp_away", {}),
]


def game_value(M):
    """Return the value of a matrix game: min v such that M'x <= v."""
    m, n = M.shape
    rows = np.hstack((M.T, -np.ones((n, 1))))
    bounds = [(0, None)] * m + [(None, None)]
    return scipy.optimize.linprog(
        np.r_[np.zeros(m), 1.0], A_ub=rows, b_ub=np.zeros(n), A_eq=[[1.0] * m + [0.0]], b_eq=[1.0], bounds=bounds
    ).fun


@pytest.mark.parametrize(("method", "options"), METHODS)
@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_certificates_enclose_the_value_of_a_matrix_game(method, options, seed):
    rng = np.random.default_rng(seed)
    M = rng.uniform(-1, 1, rng.integers(1, 6, 2))
    result = saddle_point(
        Bilinear(M, Simplex(M.shape[0]), Simplex(M.shape[1])), method=method, gap_tol=0.02, max_iter=3000, **options
    )
    value = game_value(M)
    assert (result.trace["primal"] >= value - 1e-9).all()
    assert (result.trace["dual"] <= value + 1e-9).all()
    assert result.value == pytest.approx((M.T @ result.x).max(), abs=1e-9)
    if method == "dual_extragradient":
        assert result.status == "converged"
        assert abs(result.value - value) <= 0.02
    if result.y is not None and result.status == "converged":
        assert Simplex(M.shape[1]).contains(result.y)


def on_balls(offset):
    p = np.zeros(10)
    p[0] = offset
    return Bilinear(np.random.default_rng(1).uniform(-1, 1, (10, 10)) / 10, L2Ball(10), L2Ball(10), p, p)


def test_the_step_of_the_theorem_is_linear_where_the_theorem_says_so():
    """Strongly convex sets (1/r for a ball of radius r = 1), gradients bounded below: |p| - ||M||."""
    game = on_balls(3.0)
    delta = 3.0 - game.norm()
    L = game.norm()
    result = saddle_point(game, method="sp_fw", step="linear_rate", beta=1.0, delta=delta, gap_tol=1e-10, max_iter=500)
    assert result.status == "converged"
    rho = delta / (16.0 * (2.0 * L + 8.0 * L * L / delta))
    last = result.trace.iloc[-1]
    assert last["gap"] <= result.trace["gap"].iloc[0] * (1.0 - rho) ** last["step"] + 1e-10
    # An interior saddle point, where gradients vanish, is outside the theorem.
    outside = saddle_point(on_balls(0.0), method="sp_fw", step="linear_rate", beta=1.0, delta=delta, gap_tol=1e-10, max_iter=500)
    assert outside.gap > 1e-3


def test_the_memory_efficient_form_takes_the_same_steps():
    rng = np.random.default_rng(3)
    game = Bilinear(
        rng.uniform(-1, 1, (4, 6)), Box(-np.ones(4), np.ones(4)), Simplex(6), rng.standard_normal(4), rng.standard_normal(6)
    )
    for geometry in ("euclidean", "entropic"):
        full, efficient = (
            saddle_point(game, geometry=geometry, memory=memory, gap_tol=0.0, max_iter=200) for memory in ("full", "efficient")
        )
        assert efficient.x == pytest.approx(full.x, abs=1e-12)
        assert efficient.y is None
        assert game.Y.contains(full.y)
    process = DualExtragradient(game, ExtragradientOptions(geometry="entropic", memory="efficient"))
    process.advance(Budget(10, 100))
    saved = record.to_arrays(process.state)
    assert {array.size for name, array in saved.items() if name != record.TREE} == {4}  # the size of x


@pytest.mark.parametrize("method", ["sp_fw", "sp_away"])
def test_a_run_without_tolerance_goes_on_at_the_saddle_point(method):
    game = Bilinear([[2.0, 1.0], [4.0, 3.0]], Simplex(2), Simplex(2))
    result = saddle_point(game, method=method, gap_tol=0.0, max_iter=50, time_limit=10.0)
    assert (result.status, result.trace["step"].iloc[-1]) == ("max_passes", 50)
    assert (result.x.tolist(), result.y.tolist(), result.gap) == ([1.0, 0.0], [1.0, 0.0], 0.0)


def test_a_player_whose_atom_has_all_the_weight_but_for_rounding_stays():
    game = Bilinear([[0.0, -1.0], [0.0, 0.0]], Simplex(2), Simplex(2), p=[0.11, 0.0])
    method = SADDLE_METHODS["sp_away"](game, SADDLE_METHODS["sp_away"].Options())
    x, y = weights = np.array([1.0, 1e-17]), np.array([0.9, 0.1])
    for active, chosen in zip(method.state.active, weights, strict=True):
        active.row(single(1, 1.0))
        active.weights[:2] = chosen
    method.state = replace(method.state, x=x, y=y, gx=game.gradient_x(y), gy=game.gradient_y(x))
    method.advance(Budget(1, 1))
    assert method.state.x.tolist() == [1.0, pytest.approx(0.0)]
    assert method.state.y.tolist() == [1.0, 0.0]
    assert [active.size for active in method.state.active] == [2, 1]


@pytest.mark.parametrize("name", SADDLE_METHODS)
def test_a_run_goes_on_bit_for_bit(name):
    game = on_balls(0.5)
    whole, first, second = (SADDLE_METHODS[name](game, SADDLE_METHODS[name].Options()) for _ in range(3))
    whole.advance(Budget(20, 100))
    first.advance(Budget(8, 100))
    second.restore(record.copy(first.state))
    second.advance(Budget(20, 100))
    assert whole.step >= 10
    assert record.same(whole.state, second.state)


def chains():
    rng = np.random.default_rng(5)
    X = [rng.standard_normal((length, 3)) for length in (1, 2, 4, 3)]
    return fwexp.chain_problem(X, [rng.integers(0, 3, len(x)) for x in X], 3)


def matchings():
    rng = np.random.default_rng(6)
    X = [rng.standard_normal((2, 3, 4)) for _ in range(3)]
    return fwexp.matching_problem(X, [[(0, 1), (1, 2)], [(1, 1)], []])


@pytest.mark.slow
@pytest.mark.parametrize("make", [chains, matchings])
def test_the_game_of_a_structural_svm_is_worth_its_hinge_loss(make):
    problem, rng = make(), np.random.default_rng(0)
    game = svm_game(problem, 3.0)
    for _ in range(5):
        w = rng.standard_normal(problem.d)
        gy = game.gradient_y(w)
        worst = game.Y.lmo(-gy) @ gy + game.p @ w + game.constant
        assert worst == pytest.approx(fwexp.evaluate(problem, w).hinge)


@pytest.mark.slow
@pytest.mark.parametrize("make", [chains, matchings])
def test_methods_agree_on_a_structural_svm(make):
    """The radius is that of the regularised solution, which is the solution of the game, too."""
    problem = make()
    best = fwexp.solve(problem, "one_slack", lam=0.5, gap_tol=1e-7, max_passes=2000, iterate="last")
    radius = float(np.linalg.norm(best.w))
    hinge = best.primal - 0.25 * radius**2
    for method, options in (("dual_extragradient", {"geometry": "entropic"}), ("sp_fw", {}), ("sp_away", {})):
        result = saddle_point(svm_game(problem, radius), method=method, gap_tol=0.0, max_iter=300, **options)
        assert result.value - result.gap - 1e-6 <= hinge <= result.value + 1e-6
        assert np.linalg.norm(result.x) <= radius * (1 + 1e-9)
        assert result.value - hinge < 0.5 * hinge


def test_steps_that_need_a_diameter_name_a_set_without():
    class Point(ConvexSet):
        dim = 2

        def atom(self, g):
            return single(0, 1.0)

        def contains(self, x):
            return True

    game = Bilinear(np.eye(2), Simplex(2), Point())
    assert saddle_point(game, method="sp_fw", max_iter=1).x.shape == (2,)
    with pytest.raises(OptionError, match=r"^step adaptive needs the diameter of both sets, which Y lacks$"):
        saddle_point(game, method="sp_fw", step="adaptive")
