"""The runs of a claim: curves by seed, and the questions that criteria ask of them.

A range of passes that the runs do not cover leaves a claim undecided. Criteria read the words of a paper that name no number in
the same way, unless they state another one:

* a comparison holds if a 95 % interval over the seeds excludes zero, is contradicted if the interval lies on the other side, and is
  open otherwise (`sign`); of methods that draw nothing at random there is one run, whose sign decides;
* a method is **lower** than another **in a range** if this is so of the mean, over the logged points, of log(other/one). It is
  **always** lower if it is so at every logged point, and contradicted by one point at which it is higher;
* **considerably** (substantially, significantly) lower means by a factor of at least `FACTOR`, in the median; **similar**
  (comparable, not sensitive) means within it.

The factor is varied, see `fwexp.papers.claims.registry`.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from fwexp.methods import variants
from fwexp.papers.claims.verdict import Undecided
from fwexp.plots import frames, style
from fwexp.plots.curves import REFERENCE
from fwexp.plots.frames import first

if TYPE_CHECKING:
    import pandas as pd

COVERED_SHARE = 0.9
"""A range of passes is covered by a run that ends at this part of it: batch methods end in the middle of a pass."""


FACTOR, FACTORS = 2.0, (1.25, 1.5, 2.0, 3.0, 5.0)
LARGEST = 1e100


F = TypeVar("F", bound=Callable)
_measured: dict[tuple, Any] = {}


def measured(function: F) -> F:
    """Return a function of a criterion whose results are kept while a claim is decided, because thresholds do not enter them."""

    @functools.wraps(function)
    def once(*given):
        key = function, *given
        if key not in _measured:
            _measured[key] = function(*given)
        return _measured[key]

    return once


def forget() -> None:
    """Forget what was measured: another claim is decided."""
    _measured.clear()


class Ordering(NamedTuple):
    """Two methods compared: the outcomes of `sign`, the share of logged points where the first is below, and the factor."""

    lower: bool | None  # in the mean over the points
    always: bool | None  # at every point
    somewhere: bool  # at one point at least
    share: float  # of points, by the medians over the seeds
    ratio: float  # the other over the one, median over points and seeds
    least: float  # of these ratios
    most: float
    points: int
    logs: np.ndarray  # their mean logarithms, a number per seed

    def __str__(self) -> str:
        points = f"{round(self.share * self.points)} of {self.points} points"
        mean = "{:.3g} [{:.3g}, {:.3g}]".format(*np.exp(interval(self.logs)))
        return f"below at {points}, ratio {self.ratio:.3g} ({self.least:.3g} to {self.most:.3g}), mean {mean}"


class Rate(NamedTuple):
    """The exponent p of y ~ x^p, its mean over the seeds and a 95 % interval."""

    exponent: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Curves:
    """A measure of one variant against its position, one array of each per seed, and its value behind the end of each run.

    That is infinite where a run diverged, the last value where it converged to its tolerance, and nan where it was stopped.
    """

    name: str
    x: Sequence[np.ndarray]
    y: Sequence[np.ndarray]
    behind: Sequence[float]

    def logged(self, low: float, high: float) -> np.ndarray:
        """Return the positions in a range that any seed logged."""
        ends = [x[-1] for x, behind in zip(self.x, self.behind, strict=True) if np.isnan(behind)]
        if ends and min(ends) < COVERED_SHARE * high:
            raise Undecided(f"{self.name} is logged until {min(ends):.3g}, the criterion looks at {low:g} to {high:g}")
        points = np.unique(np.concatenate(self.x))
        points = points[(points >= low) & (points <= min([high, *ends]))]
        if not len(points):
            raise Undecided(f"{self.name} has no logged point from {low:g} to {high:g}")
        return points

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the values at given positions, one row per seed; the logarithm is interpolated between logged points."""
        rows = []
        for x, y, behind in zip(self.x, self.y, self.behind, strict=True):
            positive = bool((y > 0).all())
            row = np.interp(points, x, np.log(y) if positive else y)
            rows.append(np.where(points > x[-1], behind, np.exp(row) if positive else row))
        return np.array(rows)

    def in_range(self, low: float, high: float) -> np.ndarray:
        """Return the values at all logged positions of a range, one row per seed."""
        return self.at(self.logged(low, high))

    def lowest(self) -> "Curves":
        """Return the curves of the lowest values so far."""
        low = [np.minimum.accumulate(y) for y in self.y]
        return Curves(self.name, self.x, low, [y[-1] if np.isfinite(b) else b for y, b in zip(low, self.behind, strict=True)])

    def until(self, level: float) -> np.ndarray:
        """Return where each seed first reaches a level, a power law between points; infinity if it does not."""
        return np.array([first(x, y, level) for x, y in zip(self.x, self.y, strict=True)])

    def rate(self, low: float, high: float) -> Rate:
        """Return the exponent in a range: least squares of the logarithms, seed by seed, with the interval over the seeds."""
        points = self.logged(low, high)
        if len(points) < 4:
            raise Undecided(f"{self.name} has {len(points)} logged points from {low:g} to {high:g}, a rate needs 4")
        logs = np.log(np.maximum(self.at(points), frames.FLOOR))
        return interval([np.polyfit(np.log(points), row, 1)[0] for row in logs])


