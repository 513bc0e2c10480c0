"""Drawing tidy frames of curves, as `fwexp.plots.frames` makes them: panels, their log axes, and one legend for all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fwexp.plots import style
from fwexp.plots.frames import AXES, FLOOR, MEASURES, QUARTERS, Panel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


EARLIEST = 20.0  # linear axes show all of every curve from this part of their length on, at the latest
ROOM = 30.0  # log axes also show earlier values if these are at most this many times as high

APART, MOSTLY, TURN = 0.012, 0.6, 12.0
"""Lines coincide if they are closer than this part of the panel's height on so much of the way; points of a dash and a gap."""

CROWD = 4  # bands of more curves are paler
PLAIN = 1e-4, 1e4  # ticks of log axes are plain numbers if all of a figure are between these


def draw_panel(frame: "pd.DataFrame", panel: Panel, ax: "Axes | None" = None) -> "Axes":
    """Draw one panel and return its axes; without `ax`, on a new figure of its own, one column wide, with a legend."""
    from matplotlib.figure import Figure

    lines = style.lines(frame["variant"])  # those of the whole figure
    frame = frame[frame["panel"] == panel.key]
    with style.context():
        if ax is not None:
            _draw_curves(frame, panel, ax, lines)
            label_logs([ax])
            return ax
        figure = Figure(figsize=(style.COLUMN, 2.5), layout="constrained")
        ax = figure.subplots()
        _draw_curves(frame, panel, ax, lines)
        label_logs([ax])
        legend(figure, frame, style.COLUMN, lines)
    return ax


def draw_panels(frame: "pd.DataFrame", panels: Sequence[Panel], grid: "np.ndarray") -> None:
    """Draw panels on a grid of axes, with one notation of numbers for all, and switch off the axes that are left."""
    lines = style.lines(frame["variant"])
    for panel, ax in zip(panels, grid.flat):
        _draw_curves(frame[frame["panel"] == panel.key], panel, ax, lines)
    for ax in grid.flat[len(panels) :]:
        ax.set_axis_off()
    label_logs(grid.flat[: len(panels)])


def share_labels(grid: "np.ndarray") -> None:
    """Label a row once, and a column once below panels with one label; if columns have labels of their own, as heads, too."""
    labels = np.vectorize(lambda ax: ax.get_xlabel() if ax.axison else "")(grid)
    for row in grid:
        if len({ax.get_ylabel() for ax in row if ax.axison}) == 1:
            for ax in row[1:]:
                ax.set_ylabel("")
    for row, column in np.ndindex(len(grid) - 1, grid.shape[1]):
        if labels[row, column] == labels[row + 1, column]:
            grid[row, column].set_xlabel("")
    if len(grid) > 1 and (labels == labels[0]).all() and len(set(labels[0])) > 1:
        for ax, label in zip(grid[0], labels[0], strict=True):
            ax.annotate(label, (0.5, 1), (0, 17), "axes fraction", "offset points", ha="center", va="bottom", weight="bold")


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
    curves = {variant: frame[frame["variant"] == variant].sort_values("x") for variant in variants}
    strength = 0.18 if len(curves) <= CROWD else 0.1
    over = _coinciding({variant: curve for variant, curve in curves.items() if lines[variant].dashes == "-"}, ax)
    for variant, curve in curves.items():
        line = lines[variant]
        if curve["runs"].iloc[0] > 1:
            upper = curve["upper"].clip(upper=1e3 * top)  # infinite where runs diverged
            ax.fill_between(curve["x"], curve["lower"], upper, color=line.color, alpha=strength, linewidth=0, zorder=2)
        ax.plot(
            curve["x"],
            curve["median"],
            label=line.label,
            markevery=_marked(curve["x"].to_numpy(), panel, right, style.marker_offset(variant)),
            **{"zorder": 4 if line.filled else 3} | line.properties() | over.get(variant, {}),
        )
        _mark_end(curve, line, ax, middle=right / 2)
    if not panel.left and panel.axis == "time":  # the longest numbers
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    if panel.axis == "at_lam":  # as the runs go
        ax.invert_xaxis()
    if above:
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
        place = {"transform": ax.transAxes, "ha": "right", "va": "top"}
        ax.text(0.98, 0.98, "\n".join(above), fontsize=7, zorder=6, bbox=behind, **place)


