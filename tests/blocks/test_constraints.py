"""Weights that must not be negative: every solver that keeps them reaches the optimum of the constrained problem.

The optimum comes from scipy, which minimises the primal in (w, xi) with every labeling written out.
"""

from functools import cache

import numpy as np
import pytest
import scipy.optimize

import fwexp
from fwexp.blocks.acceleration import total_gap
from fwexp.blocks.projections import exact_step
from fwexp.driver.iteration import Budget
from fwexp.errors import OptionError
from fwexp.problems import protocol
from fwexp.problems.constraints import public_indices
from fwexp.solvers.clipped_qp import maximise
from fwexp.solvers.growing_qp import SimplexQP
from fwexp.testing import check_solver
from tests.problems.definitions import build
from tests.small_problems import at_start, run_in_plain_python

BIG = 10**9
LAM = 0.3
NONNEGATIVE = [0, 2, 3]
MEANS = (-0.8, 0.5, -0.3, 0.0, 0.2)


def outputs(seed, n=5, d=5, m=4):
    """Return psi and losses of n examples with m outputs, the first of them true."""
    rng = np.random.default_rng(seed)
    psi = [np.vstack((np.zeros(d), rng.normal(MEANS, size=(m - 1, d)))) for _ in range(n)]
    return psi, [np.append(0.0, rng.uniform(0.2, 1.0, size=m - 1)) for _ in range(n)]