def interval(values: Sequence[float]) -> Rate:
    """Return the mean of values, one per seed, with Student's 95 % interval; for one value, the interval is that value."""
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=float)
    wide = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return Rate(values.mean(), values.mean() - wide, values.mean() + wide)


def sign(values: Sequence[float]) -> bool | None:
    """Return whether a 95 % interval over the seeds of a mean lies above 0; None if it has 0 in it."""
    found = interval(np.clip(values, -LARGEST, LARGEST))
    return True if found.low > 0 else False if found.high < 0 else None


def below(lower: Curves, upper: Curves, low: float, high: float) -> Ordering:
    """Return how `lower` lies relative to `upper` at all points of a range that the sparser one of them logged.

    Equal seeds make pairs; a method with one run is compared with every seed of the other one.
    """
    one, other = lower.logged(low, high), upper.logged(low, high)
    points = min((one, other), key=len)
    points = points[points <= min(one[-1], other[-1])]
    if not len(points):
        raise Undecided(f"{lower.name} and {upper.name} have no logged point in common from {low:g} to {high:g}")
    left, right = (np.log(np.clip(found.at(points), frames.FLOOR, LARGEST)) for found in (lower, upper))
    if len(left) != len(right) and 1 not in (len(left), len(right)):
        raise Undecided(f"{lower.name} has {len(left)} seeds, {upper.name} has {len(right)}")
    logs = right - left
    signs = [sign(at) for at in logs.T]
    always = False if False in signs else None if None in signs else True
    share = float(np.mean(np.median(left, axis=0) < np.median(right, axis=0)))
    ratios = np.exp([np.median(logs), logs.min(), logs.max()])
    return Ordering(sign(logs.mean(axis=1)), always, True in signs, share, *ratios, len(points), logs.mean(axis=1))


def reached(run: "pd.DataFrame", level: float, axis: str = "step", measure: str = "best") -> float:
    """Return where a run first logged a measure of at most a level, infinity if it did not."""
    rows = run[run[measure] <= level]
    return float(rows[axis].iloc[0]) if len(rows) else np.inf


def examples(rows: "pd.DataFrame") -> int:
    """Return the n of a run, computed from its passes."""
    end = rows.iloc[-1]
    return round(end["oracle_calls"] / end["passes"])


