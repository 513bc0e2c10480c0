"""The tidy frames of curves: from results to the median, quartiles, best and worst of the runs, position by position.

A frame has one row per panel, variant and position; `fwexp.plots.drawing` reads nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fwexp.errors import ParameterError, unknown
from fwexp.plots import style

if TYPE_CHECKING:
    import pandas as pd

MEASURES = {
    "suboptimality": ("primal suboptimality", "log"),
    "gap": ("duality gap", "log"),
    "value": ("f(x)", "log"),
    "primal": ("primal objective", "log"),
    "test_error": ("test error (mean loss)", "linear"),
    "validation_error": ("validation error (mean loss)", "linear"),
    "train_error": ("training error (mean loss)", "linear"),
    "gap_ratio": ("true / estimated gap", "log"),
    "improvement": ("predicted improvement (factor)", "linear"),
    "passes": ("passes so far", "log"),
    "time": ("seconds so far", "log"),
    "cache_hits": ("share of steps answered by the cache", "linear"),
    "cache_local": ("share of steps let through by the local criterion", "linear"),
    "cache_global": ("share of steps let through by the global criterion", "linear"),
    "share": ("share of problems solved", "linear"),
    "rank": ("mean rank", "linear"),
    "objective": ("primal and dual objective", "log"),
    "difference": ("|ours - published code|", "log"),
}
AXES = {
    "passes": "effective passes (oracle calls / n)",
    "time": "solver time (s)",
    "at_lam": "λ, from large to small",
    "nu": "ν (global criterion)",
}
AXES |= {
    "cost": "calls weighted by labels (passes)",
    "calls": "minimisations (or projections)",
    "inspected": "atoms inspected",
    "factor": "factor over the fastest",
}

QUARTERS = 5  # from so many runs on, quartiles are not the best and the worst
FLOOR = 1e-12  # differences of objectives below this are rounding; log axes end here

POSITIONS = {"passes": "passes", "calls": "oracle_calls", "seconds": "time"}
"""Where runs were on the way: columns of a figure's frame, by those of a trace."""

STATISTICS = ["x", "median", "best", "worst", "lower", "upper", *POSITIONS, "runs", "diverged", "stopped", "keys"]
COLUMNS = ["panel", "dataset", "lam", "variant", "axis", "measure", *STATISTICS]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: which runs, and what of them is drawn against what.

    Attributes
    ----------
    key, title : str
        ``a`` and the words behind it.
    dataset : str
    lam : float or "1/n"
        Regularization, as the preset says it; nothing where that does not tell runs apart.
    measure, axis : str
        What is drawn (one of `MEASURES`) against what (one of `AXES`).
    left, full : float
        Where the positions begin, on a log scale if this is not 0, and from where on the panel shows all of every curve.
    focus : bool
        Whether the panel clips what would squeeze the others: a method that gets more than twice as high as any other, and the
        ends of the widest bands. A note in the panel has their maxima.
    yscale, label : str, optional
        Scale ("linear" or "log") and name of the measure; without them, the usual ones in `MEASURES`.
    options : mapping
        Options of the data set, where runs with several values are in the figure; None stands for an option at its default.
    task, method : str
        What the runs did, and the only method, where variants are not methods; nothing where these do not tell runs apart.
    without : sequence of str
        Methods of the figure that are not drawn here.
    early : bool
        Whether what lies before ``left`` counts, too; else curves begin at the first position behind it.
    bottom : float
        The least value in view.
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
    label: str = ""
    options: Mapping[str, str | None] = field(default_factory=dict)
    task: str = "train"
    method: str = ""
    without: Sequence[str] = ()
    early: bool = True
    bottom: float = 0.0

    def __post_init__(self):
        for what, value, known in (("measure", self.measure, MEASURES), ("axis", self.axis, AXES)):
            if value not in known:
                raise ParameterError(unknown(f"{what} of panel {self.key}", value, known))

    @property
    def place(self) -> str:
        """The data set with its options."""
        return " ".join([self.dataset, *(f"{option}={value}" for option, value in self.options.items() if value is not None)])

    def rows(self, results: "pd.DataFrame") -> "pd.DataFrame":
        """Return the rows of `results` that belong to this panel."""
        if self.lam != "":
            results = results[has_lam(results, self.lam)]
        if self.task and "task" in results:
            results = results[results["task"].fillna("train") == self.task]
        if self.method:
            results = results[results["method"] == self.method]
        if self.without:
            results = results[~results["method"].isin(self.without)]
        return on_data(results, self.dataset, self.options)


