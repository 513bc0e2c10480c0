"""The engine behind ``experiments/``: figures, claims, the report, whole reproductions, comparisons. It reads the store."""

from fwexp.papers.declarations import FIGURES, PAPERS, Figure, Kind, Paper
from fwexp.papers.figure_files import PICTURE, TABLE
from fwexp.papers.figure_pipeline import make_figure

__all__ = ["FIGURES", "PAPERS", "PICTURE", "TABLE", "Figure", "Kind", "Paper", "make_figure"]
