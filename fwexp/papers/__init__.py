"""The engine behind ``experiments/``: figures, claims, the report, whole reproductions, comparisons. It reads the store."""

from fwexp.papers.catalogue import FIGURES, Figure
from fwexp.papers.figure import make_figure
from fwexp.papers.files import PICTURE, TABLE

__all__ = ["FIGURES", "PICTURE", "TABLE", "Figure", "make_figure"]
