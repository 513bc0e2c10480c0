"""Figures and claims of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.papers.declarations import Advance, Paper

PAPER = Paper.declared(
    id="B13",
    name="icml2013",
    title="Block-Coordinate Frank-Wolfe Optimization for Structural SVMs (ICML 2013)",
    authors="Simon Lacoste-Julien, Martin Jaggi, Mark Schmidt, Patrick Pletscher",
    year=2013,
    url="https://proceedings.mlr.press/v28/lacoste-julien13.html",
    advance=Advance("bcfw", "fw", "passes", "icml2013/fig1"),
)
