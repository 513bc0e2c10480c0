"""Drawing tidy frames of curves, as `fwexp.plots.frames` makes them: panels, their log axes, and one legend for all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fwexp.plots import style
from fwexp.plots.frames import AXES, FLOOR, MEASURES, Panel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


EARLIEST = 20.0
"""Linear axes show all of every curve from this part of their length on, at the latest."""


def draw_panel(frame: "pd.DataFrame", panel: Panel, ax: "Axes | None" = None) -> "Axes":
    """Draw one panel and return its axes; without `ax`, on a new figure of its own, one column wide, with a legend."""
    from matplotlib.figure import Figure

    lines = style.lines(frame["variant"])  # those of the whole figure
    frame = frame[frame["panel"] == panel.key]
    with style.context():
        if ax is not None:
            _draw_curves(frame, panel, ax, lines)
            return ax
        figure = Figure(figsize=(style.COLUMN, 2.5), layout="constrained")
        ax = figure.subplots()
        _draw_curves(frame, panel, ax, lines)
        legend(figure, frame, style.COLUMN, lines)
    return ax


def share_labels(grid: "np.ndarray") -> None:
    """Label axes only once where all panels of a row, or of a column, have the same label."""
    for row in grid:
        if len({ax.get_ylabel() for ax in row}) == 1:
            for ax in row[1:]:
                ax.set_ylabel("")
    for column in grid.T:
        if len({ax.get_xlabel() for ax in column}) == 1:
            for ax in column[:-1]:
                ax.set_xlabel("")


def _draw_curves(frame, panel, ax, lines):
    from matplotlib.ticker import MaxNLocator

    label, usual = MEASURES[panel.measure]
    yscale = panel.yscale or usual
    ax.set(title=f"({panel.key}) {panel.title}", xlabel=AXES[panel.axis], ylabel=panel.label or label)
    ax.set(xscale="log" if panel.left else "linear", yscale=yscale)
    variants = style.in_table_order(frame["variant"])
    if not variants:
        ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center", color="#444444")
        return
    bottom, top, above = _limits(frame, panel, yscale)
    right = frame["x"].max()
    ax.set_xlim(panel.left, 1.1 * right if panel.left else 1.02 * right)
    ax.set_ylim(bottom, top)
    for variant in variants:
        curve = frame[frame["variant"] == variant].sort_values("x")
        line = lines[variant]
        if curve["runs"].iloc[0] > 1:
            worst = curve["worst"].clip(upper=1e3 * top)  # infinite where a run diverged
            ax.fill_between(curve["x"], curve["best"], worst, color=line.color, alpha=0.18, linewidth=0, zorder=2)
        ax.plot(
            curve["x"],
            curve["median"],
            label=line.label,
            markevery=_marked(curve["x"].to_numpy(), panel, right, style.marker_offset(variant)),
            zorder=4 if line.filled else 3,
            **line.properties(),
        )
        _mark_end(curve, line, ax, middle=right / 2)
    if not panel.left and panel.axis == "time":  # the longest numbers
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    if panel.left:
        label_log(ax.xaxis, plain=panel.left >= 1e-3)  # else powers of ten: numbers with many zeros would touch
    if yscale == "log":
        label_log(ax.yaxis)
    if panel.axis == "at_lam":  # as the runs go
        ax.invert_xaxis()
    if above:
        note = ax.text(0.98, 0.98, "\n".join(above), transform=ax.transAxes, ha="right", va="top", fontsize=7, zorder=6)
        note.set_path_effects(_halo())


def label_log(axis: "Axis", plain: bool = False) -> None:
    """Put ticks on a log axis: powers of ten if three are in view, else plain numbers between them; ``plain``: never as powers."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    several = (np.outer(decades, steps).ravel() for steps in ([1], [1, 3], [1, 2, 5]))
    for ticks in (*several, np.asarray(MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high))):
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) >= 3:
            break
    axis.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // 6)].tolist()))
    axis.set_minor_locator(NullLocator())
    if plain or not np.isin(ticks, decades).all():
        axis.set_major_formatter("{x:g}")


def _marked(x, panel, right, offset):
    """Return the points that get a marker: about five, evenly spread over the width of the panel."""
    places = offset + np.arange(0.0, 1.0, 0.2)
    targets = panel.left * (right / panel.left) ** places if panel.left else right * places
    return sorted({int(abs(x - target).argmin()) for target in targets if x[0] <= target <= x[-1]})


