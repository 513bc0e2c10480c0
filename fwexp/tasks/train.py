"""Training at one lam: from what people ask for to a solver, and on to a certified result."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

from fwexp.blocks.sampling import check_order
from fwexp.driver import settings
from fwexp.driver.checkpoint import Checkpoint
from fwexp.driver.clock import stopwatch
from fwexp.driver.log import Log, quiet
from fwexp.driver.loop import Bounds, drive
from fwexp.driver.progress import Progress, shown_lam, telling_of_compilation
from fwexp.driver.trace import Status, lost_words
from fwexp.errors import OptionError, ParameterError, shown, unknown
from fwexp.memory import check_room
from fwexp.options import check_flag, check_function, check_names
from fwexp.plugins import STRUCTURED, takes_options
from fwexp.problems.evaluation import evaluator
from fwexp.problems.protocol import costly_oracle, exact_oracle, to_public
from fwexp.problems.signature import check_labels, check_problem_type, check_signature, signature
from fwexp.solvers import check_needs, check_options, get_method, get_solver
from fwexp.solvers.base import Solver
from fwexp.tasks.objective import SVMObjective
from fwexp.tasks.result import Result
from fwexp.tasks.task import Task


@takes_options(STRUCTURED)
def solve(
    problem,
    solver: str = "auto",
    *,
    lam: float | str | None = None,
    max_passes: float = 50,
    gap_tol: float = 1e-3,
    time_limit: float | None = None,
    seed: int = 0,
    test=None,
    metrics=None,
    iterates: Sequence[str] | None = None,
    iterate: str = "best",
    schedule="default",
    train_error: bool = False,
    check: bool = False,
    order: Sequence[int] | None = None,
    warm_start: Result | None = None,
    callback=None,
    verbose: bool = False,
    checkpoint: Checkpoint | None = None,
    **options: Any,
) -> Result:
    """Train a structural SVM: minimise lam/2 ||w||^2 + 1/n sum_i H_i(w).

    Parameters
    ----------
    problem : problem
        Training set, from a constructor such as ``fwexp.chain_problem``.
    solver : str
        ``auto`` (the setting that measures best), or the name of a solver or of a method in ``conf/solver``, such as
        ``bcpfw_gap_cache``; options take the place of those that a method states.
    lam : float or "1/n"
        Regularisation; must be given. Where other software has C, in C sum_i H_i(w) beside 1/2 ||w||^2, lam is 1/(C n).
    max_passes : float
        Bound on oracle calls / n.
    gap_tol : float
        Stop at a logged point where the certified gap, in units of the objective, is at most this; 0 runs to
        ``max_passes``. Ignored by methods without a dual point, and where the oracle is not exact, which certifies nothing.
    time_limit : float, optional
        Solver seconds. Evaluation for the log may take as long again: rows of the schedule are left out while it takes longer than
        the steps. Where the oracle is in Python (``CallbackProblem``) wall seconds, evaluation for the log included.
    seed : int
        Seed of the random choices.
    test : problem, optional
        Test set, whose error is logged.
    metrics : callable, optional
        ``metrics(predictions) -> {name: number}``, more to log of the predictions for ``test``, in columns of these names.
    iterates : sequence of str
        Iterates to log, of ``last``, ``wavg``, ``tavg``, ``avg``; by default ``last`` and, where the solver has it,
        ``wavg``.
    iterate : str
        Which iterate to return: the ``best`` logged one (lowest primal), or the final ``last``, ``wavg``, ...
    schedule : "default", float or sequence of float
        When to log, in passes; logging does not change a run. Logging calls the oracle of every example for each iterate
        (and ``decode`` for errors), which the column ``evaluation_calls`` of the trace counts; ``gap_tol`` is tested
        there only. ``"default"``: at 2^-7 .. 2^-1 of a pass, every pass to 50, then every pass count growing by 1.1.
        Where the oracle is in Python, only those of these points at which evaluation makes up to a quarter of the
        solver's calls (the start and the end come on top), so a run may go a few passes beyond ``gap_tol``; and for
        nothing, the last iterate wherever the solver's own calls show its objective (at a refresh of ``bcfw``, after
        every pass of ``one_slack``). With ``sampling`` shrinking, whose passes take little longer than an evaluation, after
        every tenth pass, and where the gaps that steps have met promise ``gap_tol``. Any other schedule is kept as given.
        Steps that a cache answers are logged after every n of them; between points that are given one by one, after n, 2n,
        4n ... since the last.
    train_error : bool
        Whether to log the training error.
    check : bool
        Whether to compare, at every logged point, what the oracle returns for some examples with their true labelings, those
        of other examples and random ones. A better one ends the run with a ``CertificateError``, which names it (oracles that
        are declared inexact only have to be as good as the truth). Its calls are in ``evaluation_calls``.
        ``CallbackProblem`` has a few answers at w = 0 compared in any case.
    order : sequence of int, optional
        Block indices from 0, one per step, instead of a sampling rule; with a cache, whose hits are steps as well, over and
        over.
    warm_start : Result, optional
        Start from the dual variables of this result of the same solver on the same problem, at any lam.
    callback : callable, optional
        Called with every row of the trace, a dict; if it returns True the run ends, ``interrupted``, with what it has.
    verbose : bool
        Whether to show progress on standard error, and that kernels are compiled, where the first run with a kind of problem
        waits for that.
    checkpoint : Checkpoint, optional
        The file (`fwexp.driver.checkpoint.Checkpoint`) in which the run is saved at intervals and where it is interrupted,
        and from which it goes on, bit for bit but for times. The runs of ``fwexp run`` have one each.
    **options
        The solver's own options.

    Returns
    -------
    Result
        With weights ``w``, a certified ``gap`` and the ``trace``.

    Raises
    ------
    ValueError
        A value outside what a parameter accepts.
    TypeError
        An option that the solver does not have, or that cannot be combined.
    MemoryError
        More memory is needed than there is, as far as can be said before a run: what is needed, and what is available.
    KeyboardInterrupt
        The second Ctrl-C. The first one ends the run, ``interrupted``, with a warning and the result so far. The second one
        raises also if it comes in a later run of the same script or cell.

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> result = fwexp.solve(train, lam=0.01, max_passes=20, test=test)
    >>> result.gap < 0.05
    True
    """
    check_problem_type(problem)
    # A problem that is spread out knows how it is solved.
    cls, options = problem.method(solver, options) if hasattr(problem, "method") else get_method(solver, options)
    check_names(f"solver {solver}", options, [field.name for field in fields(cls.Options)], ARGUMENTS)
    if lam is None:
        raise OptionError('solve needs lam, a positive finite number or "1/n"')
    lam = settings.check_lam("lam", lam, problem.n)
    iterates = settings.check("iterates", iterates)
    if not isinstance(iterate, str):
        raise ParameterError(unknown("iterate", iterate, ("best", *settings.ITERATES)))
    if order is not None and ("sampling" in options or not cls.takes_order):
        clash = "sampling" if cls.takes_order else f"solver {solver}, which visits no examples one by one"
        raise OptionError(f"order excludes {clash}")
    checked = check_options(cls, options)
    asked, (cls, checked) = cls, cls.choose(checked, problem, lam, iterates if iterate in ("best", "last") else [iterate], order)
    check_needs(cls, problem, checked, asked.name)
    check_labels(problem)
    seed, max_passes = settings.check("seed", seed), settings.check("max_passes", max_passes)
    gap_tol, time_limit = settings.check("gap_tol", gap_tol), settings.check("time_limit", time_limit)
    schedule = settings.check("schedule", schedule)
    iterates = check_iterates(cls, checked, iterates, iterate, asked.name)
    train_error, check = settings.check("train_error", train_error), settings.check("check", check)
    verbose = check_flag("verbose", verbose)
    check_function("callback", callback, optional=True)
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise ParameterError(f"checkpoint must be a fwexp.driver.checkpoint.Checkpoint, got {shown(checkpoint)}")
    check_function("metrics", metrics, optional=True)
    if test is not None:
        check_problem_type(test, "test")
        check_signature("test", signature(test), "problem", signature(problem))
    elif metrics is not None:
        raise ParameterError("metrics are computed of a test set: test must be given, got None")
    if order is not None:
        order = check_order(order, problem.n, settings.max_calls(max_passes, problem.n))
    if warm_start is not None:
        _check_warm_start(problem, warm_start)

    check_room(f"training on {problem!r}", cls.memory(problem, checked, iterates))
    state, passed = warm_start.state if warm_start is not None else None, stopwatch()
    with telling_of_compilation(verbose):
        running = cls(problem, lam, checked, seed, iterates, order, state)
        running.name, running.title = asked.name, asked.title
        result = run_solver(
            running,
            Bounds(max_passes, gap_tol, time_limit),
            iterates=iterates,
            iterate=iterate,
            schedule=schedule,
            seed=seed,
            objective=SVMObjective(running, test, metrics, train_error, check),
            callback=callback,
            verbose=verbose,
            checkpoint=checkpoint,
        )
    result.wall_seconds = passed()
    return result


ARGUMENTS = frozenset(inspect.signature(solve).parameters) - {"problem", "options"}


def _check_warm_start(problem, result) -> None:
    if not isinstance(result, Result):
        got = f"got {type(result).__name__} (bare weights are not dual feasible)"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state is None:
        got = "got one that was loaded, unpickled or copied, which has no dual variables"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state.user_problem is not problem:
        check_signature("warm_start", result.structure, "problem", signature(problem))
        raise ParameterError("warm_start must be a Result on the same problem, got one on another (though of the same structure)")


def check_iterates(cls, options, iterates, iterate: str, name: str | None = None) -> tuple[str, ...]:
    """Return the iterates to log: those asked for, or by default ``last`` and, where there is one, ``wavg``."""
    available = cls.available_iterates(options)
    if iterates is None:
        iterates = [name for name in ("last", "wavg") if name in available]
        if iterate in available and iterate not in iterates:
            iterates.append(iterate)
    names = settings.check("iterates", iterates)
    for wanted in names:
        if wanted not in available:
            raise ParameterError(f"solver {name or cls.name} has no iterate {wanted!r} here; accepted: {', '.join(available)}")
    if iterate != "best" and iterate not in names:
        raise ParameterError(unknown("iterate", iterate, ["best", *names]))
    return names


def run_solver(
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
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Run a solver to one of its ends and return the certified result.

    Parameters
    ----------
    solver : Solver
        At its start.
    bounds : Bounds
    iterates, iterate, schedule, seed, callback, verbose, checkpoint
        As for `fwexp.solve`.
    objective : SVMObjective, optional
        What is logged; by default the primal objective alone.
    """
    progress = Progress(bounds.max_passes, verbose, f"{solver.name} {shown_lam(solver.lam)}")
    log = Log(solver, objective or SVMObjective(solver), iterates, iterate, callback, progress)
    status = drive(solver, log, bounds, schedule, progress, checkpoint)
    progress.close(str(status))
    return as_result(solver, log, status, seed)


