"""The solvers, by name: each class with a ``name`` in a module of this folder, and those of other packages.

Another package offers a solver by an entry point of the group ``fwexp.solvers``, whose name is that of the solver.
"""

import dataclasses
import inspect

from fwexp import _discovery
from fwexp.errors import ParameterError
from fwexp.problems.protocol import radii_sq
from fwexp.problems.tiers import missing
from fwexp.solvers.acceleration import acceleration_strength
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
START = 2.0  # passes of ``auto`` before acceleration begins: what few passes solve is solved by then
REFRESH = 3.0  # passes, of ``auto`` where no new centres refresh the gaps


def resolve_auto(problem, iterates=None, lam: float | None = None) -> tuple[str, dict]:
    """Return the name and the options of the setting that measures best (``make bench``), for this problem and lam.

    The rule, of corrective steps throughout:

    * Ill conditioned, where ``acceleration_strength`` (`fwexp.solvers.acceleration`) is a number: gap sampling with a small
      oracle cache, accelerated after `START` passes, which are all that some of these problems need, since that number comes
      from bounds. Against a random order without a cache that takes about half the oracle calls.
    * Well conditioned, or ``lam`` is not known yet, as on a path: every example once per pass in random order, accelerated
      where that pays at the time.
    * Averages are asked for (they are not defined with acceleration): random order.
    * Labelings cannot be kept (no tier ``sets``): plain steps in random order.
    * The length of psi vectors is not known, so there is no kap (``CallbackProblem``), and oracles are slow: gap sampling
      with the cache, and gaps refreshed often.
    """
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    cached = ordered | {"sampling": "gap", "cache": CACHE}
    if missing(problem, "sets"):
        return "bcfw", ordered | {"step": "fw"}
    if iterates is not None and any(name != "last" for name in ([iterates] if isinstance(iterates, str) else iterates)):
        return "bcfw", ordered
    if missing(problem, "bounds"):
        return "bcfw", cached | {"refresh": REFRESH}
    if lam is None or acceleration_strength(radii_sq(problem), lam) is None:
        return "bcfw", ordered | {"accelerate": True}
    return "bcfw", cached | {"accelerate": {"kap": None, "period": 3.0, "start": START}}