def optimum(psi, losses, lam, nonnegative, weights=None):
    """Return (w, P*) of min lam/2 ||w||^2 + 1/n sum_i c_i xi_i, xi_i >= L_i(y) - <w, psi_i(y)>, by scipy."""
    n, d = len(psi), psi[0].shape[1]
    c = np.ones(n) if weights is None else np.asarray(weights) / np.mean(weights)
    rows = [np.concatenate((psi[i][k], np.eye(n)[i])) for i in range(n) for k in range(len(psi[i]))]
    A, b = np.array(rows), np.concatenate(losses)
    low = np.full(d + n, -np.inf)
    low[nonnegative] = 0.0
    solution = scipy.optimize.minimize(
        lambda z: 0.5 * lam * z[:d] @ z[:d] + c @ z[d:] / n,
        np.concatenate((np.zeros(d), [values.max() for values in losses])),
        jac=lambda z: np.concatenate((lam * z[:d], c / n)),
        bounds=list(zip(low, np.full(d + n, np.inf), strict=True)),
        constraints={"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert solution.success
    return solution.x[:d], primal(psi, losses, np.where(low[:d] == 0.0, np.maximum(solution.x[:d], 0.0), solution.x[:d]), lam, c)


def primal(psi, losses, w, lam, c=None):
    """Return P(w)."""
    hinges = np.array([(values - rows @ w).max() for rows, values in zip(psi, losses, strict=True)])
    return 0.5 * lam * w @ w + np.mean(hinges if c is None else c * hinges)


@cache
def small():
    """Return (psi, losses, w*, P*): two of three constraints hold with equality, the third does not."""
    psi, losses = outputs(0)
    w, best = optimum(psi, losses, LAM, NONNEGATIVE)
    free = optimum(psi, losses, LAM, [])[1]
    assert best > free + 1e-3
    tight = np.abs(w[NONNEGATIVE]) < 1e-6
    assert tight.any()
    assert not tight.all()
    return psi, losses, w, best


BLOCK_STEPS = [
    {"step": step, "accelerate": accelerate, "cache": cache, "sampling": sampling}
    for step in ("fw", "pairwise", "away", "corrective")
    for accelerate in (False, {"kap": 2.0, "period": 3})
    for cache in (False, {"size": 6})
    for sampling in (("perm", "gap") if step in ("fw", "corrective") else ("uniform",))
]
METHODS = [
    *(("bcfw", options) for options in BLOCK_STEPS),
    *(("bcfw", {"sampling": name}) for name in ("cyclic", "max_gap", "lipschitz")),
    ("bcfw", {"line_search": False}),
    ("bcfw", {"constrained_search": "published"}),
    ("bcfw", {"constrained_search": "published", "step": "pairwise"}),
    ("auto", {}),
    ("approx_bcfw", {}),
    ("fw", {}),
    ("fw", {"line_search": False}),
    ("ssg", {}),
    ("one_slack", {}),
    ("one_slack", {"cache": 0, "pull": 0.0, "removal": 0, "nonnegative": False}),
    ("one_slack", {"removal": 1}),
    ("bmrm", {}),
    ("fcfw", {}),
    ("fcfw", {"start_atom": False}),
]


@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg"])
def test_averages_are_feasible_bounds(solver):
    """Every row bounds the optimum from both sides, w stays feasible, and the end is near the optimum."""
    psi, losses, w, best = small()
    problem = fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE)
    given = {"max_passes": 1000, "schedule": 25, "iterates": ("last", "wavg", "tavg", "avg")}
    result = fwexp.solve(problem, solver, lam=LAM, gap_tol=2e-3, **given)
    assert (result.trace.primal >= best - 1e-9).all()
    if solver != "ssg":
        assert (result.trace.dual <= best + 1e-9).all()
        assert result.gap <= 4e-3
    assert result.primal <= best + 4e-3
    np.testing.assert_allclose(result.w, w, atol=0.1)
    for name in ("wavg", "tavg", "avg"):
        last = result.trace[result.trace.iterate == name].iloc[-1]
        assert last.primal <= best + 0.02
        point = result.state.point(name)
        assert point.w[NONNEGATIVE].min() >= 0.0


# --- block steps, against numbers written out -------------------------------------------------------------------------


@pytest.mark.parametrize("options", BLOCK_STEPS, ids=str)
def test_block_steps_never_lower_the_dual(options):
    """D(a) = b'a - lam/2 ||max(A a, 0)||^2, from the a of the solver by numpy."""
    psi, losses, _, _ = small()
    problem = fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE)
    solver = at_start("bcfw", problem, LAM, **options)
    before, shifted = 0.0, options["accelerate"]
    for k in range(1, 12 * problem.n):
        solver.advance(Budget(BIG, k))
        v = dual_image(solver, psi)
        clipped = v.copy()
        clipped[NONNEGATIVE] = np.maximum(v[NONNEGATIVE], 0.0)
        dual = solver.state.iterate.losses.mean() - 0.5 * LAM * clipped @ clipped
        assert solver.point("last").dual == pytest.approx(dual, abs=1e-12)
        assert solver.point("last").w[NONNEGATIVE].min() >= 0.0
        if not shifted:  # with acceleration it is the dual of the centred problem that rises
            assert dual >= before - 1e-13
            np.testing.assert_allclose(solver.point("last").w, clipped, atol=1e-12)
            before = dual
        gap = primal(psi, losses, solver.point("last").w, LAM) - dual
        assert total_gap(solver, solver.fresh_gaps()) == pytest.approx(gap, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["fw", "pairwise", "away", "corrective"])
@pytest.mark.parametrize("cache", [False, {"size": 6}], ids=["", "cache"])
def test_no_other_length_of_a_step_has_a_higher_dual(step, cache):
    """D along the way of every step, as far as the simplex goes, by numpy; the published step falls short of it."""
    psi, losses, _, _ = small()
    problem = fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE)
    ends = {}
    for search in ("exact", "published"):
        options = {"step": step, "cache": cache, "sampling": "perm", "constrained_search": search}
        solver = at_start("bcfw", problem, LAM, **options)
        before, short_steps = dual_variables(solver, psi), 0
        for k in range(1, 10 * problem.n):
            solver.advance(Budget(BIG, k))
            after = dual_variables(solver, psi)
            change = [b - a for a, b in zip(before, after, strict=True)]
            if max(np.abs(c).max() for c in change) < 1e-12:  # of rounding errors, which lead nowhere
                continue
            shares = [-a[c < 0.0] / c[c < 0.0] for a, c in zip(before, change, strict=True)]
            furthest = min((share.min() for share in shares if len(share)), default=0.0)
            values = [
                dual_at([a + t * c for a, c in zip(before, change, strict=True)], psi, losses)
                for t in np.linspace(0, furthest, 200)
            ]
            short = max(values, default=0.0) - dual_at(after, psi, losses)
            short_steps += short > 1e-6
            if search == "exact":
                assert short <= 1e-12
            before = after
        assert search == "exact" or short_steps > 3
        ends[search] = dual_at(before, psi, losses)
    if step == "fw":
        assert ends["exact"] > ends["published"]


