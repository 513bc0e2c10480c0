"""What figures of the ICML 2016 paper share, the maps of its figure 2, and the names of ways to smaller lam.

The paper's HorseSeg and LSP are replaced by synthetic data of their sizes, and by Weizmann horses; OCR and CoNLL are the same.
"""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fwexp.methods import methods, of_results
from fwexp.plots import drawing, frames, style
from fwexp.plots.curves import Chart, Panel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LAM = 0.001  # of the figures at one lam: the middle one of the published code on OCR. The text of the paper names no lam for them.


class DataSetting(NamedTuple):
    """A data set, with its options, and the three lam at which methods are compared there."""

    dataset: str
    lams: tuple[float, float, float]
    options: Mapping[str, str] = {}

    def among(self, results: "pd.DataFrame") -> "pd.DataFrame":
        """Return the rows of results that are on this data."""
        return frames.on_data(results, self.dataset, self.options)


DATA_SETTINGS = {
    "OCR-large": DataSetting("ocr", (0.1, 0.001, 0.0001), {"split": "ocr2"}),
    "CoNLL": DataSetting("conll2000", (0.1, 0.01, 0.0001)),
    "OCR-small": DataSetting("ocr", (0.1, 0.001, 0.0001), {"split": "ocr"}),
    "synth. HorseSeg-small": DataSetting("synthetic_horseseg", (1000.0, 100.0, 0.1), {"size": "small"}),
    "synth. HorseSeg-medium": DataSetting("synthetic_horseseg", (10.0, 1.0, 0.1), {"size": "medium"}),
    "synth. HorseSeg-large": DataSetting("synthetic_horseseg", (10.0, 1.0, 0.1), {"size": "large"}),
    "Weizmann horses": DataSetting("horses", (10.0, 1.0, 0.1)),
    "synth. LSP": DataSetting("synthetic_lsp", (1.0, 0.1, 0.01)),
}
"""By what panels call them. The lam are those of the published code, because the paper's appendix J is not at hand: for horses
those of the larger HorseSeg, for LSP smaller ones, as fit features about as long as 1."""

SLOW, SLOW_SETTING = "slow LSP", DataSetting("slow_lsp", (1.0, 0.1, 0.01))
"""Poses with an oracle of about 50 ms, at the middle lam only."""

WALKERS = ("bcfw_gap", "bcpfw_gap_cache")  # the methods of paths and grids
WALKED = ("synth. HorseSeg-small", "OCR-small", "synth. HorseSeg-medium", "OCR-large")  # the data sets of paths and grids
LAM_MIN = 2.0**-15  # the last of the paper's 31 values of lam (section 5.2, paragraph 1), at which paths and grids end


def steps(results: "pd.DataFrame") -> "pd.Series":
    """Return the method of each row, and of our line search, where weights must not be negative, the name in `style.LINES`."""
    names = of_results(results)
    ours = ~results["dataset"].isin(["ocr", "conll2000"]) & (results["solver.constrained_search"] == "exact")
    return names + ours.map({True: "_longest", False: ""})


def refreshes(results: "pd.DataFrame") -> "pd.Series":
    """Return the method of each row by how often it refreshes gaps; uniform sampling is one, whether it checks its gap or not."""
    return of_results(results, ("refresh",)).replace("bcfw_10", "bcfw")


def ways(results: "pd.DataFrame") -> "pd.Series":
    """Return, for each row, the name in `style.LINES` of its way to smaller lam."""
    import pandas as pd

    path = np.where(results["task.exact"] == True, "path", "heuristic_path")  # noqa: E712 (missing elsewhere)
    grid = np.where(results["task.warm"] == True, "warm_grid", "cold_grid")  # noqa: E712
    return pd.Series(np.where(results["task"] == "path", path, grid), index=results.index)


