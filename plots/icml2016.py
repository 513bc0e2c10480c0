"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016), some on data of ours."""

import itertools

import numpy as np
import pandas as pd

from fwexp.errors import ParameterError
from fwexp.methods import methods, of_results
from fwexp.plots import curves, style
from fwexp.plots.curves import Panel

LAM = 0.001
"""Of the figures at one lam: the paper's middle one on OCR."""

FIG1 = (
    Panel("a", f"OCR, λ = {LAM}", "ocr", LAM, "gap"),
    Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap_ratio"),
    Panel("c", f"OCR, λ = {LAM}", "ocr", LAM, "improvement", task="improvement"),
)
FIG2_A = {
    "a1": ("cache_hits", "steps answered by the cache"),
    "a2": ("cache_local", "steps let through by the local criterion"),
    "a3": ("cache_global", "steps let through by the global criterion"),
}
FIG2_B = Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap")


def fig1_data(results):
    """Gap, true over estimated gap, and the predicted improvement, for refreshes of the gaps every so many passes.

    Both gaps are totals over all examples. The paper's caption has the ratio upside down; this is the way of its prose.
    """
    estimate = results["gap_estimate"].where(np.isfinite(results["gap_estimate"]) & (results["gap_estimate"] > 0))
    return curves.data(results.assign(gap_ratio=results["gap"] / estimate), FIG1, split_by=["refresh"])


def fig1_draw(frame):
    """Draw figure 1 from its tidy frame."""
    return curves.draw(frame, FIG1, height=2.0)


def fig2_data(results):
    """Shares of steps that the cache answered, and that each criterion let through, by F and nu (a), and some regimes' gap (b).

    In the panels a the variants are the values of F, and the positions those of nu.

    Raises
    ------
    ParameterError
        Runs of a version that did not count what each criterion lets through.
    """
    names = of_results(results, split_by=["cache.F", "cache.nu"])
    shown = curves.data(results[names.isin(list(style.METHODS))], [FIG2_B], split_by=["cache.F", "cache.nu"])
    frames, facts = [], {"dataset": "ocr", "lam": str(LAM), "axis": "nu"}
    if "solver.cache.F" in results:  # else all runs with a cache failed
        if lacking := [measure for measure, _ in FIG2_A.values() if measure not in results]:
            raise ParameterError(f"stored runs are of a version without {', '.join(lacking)}; force=stale runs them again")
        end = results[results["cache_hits"].notna()].groupby("key").last().reset_index()
        regimes = end.groupby(["solver.cache.F", "solver.cache.nu"])
        for (panel, (measure, _)), ((F, nu), runs) in itertools.product(FIG2_A.items(), regimes):
            shares = runs[measure] / runs["step"]
            values = {"panel": panel, "measure": measure, "variant": f"F = {F:g}", "x": nu}
            values |= {"median": shares.median(), "best": shares.min(), "worst": shares.max()}
            values |= {name: runs[column].median() for name, column in curves.POSITIONS.items()}
            stopped = runs["status"].isin(["time_limit", "interrupted"]).sum()
            counts = {"runs": len(runs), "diverged": (runs["status"] == "diverged").sum(), "stopped": stopped}
            frames.append(pd.DataFrame([facts | values | counts | {"keys": " ".join(runs["key"])}]))
    filled = [frame for frame in (*frames, shown) if len(frame)] or [shown]
    return pd.concat(filled, ignore_index=True)[curves.COLUMNS]


def fig2_draw(frame):
    """Draw figure 2 from its tidy frame."""
    from matplotlib.figure import Figure

    with style.context():
        figure = Figure(figsize=(style.TEXT, 5.2), layout="constrained")
        *maps, last = figure.subplots(2, 2).flat
        for (panel, (_, title)), ax in zip(FIG2_A.items(), maps, strict=True):
            _draw_shares(frame[frame["panel"] == panel], f"({panel}) {title}", ax, figure)
        curves.draw_panel(frame, FIG2_B, last)
        curves.legend(figure, frame[frame["panel"] == "b"], style.TEXT)
    return figure


def _draw_shares(frame, title, ax, figure):
    """A map of shares, with the regimes of panel b marked as they are there."""
    frame = frame.assign(F=frame["variant"].str.removeprefix("F = ").astype(float))
    share = frame.pivot(index="F", columns="x", values="median")
    ax.set(xlabel="ν (global criterion)", ylabel="F (local criterion)", title=title)
    if share.empty:
        ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center", color="#444444")
        return
    image = ax.imshow(share, origin="lower", cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(share.shape):
        value = share.iloc[row, column]
        color = "white" if value > 0.6 else "black"
        words = f"{100 * value:.0f} %" if np.isfinite(value) else "no run"
        ax.text(column, row - 0.12, words, ha="center", va="center", fontsize=7, color=color)
    for name, known in style.METHODS.items():
        cache = methods()[name].options.get("cache")
        if isinstance(cache, dict) and cache["F"] in share.index and cache["nu"] in share.columns:
            place = share.columns.get_loc(cache["nu"]), share.index.get_loc(cache["F"]) + 0.28
            ax.plot(*place, known.marker, color=known.color, markersize=5.5, markeredgecolor="white")
    ax.set_xticks(range(share.shape[1]), [f"{nu:g}" for nu in share.columns])
    ax.set_yticks(range(share.shape[0]), [f"{F:g}" for F in share.index])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    bar = figure.colorbar(image, ax=ax, format=lambda value, _: f"{100 * value:.0f} %", ticks=[0, 0.5, 1], aspect=30)
    bar.outline.set_visible(False)
