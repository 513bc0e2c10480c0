"""The solvers, by name: each class with a ``name`` in a module of this folder, and those of other packages.

Another package offers a solver by an entry point of the group ``fwexp.solvers``, whose name is that of the solver.
"""

import dataclasses
import inspect

from fwexp import _discovery
from fwexp.errors import ParameterError
from fwexp.problems.tiers import missing
from fwexp.solvers.acceleration import OBSERVED
from fwexp.solvers.base import Solver, check_needs, check_options

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "get_solver", "resolve_auto"]

AUTO = "auto"


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


SOLVERS = _discovery.Catalogue(
    "solver",
    lambda: _discovery.of_modules(__name__, lambda module: _discovery.defined_classes(module, Solver)),
    _check,
    reserved=(AUTO,),
)


def get_solver(name: str) -> type[Solver]:
    """Return the solver class called ``name``."""
    return SOLVERS.find(name, AUTO)


CACHE = {"F": 0.4, "nu": 0.01, "size": 8}  # of ``auto``; small, so that a step has few labelings to score
START = 2.0  # passes of ``auto`` before acceleration begins, in which it meets the labelings that say how strong it has to be


def resolve_auto(problem, iterates=None, lam: float | None = None) -> tuple[str, dict]:
    """Return the name and the options of the setting that measures best (``make bench``), for this problem and lam.

    The rule:

    * Labelings cannot be kept (no tier ``sets``): plain steps in random order.
    * Averages are asked for (they are not defined with acceleration): corrective steps in random order.
    * ``lam`` is not known yet, as on a path: the same, accelerated where that pays at the time.
    * Else: corrective steps, gap sampling with a first pass in random order, a small oracle cache, and after `START` passes
      acceleration, as strong as the labelings met until then ask for (`observed_strength` in `fwexp.solvers.acceleration`), with
      gaps refreshed every ten passes.
    """
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    if missing(problem, "sets"):
        return "bcfw", ordered | {"step": "fw"}
    if iterates is not None and any(name != "last" for name in ([iterates] if isinstance(iterates, str) else iterates)):
        return "bcfw", ordered
    if lam is None and not missing(problem, "bounds"):
        return "bcfw", ordered | {"accelerate": True}
    accelerate = {"kap": OBSERVED, "period": None, "start": START, "refresh": False}
    return "bcfw", {"sampling": "gap_perm", "step": "corrective", "cache": CACHE, "accelerate": accelerate}