def passes_by_decade(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return how far x moves while y falls by the last two factors of 10, in order; None if y fell by less from its first value."""
    low = np.minimum.accumulate(y)
    if not low[0] >= 100 * low[-1] > 0:
        return None
    return np.diff([first(x, low, level * low[-1]) for level in (100.0, 10.0, 1.0)])


def is_linear(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether y falls, and its logarithm is closer to a line (by R^2) over x than over the logarithm of x."""
    kept = (x >= 1) & (y > 10 * frames.FLOOR)
    if kept.sum() < 6:
        raise Undecided(f"{kept.sum()} logged points, a rate needs 6")
    x, logs = x[kept], np.log(y[kept])
    line, power = (np.corrcoef(along, logs)[0, 1] ** 2 for along in (x, np.log(x)))
    return bool(line > power and logs[-1] < logs[0])


class Runs:
    """All results that a claim needs, as from ``load_results``, and no other; methods differ in the options `split_by`."""

    def __init__(self, results: "pd.DataFrame", split_by: Sequence[str] = ()) -> None:
        self.results = frames.suboptimality(results).assign(variant=variants(results, split_by))
        by = [name for name in ("key", "variant", "iterate") if name in self.results]
        self._heads = self.results.drop_duplicates(by, ignore_index=True)  # what rows are chosen by is as in the first with these
        group = self.results.groupby(by, sort=False, dropna=False).ngroup().to_numpy()
        self._curves: dict[tuple, Curves] = {}
        places = np.argsort(group, kind="stable")
        self._places = np.split(places, np.flatnonzero(np.diff(group[places])) + 1)

    @property
    def variants(self) -> list[str]:
        """The variants that there are, without the reference run, in the order of legends."""
        return [name for name in style.in_table_order(self._heads["variant"]) if name != REFERENCE]

    def others(self, *excluded: str) -> list[str]:
        """Return the variants except some; where there is no other one, nothing can be decided."""
        if not (found := [name for name in self.variants if name not in excluded]):
            raise Undecided("there is no other method")
        return found

    def rows(self, variant: str = "", **where) -> "pd.DataFrame":
        """Return the rows of a variant that have the given values; ``lam`` is a number or a spec, ``task`` the task of the run."""
        return self.results.iloc[self._find(variant, where)]

    def _find(self, variant: str, where: dict) -> np.ndarray:
        """Return the positions of the rows that have the given values."""
        heads, here = self._heads, np.ones(len(self._heads), dtype=bool)
        task, lam = where.get("task", "train"), where.get("lam")
        if "task" in heads:
            here &= (heads["task"].fillna("train") == task).to_numpy()
        if variant:
            here &= (heads["variant"] == variant).to_numpy()
        if lam is not None:
            here &= frames.has_lam(heads, lam)
        for column, value in where.items():
            if column not in ("task", "lam"):
                here &= (heads[column] == value).to_numpy()
        if not here.any():
            named = ", ".join(f"{key}={value}" for key, value in where.items() if key != "task" and value is not None)
            methods = ", ".join(self.variants)
            raise Undecided(f"no run of {variant or 'any method'} ({named}); the claim needs runs of {methods}")
        return np.sort(np.concatenate([self._places[k] for k in np.flatnonzero(here)]))

    def each(self, solver: str = "", task: str = "convex", **where) -> "list[pd.DataFrame]":
        """Return the runs that have the given values, one frame each by step, with ``best``, the gap certified so far."""
        rows = self.rows(task=task, **where, **({"solver": solver} if solver else {}))
        runs = [run.sort_values("step", kind="stable") for _, run in rows.groupby("key", sort=True)]
        return [run.assign(best=run["primal"].cummin() - run["dual"].cummax()) for run in runs]

    def one(self, solver: str, **where) -> "pd.DataFrame":
        """Return the only run on convex sets that has the given values."""
        runs = self.each(solver, **where)
        if len(runs) != 1:
            raise Undecided(f"{len(runs)} runs of {solver}, the criterion looks at one")
        return runs[0]

    def curves(self, variant: str, measure: str = "suboptimality", axis: str = "passes", call: float = 0.0, **where) -> Curves:
        """Return the curves of a variant, one per seed; each call of the oracle moves it ``call`` further along the axis."""
        asked = variant, measure, axis, call, *sorted(where.items())  # several parts of a criterion ask for the same ones
        if asked not in self._curves:
            self._curves[asked] = self._curves_of(variant, measure, axis, call, where)
        return self._curves[asked]

    def _curves_of(self, variant: str, measure: str, axis: str, call: float, where: dict) -> Curves:
        xs, ys, behind = [], [], []
        columns = dict.fromkeys(("seed", "key", "status", axis, measure, *(["oracle_calls"] if call else [])))
        rows = self.results[list(columns)].iloc[self._find(variant, where)]
        for _, run in rows.groupby(["seed", "key"], sort=True):
            x, y = run[axis].to_numpy(float), run[measure].to_numpy(float)
            if call:
                x = x + call * run["oracle_calls"].to_numpy(float)
            finite = np.flatnonzero(np.isfinite(y))[::-1]
            if len(finite):
                x, last = np.unique(x[finite], return_index=True)  # of rows at one place the last
                xs.append(x)
                ys.append(y[finite][last])
                behind.append({"diverged": np.inf, "converged": ys[-1][-1]}.get(run["status"].iloc[0], np.nan))
        if not xs:
            raise Undecided(f"runs of {variant} have no {measure}")
        return Curves(variant, xs, ys, behind)
