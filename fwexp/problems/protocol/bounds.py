"""Bounds on features, for steps and orders that look at curvatures."""

from fwexp.problems.protocol.degrees import degree


@degree(2)
def radii_sq(problem):
    """Return upper bounds on max_y ||psi_i(y)||^2, float64 (n,) (plain Python)."""
