"""The solvers, by name."""

from fwexp.errors import ParameterError, unknown
from fwexp.solvers.base import Solver, check_needs, check_options
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.fw import FW
from fwexp.solvers.ssg import SSG

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "get_solver", "resolve_auto"]

SOLVERS: dict[str, type[Solver]] = {cls.name: cls for cls in (BCFW, FW, SSG)}


def get_solver(name: str) -> type[Solver]:
    """Return the solver class called ``name``."""
    if name not in SOLVERS:
        raise ParameterError(unknown("solver", name, [*SOLVERS, "auto"]))
    return SOLVERS[name]


def resolve_auto(problem=None) -> tuple[str, dict]:
    """Return the name and the options of the setting that measures best: BCFW over random permutations."""
    return "bcfw", {"sampling": "perm"}
