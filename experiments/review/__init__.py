"""Figures and claims of the review of Frank-Wolfe variants."""

from fwexp.papers.declarations import Paper

PAPER = Paper.declared(
    id="R",
    name="review",
    title="Review of Frank-Wolfe variants",
    authors="William Saint-Arnaud, Elyes Lamouchi, Frederic Boileau",
    budget="None: the review announces tests on synthetic data (abstract), and has neither their sizes nor a figure of them.",
)
