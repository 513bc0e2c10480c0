"""The papers' figures, tables and claims, a folder per paper; what they are declared with comes from `fwexp.papers`."""

from fwexp.papers import FIGURES, PAPERS, PICTURE, TABLE, Figure, Kind, Paper, make_figure

__all__ = ["FIGURES", "PAPERS", "PICTURE", "TABLE", "Figure", "Kind", "Paper", "make_figure"]