def dual_at(variables, psi, losses):
    """D(a), from its definition."""
    n = len(psi)
    v = sum(a @ rows for a, rows in zip(variables, psi, strict=True)) / (LAM * n)
    v[NONNEGATIVE] = np.maximum(v[NONNEGATIVE], 0.0)
    return sum(a @ values for a, values in zip(variables, losses, strict=True)) / n - 0.5 * LAM * v @ v


def dual_image(solver, psi):
    """Return A a."""
    variables = dual_variables(solver, psi)
    return sum(a @ rows for a, rows in zip(variables, psi, strict=True)) / (solver.lam * solver.problem.n)


def dual_variables(solver, psi):
    """Return a, from vectors of parts (weights of the outputs) or from the active sets."""
    problem, dual = solver.problem, solver.state.iterate.dual
    variables = []
    for i, rows in enumerate(psi):
        a = np.zeros(len(rows))
        if hasattr(dual, "blocks"):
            a += dual.blocks[problem.part_ptr[i] : problem.part_ptr[i + 1]]
            a[0] = 1.0 - a[1:].sum()
        else:
            for slot in range(dual.count[i]):
                a[dual.storage[dual.place[dual.first[i] + slot]]] += dual.weight[dual.first[i] + slot]
        variables.append(a)
    return variables


def test_known_numbers_are_those_of_the_constrained_problem():
    psi, losses, _, best = small()
    problem = fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE)
    for options in ({"sampling": "gap", "refresh": 1}, {"step": "pairwise", "sampling": "gap", "refresh": 1}):
        solver = at_start("bcfw", problem, LAM, **options)
        solver.advance(Budget(3 * problem.n, BIG))
        gap = solver.exact_gap()
        w = solver.point("last").w
        assert gap == pytest.approx(primal(psi, losses, w, LAM) - solver.point("last").dual, abs=1e-12)
        assert solver.known_hinge == pytest.approx(primal(psi, losses, w, 0.0), abs=1e-12)
        assert solver.point("last").dual <= best
        solver.change_lam(0.5 * LAM)
        np.testing.assert_allclose(solver.point("last").w, w, atol=1e-14)
        assert solver.exact_dual() == pytest.approx(solver.point("last").dual, abs=1e-12)
        gap = primal(psi, losses, w, 0.5 * LAM) - solver.exact_dual()
        assert solver.known_gap == pytest.approx(gap, abs=1e-12)
        again = at_start("bcfw", problem, LAM, seed=1, warm_start=solver, **options)
        assert again.point("last").dual == pytest.approx(again.exact_dual(), abs=1e-12)
        assert again.point("last").w[NONNEGATIVE].min() >= 0.0


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("bcfw", {}),
        ("bcfw", {"step": "corrective", "accelerate": {"kap": 2.0, "period": 1}}),
        ("ssg", {}),
        ("fw", {}),
        ("fcfw", {}),
        ("one_slack", {}),
    ],
    ids=str,
)
def test_solvers_keep_their_promises_with_constraints(solver, options, monkeypatch):
    """States, warm starts, seeds and bounds, as without constraints in tests/test_every_solver.py."""
    run_in_plain_python(monkeypatch)
    psi, losses, _, _ = small()
    check_solver(solver, fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE), lam=LAM, **options)


# --- the regularisation path -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"step": "fw", "accelerate": False}], ids=str)
def test_paths_are_certified_under_constraints(options):
    psi, losses, _, _ = small()
    problem = fwexp.enumerated_problem(psi, losses, nonnegative=NONNEGATIVE)
    path = fwexp.regularization_path(problem, eps=0.05, lam_min=0.02, max_passes=20000, **options)
    assert path.status == "converged"
    for lam in (100.0, 1.01 * path.lam[0], 0.5, 0.1, 0.0201):
        w, best = path.w_at(lam), optimum(psi, losses, lam, NONNEGATIVE)[1]
        assert w[NONNEGATIVE].min() >= 0.0
        assert best - 1e-9 <= primal(psi, losses, w, lam) <= best + path.gap_at(lam) + 1e-9
        assert path.gap_at(lam) <= 0.05 + 1e-9


