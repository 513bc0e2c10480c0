"""Figures and claims of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016)."""

from fwexp.papers.declarations import Advance, Paper

PAPER = Paper.declared(
    id="G16",
    name="icml2016",
    title="Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs (ICML 2016)",
    authors="Anton Osokin, Jean-Baptiste Alayrac, Isabella Lukasewitz, Puneet K. Dokania, Simon Lacoste-Julien",
    year=2016,
    url="https://proceedings.mlr.press/v48/osokin16.html",
    advance=Advance("bcpfw_gap_cache", "bcfw", "passes", "icml2016/fig5"),
)