def spread(count: int, most: int) -> np.ndarray:
    """Return at most so many of the positions 0, 1, ..., count - 1: evenly spread, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))


def has_lam(results: "pd.DataFrame", lam: float | str) -> np.ndarray:
    """Return which rows are of runs at lam, a number or a rule such as ``1/n``; a number is not that of a rule."""
    rules = results["lam_spec"].astype(str)
    if isinstance(lam, str) and lam.endswith("/n"):
        return (rules == lam).to_numpy()
    return ~rules.str.endswith("/n").to_numpy() & np.isclose(results["lam"].to_numpy(float), float(lam), rtol=1e-9)


def on_data(results: "pd.DataFrame", dataset: str, options: Mapping[str, str | None]) -> "pd.DataFrame":
    """Return the rows of `results` that are on a data set with these options, without those that are None."""
    same = results["dataset"] == dataset
    for option, value in options.items():
        column = option if option == "split" else f"dataset.{option}"
        if column not in results:
            same &= value is None
        else:
            same &= results[column].isna() if value is None else results[column] == value
    return results[same]


def suboptimality(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return `results` with the column ``suboptimality``: primal minus the highest dual of any run on the same data and lam."""
    # Rows of runs that go through several lam have it in ``at_lam``. A figure names its runs, a dedicated reference run among them,
    # so runs that it does not name cannot change it. A primal below the highest dual is refused: data differ, or a solver is wrong.
    options = [column for column in results if column.startswith("dataset.")]
    same = [column for column in ("dataset", "split", "objective", "temperature", "lam", "at_lam", *options) if column in results]
    highest = results.groupby(same, dropna=False)["dual"].transform("max")
    difference = results["primal"] - highest
    broken = difference < -1e-8 * np.maximum(1.0, highest.abs())
    if broken.any():
        row = results[broken].iloc[0]
        raise ParameterError(
            f"weak duality is broken: run {row['key']} ({row['solver']}, lam = {row['lam_spec']}) has primal "
            f"{row['primal']:.17g} below the dual {highest[broken].iloc[0]:.17g} at {row['passes']:g} passes; "
            "runs of one problem must have read the same data"
        )
    return results.assign(suboptimality=difference)


def with_certified_gaps(results: "pd.DataFrame") -> "pd.DataFrame":
    """Return `results` of methods on convex sets and for games with what is drawn; the gap is the smallest certified so far."""
    best = results.groupby("key")["primal"].cummin() - results.groupby("key")["dual"].cummax()
    return results.assign(gap=best, value=results["primal"], calls=results["passes"])


def envelope(results: "pd.DataFrame", measure: str, solvers: Iterable[str]) -> "pd.DataFrame":
    """Return `results` with `measure` of the given solvers replaced by its lowest value so far, run by run."""
    lowest = results.groupby(["key", "iterate"])[measure].cummin()
    return results.assign(**{measure: results[measure].where(~results["solver"].isin(list(solvers)), lowest)})


def bands(runs: "pd.DataFrame", measure: str, axis: str = "passes") -> "pd.DataFrame":
    """Return `statistics` of a measure, where lower is better, over runs of one variant that differ in their seed."""
    # The frame has `STATISTICS`, one row per position that any run logged; ``passes``, ``calls`` and ``seconds`` say where the runs
    # were there, in the median; ``diverged`` and ``stopped`` (by the clock or by hand) count runs. Between the positions of its own
    # log a run is interpolated linearly; if the measure has a log scale, in its logarithm. Nothing is extrapolated: positions end
    # where the first run ends. Only a run that diverged goes on, at infinity, so that the band shows it.
    import pandas as pd

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
    return pd.DataFrame({"x": grid, **statistics(values), **counts})


def statistics(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the median, best, worst and quartiles over the first axis, by column."""
    # Quartiles are values of runs: of m runs they leave out the (m - 1) // 4 lowest and highest, of less than `QUARTERS` runs none.
    ordered = np.sort(values, axis=0)
    left_out = (len(ordered) - 1) // 4
    middle = {"median": np.median(ordered, axis=0), "best": ordered[0], "worst": ordered[-1]}
    return middle | {"lower": ordered[left_out], "upper": ordered[-1 - left_out]}


def _interpolate(grid, x, y, log):
    """Return `y` on the grid; infinity after the end of the run."""
    if log:
        y = np.maximum(y, FLOOR)
    if np.array_equal(grid, x):
        return y
    inner = np.exp(np.interp(grid, x, np.log(y))) if log else np.interp(grid, x, y)
    return np.where(grid > x[-1], np.inf, inner)


def first(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """Return where a curve first reaches a level, a power law between its points; infinity if it does not."""
    reached = np.flatnonzero(y <= level)
    if not len(reached):
        return np.inf
    k = reached[0]
    if k == 0 or y[k] <= 0 or x[k - 1] <= 0 or not np.isfinite(y[k - 1]):
        return float(x[k])
    part = np.log(y[k - 1] / level) / np.log(y[k - 1] / y[k]) if y[k - 1] > y[k] else 1.0
    return float(x[k - 1] * (x[k] / x[k - 1]) ** part)


def curves_of(results: "pd.DataFrame", panel: Panel) -> "Iterator[pd.DataFrame]":
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


def joined(frames: "Iterable[pd.DataFrame]") -> "pd.DataFrame":
    """Return the frames of curves as one with `COLUMNS`, which may be empty."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)] or [pd.DataFrame(columns=COLUMNS)]
    return pd.concat(filled, ignore_index=True)[COLUMNS]


def _check_seeds(runs, variant, panel):
    """Refuse to take the median over runs that differ in more than their seed."""
    keys = runs.groupby("seed")["key"].nunique()
    if keys.max() > 1:
        raise ValueError(f"panel {panel.key}: {keys.max()} runs of {variant} have seed {keys.idxmax()}, expected one")
