"""The solvers, by name: each class with a ``name`` in a module of this folder or of ``fwexp/convex``, and those of other packages.

Another package offers a solver by an entry point of the group ``fwexp.solvers``, with the name of the solver.
"""

import inspect
from collections.abc import Mapping
from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING

from fwexp import plugins
from fwexp.driver.iteration import Iteration
from fwexp.errors import ParameterError, unknown
from fwexp.methods import methods
from fwexp.options import KINDS, STRUCTURED

if TYPE_CHECKING:
    from fwexp.solvers.base import Solver
    from fwexp.solvers.choosing import check_needs, check_options

DEFERRED = {"Solver": "base", "check_needs": "choosing", "check_options": "choosing"}
"""Names that are imported when they are first used: methods on convex sets need no protocol of problems."""

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "choose_method", "get_method", "get_solver", "of_kind"]

FOLDERS = (__name__, "fwexp.convex")  # found by name, as other packages are: methods on convex sets are above this layer


def __getattr__(name: str):
    if name not in DEFERRED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{DEFERRED[name]}"), name)


def _check(cls) -> None:
    if not (inspect.isclass(cls) and issubclass(cls, Iteration) and hasattr(cls, "kinds")):
        raise ParameterError("it is no subclass of fwexp.solvers.Solver, nor of the methods of fwexp.convex")
    if inspect.isabstract(cls) and not issubclass(cls, import_module(f"{__name__}.choosing").Choice):
        raise ParameterError(f"it does not define {', '.join(sorted(cls.__abstractmethods__))}")
    for attribute in ("name", "title", "Options"):
        if not hasattr(cls, attribute):
            raise ParameterError(f"it has no {attribute}")
    for kind in cls.kinds:
        if kind not in KINDS:
            raise ParameterError(unknown("kind of problem", kind, KINDS))
        plugins.check_options_class(cls.Options, plugins.taken(kind))
    cls.Options()


def _classes(module) -> list[type[Iteration]]:
    return plugins.defined_classes(module, Iteration)


SOLVERS = plugins.Catalogue(
    "solver",
    lambda: (found for folder in FOLDERS for found in plugins.of_modules(folder, _classes)),
    _check,
    objects=_classes,
    at_hand=lambda name: plugins.of_module_called(__name__, name, _classes),
)


def get_solver(name: str) -> "type[Solver]":
    """Return the solver class called ``name``."""
    return SOLVERS.find(name)


def of_kind(kind: str) -> Mapping[str, type[Iteration]]:
    """Return the solvers for a kind of problem, by name."""
    return SOLVERS.where(lambda cls: kind in cls.kinds)


def get_method(name: str, options: Mapping) -> "tuple[type[Solver], Mapping]":
    """Return the solver of a method and its options: the given ones, and the method's own; a solver is itself a method."""
    solvers = of_kind(STRUCTURED)
    if name in solvers:
        return solvers[name], options
    known = {method: found for method, found in methods().items() if found.solver in solvers}
    if not isinstance(name, str) or name not in known:
        raise ParameterError(unknown("solver", name, solvers, known))
    return solvers[known[name].solver], {**known[name].options, **options}


@singledispatch
def choose_method(problem, name, options):
    """Return the solver that runs on a problem if ``name`` is wanted, and its options; one that is spread out chooses itself."""
    return get_method(name, options)
