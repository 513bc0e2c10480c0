"""Figures of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

from fwexp.plots import curves
from fwexp.plots.curves import Panel

BATCH = ("fw", "one_slack", "n_slack", "fcfw")

FIG1 = (
    Panel("a", "OCR, λ = 0.01", "ocr", 0.01),
    Panel("b", "OCR, λ = 0.001", "ocr", 0.001),
    Panel("c", "OCR, λ = 1/n", "ocr", "1/n"),
)


def fig1_data(results):
    """Primal suboptimality against effective passes; of the batch methods the lower envelope, as in the paper."""
    return curves.data(results, FIG1, hidden=[curves.REFERENCE], lowest=BATCH)


def fig1_draw(frame):
    """Draw figure 1 from its tidy frame."""
    return curves.draw(frame, FIG1)
