"""Comparing methods, option sets or stores: passes and time to given levels, by problem.

A problem is a data set (with its options and content), lam and the objective. A level is a gap: the cost of a run is where the
certified gap, the lowest primal minus the highest dual of the run so far, gets there. On problems where some side has no dual, such
as ``ssg``, all sides are measured alike, by the lowest primal minus the highest dual of any stored run of the problem.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from fwexp.driver.progress import print_line
from fwexp.errors import OptionError, ParameterError, unknown
from fwexp.files import folders
from fwexp.methods import ALIASES, flat_options, methods, of_results, read_method, stated
from fwexp.papers.claims.runs import first
from fwexp.papers.origin import facts, reservations
from fwexp.papers.significance import LEAST, median_interval
from fwexp.problem_names import problem_names
from fwexp.store.stored_run import StoredRun

FLOOR = 1e-12  # of levels, relative to the start
MEASURES = {"gap": "gap {:g}", "primal": "primal within {:g}"}
"""Texts for levels of certified gaps, and of primals above the best dual known."""
AXES = ("passes", "time")
TASKS = ("train", "convex")  # whose traces are of one problem
TRACED = ("oracle_calls", *AXES, "primal", "dual")  # of results, those that rows differ in
READ_COLUMNS = ("problem", "method", "seed", "key", *TRACED, "highest")
SEED_COLUMNS = ["side", "place", "measure", "gap", "seed", "key", *AXES]
COLUMNS = ["side", "problem", "place", "gap", "seeds", "reached"]
COLUMNS += [*(f"{cost}{end}" for cost in AXES for end in ("", "_low", "_high")), "keys"]


@dataclass(frozen=True)
class Side:
    """One side of a comparison: runs of a method, or of a solver, with given options, or all runs of a store."""

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
    """Return the side that a word of the command line names.

    A folder is a store; ``bcfw_gap`` a method as in figures, in ``config_dir/solver``, or as the runs in ``results_dir`` have it,
    also of solvers that are not installed here; ``bcfw:sampling=gap,step=pairwise`` a solver with options.
    """
    from fwexp import store
    from fwexp.run.config import names

    if "/" in text or folders.is_folder(Path(text)):
        if not folders.is_folder(Path(text)):
            raise ParameterError(f"there is no folder {text!r} to compare")
        return Side(text, store=Path(text))
    own = config_dir and config_dir / "solver" / f"{text}.yaml"
    if own and folders.is_file(own):
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
    options = {name: {"true": True, "false": False}.get(value, value) for name, _, value in pairs}
    is_plain = methods().get(solver, (solver,))[0] == solver
    return Side(text, solver=solver, options=options) if is_plain else Side(text, method=solver, options=options)


def load(sides: Sequence[Side], results_dir, stale: bool = False, **filters) -> pd.DataFrame:
    """Return the stored runs of `TASKS` that the sides name, as `comparable` does, with a column ``store``."""
    # Runs by another version of the code are left out, and a line names their solvers. They are kept if ``stale`` asks for them, or
    # the sides are stores; then a line names solvers whose runs differ in their code.
    from fwexp import store

    folders = dict.fromkeys(str(side.store) for side in sides if side.store is not None) or [str(results_dir)]
    runs = [(folder, run) for folder in folders for run in store.find_runs(folder, include={"damaged"}, **filters)]
    whole = [(folder, run) for folder, run in runs if run.status != "damaged"]
    heads, meant = _heads(whole, sides)
    others = {k for k in meant if whole[k][1].stale}
    if stale or any(side.store is not None for side in sides):
        for folder in folders:
            for note in reservations(facts(whole[k][1]) for k in others if whole[k][0] == folder):
                print_line(f"{folder}: {note}")
    elif others:
        solvers = ", ".join(sorted({whole[k][1].config["solver"]["name"] for k in others}))
        by_others = f"{len(others)} runs of {solvers} that another version of the code made"
        print_line(f"left out: {by_others}; --stale includes them, and fwexp run with force=stale repeats them")
        whole = [(folder, run) for folder, run in whole if not run.stale]
        heads, meant = _heads(whole, sides)
    read = [whole[k] for k in sorted(meant)] + [(folder, run) for folder, run in runs if run.status == "damaged"]
    frames = [store.read_results([run for other, run in read if other == name], TRACED).assign(store=name) for name in folders]
    results = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    if results.empty:
        return results
    which, shown = pd.factorize(_runs_of(results))
    heads = heads.set_index(_runs_of(heads)).loc[shown]
    return results.assign(**{name: heads[name].to_numpy()[which] for name in ("method", "problem", "highest")})


def _heads(runs: Sequence[tuple[str, StoredRun]], sides: Sequence[Side]) -> tuple[pd.DataFrame, set[int]]:
    """Return a row for each run that can be compared, and the numbers of the runs that the sides mean."""
    duals = np.array([run.record.get("dual") for _, run in runs], dtype=float)
    heads = comparable(pd.DataFrame([run.columns() | {"store": folder} for folder, run in runs]).assign(dual=duals), TASKS)
    return heads, set().union(*(side.rows(heads).index for side in sides)) if len(heads) else set()


def _runs_of(results: pd.DataFrame) -> pd.Series:
    """Return a text for each row that names its run: the key, which runs of two stores can share, and the store if it is known."""
    return results["store"] + " " + results["key"] if "store" in results else results["key"]


def comparable(results: pd.DataFrame, tasks: Sequence[str] = ("train",)) -> pd.DataFrame:
    """Return the runs of some tasks among `results`, with columns ``method``, ``problem`` and ``highest`` (dual)."""
    if results.empty:
        return results
    if "task" in results:
        results = results[results["task"].fillna("train").isin(tasks)]
    runs = _runs_of(results)
    heads = results.assign(run=runs).drop_duplicates("run").set_index("run")
    results = results.assign(method=of_results(results), problem=runs.map(problem_names(heads)))
    return results.assign(highest=results.groupby("problem")["dual"].transform("max"))


def by_side(sides: Sequence[Side], results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of `load` of each side on the problems that all of them have runs of."""
    rows_of = {side.name: side.rows(results) if len(results) else results for side in sides}
    rows_of = {name: rows[[column for column in READ_COLUMNS if column in rows]] for name, rows in rows_of.items()}
    for name, rows in rows_of.items():
        if rows.empty:
            raise ParameterError(f"there are no stored runs of {name} to compare")
    if all(side.store is not None for side in sides):  # method by method, as far as both have it
        rows_of = {name: rows.assign(problem=rows["problem"] + ", " + rows["method"]) for name, rows in rows_of.items()}
    common = set.intersection(*(set(rows["problem"].unique()) for rows in rows_of.values()))
    if not common:
        raise ParameterError(f"{' and '.join(rows_of)} have no data set and lam in common")
    return {name: rows[rows["problem"].isin(common)] for name, rows in rows_of.items()}


