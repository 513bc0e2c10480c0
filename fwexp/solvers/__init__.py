"""The solvers, by name."""

from fwexp.errors import ParameterError, unknown
from fwexp.problems.protocol import radii_sq, registers
from fwexp.solvers.acceleration import chosen_kap
from fwexp.solvers.approximate import ApproxBCFW
from fwexp.solvers.base import Solver, check_needs, check_options
from fwexp.solvers.bcfw import BCFW
from fwexp.solvers.fcfw import FCFW
from fwexp.solvers.fw import FW
from fwexp.solvers.kernel_bcfw import KernelBCFW
from fwexp.solvers.kernel_fw import KernelFW
from fwexp.solvers.n_slack import NSlack
from fwexp.solvers.one_slack import OneSlack
from fwexp.solvers.online_eg import OnlineEG
from fwexp.solvers.ssg import SSG

__all__ = ["SOLVERS", "Solver", "check_needs", "check_options", "get_solver", "resolve_auto"]

SOLVERS: dict[str, type[Solver]] = {
    cls.name: cls for cls in (BCFW, FW, SSG, OneSlack, NSlack, FCFW, OnlineEG, KernelBCFW, KernelFW, ApproxBCFW)
}


def get_solver(name: str) -> type[Solver]:
    """Return the solver class called ``name``."""
    if not isinstance(name, str) or name not in SOLVERS:
        raise ParameterError(unknown("solver", name, [*SOLVERS, "auto"]))
    return SOLVERS[name]


CACHE = {"F": 0.4, "nu": 0.01, "size": 8}  # of ``auto``; small, so that a step has few labelings to score
REFRESH = 3.0  # passes, of ``auto`` where no new centres refresh the gaps


def resolve_auto(problem, iterates=None, lam: float | None = None) -> tuple[str, dict]:
    """Return the name and the options of the setting that measures best (``make bench``), for this problem and lam.

    The rule, of corrective steps throughout:

    * Ill conditioned, where ``acceleration.chosen_kap`` accelerates: gap sampling with a small oracle cache, accelerated.
      Against a random order without a cache that takes about half the oracle calls, in the same time.
    * Well conditioned, or ``lam`` is not known yet, as on a path: every example once per pass in random order, accelerated
      where that pays at the time. Where a few passes do, stale gaps would hold back.
    * Averages are asked for (they are not defined with acceleration): random order.
    * The length of psi vectors is not known, so there is no kap (``CallbackProblem``), and oracles are slow: gap sampling
      with the cache, and gaps refreshed often.
    """
    ordered = {"sampling": "perm", "step": "corrective", "accelerate": False}
    cached = ordered | {"sampling": "gap", "cache": CACHE}
    if iterates is not None and any(name != "last" for name in ([iterates] if isinstance(iterates, str) else iterates)):
        return "bcfw", ordered
    if not registers(problem, radii_sq):
        return "bcfw", cached | {"refresh": REFRESH}
    well_conditioned = lam is None or chosen_kap(radii_sq(problem), lam) is None
    return "bcfw", (ordered if well_conditioned else cached) | {"accelerate": True}
