"""The papers' figures, tables and claims, a folder per paper; what they are declared with comes from `fwexp.papers`."""

from fwexp.papers.declarations import FIGURES, PAPERS, Figure, Kind, Paper
from fwexp.papers.figure_files import PICTURE, TABLE
from fwexp.papers.figure_pipeline import make_figure

__all__ = ["FIGURES", "PAPERS", "PICTURE", "TABLE", "Figure", "Kind", "Paper", "make_figure"]