class Run(NamedTuple):
    """A run of a side: passes, time and its two measures, none of which rises, by `AXES` and `MEASURES`."""

    seed: int
    key: str
    columns: dict[str, np.ndarray]


def by_seed(rows_of: Mapping[str, pd.DataFrame], gaps: Sequence[float] | None = None) -> pd.DataFrame:
    """Return passes and time of the longest run of each seed to each level: `SEED_COLUMNS`, infinite where it did not get there."""
    # Levels are by default those of `levels_of`, on each problem its own. Problems that no run bounds from below are left out.
    runs = {name: _runs(rows) for name, rows in rows_of.items()}
    found = []
    for place in sorted(set.intersection(*map(set, runs.values()))):
        sides = {name: of_side[place] for name, of_side in runs.items()}
        certified = all(np.isfinite(run.columns["gap"]).any() for side in sides.values() for run in side)
        measure = "gap" if certified else "primal"  # one of `MEASURES`
        if not any(np.isfinite(run.columns[measure]).any() for side in sides.values() for run in side):
            continue
        for gap in gaps or levels_of([[run.columns[measure] for run in side] for side in sides.values()]):
            for name, side in sides.items():
                for run in side:
                    costs = [first(run.columns[cost], run.columns[measure], gap) for cost in AXES]
                    found.append((name, place, measure, gap, run.seed, run.key, *costs))
    return pd.DataFrame(found, columns=SEED_COLUMNS)


