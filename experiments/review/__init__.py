"""Figures and claims of the review of Frank-Wolfe variants."""

from fwexp.papers.declarations import Paper

PAPER = Paper.declared(
    id="R",
    name="review",
    title="Review of Frank-Wolfe variants",
    authors="William Saint-Arnaud, Elyes Lamouchi, Frederic Boileau",
    budget="None: the review announces tests on synthetic data (abstract), and has neither their sizes nor a figure of them.",
    choices=(
        "Randomised away steps sample all atoms, and inspect the active ones in addition. Algorithm 5 samples those that are not "
        "active: per iteration it meets up to eta times the number of active atoms more that are new.",
    ),
)
