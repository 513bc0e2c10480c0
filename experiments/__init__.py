"""The papers' figures and tables: which there are, and how they are made."""

from fwexp.experiments.catalogue import FIGURES, Figure
from fwexp.experiments.figure import make_figure
from fwexp.experiments.files import PICTURE, TABLE

__all__ = ["FIGURES", "PICTURE", "TABLE", "Figure", "make_figure"]
