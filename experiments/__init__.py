"""The papers' figures, tables and claims, a folder per paper; what they are declared with comes from `fwexp.papers`."""

from fwexp.papers import FIGURES, PICTURE, TABLE, Figure, make_figure

__all__ = ["FIGURES", "PICTURE", "TABLE", "Figure", "make_figure"]
