"""Checks for people who add a problem family or a solver of their own.

``check_problem(problem)`` and ``check_solver("name")`` run all checks and raise ``CheckFailed`` at the first one that
does not hold. ``problem_checks`` and ``solver_checks`` give the same checks one by one, with names, for example to pytest:

    @pytest.mark.parametrize("check", problem_checks(my_problem), ids=str)
    def test_my_problem(check):
        check()

The checks are in ``problems`` and ``solvers``, one short function per property.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fwexp.driver.settings import check_lam
from fwexp.errors import UserError
from fwexp.problems import tiers
from fwexp.problems.chain import chain_problem
from fwexp.problems.loss_terms import make_objective
from fwexp.problems.signature import check_problem_type
from fwexp.problems.weighted import total_weight
from fwexp.solvers import Solver, check_needs, check_options, get_solver
from fwexp.testing.probe import CheckFailed, ProblemProbe
from fwexp.testing.problems import PROBLEM_CHECKS
from fwexp.testing.solvers import SOLVER_CHECKS, SolverProbe
from fwexp.types import Lam, ObjectiveName, Problem

__all__ = ["Check", "CheckFailed", "check_problem", "check_solver", "problem_checks", "solver_checks"]


@dataclass(frozen=True)
class Check:
    """One named check, which you call.

    Attributes
    ----------
    name : str
        Name of the checked property.
    function : callable
        Function that raises if the property does not hold.
    """

    name: str
    function: Callable[[], None] = field(repr=False)

    def __call__(self) -> None:
        """Raise `CheckFailed`, in one line, if the property does not hold."""
        try:
            self.function()
        except (CheckFailed, UserError) as error:
            raise CheckFailed(f"{self.name}: {error}") from None
        except Exception as error:  # of a function of the family or the solver, which the traceback shows
            raise CheckFailed(f"{self.name}: {type(error).__name__}: {error}") from error

    def __str__(self) -> str:
        return self.name


def problem_checks(problem: Problem, *, seed: int = 0, examples: int = 5) -> list[Check]:
    """Return the checks of a training problem.

    They test oracles, losses, features and all arithmetic on vectors of parts.

    Parameters
    ----------
    problem : problem
        Small enough for plain Python; labels of -1 are for test sets and fail.
    seed : int, default 0
        Seed of the weights at which oracles are called.
    examples : int, default 5
        Number of examples to check. More examples take longer.

    Returns
    -------
    list of Check
        Call them one by one.

    Raises
    ------
    ValueError
        If ``problem`` is no problem.

    Examples
    --------
    >>> import fwexp, numpy as np
    >>> from fwexp.testing import problem_checks
    >>> checks = problem_checks(fwexp.multiclass_problem(np.eye(3), [0, 1, 1]))
    >>> [check.name for check in checks][:2]
    ['has_the_protocol', 'weights_survive_the_round_trip']
    """
    check_problem_type(problem)
    return _checks(PROBLEM_CHECKS, ProblemProbe(problem, seed, examples))


def check_problem(problem: Problem, *, seed: int = 0, examples: int = 5) -> tuple[str, ...]:
    """Run all `problem_checks`, and return the tiers of the protocol that the family of the problem has.

    Parameters
    ----------
    problem, seed, examples
        As of `problem_checks`.

    Returns
    -------
    tuple of str
        Names of tiers, out of ``required``, ``sets``, ``expectations``, ``kernels``, ``bounds``, ``enumeration`` and ``exact``.

    Raises
    ------
    CheckFailed
        If a check fails; the message is one line that starts with its name.

    Examples
    --------
    >>> import fwexp, numpy as np
    >>> from fwexp.testing import check_problem
    >>> check_problem(fwexp.multiclass_problem(np.eye(3), [0, 1, 1]))
    ('required', 'sets', 'expectations', 'kernels', 'bounds', 'enumeration', 'exact')
    """
    for check in problem_checks(problem, seed=seed, examples=examples):
        check()
    return tiers.tiers_of(problem)


def solver_checks(
    solver: str | type[Solver],
    problem: Problem | None = None,
    *,
    lam: Lam = 0.1,
    objective: ObjectiveName | None = None,
    **options: Any,
) -> list[Check]:
    """Return the checks of a solver.

    They test bounds, seeds, averages, dual points, progress and endings.

    Parameters
    ----------
    solver : str or subclass of Solver
        A name, or a class that need not be registered.
    problem : problem, optional
        Small training problem; by default chains.
    lam : float, default 0.1
        Strength of the regularisation.
    objective : str, optional
        Objective to minimise; by default the first one that the solver states.
    **options
        The solver's own options.

    Returns
    -------
    list of Check
        Call them one by one.

    Raises
    ------
    ValueError, TypeError
        If the solver or an option does not exist, or the solver does not run on the problem.

    Examples
    --------
    >>> from fwexp.testing import solver_checks
    >>> [check.name for check in solver_checks("ssg")][:2]
    ['declares_what_it_is', 'refuses_unknown_options']
    """
    cls = get_solver(solver) if isinstance(solver, str) else solver
    checked = check_options(cls, options)
    problem = small_chains() if problem is None else problem
    check_problem_type(problem)
    term = make_objective(objective or cls.objectives[0])
    if callable(cls.needs) and all(tier in tiers.TIERS for tier in cls.needs(checked)):  # else a check will say so
        check_needs(cls, problem, checked, objective=term)
    return _checks(SOLVER_CHECKS, SolverProbe(cls, problem, float(check_lam("lam", lam, total_weight(problem))), checked, term))


def check_solver(
    solver: str | type[Solver],
    problem: Problem | None = None,
    *,
    lam: Lam = 0.1,
    objective: ObjectiveName | None = None,
    **options: Any,
) -> None:
    """Run all `solver_checks`.

    Parameters
    ----------
    solver, problem, lam, objective, **options
        As of `solver_checks`.

    Raises
    ------
    CheckFailed
        If a check fails; the message is one line that starts with its name.

    Examples
    --------
    >>> from fwexp.testing import check_solver
    >>> check_solver("bcfw", sampling="perm")
    """
    for check in solver_checks(solver, problem, lam=lam, objective=objective, **options):
        check()


def small_chains(n: int = 6, seed: int = 0):
    """Return a chain problem with Gaussian inputs whose labels depend on them."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(1, 5), 3)) for _ in range(n)]
    return chain_problem(X, [np.argmax(x + 0.5 * rng.normal(size=x.shape), axis=1) for x in X], 3)


def _checks(functions, probe) -> list[Check]:
    return [Check(function.__name__, partial(function, probe)) for function in functions]
