"""Curves against passes or time: from results to a tidy frame, and from the frame to panels.

A figure is a `Chart`: its panels, and what they show of its runs. ``data`` gives one row per panel, variant and position: the
median over the runs, the best and the worst of them. ``draw`` reads that frame and nothing else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.methods import of_results, variant_of
from fwexp.plots import style

MEASURES = {
    "suboptimality": ("primal suboptimality", "log"),
    "gap": ("duality gap", "log"),
    "value": ("f(x)", "log"),
    "primal": ("primal objective", "log"),
    "test_error": ("test error (mean loss)", "linear"),
    "train_error": ("training error (mean loss)", "linear"),
    "gap_ratio": ("true / estimated gap", "log"),
    "improvement": ("predicted improvement", "linear"),
    "passes": ("effective passes so far", "log"),
    "time": ("solver time so far (s)", "log"),
    "cache_hits": ("share of steps answered by the cache", "linear"),
    "cache_local": ("share of steps let through by the local criterion", "linear"),
    "cache_global": ("share of steps let through by the global criterion", "linear"),
    "share": ("share of problems solved", "linear"),
}
AXES = {"passes": "effective passes (oracle calls / n)", "time": "solver time (s)", "at_lam": "λ", "nu": "ν (global criterion)"}
AXES |= {"calls": "linear minimisations, projections", "inspected": "atoms inspected", "factor": "factor over the fastest"}

REFERENCE = "bccfw_accelerated"
"""The method of the run that presets name to bound the optimum from below."""

FLOOR = 1e-12
"""Differences of objectives below this are rounding; log axes end here."""

POSITIONS = {"passes": "passes", "calls": "oracle_calls", "seconds": "time"}
"""Where runs were on the way: columns of a figure's frame, by those of a trace."""