def _coinciding(curves: "Mapping[str, pd.DataFrame]", ax: "Axes") -> dict[str, dict[str, Any]]:
    """Return how solid lines are drawn that mostly lie on others: the lines of a group take turns, a dash each."""
    transform = ax.transData + ax.transAxes.inverted()
    places = np.linspace(0.0, 1.0, 101)
    heights = {}
    for variant, curve in curves.items():
        finite = curve[np.isfinite(curve["median"])]
        x, y = transform.transform(finite[["x", "median"]].to_numpy(float)).T
        if len(x):
            heights[variant] = np.interp(places, x, y, left=np.nan, right=np.nan)
            heights[variant][(heights[variant] < 0) | (heights[variant] > 1)] = np.nan  # is not in view
    groups: list[list[str]] = []
    for variant, height in heights.items():
        for group in groups:
            apart = np.abs(height - heights[group[0]])
            if np.isfinite(apart).sum() >= 20 and (apart < APART).sum() > MOSTLY * np.isfinite(apart).sum():
                group.append(variant)
                break
        else:
            groups.append([variant])
    return {
        variant: {"linestyle": (-TURN * k / len(group), (TURN / len(group), TURN * (1 - 1 / len(group)))), "zorder": 4 + 0.01 * k}
        for group in groups
        for k, variant in enumerate(group)
        if k
    }


def label_logs(axes: "Iterable[Axes]") -> None:
    """Put ticks on all log axes of a figure, with one notation along x and one along y."""
    for name in ("xaxis", "yaxis"):
        label_log(*(axis for ax in axes if (axis := getattr(ax, name)).get_scale() == "log"))


def label_log(*axes: "Axis") -> None:
    """Put ticks on log axes: powers of ten if two are in view, else numbers between them; all plain, or all by their powers."""
    from matplotlib.axis import XAxis
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    shown = []
    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        exponents = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        several = (np.outer(10.0**exponents, steps).ravel() for steps in ([1], [1, 3], [1, 2, 5]))
        for ticks in (*several, np.asarray(MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high))):
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            if len(ticks) >= 3:
                break
        most = 4.5 if isinstance(axis, XAxis) else 6  # side by side, numbers with many zeros would touch
        if (every := int(np.ceil(len(ticks) / most))) > 1:  # of powers, exponents 0, 2, ... or 0, 3, ... are left
            ticks = ticks[np.arange(len(ticks)) % every == int(-np.round(np.log10(ticks[0]))) % every]
        axis.set_major_locator(FixedLocator(ticks.tolist()))
        axis.set_minor_locator(NullLocator())
        shown += ticks.tolist()
    plain = all(PLAIN[0] <= tick <= PLAIN[1] for tick in shown)
    for axis in axes:
        axis.set_major_formatter("{x:g}" if plain else _power)


def _power(tick, _=None):
    """Return a number as a power of ten, or a multiple of it."""
    exponent = int(np.floor(np.log10(tick) + 1e-9))
    factor = round(tick / 10.0**exponent, 6)
    return f"$\\mathdefault{{{'' if factor == 1 else f'{factor:g}·'}10^{{{exponent}}}}}$"


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
    values = shown[["lower", "median", "upper"]]
    values = values[np.isfinite(values) & ((values > 0) | (yscale == "linear"))]
    low, high = values.min(axis=None), values.max(axis=None)
    above: list[str] = []
    if not np.isfinite(low):
        return FLOOR, 1.0, above
    tops = values["median"].groupby(shown["variant"]).max().dropna().sort_values()
    if panel.focus and len(tops):
        low = min(values["median"].min(), values["lower"].quantile(0.25))
        while len(tops) > 2 and tops.iloc[-1] > 2 * tops.iloc[-2]:
            above.append(f"{style.line(tops.index[-1]).label} clipped (max {tops.iloc[-1]:.2g})")
            tops = tops[:-1]
        bands = values["upper"][shown["variant"].isin(tops.index)]
        high = max(tops.iloc[-1], bands.quantile(0.75))
        above += [f"band clipped (max {bands.max():.2g})"] if bands.max() > high else []
    elif yscale == "log" and high < (start := frame["median"].where(np.isfinite(frame["median"])).max()) <= ROOM * high:
        high = start
    low = max(low, panel.bottom)
    if yscale == "log":
        air = max(high / low, 10.0) ** 0.05
        return low / air, high * air, above
    air = 0.06 * max(high - low, 1e-3)
    return max(low - air, 0.0), high + air, above


