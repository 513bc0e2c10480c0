"""The solvers, by name: each class with a ``name`` in a module of this folder, and those of other packages.

Another package offers a solver by an entry point of the group ``fwexp.solvers``, whose name is that of the solver.
"""

import dataclasses
import inspect
from collections.abc import Mapping

from fwexp import plugins
from fwexp.errors import ParameterError, unknown
from fwexp.methods import methods
from fwexp.solvers.base import Solver, check_needs, check_options

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "get_method", "get_solver"]


def _check(cls) -> None:
    if not (inspect.isclass(cls) and issubclass(cls, Solver)):
        raise ParameterError("it is no subclass of fwexp.solvers.Solver")
    if inspect.isabstract(cls):
        raise ParameterError(f"it does not define {', '.join(sorted(cls.__abstractmethods__))}")
    for attribute in ("name", "title", "needs"):
        if not hasattr(cls, attribute):
            raise ParameterError(f"it has no {attribute}")
    if not dataclasses.is_dataclass(cls.Options):
        raise ParameterError("its Options are no dataclass")
    cls.Options()


SOLVERS = plugins.Catalogue(
    "solver",
    lambda: plugins.of_modules(__name__, lambda module: plugins.defined_classes(module, Solver)),
    _check,
)


def get_solver(name: str) -> type[Solver]:
    """Return the solver class called ``name``."""
    return SOLVERS.find(name)


def get_method(name: str, options: Mapping) -> tuple[type[Solver], Mapping]:
    """Return the solver of a method and its options: those given, and what else the method states; a solver is itself a method."""
    if name in SOLVERS:
        return SOLVERS[name], options
    known = {method: found for method, found in methods().items() if found.solver in SOLVERS}
    if not isinstance(name, str) or name not in known:
        raise ParameterError(unknown("solver", name, SOLVERS, known))
    return SOLVERS[known[name].solver], {**known[name].options, **options}