STATISTICS = ["x", "median", "best", "worst", *POSITIONS, "runs", "diverged", "stopped", "keys"]
COLUMNS = ["panel", "dataset", "lam", "variant", "axis", "measure", *STATISTICS]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: which runs, and what of them is drawn against what.

    Attributes
    ----------
    key, title : str
        ``a`` and the words behind it.
    dataset : str
        Name of the data set.
    lam : float or "1/n"
        Regularization, as the preset says it; nothing where that does not tell runs apart.
    measure, axis : str
        What is drawn (one of `MEASURES`) against what (one of `AXES`).
    left : float
        Where the positions begin; they have a log scale if this is not 0.
    full : float
        From this position on the panel shows all of every curve; before it, one may leave the panel.
    focus : bool
        Whether to let leave it, at all positions, what would squeeze the others: a method that gets more than twice as high as
        any other, and the ends of the widest bands. The panel then names them.
    yscale : {"linear", "log"}, optional
        Scale of the measure; without it, the usual one in `MEASURES`.
    options : mapping
        Options of the data set, where runs with several values are in the figure: ``{"split": "ocr"}``.
    task : str
        What the runs did; nothing where that does not tell them apart.
    method : str
        The only method, where variants are not methods.
    early : bool
        Whether what lies before ``left`` counts, too; else curves begin at the first position behind it.
    """

    key: str
    title: str
    dataset: str
    lam: float | str = ""
    measure: str = "suboptimality"
    axis: str = "passes"
    left: float = 0.0
    full: float = 1.0
    focus: bool = False
    yscale: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    task: str = "train"
    method: str = ""
    early: bool = True

    def __post_init__(self):
        for what, value, known in (("measure", self.measure, MEASURES), ("axis", self.axis, AXES)):
            if value not in known:
                raise ParameterError(unknown(f"{what} of panel {self.key}", value, known))

    @property
    def place(self) -> str:
        """The data set with its options."""
        return " ".join([self.dataset, *(f"{option}={value}" for option, value in self.options.items())])

    def rows(self, results: pd.DataFrame) -> pd.DataFrame:
        """The rows of `results` that belong to this panel."""
        if self.lam != "":
            by_rule = results["lam_spec"].astype(str) == "1/n"
            same = by_rule if self.lam == "1/n" else ~by_rule & np.isclose(results["lam"], float(self.lam), rtol=1e-9)
            results = results[same]
        if self.task and "task" in results:
            results = results[results["task"].fillna("train") == self.task]
        if self.method:
            results = results[results["method"] == self.method]
        return on_data(results, self.dataset, self.options)


def on_data(results: pd.DataFrame, dataset: str, options: Mapping[str, str]) -> pd.DataFrame:
    """The rows of `results` that are on a data set with these options."""
    same = results["dataset"] == dataset
    for option, value in options.items():
        column = option if option == "split" else f"dataset.{option}"
        same &= (results[column] == value) if column in results else False
    return results[same]


def suboptimality(results: pd.DataFrame) -> pd.DataFrame:
    """`results` with the column ``suboptimality``: primal minus the highest dual seen.

    That is the highest dual of any run in `results` on the same data at the same lam, whether the run is drawn or not; rows of
    runs that go through several lam have it in ``at_lam``. A figure names its runs, a dedicated reference run among them, so runs
    that it does not name cannot change it.
    """
    options = [column for column in results if column.startswith("dataset.")]
    same = [column for column in ("dataset", "split", "lam", "at_lam", *options) if column in results]
    highest = results.groupby(same, dropna=False)["dual"].transform("max")
    difference = results["primal"] - highest
    broken = difference < -1e-8 * np.maximum(1.0, highest.abs())
    if broken.any():
        row = results[broken].iloc[0]
        raise ValueError(
            f"weak duality is broken: run {row['key']} ({row['solver']}, lam = {row['lam_spec']}) has primal "
            f"{row['primal']:.17g} below the dual {highest[broken].iloc[0]:.17g} at {row['passes']:g} passes"
        )
    return results.assign(suboptimality=difference)


def envelope(results: pd.DataFrame, measure: str, solvers: Iterable[str]) -> pd.DataFrame:
    """`results` with `measure` of the given solvers replaced by its lowest value so far, run by run."""
    lowest = results.groupby(["key", "iterate"])[measure].cummin()
    return results.assign(**{measure: results[measure].where(~results["solver"].isin(list(solvers)), lowest)})


def bands(runs: pd.DataFrame, measure: str, axis: str = "passes") -> pd.DataFrame:
    """Median, best and worst of a measure over runs that differ in their seed.

    Parameters
    ----------
    runs : DataFrame
        Rows of one variant: one trace per ``key``, of one iterate.
    measure : str
        Column to summarize; lower is better. Rows where it is missing do not count.
    axis : str
        Column of the positions, one of `AXES`.

    Returns
    -------
    DataFrame
        Columns `STATISTICS`, one row per position that any run logged; empty if no run has the measure. ``passes``,
        ``calls`` and ``seconds`` say where the runs were there, in the median. ``diverged``
        and ``stopped`` (by the clock or by hand) count runs, like ``runs``; ``keys`` names them, with spaces between.

    Notes
    -----
    Between the positions of its own log a run is interpolated linearly; if the measure has a log scale, in its
    logarithm. Nothing is extrapolated: the positions end where the first run ends. Only a run that diverged goes on,
    at infinity, so that the band shows it.
    """
    if axis == "at_lam":  # whose logarithm is what passes grow by
        band = bands(runs.assign(log_lam=np.log10(runs[axis])), measure, "log_lam")
        return band.assign(x=10.0 ** band["x"])
    log = MEASURES[measure][1] == "log"
    curves, positions, diverged, keys = [], [], [], []
    for key, run in runs.groupby("key", sort=True):
        kept = run[np.isfinite(run[measure])].drop_duplicates(axis, keep="last").sort_values(axis)
        if len(kept):
            curves.append((kept[axis].to_numpy(float), kept[measure].to_numpy(float)))
            positions.append(kept.reindex(columns=list(POSITIONS.values())).to_numpy(float).T)
            diverged.append(run["status"].iloc[0] == "diverged")
            keys.append(key)
    if not curves:
        return pd.DataFrame(columns=STATISTICS)
    ends = [x[-1] for (x, _), failed in zip(curves, diverged) if not failed]
    first, last = max(x[0] for x, _ in curves), min(ends) if ends else max(x[-1] for x, _ in curves)
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    grid = grid[(grid >= first) & (grid <= last)]
    values = np.stack([_interpolate(grid, x, y, log) for x, y in curves])
    stopped = runs[runs["status"].isin(["time_limit", "interrupted"])]["key"].nunique()
    counts = {"runs": len(curves), "diverged": sum(diverged), "stopped": stopped, "keys": " ".join(keys)}
    ways = [[np.interp(grid, x, way) for way in at] for (x, _), at in zip(curves, positions)]
    counts = dict(zip(POSITIONS, np.median(ways, axis=0))) | counts
    middle, best, worst = np.median(values, axis=0), values.min(axis=0), values.max(axis=0)
    return pd.DataFrame({"x": grid, "median": middle, "best": best, "worst": worst, **counts})


def _interpolate(grid, x, y, log):
    """`y` on the grid; infinite behind the end of the run."""
    if log:
        y = np.maximum(y, FLOOR)
    if np.array_equal(grid, x):
        return y
    inner = np.exp(np.interp(grid, x, np.log(y))) if log else np.interp(grid, x, y)
    return np.where(grid > x[-1], np.inf, inner)


@dataclass(frozen=True)
class Chart:
    """A figure of curves.

    Attributes
    ----------
    panels : sequence of Panel
    hidden : sequence of str
        Methods, in every iterate, and single variants that are not drawn: they serve as reference, or are in the runs
        because another figure draws them. All others are drawn, in every iterate that was logged.
    lowest : sequence of str
        Solvers drawn as the lower envelope of their suboptimality.
    split_by : sequence of str
        Options in which methods differ in this figure, see `fwexp.methods.method_of`.
    variants : callable, optional
        From results to the variant of every row, where these are not methods and iterates.
    derive : callable, optional
        From results to results with the columns that panels show beside those of a trace.
    columns : int
        Panels to a row.
    height, width : float
        Of a row of panels and of the figure, in inches.
    """

    panels: Sequence[Panel]
    hidden: Sequence[str] = ()
    lowest: Sequence[str] = ()
    split_by: Sequence[str] = ()
    variants: Callable[[pd.DataFrame], pd.Series] | None = None
    derive: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    columns: int = 3
    height: float = 1.75
    width: float = style.TEXT

    def data(self, results: pd.DataFrame) -> pd.DataFrame:
        """Return the tidy frame: `COLUMNS`, one row per panel, variant and position.

        Parameters
        ----------
        results : DataFrame
            As from ``load_results``: all runs of the figure, and no other.

        Raises
        ------
        OptionError
            A name in `hidden`, `lowest` or `split_by` is that of nothing.
        """
        results = self.derive(results) if self.derive else results
        names = of_results(results, self.split_by)
        variants = self.variants(results) if self.variants else names + results["iterate"].map(lambda one: variant_of("", one))
        _check_names("method or variant to hide", self.hidden, {*style.LINES, *names, *variants})
        _check_names("solver", self.lowest, {*style.METHODS, *results["solver"]})
        results = envelope(suboptimality(results), "suboptimality", self.lowest).assign(variant=variants, method=names)
        results = results[~(names.isin(self.hidden) | variants.isin(self.hidden))]
        return joined(frame for panel in self.panels for frame in _curves_of(results, panel))

    def draw(self, frame: pd.DataFrame):
        """Draw all panels with one legend for all; return the matplotlib Figure."""
        from matplotlib.figure import Figure

        rows = -(-len(self.panels) // self.columns)
        with style.context():
            figure = Figure(figsize=(self.width, self.height * rows + 0.5), layout="constrained")
            grid = figure.subplots(rows, self.columns, squeeze=False)
            for panel, ax in zip(self.panels, grid.flat):
                _draw_curves(frame[frame["panel"] == panel.key], panel, ax, style.lines(frame["variant"]))
            for ax in grid.flat[len(self.panels) :]:
                ax.set_axis_off()
            _share_labels(grid)
            legend(figure, frame, self.width)
        return figure


def _curves_of(results, panel):
    """Yield the tidy frames of a panel, one for each variant."""
    rows = panel.rows(results)
    if panel.measure not in rows or panel.axis not in rows:  # the runs that have it failed
        return
    if not panel.early:
        rows = rows[rows[panel.axis] >= panel.left]
    for variant in style.in_table_order(rows["variant"]):
        runs = rows[rows["variant"] == variant]
        _check_seeds(runs, variant, panel)
        facts = {"panel": panel.key, "dataset": panel.place, "lam": str(panel.lam), "variant": variant}
        yield bands(runs, panel.measure, panel.axis).assign(**facts, axis=panel.axis, measure=panel.measure)


def joined(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the frames of curves as one with `COLUMNS`, which may be empty."""
    filled = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=COLUMNS)]
    return pd.concat(filled, ignore_index=True)[COLUMNS]


