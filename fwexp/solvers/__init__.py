"""The solvers, by name."""

from fwexp.errors import ParameterError, unknown
from fwexp.problems.protocol import radii_sq
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
    if name not in SOLVERS:
        raise ParameterError(unknown("solver", name, [*SOLVERS, "auto"]))
    return SOLVERS[name]


def resolve_auto(problem, iterates=None) -> tuple[str, dict]:
    """Return the name and the options of the setting that measures best (``make bench``): accelerated corrective BCFW.

    Every example once per pass in random order, corrective steps among its stored labelings, and outer acceleration with
    the weight that ``acceleration.chosen_kap`` finds for the problem at hand - unless averages are asked for, which are
    not defined then, or the problem does not know how long its psi vectors get.
    """
    averages = iterates is not None and any(name != "last" for name in ([iterates] if isinstance(iterates, str) else iterates))
    accelerate = not averages and type(problem) in radii_sq.implementations
    return "bcfw", {"sampling": "perm", "step": "corrective", "accelerate": accelerate}
