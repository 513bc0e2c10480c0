"""Comparing methods, option sets or stores: passes and time to given gaps, by problem.

A problem is a data set (with its options), lam and a gap. The cost of a side is the median over the seeds until the certified
gap, the lowest primal minus the highest dual of a run so far, gets there; a method without a dual takes the highest dual of
all runs on the same data at the same lam.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.methods import ALIASES, flat_options, methods, of_results, read_method, stated
from fwexp.papers.claims.runs import first

GAPS = (0.1, 0.01, 0.001)
NEAR = 1.1  # times the best of the others
COLUMNS = [
    "side",
    "problem",
    "gap",
    "seeds",
    "reached",
    "passes",
    "passes_low",
    "passes_high",
    "time",
    "time_low",
    "time_high",
    "keys",
]


AXES = ("passes", "time")
TASKS = ("train", "convex")  # whose traces are of one problem
TRACED = ("oracle_calls", *AXES, "primal", "dual")  # of results, those that rows differ in
READ_COLUMNS = ("problem", "method", "seed", "key", *TRACED, "highest")


@dataclass(frozen=True)
class Side:
    """What is compared: runs of a method, or of a solver, with given options, or all those of a store."""

    name: str
    method: str = ""
    solver: str = ""
    options: dict = field(default_factory=dict)
    store: Path | None = None

    def rows(self, results: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of `results` that belong to this side."""
        if self.store is not None:
            return results[results["store"] == str(self.store)]
        if self.method:
            rows = results[of_results(results, stated(self.method)) == self.method]
        else:
            rows = results[results["solver"] == self.solver]
        for option, value in self.options.items():
            column = rows.get(f"solver.{option}")
            rows = rows[_equal(column, value)] if column is not None else rows.iloc[:0]
        return rows


def _equal(column: pd.Series, value) -> pd.Series:
    """Return whether options equal ``value``, which may be text; whole numbers are floats if some runs have none."""
    number = pd.to_numeric(value, errors="coerce") if not isinstance(value, bool) else np.nan
    return (column.astype(str) == str(value)) | (pd.to_numeric(column, errors="coerce") == number)


def parse(text: str, results_dir="results", config_dir: Path | None = None) -> Side:
    """Return what a word of the command line stands for.

    A folder is a store; ``bcfw_gap`` a method as in figures, in ``config_dir/solver``, or as the runs in ``results_dir`` have it,
    also of solvers that are not installed here; ``bcfw:sampling=gap,step=pairwise`` a solver with options.

    Raises
    ------
    UserError
        It stands for nothing.
    """
    from fwexp import store
    from fwexp.run.config import names

    if "/" in text or Path(text).is_dir():
        if not Path(text).is_dir():
            raise ParameterError(f"there is no folder {text!r} to compare")
        return Side(text, store=Path(text))
    own = config_dir and config_dir / "solver" / f"{text}.yaml"
    if own and own.is_file():
        try:
            method = read_method(own)
        except (OSError, ValueError) as error:
            raise ParameterError(f"{own} must be a method: {error}") from error
        return Side(text, solver=method.solver, options=flat_options(method.options))
    solver, colon, options = text.partition(":")
    solver = solver if solver in methods() else ALIASES.get(solver, solver)
    if not {text, solver} & set(methods()):  # else there is no need to read the store, and to import all solvers
        runs = store.find_runs(results_dir)
        stored = {name for run in runs for name in (run.method, run.config["solver"]["name"])}
        if text in stored:
            return Side(text, method=text)
        if solver not in (known := stored | names("solver")):
            raise ParameterError(unknown("method", text, known))
    if not colon:
        return Side(text, method=solver)
    pairs = [option.partition("=") for option in options.split(",")]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise OptionError(f"options of {solver} are given as {solver}:NAME=VALUE,NAME=VALUE, got {text!r}")
    options = {name: _as_flag(value) for name, _, value in pairs}
    is_plain = methods().get(solver, (solver,))[0] == solver
    return Side(text, solver=solver, options=options) if is_plain else Side(text, method=solver, options=options)


def _as_flag(value: str):
    return {"true": True, "false": False}.get(value, value)


def load(sides: Sequence[Side], results_dir, **filters) -> pd.DataFrame:
    """Return the stored runs of `TASKS` that the sides name, as `comparable` does, with a column ``store``."""
    from fwexp import store

    folders = dict.fromkeys(str(side.store) for side in sides if side.store is not None) or [str(results_dir)]
    runs = [(folder, run) for folder in folders for run in store.find_runs(folder, include={"damaged"}, **filters)]
    whole = [(folder, run) for folder, run in runs if run.status != "damaged"]
    duals = [run.record.get("dual") for _, run in whole]
    heads = [run.columns() | {"store": folder} for folder, run in whole]
    heads = comparable(pd.DataFrame(heads).assign(dual=np.array(duals, dtype=float)), TASKS)
    meant = set().union(*(side.rows(heads).index for side in sides)) if len(heads) else ()
    read = [whole[k] for k in sorted(meant)] + [(folder, run) for folder, run in runs if run.status == "damaged"]
    frames = [store.read_results([run for other, run in read if other == name], TRACED).assign(store=name) for name in folders]
    results = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    if results.empty:
        return results
    which, keys = pd.factorize(results["key"])
    heads = heads.drop_duplicates("key").set_index("key").loc[keys]
    return results.assign(**{name: heads[name].to_numpy()[which] for name in ("method", "problem", "highest")})


