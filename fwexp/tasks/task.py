"""Base class of tasks, which run solvers and return a result to store."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from fwexp.driver import settings
from fwexp.errors import OptionError, unknown
from fwexp.options import STRUCTURED, NoOptions, make_options
from fwexp.problems.loss_terms import make_objective
from fwexp.solvers import check_needs, check_options, get_solver

if TYPE_CHECKING:
    from fwexp.tasks.result import Result


class Task(ABC):
    """Base class of the tasks; a subclass with a ``name`` in a module of this folder is found.

    Parameters
    ----------
    options : Options
        The task's own options.
    given : mapping
        The values of the settings that it reads, checked.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    Options: ClassVar[type] = NoOptions
    reads: ClassVar[Mapping[str, Any]]  # those of `fwexp.driver.settings.CHECKS` that it reads, with their defaults
    added_later: ClassVar[tuple[str, ...]] = ()  # settings that are in no key while they have their defaults
    solvers: ClassVar[tuple[str, ...] | None] = ("auto", "bcfw", "block_entropic")  # solvers that it can run; None: every solver
    kinds: ClassVar[Mapping[str, str]] = {STRUCTURED: "auto"}  # of problem, see `fwexp.options.KINDS`, with the usual solver

    def __init__(self, options, given: Mapping[str, Any]) -> None:
        self.options, self.given = options, dict(given)

    @abstractmethod
    def run(
        self, problem, solver: str, options: Mapping, *, test=None, validation=None, metrics=None, verbose=False, checkpoint=None
    ) -> "Result":
        """Run the task with a named solver and its options; the other arguments are those of `fwexp.solve`."""

    @classmethod
    def check_solver(cls, solver: str) -> None:
        """Check that the task can run a solver."""
        if cls.solvers is not None and solver not in cls.solvers:
            raise OptionError(f"task {cls.name} cannot run solver {solver}; accepted: {', '.join(cls.solvers)}")

    @classmethod
    def check_options(cls, given: Mapping):
        """Return the options of the task."""
        return make_options(f"task {cls.name}", cls.Options, given)

    @classmethod
    def check_problem(cls, problem, solver: str, options: Mapping, given: Mapping) -> None:
        """Check that a problem has what the solver needs with these options and settings, without compiling anything."""
        found = get_solver(solver)
        term = make_objective(given.get("objective", "hinge"), given.get("temperature", 1.0))
        check_needs(found, problem, check_options(found, options), objective=term)

    @classmethod
    def check_settings(cls, given: Mapping, solver: str, options: Mapping) -> dict[str, Any]:
        """Return the checked settings that runs of a solver with these options read, with defaults for missing ones."""
        values = {}
        for name, value in (dict(cls.reads) | dict(given)).items():
            if name not in cls.reads:
                raise OptionError(unknown("key", name, cls.reads))
            values[name] = settings.check(name, value)
        if not get_solver(solver).stochastic:
            values["seed"] = 0
        return values
