"""The functions that people call: train, predict, evaluate."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from fwexp.checks import check_flag, check_function, check_names, is_integer
from fwexp.driver import settings
from fwexp.driver.loop import Bounds
from fwexp.errors import OptionError, ParameterError, shown, unknown
from fwexp.problems import protocol
from fwexp.problems.evaluation import Evaluation, Evaluator
from fwexp.problems.structure import check_problem_type, check_structure, structure
from fwexp.solvers import check_needs, check_options, get_solver, resolve_auto
from fwexp.solvers.sampling import check_order
from fwexp.tasks import prediction
from fwexp.tasks.objective import SVMObjective
from fwexp.tasks.result import Result
from fwexp.tasks.train import train


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
    order: Sequence[int] | None = None,
    warm_start: Result | None = None,
    callback=None,
    verbose: bool = False,
    **options: Any,
) -> Result:
    """Train a structural SVM: minimise lam/2 ||w||^2 + 1/n sum_i H_i(w).

    Parameters
    ----------
    problem : problem
        Training set, from a constructor such as ``fwexp.chain_problem``.
    solver : str
        ``auto`` (the setting that measures best) or the name of a solver.
    lam : float or "1/n"
        Regularisation; must be given. ``1/(C n)`` is what other software calls C.
    max_passes : float
        Bound on oracle calls / n.
    gap_tol : float
        Stop at a logged point where the certified gap, in units of the objective, is at most this; 0 runs to
        ``max_passes``. Ignored by methods without a dual point.
    time_limit : float, optional
        Solver seconds; where the oracle is in Python (``CallbackProblem``) wall seconds, evaluation for the log included.
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
        every pass of ``one_slack``). Any other schedule is kept as given.
    train_error : bool
        Whether to log the training error.
    order : sequence of int, optional
        Block indices from 0, one per step, instead of a sampling rule; with a cache, whose hits are steps as well, over and
        over.
    warm_start : Result, optional
        Start from the dual variables of this result of the same solver on the same problem, at any lam.
    callback : callable, optional
        Called with every row of the trace, a dict.
    verbose : bool
        Whether to show progress on standard error.
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

    Examples
    --------
    >>> import fwexp
    >>> train, test = fwexp.load_dataset("digits")
    >>> result = fwexp.solve(train, lam=0.01, max_passes=20, test=test)
    >>> result.gap < 0.05
    True
    """
    check_problem_type(problem)
    cls = None if isinstance(solver, str) and solver == "auto" else get_solver(solver)
    check_names(f"solver {solver}", options, [field.name for field in fields((cls or get_solver("bcfw")).Options)], ARGUMENTS)
    if lam is None:
        raise OptionError('solve needs lam, a positive finite number or "1/n"')
    lam = settings.check_lam(lam, problem.n)
    iterates = None if iterates is None else settings.check_iterates(iterates)
    if not isinstance(iterate, str):
        raise ParameterError(unknown("iterate", iterate, ("best", *settings.ITERATES)))
    if cls is None:
        solver, best = resolve_auto(problem, iterates if iterate in ("best", "last") else [iterate], lam)
        if order is not None:
            del best["sampling"]
        cls, options = get_solver(solver), best | options
    if order is not None and ("sampling" in options or not cls.takes_order):
        clash = "sampling" if cls.takes_order else f"solver {solver}, which visits no examples one by one"
        raise OptionError(f"order excludes {clash}")
    checked = check_options(cls, options)
    check_needs(cls, problem, checked)
    _check_labels(problem)
    seed, max_passes = settings.check_seed(seed), settings.check_max_passes(max_passes)
    gap_tol, time_limit = settings.check_gap_tol(gap_tol), settings.check_time_limit(time_limit)
    schedule = settings.check_schedule(schedule)
    iterates = check_iterates(cls, checked, iterates, iterate)
    train_error, verbose = check_flag("train_error", train_error), check_flag("verbose", verbose)
    check_function("callback", callback, optional=True)
    check_function("metrics", metrics, optional=True)
    if test is not None:
        check_problem_type(test, "test")
        check_structure("test", structure(test), "problem", structure(problem))
    elif metrics is not None:
        raise ParameterError("metrics are computed of a test set: test must be given, got None")
    if order is not None:
        order = check_order(order, problem.n, settings.max_calls(max_passes, problem.n))
    if warm_start is not None:
        _check_warm_start(problem, warm_start)

    state = warm_start.state if warm_start is not None else None
    running = cls(problem, lam, checked, seed, iterates, order, state)
    return train(
        running,
        Bounds(max_passes, gap_tol, time_limit),
        iterates=iterates,
        iterate=iterate,
        schedule=schedule,
        seed=seed,
        objective=SVMObjective(running, test, metrics, train_error),
        callback=callback,
        verbose=verbose,
    )


ARGUMENTS = frozenset(inspect.signature(solve).parameters) - {"problem", "options"}


def _check_labels(problem) -> None:
    labels = getattr(problem, "labels", None)
    if labels is not None and labels.min() < 0:
        raise ParameterError("labels of a training problem must be >= 0, got -1 (allowed in test problems only)")


def _check_warm_start(problem, result) -> None:
    if not isinstance(result, Result):
        got = f"got {type(result).__name__} (bare weights are not dual feasible)"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state is None:
        got = "got one that was loaded, unpickled or copied, which has no dual variables"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state.given is not problem:
        check_structure("warm_start", result.structure, "problem", structure(problem))
        raise ParameterError("warm_start must be a Result on the same problem, got one on another (though of the same structure)")


def check_iterates(cls, options, iterates, iterate: str) -> tuple[str, ...]:
    """Return the iterates to log: those asked for, or by default ``last`` and, where there is one, ``wavg``."""
    available = cls.available_iterates(options)
    if iterates is None:
        iterates = [name for name in ("last", "wavg") if name in available]
        if iterate in available and iterate not in iterates:
            iterates.append(iterate)
    names = settings.check_iterates(iterates)
    for name in names:
        if name not in available:
            raise ParameterError(f"solver {cls.name} has no iterate {name!r} here; accepted: {', '.join(available)}")
    if iterate != "best" and iterate not in names:
        raise ParameterError(unknown("iterate", iterate, ["best", *names]))
    return names


def weighed(problem, w) -> tuple[Any, np.ndarray]:
    """Return the problem as the weights see it, and the internal weights, of a vector w or of a `Result`."""
    if isinstance(w, Result):
        return prediction.weighed(w, problem)
    check_problem_type(problem)
    return problem, prediction.internal_weights(problem, w)


def check_index(problem, i) -> int:
    """Return i as an index of an example."""
    check_problem_type(problem)
    if not is_integer(i) or not 0 <= i < problem.n:
        raise ParameterError(f"i must be an integer in 0 .. {problem.n - 1}, got {shown(i)}")
    return int(i)


def joint_feature(problem, i: int, y):
    """Return phi(x_i, y), the joint features of a labeling, as a (1, d) ``scipy.sparse.csr_array``."""
    i, problem = check_index(problem, i), protocol.original(problem)
    return protocol.joint_feature(problem, i, protocol.as_labeling(problem, i, y))


def loss(problem, i: int, y) -> float:
    """Return L_i(y), the task loss of labeling y for example i."""
    i, problem = check_index(problem, i), protocol.original(problem)
    return float(protocol.loss(problem, i, protocol.as_labeling(problem, i, y)))


def max_oracle(problem, i: int, w) -> tuple[Any, float]:
    """Return (y, H_i(w)): a labeling that maximises L_i(y) - <w, psi_i(y)>, and that maximum; w may be a `Result`."""
    i = check_index(problem, i)
    problem, weights = weighed(protocol.original(problem), w)
    _check_labels(problem)
    evaluator = Evaluator(problem)
    value = evaluator.oracle(i, weights)
    return protocol.public_labeling(problem, i, protocol.stored_labeling(problem, i, evaluator.labelings)), value


def predict(problem, w, **inputs) -> list:
    """Return the predicted labeling of every example: a highest-scoring one, without loss.

    Parameters
    ----------
    problem : problem or inputs
        What to predict for: a problem, or, if w is a `Result` on chains, classes or matchings, inputs alone, X of the
        constructor of its family.
    w : Result or array (d,)
        A result, also one from `fwexp.load`, or weights for a problem.
    **inputs
        For inputs alone, what else the constructor needs to read them: ``shapes`` of matchings.

    Returns
    -------
    list
        One labeling per example.

    Raises
    ------
    ValueError
        Another structure than that trained on (family, number of labels or features), or inputs that the constructor
        refuses.

    Examples
    --------
    >>> import numpy as np, fwexp
    >>> result = fwexp.solve(fwexp.multiclass_problem(np.eye(3), [0, 1, 2]), lam=0.1)
    >>> fwexp.predict([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]], result)
    [1, 2]
    """
    if isinstance(w, Result):
        return w.predict(problem, **inputs)
    if inputs:
        raise OptionError(f"inputs alone go with arguments such as {next(iter(inputs))}, got a problem")
    problem, weights = weighed(problem, w)
    return Evaluator(problem).predict(weights)


def evaluate(problem, w) -> Evaluation:
    """Return (hinge, norm_sq, error) at w: mean_i H_i(w), ||w||^2 and the mean task loss of the predictions.

    w is a vector or a `Result`. ``hinge`` is NaN for test sets with labels that cannot be predicted (-1).
    """
    problem, weights = weighed(problem, w)
    labels = getattr(problem, "labels", None)
    known = labels is None or labels.min() >= 0
    return Evaluator(problem)(weights, hinge=known)