def with_gap_ratio(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return `results` with true over estimated gap, both totals over all examples, without training that checks no gap."""
    # The caption of the paper's figure 1 names the inverse ratio; this is the one of section 3.1, on exploitation and staleness.
    uncharged = (results["task"].fillna("train") == "train") & (of_results(results, ("refresh",)) == "bcfw")
    results = results[~uncharged]
    estimate = results["gap_estimate"].where(np.isfinite(results["gap_estimate"]) & (results["gap_estimate"] > 0))
    return results.assign(gap_ratio=results["gap"] / estimate)


FIG2_A = {
    "a1": ("cache_hits", "steps answered by the cache"),
    "a2": ("cache_local", "steps let through by the local criterion"),
    "a3": ("cache_global", "steps let through by the global criterion"),
}
FIG2_B = Chart([Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap")], split_by=("cache.F", "cache.nu"))


def fig2_data(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return the shares of steps that the cache answered and each criterion allowed, by F and nu (a), and some gaps (b)."""
    import pandas as pd

    names = of_results(results, FIG2_B.split_by)
    shown = FIG2_B.data(results[names.isin(list(style.METHODS))])
    shares, facts = [], {"dataset": "ocr", "lam": str(LAM), "axis": "nu"}
    if "solver.cache.F" in results:  # else all runs with a cache failed
        end = results[results["cache_hits"].notna()].groupby("key").last().reset_index()
        regimes = end.groupby(["solver.cache.F", "solver.cache.nu"])
        for (panel, (measure, _)), ((F, nu), runs) in itertools.product(FIG2_A.items(), regimes):
            share = runs[measure] / runs["step"]
            values = {"panel": panel, "measure": measure, "variant": f"F = {F:g}", "x": nu}
            values |= frames.statistics(share.to_numpy())
            values |= {name: runs[column].median() for name, column in frames.POSITIONS.items()}
            stopped = runs["status"].isin(["time_limit", "interrupted"]).sum()
            counts = {"runs": len(runs), "diverged": (runs["status"] == "diverged").sum(), "stopped": stopped}
            shares.append(pd.DataFrame([facts | values | counts | {"keys": " ".join(runs["key"])}]))
    return frames.joined([*shares, shown])


def fig2_draw(frame: "pd.DataFrame") -> "Figure":
    """Draw figure 2 from its tidy frame."""
    from matplotlib.figure import Figure

    with style.context():
        figure = Figure(figsize=(style.TEXT, 5.2), layout="constrained")
        *maps, last = figure.subplots(2, 2).flat
        for (panel, (_, title)), ax in zip(FIG2_A.items(), maps, strict=True):
            _draw_shares(frame[frame["panel"] == panel], f"({panel}) {title}", ax)
        drawing.draw_panel(frame, *FIG2_B.panels, last)
        if images := [image for ax in maps for image in ax.images]:
            bar = figure.colorbar(
                images[0],
                ax=figure.axes,
                shrink=0.4,
                anchor=(0, 0.96),
                aspect=25,
                label="share of steps",
                format=lambda value, _: f"{100 * value:.0f} %",
                ticks=[0, 0.5, 1],
            )
            bar.outline.set_visible(False)
        drawing.legend(figure, frame[frame["panel"] == "b"], style.TEXT)
    return figure


def _draw_shares(frame, title, ax):
    """Draw a map of shares, with the regimes of panel b marked by the same signs."""
    frame = frame.assign(F=frame["variant"].str.removeprefix("F = ").astype(float))
    share = frame.pivot(index="F", columns="x", values="median")
    ax.set(xlabel="ν (global criterion)", ylabel="F (local criterion)", title=title)
    if share.empty:
        ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center", color="#444444")
        return
    ax.imshow(share, origin="lower", cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(share.shape):
        value = share.iloc[row, column]
        color = "white" if value > 0.6 else "black"
        words = f"{100 * value:.0f} %" if np.isfinite(value) else "no run"
        ax.text(column, row, words, ha="center", va="center", fontsize=7, color=color)
    for name, known in style.METHODS.items():
        cache = methods()[name].options.get("cache")
        if isinstance(cache, dict) and cache["F"] in share.index and cache["nu"] in share.columns:
            place = share.columns.get_loc(cache["nu"]) - 0.36, share.index.get_loc(cache["F"]) + 0.3
            ax.plot(*place, known.marker, color=known.color, markersize=5.5, markeredgecolor="white")
    ax.set_xticks(range(share.shape[1]), [f"{nu:g}" for nu in share.columns])
    ax.set_yticks(range(share.shape[0]), [f"{F:g}" for F in share.index])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
