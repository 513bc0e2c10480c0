"""Fully corrective Frank-Wolfe for structural SVMs (lecture note of Lacoste-Julien; Jaggi, ICML 2013, Algorithm 4).

Per iteration one max-oracle call for every example at the same w, then the best point in the convex hull of all corners
found so far:

    w_s = 1/(lam n) sum_i psi_i(y_i*),  ell_s = 1/n sum_i L_i(y_i*),
    (w, ell) <- argmax { ell - lam/2 ||w||^2 : (w, ell) in conv{(w_0, ell_0), ..., (w_k, ell_k)} }.

This is constraint generation for the 1-slack formulation (``one_slack``), seen from the dual: corners are constraints,
their weights are multipliers, and the two visit the same objective values. The start, w = 0 and ell = 0, is the corner
of the true labelings; it corresponds to the constraint xi >= 0. So the steps are those of ``one_slack`` without what is added
there, and ``last`` is the best point of the hull.

Memory: that of the hull (``hull``), one corner per iteration.
"""

from dataclasses import dataclass

from fwexp.options import check_fraction, choice, option
from fwexp.solvers.base import Point
from fwexp.solvers.one_slack import OneSlack, Setting


@dataclass(frozen=True)
class Options:
    """Options of ``fcfw``.

    Attributes
    ----------
    start_atom : bool
        Whether the start is a corner of the hull.
    qp_tol : float
        The correction is exact to ``qp_tol`` times the largest ell_s.
    """

    start_atom: bool = choice(True, False)
    qp_tol: float = option(1e-10, check_fraction)

    def setting(self) -> Setting:
        """Return the setting that these options choose."""
        return Setting(self.qp_tol, nonnegative=self.start_atom)


class FCFW(OneSlack):
    """Fully corrective Frank-Wolfe."""

    name = "fcfw"
    title = "fully corrective Frank-Wolfe"
    Options = Options

    @property
    def known_hinge(self):
        """None: the corner that the oracle found is in the hull already, and w is another one."""
        return None

    def point(self, iterate):
        return Point(self.hull.w, self.hull.dual)
