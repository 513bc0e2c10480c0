"""BMRM, the bundle method for regularised risk minimisation (Teo, Vishwanathan, Smola, Le, JMLR 2010, Algorithm 2).

    w_t = argmin_w  lam/2 ||w||^2 + max_{j <= t} <a_j, w> + b_j,        a_t+1 a subgradient of the risk at w_t,

with the risk 1/n sum_i H_i(w), whose cutting plane at w_t is the mean of L_i(y_i) - <w, psi_i(y_i)> over the most violating
labelings. These are the planes and the quadratic program of the 1-slack cutting plane (``one_slack``), without any of what
is added there: no constraint xi >= 0, and no plane is removed, kept per example or asked for elsewhere than at w_t.
"""

from dataclasses import dataclass

from fwexp.options import check_fraction, option
from fwexp.solvers.one_slack import OneSlack, Setting


@dataclass(frozen=True)
class Options:
    """Options of ``bmrm``.

    Attributes
    ----------
    qp_tol : float
        The quadratic program is solved to a duality gap of at most ``qp_tol`` times the largest b_j.
    """

    qp_tol: float = option(1e-10, check_fraction)

    def setting(self) -> Setting:
        """Return the setting that these options choose: planes and a quadratic program alone."""
        return Setting(self.qp_tol)


class BMRM(OneSlack):
    """Bundle method for regularised risk minimisation."""

    name = "bmrm"
    title = "bundle method (BMRM)"
    Options = Options
