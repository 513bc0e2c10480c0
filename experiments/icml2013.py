"""Figures of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.experiments.figure import Figure
from fwexp.plots import icml2013

FIGURES = {
    "icml2013/fig1": Figure(
        name="icml2013/fig1",
        title="Primal suboptimality of all solvers on OCR for three regularization strengths",
        data=icml2013.fig1_data,
        draw=icml2013.fig1_draw,
    ),
}
