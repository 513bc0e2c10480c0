"""When gap sampling pays: non-uniformity, the improvement that theory predicts, and an example where it is n-fold.

Theorem 2 of Osokin et al. (ICML 2016) bounds the suboptimality of BCFW with exact gap sampling by that of uniform sampling
with the curvature C divided by chi(gap)^3/chi(C_1 .. C_n), where chi measures how uneven nonnegative numbers are.
"""

from typing import ClassVar

import numpy as np

from fwexp.blocks.acceleration import total_gap
from fwexp.driver.log import Log
from fwexp.driver.loop import drive
from fwexp.driver.progress import Progress
from fwexp.driver.values import Objective, Value
from fwexp.errors import ParameterError
from fwexp.jit.compilation import njit, specialise
from fwexp.options import check_integer
from fwexp.problems.enumerated import EnumeratedProblem, enumerated_problem
from fwexp.problems.protocol import add_psi, clear, close, max_oracle, norm_sq, scores, to_public, workspace
from fwexp.solvers.bcfw import BCFW
from fwexp.tasks.result import result_of_rows
from fwexp.tasks.task import Task
from fwexp.tasks.training_settings import Settings


def chi(x) -> float:
    """Return sqrt(1 + n^2 Var(p)) for p = x / sum(x): 1 if all n numbers are equal, also 0; sqrt(n) if all but one are 0."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0 or not (np.isfinite(x).all() and x.min() >= 0.0):
        raise ParameterError(f"chi needs a vector of finite numbers >= 0, got {x!r}")
    total = x.sum()
    return float(np.sqrt(1.0 + len(x) ** 2 * np.var(x / total))) if total > 0.0 else 1.0


def curvature_bounds(radii_sq, lam: float) -> np.ndarray:
    """Return C_i = 4 R_i^2/(lam n^2), the bounds on the block curvatures, for R_i^2 = max_y ||psi_i(y)||^2."""
    radii_sq = np.asarray(radii_sq, dtype=np.float64)
    return 4.0 * radii_sq / (lam * len(radii_sq) ** 2)


def predicted_improvement(gaps, curvature) -> float:
    """Return chi(gaps)^3/chi(curvature), by which Theorem 2 expects gap sampling to gain on uniform sampling."""
    return chi(gaps) ** 3 / chi(curvature)


@njit
def _raise_radii(problem, w, work, radii_sq):
    """Raise ``radii_sq`` to the ||psi_i(y)||^2 of the labelings that the oracle finds at w."""
    for i in range(problem.n):
        scores(problem, i, w, work.theta)
        max_oracle(problem, i, work.theta, work.y, work.scratch)
        clear(problem, i, work.direction)
        add_psi(problem, i, work.y, 1.0, work.direction)
        close(problem, i, work.direction)
        radii_sq[i] = max(radii_sq[i], norm_sq(problem, i, work.direction))


class Improvement(Task):
    """The block gaps of a run, and what theory predicts of gap sampling there.

    After every row of the schedule it computes the exact block gaps; looking on is not counted and changes nothing. The column
    ``gap_estimate`` is the gap as the run knows it, infinite until all examples were visited, and ``chi_curvature`` has R_i from
    the largest psi seen so far.
    """

    name = "improvement"
    title = "block gaps along a run, and what gap sampling would gain"
    reads: ClassVar = {"lam": None, "seed": 0, "max_passes": 50, "gap_tol": 0.0, "time_limit": None, "schedule": 1.0}

    def run(self, problem, solver, options, *, test=None, validation=None, metrics=None, verbose=False, checkpoint=None):
        arguments = self.given | {"iterates": ["last"], "iterate": "last", "verbose": verbose, "checkpoint": checkpoint}
        settings = Settings(problem=problem, solver=solver, options=options, **arguments)
        running = settings.new_solver()
        progress = Progress(settings.max_passes, verbose, f"{self.name} lam={running.lam:.3g}")
        log = Log(running, BlockGaps(running), iterate="last", progress=progress)
        status = drive(running, log, settings, settings.schedule, progress, settings.checkpoint)
        progress.close(str(status))
        w = to_public(problem, log.best[1].w)
        return result_of_rows(log.rows, w, status, running.lam, solver, vars(running.options), settings.seed)


class BlockGaps(Objective):
    """The exact block gaps at w, which make up the gap, and what theory predicts of gap sampling there."""

    def __init__(self, solver: BCFW) -> None:
        self.solver, self.calls = solver, 0
        self._work, self._radii_sq = workspace(solver.problem), np.zeros(solver.problem.n)

    @property
    def state(self):
        return self.calls, self._radii_sq

    def restore(self, state):
        self.calls, self._radii_sq = state

    def cost(self) -> int:
        return 2 * self.solver.problem.n

    def __call__(self, point, stop=None):
        solver, problem = self.solver, self.solver.problem
        block_gaps = solver.fresh_gaps()
        specialise(_raise_radii, problem)(problem, point.w, self._work, self._radii_sq)
        self.calls += self.cost()
        gap, chi_gaps = total_gap(solver, block_gaps), chi(block_gaps)
        chi_curvature = chi(curvature_bounds(self._radii_sq, solver.lam))
        uneven = {"chi_gaps": chi_gaps, "chi_curvature": chi_curvature, "improvement": chi_gaps**3 / chi_curvature}
        return Value(point.dual + gap, {"gap": gap, "gap_estimate": solver.known_gap} | uneven)


def one_hard_example(n: int, outputs: int) -> EnumeratedProblem:
    """Build a problem on which gap sampling is up to n times faster than Lipschitz and uniform sampling.

    Example 0 has ``outputs`` = m wrong outputs with orthonormal psi; each of the other n - 1 examples has one wrong output, with a
    unit vector of its own for psi. All wrong outputs have loss 1, so R_i = 1 for all i, and Lipschitz sampling is uniform.

    Let lam n > 1. The dual separates, for no two examples share a coordinate of w. An example i > 0 is solved by its first visit:
    there the line search goes to the end, and gap_i = 0 from then on. Example 0 is a minimisation of ||a||^2 over the simplex:
    after k <= m visits k outputs have weight 1/k each, and D* - D = (1/k - 1/m)/(2 lam n^2). Uniform sampling needs k n steps for
    this in expectation; gap sampling visits the others twice at most, once to see gap_i > 0 and once to find 0, so it needs at
    most k + 2 (n - 1). The ratio tends to n as k grows.
    """
    for name, value, least in (("n", n, 1), ("outputs", outputs, 1)):
        check_integer(name, value, least)
    units = np.eye(outputs + n - 1)
    truth = np.zeros((1, len(units)))
    psi = [np.vstack([truth, units[:outputs]])] + [np.vstack([truth, row]) for row in units[outputs:]]
    return enumerated_problem(psi, [np.repeat([0.0, 1.0], [1, len(rows) - 1]) for rows in psi])
