"""chi, the predicted improvement, and the example on which gap sampling is n times faster."""

import numpy as np
import pytest

import fwexp
from fwexp.driver.iteration import Budget
from fwexp.errors import ParameterError
from fwexp.problems.protocol import radii_sq
from fwexp.solvers import SOLVERS, check_options
from fwexp.tasks import TASKS
from fwexp.tasks.improvement import chi, curvature_bounds, one_hard_example, predicted_improvement
from tests import reference as ref
from tests.reference.examples import multiclass


def steps_to(problem, lam, suboptimality, optimum, sampling, seed=0):
    """How many steps BCFW takes until D* - D is at most ``suboptimality``."""
    cls = SOLVERS["bcfw"]
    solver = cls(problem, lam, check_options(cls, {"sampling": sampling, "refresh": 0}), seed)
    while optimum - solver.point("last").dual > suboptimality:
        solver.advance(Budget(10**9, solver.step + 1))
    return solver.step


@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_the_transcription(seed):
    rng = np.random.default_rng(seed)
    gaps, curvature = rng.exponential(size=20), rng.uniform(size=20)
    assert chi(gaps) == pytest.approx(ref.chi(gaps), rel=1e-14)
    assert predicted_improvement(gaps, curvature) == pytest.approx(ref.improvement_factor(gaps, curvature), rel=1e-14)
    tp = ref.tiny_multiclass(*multiclass(seed), 3)
    squares = [(psi**2).sum(axis=1).max() for psi in tp.psi]
    np.testing.assert_allclose(curvature_bounds(squares, 0.3), ref.curvature_bound(tp, 0.3))


def test_chi_at_its_ends():
    assert chi(np.full(9, 0.3)) == pytest.approx(1.0)
    assert chi(np.eye(9)[4]) == pytest.approx(3.0)
    assert chi(np.zeros(9)) == 1.0
    for wrong in ([], [1.0, -1.0], [np.nan], [[1.0]]):
        with pytest.raises(ParameterError, match="finite numbers >= 0"):
            chi(wrong)


def test_one_hard_example_is_as_its_docstring_says():
    """The optimum, by the transcription's QP; the suboptimality after k visits; equal radii."""
    n, outputs, lam = 3, 6, 0.7
    problem = one_hard_example(n, outputs)
    np.testing.assert_array_equal(radii_sq(problem), np.ones(n))
    psi = np.split(problem.psi, problem.part_ptr[1:-1])
    losses = np.split(problem.losses, problem.part_ptr[1:-1])
    tp = ref.TinyProblem(tuple(psi), tuple(losses), tuple(list(range(len(rows))) for rows in psi), (0,) * n)
    optimum = ref.qp_optimum(tp, lam).dual
    assert optimum == pytest.approx(optimum_of(n, outputs, lam))
    order = [1, 2, *[0] * outputs]
    result = fwexp.solve(
        problem, "bcfw", lam=lam, order=order, max_passes=len(order) / n, gap_tol=0, schedule=1 / n, iterates=("last",)
    )
    visits = np.arange(1, outputs + 1)
    np.testing.assert_allclose(
        optimum - result.trace["dual"].iloc[3:], (1 / visits - 1 / outputs) / (2 * lam * n**2), rtol=1e-9, atol=1e-13
    )


def optimum_of(n, outputs, lam):
    """D* of the example, for lam n > 1."""
    return 1 - ((n - 1) + 1 / outputs) / (2 * lam * n**2)


@pytest.mark.compiled
@pytest.mark.parametrize("sampling", ["lipschitz", "uniform"])
def test_gap_sampling_is_n_times_faster(sampling):
    visits, outputs = 150, 300
    for n in (4, 16):
        problem, lam = one_hard_example(n, outputs), 2.0 / n
        # Between the values after visits - 1 and visits, so that rounding cannot decide.
        target = (1 / (visits - 0.5) - 1 / outputs) / (2 * lam * n**2)
        optimum = optimum_of(n, outputs, lam)
        by_gap = steps_to(problem, lam, target, optimum, "gap")
        other = steps_to(problem, lam, target, optimum, sampling)
        assert visits + n - 1 <= by_gap <= visits + 2 * (n - 1)
        assert other / n == pytest.approx(visits, rel=5 / np.sqrt(visits))  # five standard deviations
        assert other / by_gap > 0.6 * n


@pytest.mark.parametrize(("n", "outputs", "message"), [(0, 2, "n must be"), (2, 0, "outputs must be"), (2, 1.5, "outputs must be")])
def test_wrong_sizes_are_refused(n, outputs, message):
    with pytest.raises(ParameterError, match=message):
        one_hard_example(n, outputs)


def improvement_along_run(problem, options, **settings):
    """Return the rows of the task."""
    task = TASKS["improvement"]
    return task(task.Options(), task.check_settings(settings, "bcfw", options)).run(problem, "bcfw", options).trace


@pytest.mark.parametrize("options", [{}, {"sampling": "gap", "step": "pairwise", "cache": True}], ids=["plain", "gap-cache"])
def test_improvement_along_a_run(options):
    rng = np.random.default_rng(0)
    psi = [np.vstack([np.zeros(2), rng.normal(size=(3, 2))]) for _ in range(6)]
    problem = fwexp.enumerated_problem(psi, [np.array([0.0, 1.0, 1.0, 0.5])] * 6)
    frame = improvement_along_run(problem, options, lam=0.1, max_passes=30, schedule=2.0)
    run = fwexp.solve(problem, "bcfw", lam=0.1, max_passes=30, gap_tol=0, schedule=2.0, iterates=("last",), **options)
    # It does not change the run, and its gaps are those of the log.
    trace = run.trace[run.trace["passes"].isin(frame["passes"])].drop_duplicates("passes", keep="last").set_index("passes")
    merged = frame.drop_duplicates("passes", keep="last").set_index("passes")
    common = merged.index.intersection(trace.index)
    assert len(common) >= 5
    if not options:
        np.testing.assert_allclose(merged.loc[common, "gap"], trace.loc[common, "gap"], atol=1e-12)
    assert frame["passes"].iloc[0] == 0
    assert frame["passes"].iloc[-1] <= 30
    assert (frame["chi_gaps"] >= 1).all()
    np.testing.assert_allclose(frame["improvement"], frame["chi_gaps"] ** 3 / frame["chi_curvature"])
    # R_i can only have grown, and at w = 0 they are those of the first labelings.
    assert frame["chi_curvature"].between(1, np.sqrt(6)).all()


@pytest.mark.parametrize("accelerate", [False, True, {"kap": 3.0, "period": 1.0}])
def test_gap_is_that_of_the_problem_itself(accelerate):
    """Also with acceleration, whose block gaps sum to the gap of the centred problem."""
    problem = one_hard_example(6, 4)
    lam, options = 0.05, {"step": "corrective", "sampling": "perm", "accelerate": accelerate}
    frame = improvement_along_run(problem, options, lam=lam, max_passes=6)
    result = fwexp.solve(problem, "bcfw", lam=lam, max_passes=6, gap_tol=0, schedule=1.0, iterates=["last"], **options)
    np.testing.assert_allclose(frame["gap"], result.trace["gap"], rtol=1e-10, atol=1e-14)
