"""The settings of one training run, checked before anything is compiled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from fwexp.conversion import as_array
from fwexp.driver import settings
from fwexp.driver.settings import RunSettings
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.options import STRUCTURED, check_flag, check_function, check_names
from fwexp.plugins import takes_options
from fwexp.problems.loss_terms import HINGE, Hinge, Softmax, make_objective
from fwexp.problems.protocol import from_public
from fwexp.problems.signature import check_labels, check_problem_type, check_signature, signature
from fwexp.problems.weighted import total_weight
from fwexp.solvers import check_needs, check_options, choose_method
from fwexp.solvers.base import Solver
from fwexp.solvers.choosing import check_objective
from fwexp.tasks.objective import SVMObjective
from fwexp.tasks.result import Result
from fwexp.types import Iterate, Lam, Metrics, ObjectiveName, Problem


@takes_options(STRUCTURED)
@dataclass(frozen=True, kw_only=True, eq=False)
class Settings(RunSettings):
    """Everything that one training run depends on, checked: `fwexp.solve` describes the arguments."""

    # ``method`` is the solver class that runs, ``options`` an object of its ``Options``, ``loss_term`` the objective as solvers
    # take it, and ``name`` and ``title`` are those of the requested solver.

    problem: Any
    solver: str = "auto"
    lam: Lam | None = None
    test: Problem | None = None
    validation: Problem | None = None
    metrics: Metrics | None = None
    iterates: Sequence[Iterate] | None = None
    iterate: Iterate | Literal["best"] = "best"
    train_error: bool = False
    check: bool = False
    objective: ObjectiveName = "hinge"
    temperature: float = 1.0
    order: Sequence[int] | None = None
    warm_start: Result | None = None
    options: Mapping | Any = field(default_factory=dict)
    # lam, gap_tol and all values that the run shows are those of the problem's objective divided by this number, such as the mean
    # number of positions per example where users count the loss per position.
    objective_scale: float = 1.0
    # Public weights to start from. They are not dual feasible: the start is the best point between the true labelings and the
    # corners that the oracle finds there.
    near: Any = None
    origin: Any = None  # public weights w_0: the objective has lam/2 ||w - w_0||^2 instead of lam/2 ||w||^2
    keep_state: bool = True  # for warm starts from the result
    method: type[Solver] = field(init=False)
    loss_term: Hinge | Softmax = field(init=False)
    name: str = field(init=False)
    title: str = field(init=False)

    def __post_init__(self) -> None:
        check_problem_type(self.problem)
        requested, options = choose_method(self.problem, self.solver, self.options)
        check_names(f"solver {self.solver}", options, [field.name for field in fields(requested.Options)], ARGUMENTS)
        if self.lam is None:
            raise OptionError('solve needs lam, a positive finite number or "c/n", such as "1/n"')
        self._set("lam", settings.check_lam("lam", self.lam, total_weight(self.problem) * self.objective_scale))
        self._set("loss_term", make_objective(self.objective, self.temperature))
        self._choose(requested, options)
        check_labels(self.problem)
        super().__post_init__()
        self._set("iterates", check_iterates(self.method, self.options, self.iterates, self.iterate, self.name))
        for name in ("train_error", "check"):
            self._set(name, check_flag(name, getattr(self, name)))
        if self.check and self.loss_term != HINGE:
            raise OptionError(f"check must be False with objective={self.objective}, whose runs call no max-oracle, got True")
        self._check_other_sets()
        if self.order is not None:
            calls = settings.max_calls(self.max_passes, self.problem.n)
            steps = self.method.steps_within(self.options, self.problem.n, calls)
            self._set("order", check_order(self.order, self.problem.n, steps))
        if self.warm_start is not None:
            check_warm_start(self.problem, self.warm_start)

    def _choose(self, requested: type[Solver], options: Mapping) -> None:
        """Set the class that runs and its options: those that a solver such as ``auto`` chooses for the problem."""
        iterates = settings.check("iterates", self.iterates)
        if not isinstance(self.iterate, str):
            raise ParameterError(unknown("iterate", self.iterate, ("best", *settings.ITERATES)))
        if self.order is not None and ("sampling" in options or not requested.takes_order):
            clash = f"solver {self.solver}, which visits no examples one by one"
            if requested.takes_order:
                implied = "" if "sampling" in self.options else f"={options['sampling']}, which solver {self.solver} implies"
                clash = "sampling" + implied
            raise OptionError(f"order excludes {clash}")
        wanted = iterates if self.iterate in ("best", "last") else [self.iterate]
        checked = check_options(requested, options)
        check_objective(requested, self.problem, requested.name, self.loss_term)
        method, checked = requested.choose(checked, self.problem, self.solver_lam, wanted, self.order, self.loss_term)
        if self.origin is not None and requested.chooses:  # Block methods can start from weights that are not 0.
            method, checked = requested.block_method(self.problem, self.solver_lam, wanted, self.loss_term)
        check_needs(method, self.problem, checked, requested.name, self.loss_term)
        for name, value in (("method", method), ("options", checked), ("name", requested.name), ("title", requested.title)):
            self._set(name, value)

    def _check_other_sets(self) -> None:
        """Check the test and the validation set, and that there is a test set if metrics are computed of it."""
        check_function("metrics", self.metrics, optional=True)
        for name in ("test", "validation"):
            if (other := getattr(self, name)) is not None:
                check_problem_type(other, name)
                check_signature(name, signature(other), "problem", signature(self.problem))
        if self.metrics is not None and self.test is None:
            raise ParameterError("metrics are computed of a test set: test must be given, got None")

    @property
    def solver_lam(self) -> float:
        """The lam of the problem's own objective."""
        return self.lam * self.objective_scale

    @property
    def memory(self) -> int:
        """The bytes that the run takes at least."""
        return self.method.memory(self.problem, self.options, self.iterates)

    def new_solver(self) -> Solver:
        """Return the solver at its start."""
        start = None if self.warm_start is None else self.warm_start.state
        how = self.seed, self.iterates, self.order, start, self.loss_term
        solver = self.method(self.problem, self.solver_lam, self.options, *how)
        solver.name, solver.title = self.name, self.title
        if self.origin is not None:
            solver.origin = from_public(solver.problem, self.origin)
        if self.near is not None:
            solver.start_near(from_public(solver.problem, self.near))
        return solver

    def new_objective(self, solver: Solver, oracle_check: type | None = None) -> SVMObjective:
        """Return the objective that evaluates the iterates of the solver."""
        check = oracle_check if self.check else None
        return SVMObjective(solver, self.test, self.validation, self.metrics, self.train_error, check, self.objective_scale)