def _limits(frame, panel, yscale):
    """Return the range of the measure, with a small margin, where the panel promises to show it, and curves above it."""
    ends = frame[frame["diverged"] == 0].groupby("variant")["x"].max()
    # Every curve has a point in view, and of panels that are shorter than usual not only the end is shown.
    full = panel.full if panel.left else min(panel.full, frame["x"].max() / EARLIEST)
    shown = frame[frame["x"] >= min([full, *ends])]
    values = shown[["best", "median", "worst"]]
    values = values[np.isfinite(values) & ((values > 0) | (yscale == "linear"))]
    low, high = values.min(axis=None), values.max(axis=None)
    above: list[str] = []
    if not np.isfinite(low):
        return FLOOR, 1.0, above
    tops = values["median"].groupby(shown["variant"]).max().dropna().sort_values()
    if panel.focus and len(tops):
        low = min(values["median"].min(), values["best"].quantile(0.25))
        while len(tops) > 2 and tops.iloc[-1] > 2 * tops.iloc[-2]:
            above.append(f"above: {style.line(tops.index[-1]).label}, to {tops.iloc[-1]:.2g}")
            tops = tops[:-1]
        bands = values["worst"][shown["variant"].isin(tops.index)]
        high = max(tops.iloc[-1], bands.quantile(0.75))
        above += [f"above: bands, to {bands.max():.2g}"] if bands.max() > high else []
    if yscale == "log":
        air = max(high / low, 10.0) ** 0.05
        return low / air, high * air, above
    air = 0.06 * max(high - low, 1e-3)
    return max(low - air, 0.0), high + air, above


def _mark_end(curve, line, ax, middle):
    """Mark curves that end early: a cross where runs diverged, a bar where they were stopped."""
    finite = curve[np.isfinite(curve["median"])]
    runs, diverged, stopped = (int(curve[column].iloc[0]) for column in ("runs", "diverged", "stopped"))
    for count, word, marker in ((diverged, "diverged", "x"), (stopped, "stopped early", "|")):
        if count and len(finite):
            end = tuple(finite[["x", "median"]].iloc[-1])
            ax.plot(*end, marker, color=line.color, markersize=8, markeredgewidth=1.6, clip_on=False, zorder=6)
            text = word if runs == 1 else f"{count} of {runs} {word}"
            side = {"xytext": (6, 0), "va": "center"} if end[0] < middle else {"xytext": (-2, 5), "ha": "right"}
            note = ax.annotate(text, end, textcoords="offset points", fontsize=7, color=line.color, zorder=6, **side)
            note.set_path_effects(_halo())


def _halo():
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2, foreground="white")]


def legend(figure: "Figure", frame: "pd.DataFrame", width: float, lines: "dict[str, style.Line] | None" = None) -> None:
    """Add one legend below a figure `width` inches wide, in the order of the table; it explains line and band."""
    lines = lines or style.lines(frame["variant"])
    if len(frame):
        figure.legend(**_entries(frame, width, lines), title=_title(frame), loc="outside lower center", borderaxespad=0.2)


def legends(figure: "Figure", grid: "np.ndarray", panels: Sequence[Panel], frame: "pd.DataFrame", width: float) -> None:
    """Add a legend below each panel, `width` inches wide, for its curves, and one line for the figure that explains bands."""
    lines = style.lines(frame["variant"])
    for panel, ax in zip(panels, grid.flat):
        shown = frame[frame["panel"] == panel.key]
        if len(shown):
            ax.legend(**_entries(shown, width, lines, handle=3.0), loc="upper center", bbox_to_anchor=(0.45, -0.22))
    if title := len(frame) and _title(frame):
        figure.supxlabel(title, fontsize=7)


def _title(frame):
    """Return the line that explains bands, if there are any."""
    runs = frame["runs"][frame["runs"] > 1]
    count = " to ".join(f"{number:g}" for number in dict.fromkeys([runs.min(), runs.max()]))
    return f"random methods: median of {count} runs, band from best to worst" if len(runs) else None


def _entries(frame, width, lines, handle=4.2):
    """Return the arguments of a legend for the curves of a frame; a long handle shows the dashes on both sides of the marker."""
    from matplotlib.lines import Line2D

    entries = [lines[variant] for variant in style.in_table_order(frame["variant"])]
    widest = 0.06 * max(len(line.label) for line in entries) + 0.13 * handle + 0.17  # inches: letters, handle, space
    rows = -(-len(entries) // max(1, int((width + 0.15) / widest)))
    handles = [Line2D([], [], label=line.label, **line.properties()) for line in entries]
    return {"handles": handles, "ncols": -(-len(entries) // rows), "handlelength": handle, "columnspacing": 1.4}
