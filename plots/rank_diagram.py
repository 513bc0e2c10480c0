"""Critical-difference diagrams (Demšar 2006): mean ranks of methods, and which of them a test does not tell apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fwexp.plots import style
from fwexp.plots.frames import MEASURES
from fwexp.plots.profiles import COSTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINE = 0.17  # inches from one name to the next


def draw(frame: "pd.DataFrame") -> "Figure":
    """Draw a diagram for each cost; bars join methods whose mean ranks differ by less than the critical difference."""
    from matplotlib.figure import Figure

    lines = style.lines(frame["variant"])
    panels = list(frame.groupby("panel"))
    with style.context():
        height = 0.8 + LINE * (2 + -(-len(lines) // 2))
        figure = Figure(figsize=(style.TEXT, height * len(panels)), layout="constrained")
        for (panel, rows), ax in zip(panels, figure.subplots(len(panels), squeeze=False).flat, strict=True):
            facts = rows.iloc[0]
            ax.set_title(f"({panel}) {COSTS[facts['axis']]}, {facts['pairs']} pairs, Friedman's p = {facts['p']:.2g}", loc="left")
            _draw_ranks(ax, rows.sort_values("x"), lines)
    return figure


def groups(means: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """Return the ranges of mean ranks that lie within a critical difference, the largest ones with two methods or more."""
    ranks = np.sort(np.asarray(means, dtype=float))
    ends = np.searchsorted(ranks, ranks + difference, side="right") - 1
    return [(float(ranks[k]), float(ranks[end])) for k, end in enumerate(ends) if end > k and (k == 0 or end > ends[k - 1])]


def _draw_ranks(ax, rows, lines):
    """Draw the axis of ranks, below it the critical difference and the bars, and names on both sides."""
    count, difference = len(rows), rows["difference"].iloc[0]
    letters = max(len(lines[variant].label) for variant in rows["variant"]) + 6
    margin = min(0.4, 0.055 * letters / style.TEXT)  # of the width, on each side
    air = (count - 1) * margin / (1 - 2 * margin)
    left, right = 1 - air, count + air
    ax.set(xlim=(left, right), ylim=(-1.9 - -(-count // 2), 1.6), xticks=range(1, count + 1))
    ax.set_xlabel(f"{MEASURES['rank'][0]}; critical difference {difference:.2f}")
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_yticks([])
    ax.grid(False)
    for side, spine in ax.spines.items():
        spine.set_visible(side == "top")
        spine.set_bounds(1, count)
    width = min(difference, right - 1)
    ax.errorbar([1 + width / 2], [0.9], xerr=[width / 2], color="#444444", capsize=2.5, linewidth=1)
    for number, (low, high) in enumerate(groups(rows["x"], difference)):
        ax.plot([low, high], [0.1 - 0.35 * number] * 2, color="black", linewidth=2.6, zorder=3)
    for place, (variant, rank) in enumerate(zip(rows["variant"], rows["x"], strict=True)):
        line, is_left = lines[variant], place < count / 2
        depth = -1.6 - (place if is_left else count - 1 - place)
        ax.plot([rank, rank, left if is_left else right], [1.6, depth, depth], color=line.color, linewidth=1.1)
        ax.annotate(
            f"{line.label} {rank:.2f}",
            (left if is_left else right, depth),
            xytext=(0, 1.5),
            textcoords="offset points",
            ha="left" if is_left else "right",
            va="bottom",
            fontsize=7,
            color=line.color,
        )
