"""The trajectories of an authors' published code and of ours on the same index sequence, and their difference."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fwexp.plots import style
from fwexp.plots.drawing import label_logs
from fwexp.plots.frames import AXES, MEASURES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = ["panel", "variant", "axis", "measure", "x", "median", "keys"]
DIFFERENCES = "differences in (a) and (b)"
OBJECTIVES = ("primal", "dual")
PUBLISHED = ", published code"
RING: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 3.4, "markerfacecolor": "white"}
SMALLEST = 1e-15  # least difference that is drawn: equal values, too, have a place on the log axis


class Replays(NamedTuple):
    """The content of a paper's figure: the titles of panels (a) and (b), the variants of (b), and the rings that are drawn."""

    titles: tuple[str, str]
    variants_b: tuple[str, ...]
    rings: slice
    named: tuple[int, ...]  # of the variants, in their order: those whose rings are in the legend


OF_2013 = Replays(("BCFW, OCR-small, λ = 0.01", "FW, OCR-small, λ = 0.01"), ("fw",), slice(2, None, 3), (0, -1))
OF_2016 = Replays(
    ("BCFW, OCR-small, λ = 0.001", "pairwise and away steps"),
    ("bcpfw_gap", "bcpfw_gap_cache", "bcafw_gap"),
    slice(None),
    (0,),
)


def figure_of(replays: Replays) -> dict[str, Callable]:
    """Return ``data`` and ``draw`` of the figure of a paper."""
    return {"data": partial(data, replays), "draw": partial(draw, replays)}


def data(replays: Replays, _: object, replayed: "pd.DataFrame") -> "pd.DataFrame":
    """Return primal and dual of both codes (a, b), and the larger of their two differences (c), as a tidy frame."""
    import pandas as pd

    frames = []
    for variant, of_one in replayed.groupby("variant", sort=False):
        rows = of_one[of_one["measure"].isin(OBJECTIVES)]
        difference = (
            (rows["ours"] - rows["published"]).abs().groupby(rows["passes"]).max().clip(lower=SMALLEST).reset_index(name="d")
        )
        series = [("c", "difference", variant, difference["passes"], difference["d"])]
        for measure in OBJECTIVES:
            panel = "b" if variant in replays.variants_b else "a"
            one, name = rows[rows["measure"] == measure], f"{variant}, {measure}"
            series += [(panel, "objective", name, one["passes"], one["ours"])]
            series += [(panel, "objective", name + PUBLISHED, one["passes"], one["published"])]
        for panel, measure, label, x, values in series:
            facts = {"panel": panel, "variant": label, "axis": "passes", "measure": measure, "keys": ""}
            frames.append(pd.DataFrame({**facts, "x": x, "median": values}))
    return pd.concat(frames, ignore_index=True)[COLUMNS].sort_values("panel", kind="stable", ignore_index=True)


def draw(replays: Replays, frame: "pd.DataFrame", _: object) -> "Figure":
    """Draw lines for ours, rings for the published code, and the differences on a log axis."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with style.context():
        figure = Figure(figsize=(style.TEXT, 2.5), layout="constrained")
        grid = figure.subplots(1, 3)
        for (panel, rows), ax in zip(frame.groupby("panel"), grid, strict=True):
            label, scale = MEASURES[rows["measure"].iloc[0]]
            title = dict(zip("abc", (*replays.titles, DIFFERENCES), strict=True))[panel]
            ax.set(title=f"({panel}) {title}", xlabel=AXES["passes"], ylabel=label, yscale=scale)
            for name, curve in rows.groupby("variant", sort=False):
                _draw_curve(ax, name, curve, replays.rings)
            low, high = rows["median"].min(), rows["median"].max()
            ax.set_ylim(low / 3, 3 * high)
            for measure in OBJECTIVES if panel != "c" else ():
                end = rows[rows["variant"].str.endswith(measure)].groupby("variant")["median"].last().max()
                leader = {"arrowstyle": "-", "color": "#444444", "linewidth": 0.6}
                ax.annotate(
                    measure, (0.84 * rows["x"].max(), end), (-12, -18), textcoords="offset points", ha="center", arrowprops=leader
                )
        label_logs(grid)
        lines = [style.line(name) for name in frame.loc[frame["panel"] == "c", "variant"].unique()]
        handles = [Line2D([], [], color=line.color, linestyle=line.dashes, label=line.label) for line in lines]
        handles += [Line2D([], [], color=lines[k].color, label=f"{lines[k].label}, published code", **RING) for k in replays.named]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=4.2)
    return figure


def _draw_curve(ax, name, curve, rings):
    line = style.line(name.partition(",")[0])
    if name.endswith(PUBLISHED):
        ax.plot(curve["x"][rings], curve["median"][rings], color=line.color, **RING)
    else:
        ax.plot(curve["x"], curve["median"], color=line.color, linestyle=line.dashes)