def _mark_end(curve, line, ax, middle):
    """Mark curves that end early: a cross where runs diverged, a bar where they were stopped."""
    from matplotlib.patheffects import withStroke

    finite = curve[np.isfinite(curve["median"])]
    runs, diverged, stopped = (int(curve[column].iloc[0]) for column in ("runs", "diverged", "stopped"))
    for count, word, marker in ((diverged, "diverged", "x"), (stopped, "stopped early", "|")):
        if count and len(finite):
            end = tuple(finite[["x", "median"]].iloc[-1])
            ax.plot(*end, marker, color=line.color, markersize=8, markeredgewidth=1.6, clip_on=False, zorder=6)
            text = word if runs == 1 else f"{count} of {runs} {word}"
            side = {"xytext": (6, 0), "va": "center"} if end[0] < middle else {"xytext": (-2, 5), "ha": "right"}
            note = ax.annotate(text, end, textcoords="offset points", fontsize=7, color=line.color, zorder=6, **side)
            note.set_path_effects([withStroke(linewidth=2, foreground="white")])


def legend(figure: "Figure", frame: "pd.DataFrame", width: float, lines: "dict[str, style.Line] | None" = None) -> None:
    """Add one legend below a figure `width` inches wide, in the order of the table; it explains line and band."""
    lines = lines or style.lines(frame["variant"])
    if len(frame):
        figure.legend(**_entries(frame, width, lines), title=_title(frame), loc="outside lower center", borderaxespad=0.2)


def legend_in(ax: "Axes", frame: "pd.DataFrame", lines: "dict[str, style.Line]") -> None:
    """Add the legend of a figure in the place of a panel."""
    title = (_title(frame) or "").replace(", ", ",\n")
    ax.legend(**_entries(frame, 0.0, lines), title=title or None, loc="center", alignment="left")


def legends(grid: "np.ndarray", panels: Sequence[Panel], frame: "pd.DataFrame", width: float) -> None:
    """Add a legend below each panel, `width` inches wide, for its curves, and one line for the figure that explains bands."""
    from matplotlib.lines import Line2D

    lines = style.lines(frame["variant"])
    by_panel = {key: _entries(curves, width, lines, handle=3.0) for key, curves in frame.groupby("panel", sort=False)}
    rows = max(-(-len(entries["handles"]) // entries["ncols"]) for entries in by_panel.values()) if by_panel else 0
    for panel, ax in zip(panels, grid.flat):
        if entries := by_panel.get(panel.key):
            # All legends have as many rows, so that panels have one size.
            empty = rows * entries["ncols"] - len(entries["handles"])
            entries["handles"] += [Line2D([], [], linestyle="", label=" ") for _ in range(empty)]
            ax.legend(**entries, loc="upper center", bbox_to_anchor=(0.45, -0.22))
    if title := len(frame) and _title(frame):
        grid.flat[0].figure.supxlabel(title, fontsize=7)


def _title(frame):
    """Return the line that explains bands, if there are any."""
    runs = frame["runs"][frame["runs"] > 1]
    if not len(runs):
        return None
    count = " to ".join(f"{number:g}" for number in dict.fromkeys([runs.min(), runs.max()]))
    band = "from best to worst" if runs.max() < QUARTERS else "between quartiles"
    if runs.min() < QUARTERS <= runs.max():
        band += f" (of less than {QUARTERS}: from best to worst)"
    return f"random methods: {'mean' if runs.max() == 2 else 'median'} of {count} runs, band {band}"


def _entries(frame, width, lines, handle=4.2):
    """Return the arguments of a legend for the curves of a frame; a long handle shows the dashes on both sides of the marker."""
    from matplotlib.lines import Line2D

    entries = [lines[variant] for variant in style.in_table_order(frame["variant"])]
    widest = 0.06 * max(len(line.label) for line in entries) + 0.13 * handle + 0.17  # inches: letters, handle, space
    rows = -(-len(entries) // max(1, int((width + 0.15) / widest)))
    handles = [Line2D([], [], label=line.label, **line.properties()) for line in entries]
    return {"handles": handles, "ncols": -(-len(entries) // rows), "handlelength": handle, "columnspacing": 1.4}