# --- the quadratic program of cutting planes ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_the_clipped_quadratic_program_is_solved(seed, scale):
    """Singular matrices, repeated rows, any scale; compared with SLSQP on D itself."""
    rng = np.random.default_rng(seed)
    m, free, q, lam = 9, seed % 3, 1 + 2 * seed, 0.7
    W, rows, b = rng.normal(size=(m, free)), rng.normal(size=(m, q)) + 0.3, rng.uniform(size=m)
    W[-1], rows[-1], b[-1] = W[0], rows[0], b[0]
    qp = SimplexQP(1e-10)
    for k in range(m):
        qp.add(scale * lam * W[:k] @ W[k], scale * lam * W[k] @ W[k], scale * b[k])
    gap = maximise(qp, np.sqrt(scale) * rows, lam)
    a = qp.a[:m]

    def dual(a):
        return b @ a - 0.5 * lam * ((W.T @ a) @ (W.T @ a) + np.sum(np.maximum(rows.T @ a, 0.0) ** 2))

    solution = scipy.optimize.minimize(
        lambda a: -dual(a),
        np.full(m, 1.0 / m),
        bounds=[(0.0, 1.0)] * m,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert gap <= 1e-9 * scale
    assert qp.accuracy >= gap
    assert a.min() >= 0.0
    assert a.sum() == pytest.approx(1.0, abs=1e-12)
    assert dual(a) == pytest.approx(-solution.fun, abs=1e-7)


def test_the_line_search_is_exact():
    rng = np.random.default_rng(3)
    for _ in range(200):
        u, change = rng.normal(size=(2, rng.integers(1, 6)))
        change[rng.random(len(change)) < 0.2] = 0.0
        slope, curvature = rng.exponential(), rng.choice([0.0, rng.exponential()])
        base = slope + 0.7 * np.maximum(u, 0.0) @ change

        def D(t, u=u, change=change, base=base, curvature=curvature):
            return base * t - 0.5 * curvature * t * t - 0.35 * np.sum(np.maximum(u + t * change, 0.0) ** 2)

        t = exact_step(slope, curvature, u, change, 0.7)
        grid = np.linspace(0.0, 1.0, 501)
        assert 0.0 <= t <= 1.0
        assert D(t) >= max(D(s) for s in grid) - 1e-12


# --- families, and what is refused ---------------------------------------------------------------------------------------


# Forms with constraints, some of which hold with equality at the optimum and some do not, seeds, and the places of constraints.
FAMILIES = {
    "dense chain": (15, [0, 4, 5, 7, 12, 20], {}),  # of 3 * 2 features, 2 * 3 ends, 9 transitions; rows are padded from 3 to 8
    "dense classes": (5, np.isin(np.arange(9), [1, 2, 8]), {"sizes": (3, 3)}),
    "dense matchings": (0, slice(1, 3), {}),
    "dense graphs": (1, None, {}),  # of the weights of edges
    "functions": (13, [0, 2], {}),
}
PLACES = {"dense classes": [1, 2, 8], "dense matchings": [1, 2], "dense graphs": [6, 7]}
SOME_METHODS = [("bcfw", {}), ("bcfw", {"step": "corrective", "sampling": "perm"}), ("fw", {}), ("one_slack", {})]
ON_FUNCTIONS = [("bcfw", {"sampling": "perm", "accelerate": {"kap": 2.0, "period": 3}, "cache": True}), ("fcfw", {}), ("ssg", {})]


@cache
def constrained(family):
    """Return the problem, the places of its constraints, and P* with every labeling written out."""
    seed, nonnegative, more = FAMILIES[family]
    defined = build(family, seed, **more | ({} if nonnegative is None else {"nonnegative": nonnegative}))
    tp, indices = defined.written_out(), PLACES.get(family, nonnegative)
    w, best = optimum(tp.psi, tp.loss, LAM, indices)
    assert {*(w[indices] < 1e-6)} == {False, True}
    assert best > optimum(tp.psi, tp.loss, LAM, [])[1] + 1e-6
    return defined.problem, indices, best


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_constraints(family):
    problem, indices, best = constrained(family)
    assert public_indices(problem).tolist() == indices
    for solver, options in SOME_METHODS + (ON_FUNCTIONS if family == "functions" else []):
        result = fwexp.solve(problem, solver, lam=LAM, gap_tol=1e-3, max_passes=300, schedule=5, **options)
        assert best - 1e-9 <= result.primal <= best + 0.02
        assert solver == "ssg" or result.dual <= best + 1e-9
        assert result.w[indices].min() >= 0.0
        assert solver != "one_slack" or result.status == "converged"
        assert result.status != "diverged"


@pytest.mark.parametrize(("solver", "options"), METHODS, ids=str)
def test_every_method_reaches_the_optimum_of_a_segmentation(solver, options):
    problem, indices, best = constrained("dense graphs")
    sublinear = solver in ("ssg", "fw", "approx_bcfw") or (solver == "bcfw" and options.get("step", "fw") == "fw")
    result = fwexp.solve(problem, solver, lam=LAM, gap_tol=1e-4, max_passes=150, schedule=10, **options)
    assert (result.trace.primal >= best - 1e-9).all()
    assert result.primal <= best + (2e-2 if sublinear else 2e-4)
    assert result.w[indices].min() >= 0.0
    if solver != "ssg":
        assert (result.trace.dual <= best + 1e-9).all()
        assert result.gap <= (2e-2 if sublinear else 2e-4)
        assert result.state.exact_dual() == pytest.approx(result.state.point("last").dual, abs=1e-9)


def test_predictions_need_no_constraints():
    problem, *_ = constrained("dense classes")
    result = fwexp.solve(problem, "one_slack", lam=LAM)
    free = problem._replace(nonnegative=protocol.UNCONSTRAINED)
    assert result.predict(free) == result.predict(problem) == fwexp.predict(problem.x.values, result)
    assert fwexp.solve(problem, "one_slack", lam=LAM, test=free).w.tolist() == result.w.tolist()


@pytest.mark.parametrize("solver", ["n_slack", "online_eg", "kernel_bcfw", "kernel_fw"])
def test_other_solvers_refuse_constraints(solver):
    with pytest.raises(OptionError, match=rf"{solver} cannot keep weights nonnegative; accepted: .*bcfw.*fw.*one_slack"):
        fwexp.solve(constrained("dense classes")[0], solver, lam=LAM)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([9], "got 9"),
        ([-1], "got -1"),
        ([True, False], r"got bool of shape \(2,\)"),
        (np.zeros((1, 2), dtype=int), r"shape \(1, 2\)"),
        (3, r"shape \(\)"),
        ([0.5], "got float64"),
        ("all", "got str 'all'"),
        (slice("a"), "got slice"),
        (slice(0, 3, 0), "got slice"),
    ],
    ids=str,
)
def test_bad_places_are_named(given, got):
    with pytest.raises(ValueError, match=r"nonnegative must be a mask of length d = 9, a slice, or integers 0 .. 8") as error:
        fwexp.multiclass_problem(np.eye(3), [0, 1, 2], nonnegative=given)
    error.match(got)


def test_every_way_to_name_places_is_the_same():
    mask = np.zeros(9, dtype=bool)
    mask[3:6] = True
    for given in (mask, mask.tolist(), slice(3, 6), [3, 4, 5], np.array([5, 3, 4, 4]), range(3, 6), slice(-6, -3)):
        problem = fwexp.multiclass_problem(np.eye(3), [0, 1, 2], nonnegative=given)
        assert public_indices(problem).tolist() == [3, 4, 5]
    for none in (None, [], np.zeros(9, dtype=bool), slice(0, 0)):
        assert len(fwexp.multiclass_problem(np.eye(3), [0, 1, 2], nonnegative=none).nonnegative) == 0
