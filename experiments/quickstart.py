"""The figure of ``make quickstart``: embedded data, no download."""

from fwexp.papers.declarations import Figure
from fwexp.plots.curves import REFERENCE, Chart, Panel

QUICKSTART = Figure.declared(
    name="quickstart",
    title="BCFW, SSG and batch FW on handwritten dates",
    caption="Three solvers on the handwritten dates that come with the package: distance of the objective to the best lower bound "
    "above, test error below. It shows in two minutes that an installation works.",
    chart=Chart(
        panels=[
            Panel(key, f"handwritten dates, λ = {lam}", "digits", lam, measure, left=2**-7, yscale="log")
            for measure, keys in (("suboptimality", "abc"), ("test_error", "def"))
            for key, lam in zip(keys, (0.1, 0.01, "1/n"))
        ],
        hidden=[REFERENCE],
        lowest=["fw"],
    ),
    seconds=5.0,
)
