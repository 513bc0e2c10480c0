"""Figures of "Block-Coordinate Frank-Wolfe Optimization for Structural SVMs" (ICML 2013)."""

import dataclasses

from fwexp.plots import curves
from fwexp.plots.curves import Panel

BATCH = ("fw", "one_slack", "n_slack", "fcfw")
LAMS = (0.01, 0.001, "1/n")
FIRST = 0.01
"""Where panels of the first passes begin."""

FIG1 = (
    *(Panel(key, f"OCR, λ = {lam}", "ocr", lam, full=5.0) for key, lam in zip("abc", LAMS)),
    Panel("d", "CoNLL, λ = 1/n", "conll2000", "1/n", left=FIRST, full=0.1),
    Panel("e", "CoNLL, λ = 1/n", "conll2000", "1/n", "test_error", left=FIRST, full=0.1, yscale="log"),
    Panel("f", "word alignment, λ = 0.001", "hansards", 0.001, left=FIRST, full=0.1),
)
FIG2 = tuple(dataclasses.replace(panel, full=10.0) for panel in FIG1[:3])  # predefined batch steps start far out


def _two_rows(dataset: str, title: str, error_scale: str = "", **settings) -> tuple[Panel, ...]:
    """Suboptimality above, test error below: that of the averages is what is to be compared."""
    return tuple(
        Panel(key, f"{title}, λ = {lam}", dataset, lam, measure, yscale=scale, focus=measure == "test_error", **settings)
        for measure, keys, scale in (("suboptimality", "abc", ""), ("test_error", "def", error_scale))
        for key, lam in zip(keys, LAMS)
    )


FIG3 = _two_rows("ocr", "OCR", full=5.0)
FIG4 = _two_rows("conll2000", "CoNLL", "log", left=FIRST, full=0.1)
FIG5 = _two_rows("hansards", "word alignment", "log", left=FIRST, full=0.1)

# What is logged for the appendix's figures only.
_APPENDIX = ("bcfw-tavg", "ssg-tavg", "ssg-avg")


def fig1_data(results):
    """Suboptimality and test error of all solvers; of the batch methods the lower envelope, as in the paper."""
    return curves.data(results, FIG1, hidden=[curves.REFERENCE, *_APPENDIX], lowest=BATCH)


def fig1_draw(frame):
    """Draw figure 1 from its tidy frame."""
    return curves.draw(frame, FIG1)


def fig2_data(results):
    """Suboptimality of line search and predefined steps, batch and block."""
    return curves.data(results, FIG2, hidden=[curves.REFERENCE, "bcfw-wavg", "bcfw-tavg"])


def fig2_draw(frame):
    """Draw figure 2 from its tidy frame."""
    return curves.draw(frame, FIG2)


def all_averages_data(panels):
    """``data`` of figures 3 to 5: every iterate that the stochastic solvers log."""

    def data(results):
        return curves.data(results, panels, hidden=[curves.REFERENCE])

    return data


def all_averages_draw(panels):
    """``draw`` of figures 3 to 5."""

    def draw(frame):
        return curves.draw(frame, panels, height=1.9)

    return draw