def levels_of(sides: Sequence[Sequence[np.ndarray]]) -> list[float]:
    """Return the levels at which to compare sides, given the measure of each of their runs: at most three, the largest first."""
    # They are the least level that more than half of the seeds of every side reach, the least that any side reaches so, and the one
    # midway from the start to the former, as powers of ten times 1, 2 or 5. Where these are not below the start, the first two have
    # more digits, so that a side that ends just below the start has a level, too.
    least = np.array([np.sort([np.nanmin(run, initial=np.inf) for run in side])[len(side) // 2] for side in sides])
    least = least[np.isfinite(least)]
    start = min((run[np.isfinite(run)][0] for side in sides for run in side if np.isfinite(run).any()), default=0.0)
    if not (len(least) and start > 0):
        return [FLOOR] if len(least) else []  # all of them start at the optimum
    least = np.maximum(least, FLOOR * start)  # below are rounding errors
    reached = {_rounded_up(float(level), start) for level in (least.max(), least.min())}
    levels = reached | {_rounded_up(np.sqrt(start * least.max()), np.inf)}
    return sorted({level for level in levels if level < start} or levels, reverse=True)


def _rounded_up(level: float, start: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten not below a level, with more digits if that is not below start."""
    power = int(np.floor(np.log10(level)))
    found = [number for step in ("1", "2", "5", "10") if (number := float(f"{step}e{power}")) >= level][:1]
    found += [number for step in range(10, 100) if (number := float(f"{step}e{power - 1}")) >= level][:1]
    return next((number for number in [*found, level] if number < start), found[0])


def costs_of(seeds: pd.DataFrame) -> pd.DataFrame:
    """Return `COLUMNS` per side, problem and level: the median over the seeds, with its 95 % interval or (few seeds) the range."""
    rows = []
    for (place, gap, name), runs in seeds.groupby(["place", "gap", "side"], sort=False):
        problem = f"{place}, {MEASURES[runs['measure'].iloc[0]].format(gap)}"
        reached, keys = int(np.isfinite(runs["passes"]).sum()), " ".join(sorted(runs["key"]))
        row = {"side": name, "problem": problem, "place": place, "gap": gap, "seeds": len(runs), "reached": reached, "keys": keys}
        for cost in AXES:
            values = runs[cost].to_numpy(float)
            low, high = median_interval(values) if len(values) >= LEAST else (values.min(), values.max())
            row |= {cost: np.median(values), f"{cost}_low": low, f"{cost}_high": high}
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _runs(rows: pd.DataFrame) -> dict[str, list[Run]]:
    """Return the longest run of each seed, by problem."""
    ends = rows.groupby(["problem", "seed", "key"])["passes"].max().reset_index().sort_values(["passes", "key"])
    ends = ends.drop_duplicates(["problem", "seed"], keep="last").sort_values(["problem", "seed"])
    columns = _columns(rows[rows["key"].isin(ends["key"])])
    runs: dict[str, list[Run]] = {}
    for problem, seed, key in zip(ends["problem"], ends["seed"], ends["key"], strict=True):
        runs.setdefault(problem, []).append(Run(seed, key, columns[key]))
    return runs


def _columns(rows: pd.DataFrame) -> dict[str, dict[str, np.ndarray]]:
    """Return, by key, passes, time and the measures so far, at each logged point."""
    which, keys = pd.factorize(rows["key"])
    order = np.lexsort((rows["oracle_calls"], which))
    rows, which = rows.iloc[order].assign(run=which[order]), which[order]
    lowest = rows.groupby("run")["primal"].cummin()
    dual = rows.groupby("run")["dual"].cummax().groupby(which).ffill()
    rows = rows.assign(gap=lowest - dual, primal=lowest - rows["highest"])
    rows = rows.drop_duplicates(["run", "oracle_calls"], keep="last")
    ends = np.cumsum(np.bincount(rows["run"]))[:-1]
    columns = {name: np.split(rows[name].to_numpy(float), ends) for name in (*AXES, *MEASURES)}
    return {key: {name: parts[place] for name, parts in columns.items()} for place, key in enumerate(keys)}
