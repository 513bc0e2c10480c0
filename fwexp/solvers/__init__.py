"""The solvers, by name: each class with a ``name`` in a module of this folder, and those of other packages.

Another package offers a solver by an entry point of the group ``fwexp.solvers``, whose name is that of the solver.
"""

import dataclasses
import inspect

from fwexp import plugins
from fwexp.errors import ParameterError
from fwexp.solvers.base import Solver, check_needs, check_options

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "get_solver"]


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
