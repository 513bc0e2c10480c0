"""My notes on subgradient descent: a figure, and a claim that it shows."""

from fwexp.experiments import Figure, Paper
from fwexp.papers.claims import Finding, Need, claim
from fwexp.papers.claims.runs import below
from fwexp.plots.curves import Chart, Panel

PAPER = Paper(id="E", name="elsewhere", title="My notes on subgradient descent")
FIG1 = Figure(
    name="elsewhere/fig1",
    title="Subgradient descent against Frank-Wolfe on my sentences",
    caption="The objective of both methods after so many passes.",
    paper="Frank-Wolfe was lower at once.",
    claims=("E-1",),
    chart=Chart([Panel("a", "sentences, λ = 0.1", "tags", 0.1, "primal"), Panel("b", "bits, λ = 0.1", "bits", 0.1, "primal")]),
)


@claim(
    "E-1",
    "Frank-Wolfe has a lower objective than subgradient descent.",
    Need("elsewhere/fig1", where={"dataset": "tags"}),
    quote='page 1: "line search pays at once"',
    vary={"share": (0.5, 0.75, 1.0)},
)
def line_search_pays(runs, *, share=0.5):
    """From 1 to 8 passes ``fw`` is below ``subgradient`` at a share of at least {share:g} of the logged points."""
    found = below(runs.curves("fw"), runs.curves("subgradient"), 1.0, 8.0)
    return Finding({"lower objective": found.share >= share}, {"fw against subgradient": str(found)})