def comparable(results: pd.DataFrame, tasks: Sequence[str] = ("train",)) -> pd.DataFrame:
    """Return the runs of some tasks among `results`, with columns ``method``, ``problem`` and ``highest`` (dual)."""
    if results.empty:
        return results
    if "task" in results:
        results = results[results["task"].fillna("train").isin(tasks)]
    heads = results.drop_duplicates("key").set_index("key", drop=False)
    results = results.assign(method=of_results(results), problem=results["key"].map(problems(heads)))
    return results.assign(highest=results.groupby("problem")["dual"].transform("max"))


def problems(results: pd.DataFrame) -> pd.Series:
    """Return the problem of each row: the data set with its options, and lam if it has one."""
    options = [name for name in results if name.startswith("dataset.") and name != "dataset.split"]
    names = results["dataset"] + results["split"].map(lambda split: f" {split}" if isinstance(split, str) else "")
    for option in options:
        names += results[option].map(lambda value, option=option: _said(option[len("dataset.") :], value)).astype(str)
    return names + results["lam_spec"].map(lambda lam: f", lam={lam}" if lam else "").astype(str)


def _said(option: str, value) -> str:
    """Return an option of a data set for the name of a problem; empty for NaN or None, if the data set lacks it."""
    if isinstance(value, str):
        return f", {option}={value}"
    return f", {option}={value:g}" if isinstance(value, int | float) and np.isfinite(value) else ""


def compare(sides: Sequence[Side], results: pd.DataFrame, gaps: Sequence[float] = GAPS) -> pd.DataFrame:
    """Return the costs of all sides on the problems that all of them have runs of.

    Parameters
    ----------
    sides : sequence of Side
    results : DataFrame
        From `load`.
    gaps : sequence of float
        The gaps to reach.

    Returns
    -------
    DataFrame
        One row per side, problem and gap: median, least and largest passes and time over the seeds, infinite where a seed did not
        get there, and how many did.

    Raises
    ------
    ParameterError
        A side has no runs, or they have no problem in common.
    """
    by_side = {side.name: side.rows(results) if len(results) else results for side in sides}
    by_side = {name: rows[[column for column in READ_COLUMNS if column in rows]] for name, rows in by_side.items()}
    for name, rows in by_side.items():
        if rows.empty:
            raise ParameterError(f"there are no stored runs of {name} to compare")
    stores = all(side.store is not None for side in sides)
    if stores:  # method by method, as far as both have it
        by_side = {name: rows.assign(problem=rows["problem"] + ", " + rows["method"]) for name, rows in by_side.items()}
    common = set.intersection(*(set(rows["problem"].unique()) for rows in by_side.values()))
    if not common:
        raise ParameterError(f"{' and '.join(by_side)} have no data set and lam in common")
    return _costs_of({name: _curves(runs) for name, runs in by_side.items()}, sorted(common), gaps)


def by_problem(results: pd.DataFrame, gaps: Sequence[float] = GAPS) -> pd.DataFrame:
    """Return the costs, as `compare` does, of all methods on each problem that two or more methods have runs of."""
    parts = [pd.DataFrame(columns=COLUMNS)]
    for problem, rows in results.groupby("problem") if len(results) else ():
        curves = {method: _curves(runs) for method, runs in rows.groupby("method")}
        if len(curves) > 1:
            parts.append(_costs_of(curves, [problem], gaps))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def advances(results: pd.DataFrame, method: str, over: str, cost: str) -> pd.DataFrame:
    """Return how many times less a method costs than another, to the least gap that all runs of both certify.

    Parameters
    ----------
    results : DataFrame
        As `comparable` returns it.
    method, over : str
        The two methods.
    cost : {"passes", "time"}
        What counts.

    Returns
    -------
    DataFrame
        One row per problem that has runs of both: ``problem``, ``gap``, ``factor``. Where a gap is certified at the start the
        method costs nothing, and the problem is left out.
    """
    rows, sides = [], {name: _curves(results[results["method"] == name]) for name in (method, over)} if len(results) else {}
    for problem in sorted(set.intersection(*map(set, sides.values()))) if sides else ():
        runs = {name: list(curves[problem].values()) for name, curves in sides.items()}
        gap = max(np.nanmin(run["gap"], initial=np.inf) for of_side in runs.values() for run in of_side)
        own, other = (np.median([first(run[cost], run["gap"], gap) for run in runs[name]]) for name in (method, over))
        if own > 0 and np.isfinite(own + other):
            rows.append((problem, gap, other / own))
    return pd.DataFrame(rows, columns=["problem", "gap", "factor"])


