"""Figures 4 and 8 of the ICML 2016 paper: what regularisation paths cost, and grids of lam, exact and heuristic, warm and cold."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fwexp.methods import of_results
from fwexp.plots import curves, style
from fwexp.plots.curves import Panel
from fwexp.plots.icml2016_gaps import PLACES, short

METHODS = ("bcfw_gap", "bcpfw_gap_cache")
LAM_MIN = {"synth. HorseSeg-small": 0.01, "OCR-small": 1e-4, "synth. HorseSeg-medium": 10.0, "OCR-large": 1e-4}
"""Where paths and grids end."""


@dataclass(frozen=True)
class Paths:
    """A figure of passes and time so far, on the way to smaller lam; a panel for each data set, measure and method."""

    panels: tuple[tuple[Panel, str], ...]
    columns: int

    def data(self, results):
        """Return the tidy frame: passes and time so far of paths and grids."""
        names = of_results(results)
        frames = [pd.DataFrame(columns=curves.COLUMNS)]
        for panel, method in self.panels:
            rows = curves.on_data(results[names == method], panel.dataset, panel.options)
            variants = _ways(rows)
            for variant in style.in_table_order(variants):
                runs = rows[variants == variant].assign(position=lambda rows: np.log10(rows["at_lam"]))
                band = curves.bands(runs, panel.measure, "position")
                band["x"] = 10.0 ** band["x"]
                facts = {"panel": panel.key, "dataset": panel.place, "lam": "", "variant": variant}
                frames.append(band.assign(**facts, axis=panel.axis, measure=panel.measure))
        filled = [frame for frame in frames if len(frame)] or frames[:1]
        return pd.concat(filled, ignore_index=True)[curves.COLUMNS]

    def draw(self, frame):
        """Draw the tidy frame; lam falls from left to right, as the runs go."""
        panels = [panel for panel, _ in self.panels]
        figure = curves.draw(frame, panels, columns=self.columns, width=style.TEXT * self.columns / 2)
        for ax in figure.axes:
            ax.invert_xaxis()
        return figure


def _ways(rows):
    """The name of each row's way to smaller lam."""
    path = np.where(rows["task.exact"] == True, "path", "heuristic_path")  # noqa: E712 (missing elsewhere)
    grid = np.where(rows["task.warm"] == True, "warm_grid", "cold_grid")  # noqa: E712
    return pd.Series(np.where(rows["task"] == "path", path, grid), index=rows.index)


def _panels(*names):
    """Passes, then time, of both methods, for one data set after the other."""
    keys = iter("abcdefghijklmnop")
    for name in names:
        place = PLACES[name]
        for measure in ("passes", "time"):
            for method in METHODS:
                title = f"{short(name)}, {style.METHODS[method].label}"
                options = {"left": LAM_MIN[name], "full": 0.0, "options": place.options}
                yield Panel(next(keys), title, place.dataset, "", measure, "at_lam", **options), method


FIG4 = Paths(tuple(_panels("synth. HorseSeg-small")), columns=2)
FIG8 = Paths(tuple(_panels(*LAM_MIN)), columns=4)
