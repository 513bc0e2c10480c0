"""The figure of ``make quickstart``: embedded data, no download."""

from fwexp.papers.figure import Figure
from fwexp.plots import quickstart

QUICKSTART = Figure(
    name="quickstart",
    title="BCFW, SSG and batch FW on handwritten dates",
    data=quickstart.data,
    draw=quickstart.draw,
)
