"""What a run may do beside training at one lam: follow the regularisation path, walk a grid of lam, look at the block gaps.

``task=path`` and the others are stored, skipped, swept and drawn like training runs. They run bcfw and read the settings
of a run in their own way: a path or grid goes down to ``lam``, with gaps of ``gap_tol``.
"""

import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from fwexp.driver import settings
from fwexp.driver.loop import Bounds
from fwexp.driver.progress import Progress
from fwexp.driver.settings import HEURISTIC_PATH, IMPROVEMENT, PATH, TRAIN, WARM_GRID
from fwexp.driver.trace import TRACE_COLUMNS, Status
from fwexp.errors import ParameterError
from fwexp.problems.protocol import to_public
from fwexp.tasks.improvement import look_along, looking_solver
from fwexp.tasks.path import GRID, KAPPA
from fwexp.tasks.result import Result
from fwexp.tasks.walk import GridWalk, PathWalk, run_walk


def perform(config: Mapping, train, test=None, metrics: Callable | None = None, *, verbose: bool = False) -> Result:
    """Do what a canonical configuration says.

    Parameters
    ----------
    config : mapping
        Without solver ``auto``.
    train, test : problems
        The data set of the configuration.
    metrics : callable, optional
        As for `fwexp.solve`.
    verbose : bool
        Whether to show progress.
    """
    from fwexp.api import solve

    given = {key: value for key, value in config.items() if key not in ("task", "dataset", "solver")}
    options = dict(config["solver"])
    solver, task = options.pop("name"), config.get("task", TRAIN)
    if task == TRAIN:
        return solve(train, solver, test=test, metrics=metrics, verbose=verbose, **given, **options)
    if task == IMPROVEMENT:
        return _improvement(train, given, options, verbose)
    return _path_or_grid(task, train, given, options, verbose)


def _path_or_grid(task: str, train, given: Mapping, options: Mapping, verbose: bool) -> Result:
    """Go from the largest lam down to ``lam`` with gaps of ``gap_tol``; ``w`` are the weights at the last break point."""
    lam, eps = settings.check_lam(given["lam"], train.n), given["gap_tol"]
    if eps == 0.0:
        raise ParameterError(f"gap_tol of task {task} must be positive, got 0")
    exact = task != HEURISTIC_PATH
    if not exact and options["refresh"] is None:
        options = dict(options) | {"refresh": 0}
    if task in (PATH, HEURISTIC_PATH):
        walk = PathWalk(train, dict(options), given["seed"], exact, eps, lam, KAPPA[exact])
    else:
        walk = GridWalk(train, dict(options), given["seed"], eps, [value for value in GRID if value >= lam], warm=task == WARM_GRID)
    bounds = Bounds(given["max_passes"], 0.0, given["time_limit"])
    status, rows = run_walk(walk, bounds, f"{task} to lam={lam:.3g}", verbose)
    for row in rows:
        row["at_lam"] = row.pop("lam")
        if not row.pop("certified"):  # what a heuristic path knows are estimates
            row |= {"gap_estimate": row["gap"], "gap": math.nan, "primal": math.nan}
    return _result(rows, walk.weights[-1] if rows else np.zeros(train.d), status, lam, given, options)


def _improvement(train, given: Mapping, options: Mapping, verbose: bool) -> Result:
    """Look at the block gaps of a run, and at what theory predicts of gap sampling there."""
    if not isinstance(given["schedule"], float):
        raise ParameterError(f"schedule of task {IMPROVEMENT} must be a number of passes, got {given['schedule']!r}")
    solver = looking_solver(train, given["lam"], given["seed"], options)
    progress = Progress(given["max_passes"], verbose, f"{IMPROVEMENT} lam={solver.lam:.3g}")
    bounds = Bounds(given["max_passes"], given["gap_tol"], given["time_limit"])
    log, status = look_along(solver, bounds, given["schedule"], progress)
    progress.close(str(status))
    return _result(log.rows, to_public(train, log.best[1].w), status, solver.lam, given, options)


def _result(rows: Iterable[dict], w: np.ndarray, status: Status, lam: float, given: Mapping, options: Mapping) -> Result:
    import pandas as pd

    trace = pd.DataFrame(rows)
    trace = trace.assign(iterate="last").reindex(columns=list(dict.fromkeys([*TRACE_COLUMNS, *trace.columns])))
    end = trace.iloc[-1] if len(trace) else dict.fromkeys(("primal", "dual", "gap"), math.nan)
    return Result(
        w=w,
        primal=float(end["primal"]),
        dual=float(end["dual"]),
        gap=float(end["gap"]),
        status=str(status),
        reason=status.sentence,
        trace=trace,
        iterate="last",
        solver="bcfw",
        options=dict(options),
        lam=lam,
        seed=given["seed"],
    )