def as_result(solver: Solver, log: Log, status: Status, seed: int) -> Result:
    """Return what a log says was reached, recomputed from scratch; where the two differ the run counts as diverged."""
    name, point, value = log.best
    primal, dual = log.certificate()
    reason = log.reason(status)
    if status is not Status.DIVERGED:
        again = primal if costly_oracle(solver.problem) else _primal(solver, point.w)
        wrong = log.drift("primal", primal) or log.drift("primal", again) or log.drift("dual", dual)
        status, reason = (Status.DIVERGED, wrong) if wrong else (status, reason)
    if status is Status.STALLED:
        reason += "; raise lam, or choose units in which features are smaller: lam is too small for them"
    if not exact_oracle(solver.problem):
        reason += "; nothing is certified, since the oracle is not exact"
    elif not value.certifies:
        reason += "; nothing is certified, since max_oracle found labelings without a loss only, as one that returns the truth does"
    if solver.lost:
        reason += f"; lost with workers: {lost_words(solver.lost)}"
    return Result(
        w=to_public(solver.problem, point.w),
        primal=primal,
        dual=dual,
        gap=primal - dual if log.certifies else float("nan"),
        status=str(status),
        reason=reason,
        trace=log.rows,
        iterate=name,
        solver=solver.name,
        options=dict(vars(solver.options)),
        lam=solver.lam,
        seed=seed,
        structure=signature(solver.user_problem, inputs=solver.refers_to_inputs),
        lost=dict(solver.lost),
        state=solver,
    )


def _primal(solver: Solver, w) -> float:
    """Return the primal objective at w, with nothing that the run has used; an oracle in Python is too slow to be asked again."""
    with quiet():
        value = evaluator(solver.problem)(w, error=False)
    return 0.5 * solver.lam * value.norm_sq + value.hinge


class Train(Task):
    """Training at one lam, as by `fwexp.solve`."""

    name = "train"
    title = "training at one lam"
    solvers = None  # every one
    reads: ClassVar = {
        name: None if parameter.default is inspect.Parameter.empty else parameter.default
        for name, parameter in inspect.signature(solve).parameters.items()
        if name in settings.CHECKS
    }
    added_later = ("iterate", "train_error", "check")

    @classmethod
    def check_settings(cls, given, solver, options):
        values = super().check_settings(given, solver, options)
        runs = get_solver(solver)
        if not runs.chooses:  # Otherwise the iterates are not known yet.
            values["iterates"] = check_iterates(runs, check_options(runs, options), values["iterates"], values["iterate"])
        return values

    def run(self, problem, solver, options, *, test=None, metrics=None, verbose=False, checkpoint=None):
        return solve(problem, solver, test=test, metrics=metrics, verbose=verbose, checkpoint=checkpoint, **self.given, **options)
