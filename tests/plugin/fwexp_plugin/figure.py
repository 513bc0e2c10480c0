"""A figure: the objective of two solvers on the sentences and the bits."""

from fwexp.experiments import Figure
from fwexp.plots import curves
from fwexp.plots.curves import Panel

PANELS = (Panel("a", "sentences, λ = 0.1", "tags", 0.1, "primal"), Panel("b", "bits, λ = 0.1", "bits", 0.1, "primal"))


def data(results):
    """Objective against effective passes."""
    return curves.data(results, PANELS)


def draw(frame):
    """Draw the figure from its tidy frame."""
    return curves.draw(frame, PANELS)


FIG1 = Figure(name="elsewhere/fig1", title="Subgradient descent against Frank-Wolfe on my sentences", data=data, draw=draw)
