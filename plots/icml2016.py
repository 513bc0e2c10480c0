"""Figures of "Minding the Gaps for Block Frank-Wolfe Optimization of Structured SVMs" (ICML 2016), some on data of ours."""

import numpy as np
import pandas as pd

from fwexp.plots import curves, style
from fwexp.plots.curves import Panel

LAM = 0.001
"""Of the figures at one lam: the paper's middle one on OCR."""

FIG1 = (
    Panel("a", f"OCR, λ = {LAM}", "ocr", LAM, "gap"),
    Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap_ratio"),
    Panel("c", f"OCR, λ = {LAM}", "ocr", LAM, "improvement", task="improvement"),
)
FIG2_B = Panel("b", f"OCR, λ = {LAM}", "ocr", LAM, "gap")
FIG3 = tuple(
    Panel(f"{letter}{row}", f"{title}, λ = {lam:g}", dataset, lam, "gap", axis, full=1.0 if axis == "passes" else 0.1)
    for row, axis in enumerate(("passes", "time"), 1)
    for letter, title, dataset, lam in (
        ("a", "OCR", "ocr", LAM),
        ("b", "Weizmann horses", "horses", 0.01),
        ("c", "synthetic LSP", "synthetic_lsp", 0.01),
    )
)
FIG5 = tuple(
    Panel(f"{letter}{row}", f"{title}, λ = {lam:g}", dataset, lam, "gap", axis, full=1.0 if axis == "passes" else 0.1)
    for row, dataset, title, lams in ((1, "ocr", "OCR", (0.1, 0.001, 0.0001)), (3, "conll2000", "CoNLL", (0.1, 0.01, 0.0001)))
    for row, axis in ((row, "passes"), (row + 1, "time"))
    for letter, lam in zip("abc", lams)
)
# Panels of methods instead of data sets, at all lam down to the smallest.
FIG8 = tuple(
    Panel(letter, f"{title}, {style.METHODS[method].label}", method, "", measure, "at_lam", left=1e-4, full=0.0, split=split)
    for letter, (split, title, measure, method) in zip(
        "abcdefgh",
        [
            (split, title, measure, method)
            for split, title in (("ocr", "OCR-small"), ("ocr2", "OCR-large"))
            for measure in ("passes", "time")
            for method in ("bcfw-gap", "bcpfw-gap-cache")
        ],
    )
)


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
    """Share of steps that the cache answered, by F and nu (panel a), and the gap in some of these regimes (panel b).

    In panel a the variants are the values of F, and the positions those of nu.
    """
    names = style.methods(results, split_by=["cache.F", "cache.nu"])
    shown = curves.data(results[names.isin(list(style.METHODS))], [FIG2_B], split_by=["cache.F", "cache.nu"])
    frames, facts = [], {"panel": "a", "dataset": "ocr", "lam": str(LAM), "axis": "nu", "measure": "cache_hits"}
    if "solver.cache.F" in results:  # else all runs with a cache failed
        end = results[results["cache_hits"].notna()].groupby("key").last().reset_index()
        end = end.assign(hits=end["cache_hits"] / end["step"])
        for (F, nu), runs in end.groupby(["solver.cache.F", "solver.cache.nu"]):
            values = {
                "variant": f"F = {F:g}",
                "x": nu,
                "median": runs["hits"].median(),
                "best": runs["hits"].min(),
                "worst": runs["hits"].max(),
            }
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
        figure = Figure(figsize=(style.TEXT, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _draw_hits(frame[frame["panel"] == "a"], left, figure)
        curves.draw_panel(frame, FIG2_B, right)
        curves.legend(figure, frame[frame["panel"] == "b"], style.TEXT)
    return figure


def _draw_hits(frame, ax, figure):
    """A map of the shares of hits, with the regimes of panel b marked as they are there."""
    frame = frame.assign(F=frame["variant"].str.removeprefix("F = ").astype(float))
    share = frame.pivot(index="F", columns="x", values="median")
    ax.set(xlabel="ν (global criterion)", ylabel="F (local criterion)", title=f"(a) steps answered by the cache, λ = {LAM}")
    if share.empty:
        ax.text(0.5, 0.5, "no run", transform=ax.transAxes, ha="center", va="center", color="#444444")
        return
    image = ax.imshow(share, origin="lower", cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(share.shape):
        value = share.iloc[row, column]
        color = "white" if value > 0.6 else "black"
        words = f"{100 * value:.0f} %" if np.isfinite(value) else "no run"
        ax.text(column, row - 0.12, words, ha="center", va="center", fontsize=7, color=color)
    for known in style.METHODS.values():
        F, nu = known.departures.get("cache.F"), known.departures.get("cache.nu")
        if F in share.index and nu in share.columns:
            place = share.columns.get_loc(nu), share.index.get_loc(F) + 0.28
            ax.plot(*place, known.marker, color=known.color, markersize=5.5, markeredgecolor="white")
    ax.set_xticks(range(share.shape[1]), [f"{nu:g}" for nu in share.columns])
    ax.set_yticks(range(share.shape[0]), [f"{F:g}" for F in share.index])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    bar = figure.colorbar(image, ax=ax, format=lambda value, _: f"{100 * value:.0f} %", ticks=[0, 0.5, 1], aspect=30)
    bar.outline.set_visible(False)


def fig3_data(results):
    """Gap of the eight methods against passes and time, on three structures."""
    return curves.data(results, FIG3)


def fig3_draw(frame):
    """Draw figure 3 from its tidy frame."""
    return curves.draw(frame, FIG3)


def fig5_data(results):
    """Gap of the eight methods against passes and time, on two data sets at three lam each."""
    return curves.data(results, FIG5)


def fig5_draw(frame):
    """Draw figure 5 from its tidy frame."""
    return curves.draw(frame, FIG5)


def fig8_data(results):
    """Passes and time so far on the way to smaller lam: paths, and grids with warm and cold starts."""
    names = style.methods(results)
    frames = []
    for panel in FIG8:
        rows = results[(results["split"] == panel.split) & (names == panel.dataset)]
        variants = _ways(rows)
        for variant in style.in_table_order(variants):
            runs = rows[variants == variant].assign(position=lambda rows: np.log10(rows["at_lam"]))
            band = curves.bands(runs, panel.measure, "position")
            band["x"] = 10.0 ** band["x"]
            facts = {"panel": panel.key, "dataset": "ocr", "lam": "", "variant": variant}
            frames.append(band.assign(**facts, axis=panel.axis, measure=panel.measure))
    return pd.concat(frames, ignore_index=True)[curves.COLUMNS]


def _ways(rows):
    """The name of each row's way to smaller lam."""
    path = np.where(rows["task.exact"] == True, "path", "heuristic_path")  # noqa: E712 (missing elsewhere)
    grid = np.where(rows["task.warm"] == True, "warm_grid", "cold_grid")  # noqa: E712
    return pd.Series(np.where(rows["task"] == "path", path, grid), index=rows.index)


def fig8_draw(frame):
    """Draw figure 8 from its tidy frame; lam falls from left to right, as the runs go."""
    figure = curves.draw(frame, FIG8, columns=2)
    for ax in figure.axes:
        ax.invert_xaxis()
    return figure
