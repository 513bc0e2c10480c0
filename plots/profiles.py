"""Performance profiles (Dolan and Moré 2002): on which share of the problems a method is within a factor of the fastest."""

from typing import TYPE_CHECKING

import numpy as np

from fwexp.plots import style
from fwexp.plots.drawing import label_log
from fwexp.plots.frames import AXES, MEASURES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COSTS = {"passes": "effective passes", "time": "solver time"}
COLUMNS = ["panel", "variant", "axis", "measure", "x", "median", "problems", "keys"]


def data(costs: "pd.DataFrame") -> "pd.DataFrame":
    """Return the steps of profiles: the share ``median`` of problems that ``variant`` solves within ``x`` times the least cost."""
    # Costs are infinite where a method did not get there. Problems that no side solves do not count.
    import pandas as pd

    rows = []
    for panel, cost in zip("ab", COSTS):
        table = costs.pivot(index="problem", columns="side", values=cost).astype(float).fillna(np.inf)
        least = table.min(axis=1)
        solved = table[np.isfinite(least)]
        ratios = solved.div(least[solved.index], axis=0).where(lambda ratio: ratio.notna(), 1.0)  # 0/0: both at once
        right = 1.2 * max([2.0, *ratios.to_numpy()[np.isfinite(ratios.to_numpy())]])
        for side in dict.fromkeys(costs["side"]):
            keys = " ".join(sorted(set(" ".join(costs[costs["side"] == side]["keys"]).split())))
            reached = np.sort(ratios[side][np.isfinite(ratios[side])])
            places = np.concatenate([[1.0], reached, [right]])
            shares = np.searchsorted(reached, places, side="right") / max(len(solved), 1)
            facts = {"panel": panel, "variant": side, "axis": "factor", "measure": "share", "problems": len(solved), "keys": keys}
            rows.append(pd.DataFrame({"x": places, "median": shares, **facts}))
    return pd.concat(rows, ignore_index=True)[COLUMNS]


def draw(frame: "pd.DataFrame") -> "Figure":
    """Draw the profiles by passes and by time; return the matplotlib Figure."""
    from matplotlib.figure import Figure

    lines = style.lines(frame["variant"])
    with style.context():
        figure = Figure(figsize=(style.TEXT, 2.6), layout="constrained")
        for (panel, steps), cost, ax in zip(frame.groupby("panel"), COSTS.values(), figure.subplots(1, 2), strict=True):
            ax.set(title=f"({panel}) {cost}, {steps['problems'].iloc[0]} problems", xscale="log", ylim=(-0.02, 1.04))
            ax.set(xlabel=AXES["factor"], ylabel=MEASURES["share"][0] if panel == "a" else "")
            for side, curve in steps.groupby("variant", sort=False):
                ax.step(
                    curve["x"], curve["median"], where="post", label=lines[side].label, **lines[side].properties() | {"marker": ""}
                )
            label_log(ax.xaxis)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
    return figure
