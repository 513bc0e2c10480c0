"""Training at one lam: from checked settings to a solver, and on to a certified result."""

import math

from fwexp.driver.clock import stopwatch
from fwexp.driver.log import Log, quiet
from fwexp.driver.loop import drive
from fwexp.driver.progress import Progress, telling_of_compilation
from fwexp.driver.settings import RunSettings
from fwexp.driver.trace import Status, lost_words
from fwexp.jit import threads
from fwexp.memory import check_room
from fwexp.problems.evaluation import evaluator
from fwexp.problems.protocol import costly_oracle, exact_oracle, to_public
from fwexp.problems.signature import signature
from fwexp.solvers.base import Solver
from fwexp.tasks.objective import SVMObjective, primal_value
from fwexp.tasks.result import Result
from fwexp.tasks.training_settings import Settings


def train(settings: Settings, oracle_check: type | None = None) -> Result:
    """Train with the settings and return the certified result; ``oracle_check`` is the class that checks oracles if they say so."""
    check_room(f"training on {settings.problem!r}", settings.memory)
    passed = stopwatch()
    with telling_of_compilation(settings.verbose), threads.jobs(settings.n_jobs):
        solver = settings.new_solver()
        objective = settings.new_objective(solver, oracle_check)
        result = run_solver(solver, settings, settings.iterates, settings.iterate, objective, settings.keep_state)
    result.lam = settings.lam  # without the rounding of a scale
    result.wall_seconds = passed()
    return result


def run_solver(
    solver: Solver,
    settings: RunSettings,
    iterates=("last",),
    iterate: str = "best",
    objective: SVMObjective | None = None,
    keep_state: bool = True,
) -> Result:
    """Run a solver from its start to the end of the run and return the certified result; by default it logs P alone."""
    objective = objective or SVMObjective(solver)
    label = f"{solver.name} lam={solver.lam / objective.scale:.3g}"
    progress = Progress(settings.max_passes, settings.verbose, label, settings.wanted_gap)
    log = Log(solver, objective, iterates, iterate, settings.callback, progress)
    status = drive(solver, log, settings, settings.schedule, progress, settings.checkpoint)
    progress.close(str(status))
    return as_result(solver, log, status, settings.seed, settings.wanted_gap(log.dual), keep_state)


def as_result(solver: Solver, log: Log, status: Status, seed: int, gap_tol: float, keep_state: bool = True) -> Result:
    """Return the result of a run, recomputed from scratch; if it differs from the log, the run has diverged."""
    # Without ``keep_state``, the variables of the solver are freed before the weights are copied.
    name, point, value = log.best
    primal, dual = log.certificate()
    reason = log.reason(status)
    if status is not Status.DIVERGED:
        again = primal if costly_oracle(solver.problem) else _primal(solver, point.w) / log.objective.scale
        wrong = log.drift("primal", primal) or log.drift("primal", again) or log.drift("dual", dual)
        status, reason = (Status.DIVERGED, wrong) if wrong else (status, reason)
    errors = {} if status is Status.DIVERGED else log.objective.errors(point, value)
    gap = primal - dual if log.certifies else math.nan
    if status is Status.STALLED:
        reason += "; raise lam, or choose units in which features are smaller: lam is too small for them"
    elif status is Status.CONVERGED and gap > gap_tol > 0.0:  # by rounding errors of the sums that the run kept
        status, reason = Status.STALLED, f"the gap recomputed from scratch is {gap:.3g}, above gap_tol={gap_tol:g}"
    elif status is Status.CONVERGED and log.rounding > gap_tol > 0.0:
        status, reason = Status.STALLED, f"rounding errors of the gap are up to {log.rounding:.3g}, above gap_tol={gap_tol:g}"
    if not exact_oracle(solver.problem):
        reason += "; nothing is certified, since the oracle is not exact"
    elif not value.certifies:
        reason += "; nothing is certified, since max_oracle found labelings without a loss only, as one that returns the truth does"
    if solver.lost:
        reason += f"; lost with workers: {lost_words(solver.lost)}"
    if not keep_state:
        vars(solver).pop("state", None)
    return Result(
        w=to_public(solver.problem, point.w),
        primal=primal,
        dual=dual,
        gap=gap,
        status=str(status),
        reason=reason,
        trace=log.rows,
        iterate=name,
        solver=solver.name,
        options=dict(vars(solver.options)),
        lam=solver.lam / log.objective.scale,
        objective=solver.objective.name,
        temperature=solver.objective.temperature or 1.0,
        seed=seed,
        structure=signature(solver.user_problem, inputs=solver.refers_to_inputs),
        lost=dict(solver.lost),
        errors=errors,
        state=solver if keep_state else None,
    )


def _primal(solver: Solver, w) -> float:
    """Return the primal objective at w, computed without the buffers of the run."""
    with quiet():
        value = evaluator(solver.problem, solver.objective)(w, error=False)
    return primal_value(solver, w, value.hinge, value.norm_sq)