def _check_names(kind, names, known):
    """Refuse a misspelt name, which would silently change nothing."""
    for name in names:
        if name not in known:
            raise OptionError(unknown(kind, name, known))


def _check_seeds(runs, variant, panel):
    """Refuse to take the median over runs that differ in more than their seed."""
    keys = runs.groupby("seed")["key"].nunique()
    if keys.max() > 1:
        raise ValueError(f"panel {panel.key}: {keys.max()} runs of {variant} have seed {keys.idxmax()}, expected one")


def draw_panel(frame: pd.DataFrame, panel: Panel, ax=None):
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


def _share_labels(grid):
    """Say once what all panels of a row, or of a column, have in common."""
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
    ax.set(title=f"({panel.key}) {panel.title}", xlabel=AXES[panel.axis], ylabel=label)
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


def label_log(axis, plain: bool = False) -> None:
    """Put ticks on a log axis: powers of ten if three are in view, else plain numbers between them; ``plain``: never as powers."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    several = (np.outer(decades, steps).ravel() for steps in ([1], [1, 3], [1, 2, 5]))
    for ticks in (*several, MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)):
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) >= 3:
            break
    axis.set_major_locator(FixedLocator(ticks[:: -(-len(ticks) // 6)]))
    axis.set_minor_locator(NullLocator())
    if plain or not np.isin(ticks, decades).all():
        axis.set_major_formatter("{x:g}")


def _marked(x, panel, right, offset):
    """Indices of the points that get a marker: about five of them, evenly spread over the width of the panel."""
    places = offset + np.arange(0.0, 1.0, 0.2)
    targets = panel.left * (right / panel.left) ** places if panel.left else right * places
    return sorted({int(abs(x - target).argmin()) for target in targets if x[0] <= target <= x[-1]})


def _limits(frame, panel, yscale):
    """The range of the measure over the positions that the panel promises to show, with a little air, and what is above it."""
    ends = frame[frame["diverged"] == 0].groupby("variant")["x"].max()
    shown = frame[frame["x"] >= min([panel.full, frame["x"].max(), *ends])]  # every curve has a point in view
    values = shown[["best", "median", "worst"]]
    values = values[np.isfinite(values) & ((values > 0) | (yscale == "linear"))]
    low, high, above = values.min(axis=None), values.max(axis=None), []
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
    """A cross where runs diverged, a bar where they were stopped: these curves do not end like the others."""
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


def legend(figure, frame, width, lines=None):
    """One legend below a figure `width` inches wide, in the order of the table; it says what line and band are."""
    from matplotlib.lines import Line2D

    lines = lines or style.lines(frame["variant"])
    lines = [lines[variant] for variant in style.in_table_order(frame["variant"])]
    if not lines:
        return
    widest = 0.062 * max(len(line.label) for line in lines) + 0.72  # inches: letters, the line before, space behind
    rows = -(-len(lines) // max(1, int((width + 0.15) / widest)))
    runs = int(frame["runs"].max())
    figure.legend(
        handles=[Line2D([], [], label=line.label, **line.properties()) for line in lines],
        title=f"random methods: median of {runs} runs, band from best to worst" if runs > 1 else None,
        loc="outside lower center",
        ncols=-(-len(lines) // rows),
        handlelength=4.2,  # shows the dashes on both sides of the marker
        columnspacing=1.4,
        borderaxespad=0.2,
    )
