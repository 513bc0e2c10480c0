"""The first figure: convergence and test error on the handwritten dates that come with the package."""

from fwexp.plots import curves
from fwexp.plots.curves import Panel

LAMS = (0.1, 0.01, "1/n")
PANELS = tuple(
    Panel(key, f"handwritten dates, λ = {lam}", "digits", lam, measure, left=2**-7, yscale="log")
    for measure, keys in (("suboptimality", "abc"), ("test_error", "def"))
    for key, lam in zip(keys, LAMS)
)


def data(results):
    """Primal suboptimality and test error against effective passes, for three lam."""
    return curves.data(results, PANELS, hidden=[curves.REFERENCE], lowest=["fw"])


def draw(frame):
    """Draw the figure from its tidy frame."""
    return curves.draw(frame, PANELS)
