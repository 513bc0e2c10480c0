"""The engine behind ``experiments/``: figures, claims, the report, whole reproductions, comparisons. It reads the store."""

from fwexp.papers.catalogue import FIGURES, PAPERS, Advance, Figure, Kind, Paper
from fwexp.papers.figure import make_figure
from fwexp.papers.files import PICTURE, TABLE

__all__ = ["FIGURES", "PAPERS", "PICTURE", "TABLE", "Advance", "Figure", "Kind", "Paper", "make_figure"]