INTERNAL = {"problem", "options", "objective_scale", "near", "origin", "relative_gap", "keep_state"}
ARGUMENTS = frozenset(field.name for field in fields(Settings) if field.init) - INTERNAL


def check_iterates(cls, options, iterates, iterate: str, name: str | None = None) -> tuple[str, ...]:
    """Return the iterates to log: those given, or by default ``last`` and, if the solver has it, ``wavg``."""
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


def check_warm_start(problem, result) -> None:
    """Check that a result has dual variables of this problem."""
    if not isinstance(result, Result):
        got = f"got {type(result).__name__} (bare weights are not dual feasible)"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state is None:
        got = "got one that was loaded, unpickled or copied, which has no dual variables"
        raise ParameterError(f"warm_start must be a Result on the same problem, {got}")
    if result.state.user_problem is not problem:
        check_signature("warm_start", result.structure, "problem", signature(problem))
        raise ParameterError("warm_start must be a Result on the same problem, got one on another (though of the same structure)")


def check_order(order, n: int, steps: int) -> np.ndarray:
    """Return a given order as int64 indices 0 .. n-1, at least ``steps`` of them."""
    indices = as_array("order", order, "iu", "be a vector of integers")
    if indices.ndim != 1:
        raise ParameterError(f"order must be a vector of integers, got shape {indices.shape}, {indices.dtype}")
    if len(indices) < steps:
        raise ParameterError(f"order must hold an index for each of {steps} steps, got {len(indices)}")
    outside = indices[(indices < 0) | (indices >= n)]
    if len(outside):
        raise ParameterError(f"order must hold indices 0 .. {n - 1}, got {outside[0]}")
    return indices.astype(np.int64)
