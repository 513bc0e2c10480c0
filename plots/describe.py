"""What a picture shows, in words: for those who cannot see it, and for searching."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fwexp.plots import style
from fwexp.plots.frames import AXES, MEASURES
from fwexp.plots.image_overlays import SCORES

if TYPE_CHECKING:
    import pandas as pd


def describe(frame: "pd.DataFrame", titles: dict[str, str]) -> str:
    """Describe what every panel of a tidy frame shows, given their titles, and where each curve ends, the lowest first."""
    if "axis" not in frame:
        return _scores(frame, titles)
    sentences = []
    for key, panel in frame.groupby("panel", sort=False):
        measure, axis = MEASURES[panel["measure"].iloc[0]][0], AXES[panel["axis"].iloc[0]]
        curves = dict(list(panel[np.isfinite(panel["median"].astype(float))].groupby("variant")))
        lines = style.lines(curves)
        if panel["axis"].iloc[0] == "nu":
            starts = {name: float(curve.loc[curve["x"].idxmin(), "median"]) for name, curve in curves.items()}
            values = [f"{lines[name].label}: {starts[name]:.2g} to {_end(curve):.2g}" for name, curve in curves.items()]
            said = "First and last values"
        else:
            ends = sorted((_end(curve), name) for name, curve in curves.items())
            values, said = [f"{lines[name].label}: {value:.2g}" for value, name in ends], "Last values"
        sentences.append(f"({key}) {titles.get(key, '')}: {measure} against {axis}. {said}: {'; '.join(values) or 'none'}.")
    return " ".join(sentences)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> str:
    """Return a table as Markdown, of which so many columns are aligned on the left, and the others on the right."""
    aligned = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, aligned, *rows))


def _end(curve):
    """Return the value at the end of a curve; curves against lambda run towards smaller values."""
    place = curve["x"].idxmin() if curve["axis"].iloc[0] == "at_lam" else curve["x"].idxmax()
    return float(curve.loc[place, "median"])


def _scores(frame, titles):
    """Describe what was scored in every picture, as the median over the runs."""
    sentences = []
    for key, panel in frame.groupby("panel", sort=False):
        values = panel.groupby(["measure", "variant"], sort=False)["value"].median()
        scores = "; ".join(f"{SCORES[measure]} of {variant}: {value:.3f}" for (measure, variant), value in values.items())
        sentences.append(f"({key}) {titles.get(key, 'all test images')}. {scores}.")
    return " ".join(sentences)
