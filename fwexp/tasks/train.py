"""Training at one lam: from a solver to a certified result."""

from fwexp.driver.log import Log
from fwexp.driver.loop import Bounds, drive
from fwexp.driver.progress import Progress
from fwexp.driver.trace import TRACE_COLUMNS, Status
from fwexp.problems.protocol import to_public
from fwexp.problems.structure import structure
from fwexp.solvers.base import Solver
from fwexp.tasks.objective import SVMObjective
from fwexp.tasks.result import Result


def train(
    solver: Solver,
    bounds: Bounds,
    *,
    iterates=("last",),
    iterate: str = "best",
    schedule="default",
    seed: int = 0,
    objective: SVMObjective | None = None,
    callback=None,
    verbose: bool = False,
) -> Result:
    """Run a solver to one of its ends and return the certified result.

    Parameters
    ----------
    solver : Solver
        At its start.
    bounds : Bounds
    iterates, iterate, schedule, seed, callback, verbose
        As for `fwexp.solve`.
    objective : SVMObjective, optional
        What is logged; by default the primal objective alone.
    """
    progress = Progress(bounds.max_passes, verbose, f"{solver.name} lam={solver.lam:.3g}")
    log = Log(solver, objective or SVMObjective(solver), iterates, iterate, callback, progress)
    status = drive(solver, log, bounds, schedule, progress)
    progress.close(str(status))
    return as_result(solver, log, status, seed)


def as_result(solver: Solver, log: Log, status: Status, seed: int) -> Result:
    """Return what a log says was reached, recomputed from scratch."""
    import pandas as pd

    name, point, _ = log.best
    primal, dual = log.certificate()
    columns = dict.fromkeys([*TRACE_COLUMNS, *(name for row in log.rows for name in row)])
    return Result(
        w=to_public(solver.problem, point.w),
        primal=primal,
        dual=dual,
        gap=primal - dual if solver.certifies else float("nan"),
        status=str(status),
        reason=status.sentence,
        trace=pd.DataFrame(log.rows, columns=list(columns)),
        iterate=name,
        solver=solver.name,
        options=dict(vars(solver.options)),
        lam=solver.lam,
        seed=seed,
        structure=structure(solver.given, inputs=solver.refers_to_inputs),
        state=solver,
    )
