"""What a picture shows, in words: for those who cannot see it, and for searching."""

import numpy as np
import pandas as pd

from fwexp.plots import style
from fwexp.plots.curves import AXES, MEASURES


def describe(frame: pd.DataFrame, titles: dict[str, str]) -> str:
    """Say of every panel what is drawn against what, and where each curve ends, the lowest first.

    Parameters
    ----------
    frame : DataFrame
        The tidy frame of a figure, as from `curves.data`.
    titles : dict
        The titles of the panels, by their key.
    """
    sentences = []
    for key, panel in frame.groupby("panel", sort=False):
        measure, axis = MEASURES[panel["measure"].iloc[0]][0], AXES[panel["axis"].iloc[0]]
        ends = panel[np.isfinite(panel["median"].astype(float))].groupby("variant").apply(_end, include_groups=False)
        lines = style.lines(ends.index)
        ends = "; ".join(f"{lines[variant].label}: {value:.2g}" for variant, value in ends.sort_values(kind="stable").items())
        sentences.append(f"({key}) {titles.get(key, '')}: {measure} against {axis}. Last values: {ends or 'none'}.")
    return " ".join(sentences)


def _end(curve):
    """The value where the curve ends; curves against lambda run to smaller ones."""
    place = curve["x"].idxmin() if curve["axis"].iloc[0] == "at_lam" else curve["x"].idxmax()
    return float(curve.loc[place, "median"])
