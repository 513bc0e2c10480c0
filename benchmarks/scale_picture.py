"""Picture of how training grows with workers: measurements next to simulations, a panel for each regime."""

from typing import TYPE_CHECKING, Any

from fwexp.plots import style
from fwexp.plots.drawing import label_logs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CALLS, PROGRESS = ", calls", ", progress"
BLUE, ORANGE = "#0072B2", "#D55E00"  # Okabe and Ito's
# What keeps a regime from growing further, as the simulation names it.
BOTTLENECKS = {
    "workers": "workers: it grows on",
    "messages": "messages through the main process",
    "bytes": "bytes to and from the main process",
    "steps": "steps of the main process",
    "copies": "copies of dual blocks to the main process",
    "exchanges": "what the main process does in a round",
    "rounds": "waiting for rounds",
}
# Which series is drawn how: what was measured comes first.
STYLES: dict[str, dict[str, Any]] = {
    "measured": {"linestyle": "-", "marker": "o", "markersize": 4, "linewidth": 1.8, "label": "measured, this machine"},
    "machine": {"linestyle": ":", "linewidth": 1.2, "label": "simulated, this machine"},
    "cluster": {"linestyle": "--", "linewidth": 0.9, "alpha": 0.7, "label": "simulated, one core per process"},
}
NAMES = {CALLS: "oracle calls per second", PROGRESS: "effective calls per second (calls / growth in passes)"}


def data(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return calls per second, and these over the passes that a gap takes relative to one worker, as a tidy frame."""
    import pandas as pd

    first = table[table["series"] == "measured"].groupby("regime")["passes"].first()
    passes = table["passes"] / table["regime"].map(first).where(table["series"] == "measured", 1.0)
    panels = table["regime"].map(dict(zip(table["regime"].unique(), "abcd", strict=False)))
    facts = {"panel": panels, "regime": table["regime"], "bottleneck": table["bottleneck"], "workers": table["workers"]}
    frames = [
        pd.DataFrame(facts | {"variant": table["series"] + which, "rate": values})
        for which, values in ((CALLS, table["calls_per_second"]), (PROGRESS, table["calls_per_second"] / passes))
    ]
    return pd.concat(frames, ignore_index=True)


def draw(frame: "pd.DataFrame") -> "Figure":
    """Draw a panel for each regime; shaded is where nothing was measured, and a line names the bottleneck of most workers."""
    from matplotlib.figure import Figure

    with style.context():
        figure = Figure(figsize=(style.TEXT, 5.0), layout="constrained")
        panels, grid = frame.groupby("panel", sort=False), figure.subplots(2, 2, sharex=True)
        for (key, rows), ax in zip(panels, grid.flat, strict=False):
            measured = rows[rows["variant"] == "measured" + CALLS]["workers"].max()
            largest = rows[rows["variant"] == "cluster" + CALLS].sort_values("workers").iloc[-1]["bottleneck"]
            ax.set(xscale="log", yscale="log", ylabel="oracle calls per second" if key in "ac" else "")
            ax.set_title(f"({key}) {_title(rows['regime'].iloc[0])}", loc="left")
            ax.text(0.03, 0.96, f"bottleneck: {BOTTLENECKS[largest]}", transform=ax.transAxes, va="top", fontsize=7)
            ax.axvspan(measured, rows["workers"].max(), color="#F2F2F2", zorder=0)
            for variant, curve in rows.groupby("variant", sort=False):
                calls, series = variant.endswith(CALLS), variant.partition(",")[0]
                ax.plot(curve["workers"], curve["rate"], **STYLES[series] | {"label": ""}, color=BLUE if calls else ORANGE)
            low, high = ax.get_ylim()
            ax.set_ylim(low, high * 4)
            if key in "cd":
                ax.set_xlabel("workers")
        label_logs(grid.flat)
        figure.legend(handles=_handles(), loc="outside lower center", ncols=2)
    return figure


def _title(regime):
    """Return the name of a regime in words."""
    oracle, weights = regime.split(", ")
    return f"{oracle} oracle, {'few' if weights.startswith('small') else 'many'} weights"


def _handles():
    from matplotlib.lines import Line2D

    looks = [Line2D([], [], color="black", **look) for look in STYLES.values()]
    return [Line2D([], [], color=color, label=NAMES[measure]) for measure, color in ((CALLS, BLUE), (PROGRESS, ORANGE))] + looks