def _costs_of(curves, problems: Sequence[str], gaps: Sequence[float]) -> pd.DataFrame:
    """Return the rows of a comparison, given the curves of each side."""
    rows = [
        {"side": name, "problem": f"{problem}, gap {gap:g}", "gap": gap, **_costs(of_side[problem], gap)}
        for problem in problems
        for gap in gaps
        for name, of_side in curves.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _curves(runs) -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """Return the certified gap against passes and time, by problem and key, of the longest run of each seed."""
    ends = runs.groupby(["problem", "seed", "key"])["passes"].max().reset_index().sort_values(["passes", "key"])
    keys = ends.drop_duplicates(["problem", "seed"], keep="last").sort_values(["problem", "seed"])
    certified = _certified(runs[runs["key"].isin(keys["key"])])
    curves: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for problem, key in zip(keys["problem"], keys["key"], strict=True):
        curves.setdefault(problem, {})[key] = certified[key]
    return curves


def _certified(runs) -> dict[str, dict[str, np.ndarray]]:
    """Return, by key, passes, time and the gap certified so far, at each logged point."""
    which, keys = pd.factorize(runs["key"])
    order = np.lexsort((runs["oracle_calls"], which))
    runs, which = runs.iloc[order].assign(run=which[order]), which[order]
    dual = runs.groupby("run")["dual"].cummax().groupby(which).ffill()
    dual = dual.where(dual.groupby(which).transform("count") > 0, runs["highest"])
    runs = runs.assign(gap=runs.groupby("run")["primal"].cummin() - dual)
    runs = runs.drop_duplicates(["run", "oracle_calls"], keep="last")
    ends = np.cumsum(np.bincount(runs["run"]))[:-1]
    columns = {name: np.split(runs[name].to_numpy(float), ends) for name in (*AXES, "gap")}
    return {key: {name: parts[place] for name, parts in columns.items()} for place, key in enumerate(keys)}


def _costs(curves, gap):
    """Return passes and time to a gap, over the seeds."""
    reached = {name: [first(run[name], run["gap"], gap) for run in curves.values()] for name in AXES}
    arrived = int(np.isfinite(reached["passes"]).sum())
    costs = {"seeds": len(curves), "reached": arrived, "keys": " ".join(sorted(curves))}
    for name, values in reached.items():
        costs |= {name: np.median(values), f"{name}_low": min(values), f"{name}_high": max(values)}
    return costs


def table(costs: pd.DataFrame) -> str:
    """Return the table for the terminal, with one block per problem."""
    head = ("problem", "method", "seeds", "passes", "(least - most)", "time", "(least - most)")
    rows = [head]
    for row in costs.to_dict("records"):
        (passes, passes_span), (time, time_span) = shown(row, "passes"), shown(row, "time")
        time = time if time == "never" else f"{time} s"
        rows.append((row["problem"], row["side"], f"{row['reached']}/{row['seeds']}", passes, passes_span, time, time_span))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def standing(costs: pd.DataFrame, side: str, cost: str) -> str:
    """Return a sentence that compares a side with the best other one in ``passes`` or ``time``, over all problems."""
    medians = costs.pivot(index="problem", columns="side", values=cost)
    own, best = medians[side], medians.drop(columns=side).min(axis=1)
    solved = np.isfinite(medians).any(axis=1)
    ratios = (own / best).where(own != best, 1.0)[solved]  # also where both cost nothing
    if ratios.empty:
        return f"{side}, {cost}: no method gets to any gap"
    worst = ratios.idxmax()
    factor = f"{ratios[worst]:.3g} times" if np.isfinite(ratios[worst]) else "never there, as another is,"
    near = int((ratios <= NEAR).sum())
    return f"{side}, {cost}: at most {NEAR:g} times the best other on {near} of {len(ratios)}; worst: {factor} on {worst}"


def fastest(costs: pd.DataFrame) -> list[str]:
    """Return a sentence for each data set and lam: the fastest side, in seconds, to the least gap that any side reaches.

    Nothing is said where all begin there, or none gets there.
    """
    said = []
    places = costs["problem"].str.rpartition(", gap ")[0]
    for place, rows in costs[np.isfinite(costs["time"])].groupby(places, sort=False):
        first, *others = rows[rows["gap"] == rows["gap"].min()].sort_values("time").to_dict("records")
        if first["time"] > 0:
            next_one = "no other does"
            if others:
                next_one = f"{others[0]['time'] / first['time']:.3g} times sooner than the next, {others[0]['side']}"
            said.append(f"{first['side']} first reaches gap {first['gap']:g} on {place}: {next_one}")
    return said


def shown(row, cost: str) -> tuple[str, str]:
    """Return the median of a cost and its range, for the table."""
    median, low, high = (_number(row[name]) for name in (cost, f"{cost}_low", f"{cost}_high"))
    return median, f"({low} - {high})"


def _number(value):
    return f"{value:.3g}" if np.isfinite(value) else "never"
